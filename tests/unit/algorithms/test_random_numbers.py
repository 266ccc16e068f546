"""A run keeps the rule for random numbers under which it began; the toy algorithm shows it without an emulator."""

import json

import pytest
import toy
import yaml
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.randomness import NEW_RULE, OLD_RULE
from neurozoo.training import make_context, train

RUN = {"algo": "toy_search", "game": "plane", "model": "plain", "run": 1}


@pytest.fixture(autouse=True)
def registered():
    ALGORITHMS.register(*toy.SPECS)
    yield
    ALGORITHMS.unregister("toy_search")


def trained(run_dir, *, entropy_rule=NEW_RULE, **settings):
    train(make_context(**RUN, settings=settings, run_dir=run_dir, entropy_rule=entropy_rule), terminal="lines")
    recorded = yaml.safe_load((run_dir / "config.yaml").read_text())["entropy"]
    return (run_dir / "archive.npz").read_bytes(), recorded


def identity_of(run_dir):
    return json.loads((run_dir / "state" / "state.json").read_text())["identity"]


def test_a_run_that_an_earlier_version_began_continues_with_its_random_numbers(tmp_path):
    old, rule = trained(tmp_path / "old", entropy_rule=OLD_RULE, evaluations=100)
    assert rule == "seed_run"
    new, rule = trained(tmp_path / "new", evaluations=100)
    assert rule == "seed_run_algo_game_model"
    assert new != old
    trained(tmp_path / "continued", entropy_rule=OLD_RULE, evaluations=40)
    assert "entropy" not in identity_of(tmp_path / "continued")  # as earlier versions wrote it
    assert trained(tmp_path / "continued", evaluations=100) == (old, "seed_run")
    trained(tmp_path / "also new", evaluations=40)
    assert trained(tmp_path / "also new", evaluations=100) == (new, "seed_run_algo_game_model")


def test_an_old_run_whose_settings_have_changed_starts_anew_with_the_new_rule(tmp_path):
    trained(tmp_path / "run", entropy_rule=OLD_RULE, evaluations=40)
    fresh, _ = trained(tmp_path / "fresh", evaluations=40, seed=5)
    assert trained(tmp_path / "run", evaluations=40, seed=5) == (fresh, "seed_run_algo_game_model")
    assert (tmp_path / "run" / "superseded" / "1" / "state.json").exists()


def test_a_damaged_state_is_still_explained(tmp_path):
    trained(tmp_path / "run", entropy_rule=OLD_RULE, evaluations=40)
    (tmp_path / "run" / "state" / "state.json").write_text("{")
    with pytest.raises(Exception, match=r"state\.json is damaged"):
        trained(tmp_path / "run", evaluations=100)


def test_first_generations_of_two_algorithms_or_games_have_no_genome_in_common(tmp_path):
    def first_generation(algo, game, rule):
        settings = resolve_settings(algo, preset="demo", overrides={"population_size": 200})
        context = RunContext(
            algo=algo, game=game, model="small", run=1, settings=settings, run_dir=tmp_path, entropy_rule=rule
        )
        protocol = protocol_of(game)
        layout = layout_of("pong", "small", protocol)  # as many parameters in both games
        noise = range(layout.parameter_count + 10_000_000)
        algorithm = GeneticAlgorithm(settings, entropy=context.entropy, layout=layout, noise=noise, protocol=protocol)
        return {episode.genome.initial for episode in algorithm.ask().episodes}

    runs = (("ga", "pong"), ("rs", "pong"), ("ga", "boxing"))
    ga, rs, boxing = (first_generation(*run, OLD_RULE) for run in runs)
    assert ga == rs == boxing  # 200 of 200
    ga, rs, boxing = (first_generation(*run, NEW_RULE) for run in runs)
    assert len(ga & rs) + len(ga & boxing) + len(rs & boxing) <= 2  # of ten million places, by chance
