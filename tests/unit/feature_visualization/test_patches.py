import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.layers import find_layer, model_to
from neurozoo.feature_visualization.patches import KINDS, cut_patch, distinct_steps, find_patches
from neurozoo.feature_visualization.recordings import choose_observations, open_recording, survey
from neurozoo.rollouts.rollout import record_rollout


def test_neighbouring_steps_are_not_taken_twice():
    assert distinct_steps(np.array([7, 8, 3, 6, 0, 9]), 3, 3) == [7, 3, 0]
    assert distinct_steps(np.array([7, 8, 3]), 3, 1) == [7, 8, 3]
    assert distinct_steps(np.array([7, 8]), 3, 5) == [7]


def test_a_patch_is_black_beyond_the_edge():
    observation = np.arange(1, 17, dtype=np.float32).reshape(4, 4, 1)
    assert cut_patch(observation, (-1, 2), (3, 3))[..., 0].tolist() == [[0, 0, 0], [3, 4, 0], [7, 8, 0]]


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize("layer", ["conv1", "conv2", "conv3"])
def test_a_patch_is_all_that_its_unit_sees(frozen_folder, rollout_file, layer):
    """A picture with only the patch, at its position, excites the unit as the whole observation did."""
    found = find_patches(
        frozen_folder("large"), rollout_file("large"), layer=layer, channels=[0, 9], count=3, distance=4
    )
    frozen = open_frozen(frozen_folder("large"))
    model = model_to(frozen, find_layer(frozen, layer))
    with np.load(rollout_file("large")) as rollout:
        observations = rollout["observations"]
    for channel, kinds in found.items():
        for patches in kinds.values():
            assert len(patches) == 3
            for patch in patches:
                shift = (-patch.corner[0], -patch.corner[1])
                alone = cut_patch(patch.pixels, shift, (84, 84))
                value = np.asarray(model(alone[None]))[(0, *patch.position, channel)]
                assert value == pytest.approx(patch.value, abs=1e-5)
                part = alone != 0
                assert np.array_equal(alone[part], observations[patch.step][part])


def test_patches_are_the_highest_the_lowest_and_some_others(frozen_folder, rollout_file):
    folder, rollout = frozen_folder("small"), rollout_file("small")
    frozen = open_frozen(folder)
    with np.load(rollout) as file:
        values = np.asarray(model_to(frozen, find_layer(frozen, "conv2"))(file["observations"]))
    found = find_patches(folder, rollout, layer="conv2", count=2, distance=1)
    assert list(found) == list(range(32))
    for channel, kinds in found.items():
        assert tuple(kinds) == KINDS
        tops = np.sort(values[..., channel].max(axis=(1, 2)))[::-1]
        assert [patch.value for patch in kinds["top"]] == pytest.approx(tops[:2].tolist(), rel=1e-5)
        assert kinds["bottom"][0].value == pytest.approx(values[..., channel].min(), rel=1e-5)
        for patch in kinds["random"]:
            assert patch.value == pytest.approx(values[patch.step, ..., channel].max(), rel=1e-5)


def test_a_survey_does_not_depend_on_the_blocks(frozen_folder, rollout_file, monkeypatch):
    frozen = open_frozen(frozen_folder("small"))
    surveys = []
    for chunk in (64, 7):
        monkeypatch.setattr("neurozoo.rollouts.rollout_files.CHUNK", chunk)
        with open_recording(frozen, rollout_file("small")) as recording:
            surveys.append(survey(frozen, find_layer(frozen, "conv1"), recording))
    for key in ("largest", "smallest"):
        np.testing.assert_allclose(*(getattr(one, key) for one in surveys), rtol=1e-5)


def test_a_rollout_of_another_agent_is_refused(frozen_folder, rollout_file, agent, played, tmp_path):
    from neurozoo.agents.freeze import freeze

    other = agent("small", seed=2)
    freeze(other, tmp_path / "frozen", trace=played(other, 2))
    for folder, rollout in ((tmp_path / "frozen", "small"), (frozen_folder("small"), "large")):
        with pytest.raises(NeurozooError, match=r"should hold observations|not a rollout of the agent in"):
            find_patches(folder, rollout_file(rollout), layer="conv1")
    with pytest.raises(NeurozooError, match=r"missing.*neurozoo rollout"):
        find_patches(tmp_path / "frozen", tmp_path / "rollout.npz", layer="conv1")


def test_a_rollout_with_parameter_noise_is_refused(frozen_folder, tmp_path):
    record_rollout(frozen_folder("small"), tmp_path / "x.npz", max_steps=3, parameter_noise=0.5)
    with pytest.raises(NeurozooError, match=r"x.npz was recorded with parameter noise 0.5, .* without noise"):
        find_patches(frozen_folder("small"), tmp_path / "x.npz", layer="conv1")


def test_unknown_channels_and_steps_are_refused(frozen_folder, rollout_file):
    with pytest.raises(NeurozooError, match="channels 0 to 15, but got 16"):
        find_patches(frozen_folder("small"), rollout_file("small"), layer="conv1", channels=[3, 16])
    with (
        open_recording(open_frozen(frozen_folder("small")), rollout_file("small")) as recording,
        pytest.raises(NeurozooError, match="steps 0 to 39, but got step 40"),
    ):
        choose_observations(recording, [40], 1)
