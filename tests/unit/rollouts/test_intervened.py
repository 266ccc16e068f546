import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.interventions.intervention import INPUT
from neurozoo.rollouts.rollout import record_rollout


@pytest.fixture
def play(frozen_folder, rollout_file, tmp_path):
    """Records 40 steps with an intervention, as those of `rollout_file`: `play({...})`."""

    def record(intervention, *, recorded=None):
        output = tmp_path / "with.npz"
        recorded = recorded or rollout_file("small")
        options = {"max_steps": 40, "noops": 1, "intervention": intervention, "recorded": recorded}
        record_rollout(frozen_folder("small"), output, **options)
        return np.load(output)

    return record


@pytest.mark.parametrize("layer", ["conv2", INPUT])
def test_an_intervention_that_changes_nothing_plays_the_recorded_episode(play, rollout_file, layer):
    plain, same = np.load(rollout_file("small")), play({"layer": layer, "with": "scale"})
    for key in ("observations", "frames", "representation", "actions", "score"):
        assert plain[key].tobytes() == same[key].tobytes()


@pytest.mark.parametrize("kind", ["zero", "mean", "patch"])
def test_an_agent_without_a_layer_always_does_the_same(play, kind):
    found = play({"layer": "conv1", "with": kind, **({"step": 20} if kind == "patch" else {})})
    assert len(set(found["actions"].tolist())) == 1
    assert np.ptp(found["representation"], axis=0).max() < 1e-5


def test_a_patched_layer_computes_what_it_computed_then(play, rollout_file):
    plain = np.load(rollout_file("small"))
    found = play({"layer": "conv2", "with": "patch", "step": 17})
    np.testing.assert_allclose(found["representation"], plain["representation"][[17] * 40], rtol=1e-4, atol=1e-6)


def test_a_region_of_the_input_is_not_seen(play, rollout_file):
    whole = play({"layer": INPUT, "region": [0, 0, 83, 83]})
    assert np.ptp(whole["representation"], axis=0).max() < 1e-5
    part = play({"layer": INPUT, "region": [0, 0, 41, 83]})
    assert np.ptp(part["representation"], axis=0).max() > 1e-3
    assert not np.array_equal(part["representation"], np.load(rollout_file("small"))["representation"])


def test_resampling_draws_from_the_recording_and_is_the_same_each_time(play, rollout_file):
    one, other = (play({"layer": "fc", "with": "resample"}) for _ in range(2))
    plain = np.load(rollout_file("small"))["representation"]
    np.testing.assert_array_equal(one["representation"], other["representation"])
    drawn = [int(np.abs(plain - row).max(1).argmin()) for row in one["representation"]]
    np.testing.assert_allclose(one["representation"], plain[drawn], rtol=1e-4, atol=1e-6)
    assert len(set(drawn)) > 10


def test_a_rollout_with_an_intervention_is_not_taken_for_one_of_the_agent(play, tmp_path):
    play({"layer": "conv1", "channels": [1]})
    with pytest.raises(NeurozooError, match="was played with an intervention in 'conv1'"):
        play({"layer": "conv1", "with": "mean"}, recorded=tmp_path / "with.npz")


@pytest.mark.parametrize(
    ("intervention", "sentence"),
    [
        ({"layer": "conv3"}, "layer 'conv3' is unknown; did you mean 'conv"),
        ({"layer": "conv1", "channels": [16]}, "has channels 0 to 15, but got 16"),
        ({"layer": "fc", "with": "patch", "step": 40}, "has steps 0 to 39, but step is 40"),
    ],
)
def test_an_intervention_that_does_not_fit_is_refused(play, intervention, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        play(intervention)
