import json
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
from neurozoo.__main__ import build_parser, main
from neurozoo.cli.what_if import _name
from neurozoo.errors import NeurozooError
from neurozoo.movies.game_movie import film_game
from neurozoo.movies.themes import THEMES
from neurozoo.movies.what_if_movie import BEFORE, HEIGHT, WIDTH, _Scene, film_what_if

LEFT, RIGHT = slice(36, 572), slice(708, 1244)  # columns of the two screens
ROWS = slice(100, 500)


@pytest.fixture
def run_dir(frozen_folder, rollout_file, tmp_path):
    """The folder of a run with a recording of 40 steps."""
    folder = tmp_path / "run"
    folder.mkdir()
    shutil.copytree(frozen_folder("small"), folder / "frozen")
    shutil.copy(rollout_file("small"), folder)
    return folder


def test_both_games_are_the_same_until_the_change_and_then_differ(run_dir, decode):
    change = {"step": 12, "ram": ["99=120", "101=120"], "duration": 2}
    output = run_dir / "what_if" / "ball.mp4"
    found = film_what_if(run_dir / "frozen", run_dir / "rollout.npz", output, change, steps=20, fps=10)
    frames, facts = decode(output)
    assert facts["size"] == (WIDTH, HEIGHT)
    assert BEFORE > 12
    assert len(frames) == 32 + 2 * 10  # a second's pause at the change and at the end
    differences = [np.abs(frame[ROWS, LEFT].astype(int) - frame[ROWS, RIGHT]).max() for frame in frames]
    assert max(differences[: 12 + 11]) < 80  # only what the codec rounds
    assert max(differences[12 + 11 : 12 + 14]) > 100
    assert found.first_other_screen == 13
    edge = frames[12, 300, 702].astype(int)  # of the right screen, which has the colour of the change from then on
    assert np.abs(edge - THEMES["dark"].chosen).max() < 40
    assert np.abs(frames[11, 300, 702].astype(int) - THEMES["dark"].chosen).max() > 100
    assert json.loads(output.with_suffix(".json").read_text())["first_other_screen"] == 13
    for branch in ("factual", "counterfactual"):  # replayed frame by frame, with the same change
        assert output.with_suffix("").joinpath(f"{branch}.parquet").exists()
        recording = output.with_suffix("") / f"{branch}.npz"
        film_game(run_dir / "frozen", recording, run_dir / "game.mp4", overlay=False)


def test_a_world_of_vectors_is_filmed_to_the_end_of_the_longer_branch(frozen_folder, decode, tmp_path):
    from neurozoo.rollouts.rollout import record_rollout

    frozen, recorded = frozen_folder("simple", game="gym.CartPole-v1"), tmp_path / "rollout.npz"
    steps = record_rollout(frozen, recorded).steps
    change = {"step": 3, "action": "ACTION_1", "duration": 40}
    found = film_what_if(frozen, recorded, tmp_path / "push.mp4", change, fps=10, theme="light")
    assert found.factual.steps == steps
    assert set(found.counterfactual.actions) == {"ACTION_1"}  # the pole falls before the 40 steps are over
    frames, _ = decode(tmp_path / "push.mp4")
    assert len(frames) == max(found.factual.steps, found.counterfactual.steps) + 20


def test_the_command_names_the_movie_after_step_and_change(run_dir, capsys):
    main(["what-if", str(run_dir), "--step", "5", "--action", "LEFT", "--steps", "10", "--duration", "2"])
    path = run_dir / "what_if" / "5_LEFT_duration_2_steps_10.mp4"
    assert path.exists()
    assert f"{path}: score 0 in 15 steps, with LEFT 0 in 15" in capsys.readouterr().out
    main(["what-if", str(run_dir), "--seed", "3", "--step", "5", "--ram", "99=120", "--steps", "5", "--json"])
    assert json.loads(capsys.readouterr().out)["change"]["ram"] == [[99, 120]]
    assert (run_dir / "rollouts" / "seed_3.npz").exists()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("--ram 54=60 49=1", "7_ram_54_60_49_1"),
        ("--agent other/runs/dqn/pong/small/2", "7_agent_other_runs_dqn_pong_small_2"),
        ("--pixels 0,0,83,41=mean --seed 3", "7_pixels_0_0_83_41_mean_seed_3"),
        ("--action UP --rollout a/b.npz --steps 9 --duration 2", "7_UP_duration_2_steps_9_rollout_a_b.npz"),
        ("--grid --moments 3", "grid_moments_3"),
        ("--grid", "grid"),
    ],
)
def test_names_have_the_kind_of_change_and_what_is_not_the_default(options, name):
    words = options.split()
    assert _name(build_parser().parse_args(["what-if", "run", "--step", "7", *words]), words[0][2:]) == name


def test_a_what_if_stays_whole_and_deletes_nothing_else(run_dir, monkeypatch):
    output = run_dir / "what_if" / "up.mp4"
    change = {"step": 5, "ram": ["99=120"]}
    film_what_if(run_dir / "frozen", run_dir / "rollout.npz", output, change, steps=4)

    def refused(output, error, sentence=None):
        with pytest.raises(error, match=sentence):
            film_what_if(run_dir / "frozen", run_dir / "rollout.npz", output, change, steps=3)

    def files():
        return {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}

    (run_dir / "note.json").write_text("{}")
    before = files()
    refused(run_dir / "frozen.mp4", NeurozooError, "holds other files")
    refused(run_dir / "note.mp4", NeurozooError, "is not of a what-if, and would be lost")
    with monkeypatch.context() as patched:
        patched.setattr(_Scene, "compose", Mock(side_effect=KeyboardInterrupt))
        refused(output, KeyboardInterrupt)
    assert files() == before
    film_what_if(run_dir / "frozen", run_dir / "rollout.npz", output, change, steps=3)
    assert files().keys() == before.keys()
    assert json.loads(output.with_suffix(".json").read_text())["factual"]["steps"] == 8


def test_the_command_takes_interventions_by_name_or_as_yaml(run_dir, tmp_path, capsys):
    config = tmp_path / "mine.yaml"
    config.write_text("interventions: {blind: {layer: observation}}")
    options = ["what-if", str(run_dir), "--step", "5", "--steps", "5", "--json", "--configfile", str(config)]
    for given in ("blind", "{layer: observation}"):
        main([*options, "--intervention", given])
        assert json.loads(capsys.readouterr().out)["change"]["intervention"]["layer"] == "observation"
    with pytest.raises(SystemExit):
        main([*options, "--intervention", "blnd"])
    assert "intervention 'blnd' is unknown; did you mean 'blind'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--action", "LEFT"], "needs a moment and a change, such as --step 120 --action LEFT; or --grid"),
        (["--step", "5"], "needs a moment and a change"),
        (["--step", "99", "--action", "LEFT"], "has the steps 0 to 39, but step is 99"),
        (["--step", "5", "--action", "UP"], "action 'UP' is unknown. Known: FIRE, LEFT, NOOP, RIGHT."),
        (["--step", "5", "--intervention", "{[}"], "--intervention '{[}' is not YAML (while parsing"),
        (["--step", "5", "--agent", ""], "argument --agent: should be a name, but is empty"),
        (["--step", "5", "--action", "LEFT", "--output", "a.png"], "a.png should end in .mp4"),
    ],
)
def test_the_command_says_what_is_missing(run_dir, capsys, options, sentence):
    with pytest.raises(SystemExit):
        main(["what-if", str(run_dir), *options])
    assert sentence in capsys.readouterr().err
    assert not list(run_dir.glob("what_if/*"))
