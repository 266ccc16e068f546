import numpy as np
import pytest
import tensorflow as tf
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.rollouts.rollout import record_rollout


def load(path):
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file}


def test_a_rollout_has_the_keys_types_and_shapes_of_the_atari_zoo(rollout_file):
    rollout = load(rollout_file("small"))
    assert {key: (array.shape, array.dtype.name) for key, array in rollout.items()} == {
        "format": ((), "int64"),  # ours, and so are `actions` and `starts`
        "observations": ((40, 84, 84, 4), "float32"),
        "frames": ((40, 210, 160, 3), "uint8"),
        "ram": ((40, 128), "uint8"),
        "representation": ((40, 256), "float32"),
        "score": ((40,), "float64"),
        "ep_rewards": ((1,), "float64"),
        "actions": ((40,), "int16"),
        "starts": ((1, 3), "int64"),
    }


def test_every_step_is_recorded_before_it_acts(frozen_folder, tmp_path):
    # The twin of the recorder: a plain loop over two episodes, kept in memory.
    folder = frozen_folder("small", game="space_invaders")
    result = record_rollout(folder, tmp_path / "x.npz", episodes=2, max_steps=1000, noops=3)
    rollout = load(tmp_path / "x.npz")
    frozen = open_frozen(folder)
    model = tf.function(frozen.activations_model(["fc", "out"]))
    environment = AtariEnvironment(frozen.game, frozen.protocol)
    step, scores = 0, []
    for _ in range(2):
        observation, score = environment.reset(noops=3), 0.0
        while not environment.is_done and step < 1000:
            representation, outputs = model(observation[None])
            np.testing.assert_array_equal(rollout["observations"][step], observation)
            np.testing.assert_array_equal(rollout["frames"][step], environment.screen)
            np.testing.assert_array_equal(rollout["ram"][step], environment.ram)
            np.testing.assert_allclose(rollout["representation"][step], representation[0], atol=1e-4)
            assert rollout["score"][step] == score
            assert rollout["actions"][step] == np.argmax(outputs)
            observation, reward, _ = environment.step(int(np.argmax(outputs)))
            score += reward
            step += 1
        scores.append(score)
    assert len(rollout["score"]) == result.steps == step
    assert rollout["ep_rewards"].tolist() == list(result.scores) == scores
    assert max(scores) > 0


def test_no_ops_are_drawn_for_each_episode_from_its_number(own_copy_under, tmp_path, monkeypatch):
    short, starts = own_copy_under(max_frames=8), []
    reset = AtariEnvironment.reset
    monkeypatch.setattr(
        AtariEnvironment, "reset", lambda self, **start: starts.append(start["noops"]) or reset(self, **start)
    )
    record_rollout(short, tmp_path / "x.npz", episodes=3)
    three, starts[:] = tuple(starts), []
    record_rollout(short, tmp_path / "x.npz", episodes=2)
    assert len(set(three)) == len(three) == 3
    assert all(1 <= noops <= 30 for noops in three)
    assert tuple(starts) == three[:2]


def test_more_episodes_are_played_until_there_are_enough_steps(own_copy_under, tmp_path):
    record_rollout(own_copy_under(max_frames=40), tmp_path / "x.npz", episodes=1, min_steps=25, max_steps=1000)
    rollout = load(tmp_path / "x.npz")
    assert (len(rollout["score"]), len(rollout["ep_rewards"])) == (30, 3)


def test_a_streamlined_rollout_has_the_same_scores_and_actions_and_nothing_large(frozen_folder, tmp_path):
    for name, streamlined in (("whole", False), ("light", True)):
        record_rollout(frozen_folder("small"), tmp_path / f"{name}.npz", max_steps=40, streamlined=streamlined)
    whole, light = load(tmp_path / "whole.npz"), load(tmp_path / "light.npz")
    assert set(light) == {"format", "score", "actions", "ep_rewards", "starts"}
    for key, values in light.items():
        np.testing.assert_array_equal(values, whole[key])


def test_the_episodes_can_be_played_again_from_their_starts_and_actions(own_copy_under, tmp_path):
    short = own_copy_under(max_frames=40, sticky_probability=0.25)  # the seed decides its episodes
    record_rollout(short, tmp_path / "x.npz", episodes=3, max_steps=25)
    rollout = load(tmp_path / "x.npz")
    assert rollout["starts"][:, 0].tolist() == [0, 10, 20]
    frozen = open_frozen(short)
    environment = AtariEnvironment(frozen.game, frozen.protocol)
    for step in range(25):
        for _, noops, seed in rollout["starts"][rollout["starts"][:, 0] == step].tolist():
            environment.reset(noops=noops, seed=seed)
        np.testing.assert_array_equal(rollout["ram"][step], environment.ram)
        environment.step(rollout["actions"][step])


def test_bad_numbers_are_refused(frozen_folder, tmp_path):
    with pytest.raises(NeurozooError, match="episodes >= 1 and max_steps >= 1, but episodes is 0 and max_steps 5"):
        record_rollout(frozen_folder("small"), tmp_path / "x.npz", episodes=0, max_steps=5)
    with pytest.raises(NeurozooError, match="seed of a rollout should be >= 0, but is -1"):
        record_rollout(frozen_folder("small"), tmp_path / "x.npz", seed=-1)
    with pytest.raises(NeurozooError, match="min_steps should be from 0 to max_steps, which is 40, but is 41"):
        record_rollout(frozen_folder("small"), tmp_path / "x.npz", min_steps=41, max_steps=40)


@pytest.mark.long(seconds=10)
@pytest.mark.parametrize("size", ["64k", "400k"])  # it fills up while playing, or while the file is written
def test_a_full_disk_leaves_nothing_and_says_what_to_do(small_disk, frozen_folder, size):
    message, files = small_disk(
        """
from neurozoo.rollouts.rollout import record_rollout
message = refusal(lambda: record_rollout(sys.argv[2], f"{sys.argv[1]}/rollout.npz", max_steps=150, noops=1))
print(json.dumps([message, os.listdir(sys.argv[1])]))
""",
        frozen_folder("small"),
        size=size,
    )
    assert "rollout.npz could not be written: no space left on device" in message
    assert files == []
