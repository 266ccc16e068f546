import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.rollouts.rollout import record_rollout


@pytest.fixture(scope="module")
def recorded(frozen_folder, tmp_path_factory):
    """Rollout and table of three short episodes with random actions."""
    folder = tmp_path_factory.mktemp("steps")
    record_rollout(
        frozen_folder("small", game="space_invaders"),
        folder / "x.npz",
        table=folder / "x.parquet",
        max_steps=300,
        action_noise=0.5,
    )
    with np.load(folder / "x.npz", allow_pickle=False) as file:
        return dict(file), folder / "x.parquet"


def test_the_table_says_what_the_rollout_says(recorded, frozen_folder):
    rollout, path = recorded
    table = pd.read_parquet(path)
    frozen = open_frozen(frozen_folder("small", game="space_invaders"))
    assert len(table) == 300
    assert table["action"].tolist() == rollout["actions"].tolist()
    assert table["action_name"].tolist() == [frozen.actions[action] for action in rollout["actions"]]
    assert table["score"].tolist() == rollout["score"].tolist()
    ends = np.append(rollout["score"][1:], rollout["ep_rewards"][-1])
    assert (table["reward"] == ends - rollout["score"]).all()
    assert table["reward"].sum() > 0
    np.testing.assert_array_equal(table[[f"ram_{i}" for i in range(128)]], rollout["ram"])
    model = frozen.load_keras()
    outputs = table[[f"output_{name}" for name in frozen.actions]].to_numpy()
    np.testing.assert_allclose(outputs, model.predict(rollout["observations"], verbose=0), atol=1e-4)
    wanted = outputs.argmax(axis=1)
    assert 0.3 < (wanted != table["action"]).mean() < 0.6  # half of 5 in 6
    assert table["step"].tolist() == list(range(300))
    assert table["frame"].tolist() == list(range(0, 1200, 4))


def test_episodes_are_numbered_and_their_last_steps_marked(own_copy_under, tmp_path):
    short = own_copy_under(max_frames=16)
    record_rollout(short, tmp_path / "x.npz", table=tmp_path / "x.parquet", episodes=3, max_steps=10)
    table = pd.read_parquet(tmp_path / "x.parquet")
    assert table["episode"].tolist() == [0] * 4 + [1] * 4 + [2] * 2
    assert table["step"].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert np.flatnonzero(table["is_last"]).tolist() == [3, 7]


def test_the_metadata_name_the_agent_and_how_it_played(recorded):
    facts = json.loads(pq.read_schema(recorded[1]).metadata[b"neurozoo"])
    assert facts["agent"] == "ga/space_invaders/small/1"
    assert (facts["seed"], facts["perturbation"]["action"]) == (0, 0.5)
    assert facts["protocol"]["name"] == "uber2018"


def test_continuous_outputs_give_no_action_column_and_a_world_without_console_no_ram_columns(frozen_folder, tmp_path):
    maze = frozen_folder("simple", game="hard_maze")
    record_rollout(maze, tmp_path / "x.npz", table=tmp_path / "x.parquet", max_steps=3)
    columns = ["episode", "step", "frame", "reward", "score", "is_last", "output_TURN", "output_SPEED"]
    assert pd.read_parquet(tmp_path / "x.parquet").columns.tolist() == columns


def test_a_table_appears_whole_or_not_at_all(frozen_folder, tmp_path, monkeypatch):
    from neurozoo.environments.atari import AtariEnvironment

    monkeypatch.setattr(AtariEnvironment, "act", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        record_rollout(frozen_folder("small"), tmp_path / "x.npz", table=tmp_path / "x.parquet", max_steps=3)
    assert list(tmp_path.iterdir()) == []
