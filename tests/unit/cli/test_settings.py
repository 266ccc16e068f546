import json

import pytest
from neurozoo.__main__ import main
from neurozoo.algorithms.registry import ALGORITHMS


def test_without_an_algorithm_all_are_listed_with_their_presets(capsys):
    main(["settings"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(ALGORITHMS)
    assert "dqn: Deep Q-learning. Presets: simple_dqn, simple_dqn_2015, nature, dopamine, neurozoo, demo" in lines


def test_each_setting_has_its_default_its_meaning_and_its_limits(capsys):
    main(["settings", "ga"])
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("population_size = 1000")
    assert lines[place + 1] == "    Offspring per generation. (whole number, at least 1)"


def test_values_of_a_preset_replace_the_defaults(capsys):
    main(["settings", "ga", "--preset", "cshenton"])
    assert "population_size = 5000" in capsys.readouterr().out.splitlines()
    main(["settings", "ga", "--preset", "cshenton", "--json"])
    assert json.loads(capsys.readouterr().out)["population_size"] == 5000


def test_the_schema_can_be_printed(capsys):
    main(["settings", "dqn", "--json"])
    assert json.loads(capsys.readouterr().out)["properties"]["num_envs"]["minimum"] == 1


def test_an_unknown_algorithm_is_answered_with_the_nearest(capsys):
    with pytest.raises(SystemExit):
        main(["settings", "dqnn"])
    assert "algorithm 'dqnn' is unknown; did you mean 'dqn'?" in capsys.readouterr().err


def test_a_preset_without_its_algorithm_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["settings", "--preset", "demo"])
    assert "python -m neurozoo settings ALGO --preset demo" in capsys.readouterr().err
