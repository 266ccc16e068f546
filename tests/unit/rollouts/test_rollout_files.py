import json
from dataclasses import asdict

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.interventions.change import Change
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.rollout_files import RolloutReader, open_rollout


@pytest.fixture
def opened(frozen_folder, rollout_file):
    """Opens a rollout of 40 steps as the model's: `opened(path, model, max_steps=...)`."""

    def enter(path=None, model="small", **choices):
        frozen = open_frozen(frozen_folder(model))
        return open_rollout(path or rollout_file("small"), frozen, **choices)

    return enter


def test_rows_come_side_by_side_up_to_the_last_step_that_is_shown(opened, rollout_file, monkeypatch):
    monkeypatch.setattr("neurozoo.rollouts.rollout_files.CHUNK", 3)
    with np.load(rollout_file("small")) as file, opened(max_steps=10) as rollout:
        rows = list(rollout.rows("frames", "score"))
        assert rollout.steps == len(rows) == 10
        assert rollout.actions == file["actions"][:10].tolist()
        for row, screen, score in zip(rows, file["frames"], file["score"], strict=False):
            np.testing.assert_array_equal(row[0], screen)
            assert row[1] == score
        assert rollout.final_scores == {}
        ((first, start),) = rollout.starts.items()
    assert (first, start["noops"]) == (0, 1)
    with np.load(rollout_file("small")) as file, opened() as rollout:
        assert rollout.final_scores == {39: file["ep_rewards"][0]}


def test_the_last_step_of_each_episode_shows_its_final_score(opened, rollout_file, rewritten, tmp_path):
    """The score before a step lacks the points of the step; after the last step of an episode comes no other."""
    starts = np.array([[0, 0, 0], [4, 1, 0], [30, 2, 0]])
    scores = np.r_[[0.0, 1, 1, 2], np.arange(26.0), np.arange(10.0)]
    path = rewritten(
        rollout_file("small"), tmp_path / "x.npz", starts=starts, score=scores, ep_rewards=np.array([9.0, 26, -1])
    )
    scores[[3, 29, 39]] = 9, 26, -1
    with opened(path) as rollout:
        assert [moment["score"] for moment in rollout.moments()] == scores.tolist()
    with opened(path, max_steps=30) as rollout:
        assert rollout.final_scores == {3: 9, 29: 26}


def changed(**fields):
    change = asdict(Change(4, action="LEFT")) | fields
    return np.array(json.dumps({**Perturbation().record, "seed": 0, "change": change}))


@pytest.mark.parametrize("wanted", [[8, 3, 38, 8], {39}, np.array([0, 2, 3]), []])
def test_wanted_rows_come_in_ascending_order_with_their_steps(rollout_file, monkeypatch, wanted):
    monkeypatch.setattr("neurozoo.rollouts.rollout_files.CHUNK", 3)
    path = rollout_file("small")
    with np.load(path) as file, RolloutReader(path, keys=["frames"]) as reader:
        rows = list(reader.rows_at("frames", wanted))
        assert [step for step, _ in rows] == sorted(set(wanted))
        for step, row in rows:
            np.testing.assert_array_equal(row, file["frames"][step])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": np.array([0] * 39 + [4], np.int16)}, "should hold 4 actions, but holds action 4"),
        ({"actions": np.array([0] * 39 + [-1], np.int16)}, "should hold 4 actions, but holds action -1"),
        ({"actions": np.zeros((40, 4), np.float32)}, r"but holds .*actions \(40, 4\)"),
        ({"ep_rewards": np.array([np.nan])}, "finite scores of episodes"),
        ({"starts": np.array([[1, 0, 0]])}, "starts in order from step 0"),
        ({"starts": np.array([[0, -1, 0]])}, "starts in order from step 0"),
        ({"starts": np.array([[0, 0, 2**31]])}, "starts in order from step 0"),
        ({"starts": np.zeros((0, 3), int), "ep_rewards": np.zeros(0)}, "of at least one step"),
        ({"representation": np.zeros((40, 512), np.float32)}, r"representation \(steps, 256\).* but holds"),
        ({"perturbation": np.array('{"action": 2, "seed": 0}')}, "a perturbation and its seed as JSON"),
        ({"perturbation": np.array("[" * 9)}, "a perturbation and its seed as JSON"),
        ({"perturbation": changed(step="4")}, "a perturbation and its seed as JSON"),
        ({"perturbation": changed(ram=[[-1, 4]])}, "a perturbation and its seed as JSON"),
        ({"perturbation": changed(action="JUMP")}, "a perturbation and its seed as JSON"),
        ({"frames": np.zeros((39, 210, 160, 3), np.uint8)}, "of at least one step, but holds observations"),
        ({"observations": np.zeros((40, 80, 80, 4), np.float32)}, r"but holds observations \(40, 80"),
        ({"frames": np.zeros((40, 210, 160), np.uint8)}, r"frames \(steps, height, width, 3\).* but holds"),
    ],
)
def test_files_that_do_not_suit_the_model_are_refused(opened, rollout_file, tmp_path, rewritten, changes, message):
    path = rewritten(rollout_file("small"), tmp_path / "x.npz", **changes)
    with pytest.raises(NeurozooError, match=message + ".*Record it again"), opened(path):
        pass


def test_a_perturbation_is_read(opened, rollout_file, tmp_path, rewritten):
    text = np.array('{"observation": 0.1, "parameter": 0, "action": 0.2, "sticky_probability": null, "seed": 9}')
    with opened(rewritten(rollout_file("small"), tmp_path / "x.npz", perturbation=text)) as rollout:
        assert (rollout.perturbation, rollout.seed) == (Perturbation(observation=0.1, action=0.2), 9)


def test_a_file_of_another_format_is_refused(opened, rollout_file, rewritten, tmp_path):
    path = rewritten(rollout_file("small"), tmp_path / "x.npz", format=np.array(2))
    with (
        pytest.raises(NeurozooError, match=r"has format 2, but this version reads format 1\. Record it again"),
        opened(path),
    ):
        pass
