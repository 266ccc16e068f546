import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.observations import ObservationShape
from neurozoo.feature_visualization.saliency import ExplainedNetwork
from neurozoo.feature_visualization.saliency_moments import Moments, choose_moments, lead
from neurozoo.feature_visualization.saliency_picture import draw_saliency
from neurozoo.feature_visualization.saliency_tests import judge, likeness, shuffle_from_the_output_down
from neurozoo.networks.catalogue import get_network
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.rollouts.replayed import ReplayedNetwork
from neurozoo.rollouts.rollout import record_rollout
from neurozoo.rollouts.rollout_files import open_rollout


def two_pixels(arrays):
    """The value of action 1 is the newest frame's pixel (2, 3), that of action 2 its pixel (6, 5); action 0 has 0."""
    weights = arrays["out/w"].reshape(9, 8, 4, 3)
    weights[:], arrays["out/b"][:] = 0, 0
    weights[2, 3, 3, 1] = weights[6, 5, 3, 2] = 1


@pytest.fixture(scope="module")
def verdicts(make_frozen):
    """Eight moments, at which one of the two pixels is 1 and the other 0, in turns; the rest is noise."""
    model = make_frozen(get_network("linear"), ObservationShape(9, 8, 1, 4), change=two_pixels).load_keras()
    observations = np.random.default_rng(0).random((8, 9, 8, 4), np.float32)
    observations[:, 2, 3, 3], observations[:, 6, 5, 3] = [1, 0] * 4, [0, 1] * 4
    screens = np.zeros((8, 9, 8, 3), np.uint8)
    moments = Moments(np.arange(8), screens, observations, (), np.array([1, 2] * 4), np.ones(8))
    weights = model.get_weights()
    judged = judge(model, moments, layers=["out"], is_drawn=False)
    for before, after in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    return {verdict.method: verdict for verdict in judged}


def test_curves_of_a_network_that_looks_at_two_pixels(verdicts):
    """Whole: 1 - 0 / 2. The mean screen has 1/2 at both: 1/2 - 1/4. Without its own pixel alone: 1/2 - 0."""
    found = verdicts["integrated_gradients"]
    np.testing.assert_allclose(found.deletion[:, 0], 1, rtol=1e-6)
    assert (found.deletion[:, 1] <= 0.5 + 1e-6).all()  # the first 4 of 72 pixels are gone
    np.testing.assert_allclose(found.deletion[:, -1], 0.25, rtol=1e-6)
    np.testing.assert_allclose(found.insertion[:, [0, -1]], [[0.25, 1]] * 8, rtol=1e-6)
    assert (found.insertion[:, 1] >= 0.75 - 1e-6).all()
    np.testing.assert_allclose(found.random_deletion[:, [0, -1]], [[1, 0.25]] * 8, rtol=1e-6)


def test_what_names_the_right_pixels_passes_and_an_edge_detector_fails(verdicts):
    assert [*verdicts] == ["perturbation", "sarfa", "integrated_gradients", "guided_backpropagation", "edges"]
    good, control = verdicts["integrated_gradients"], verdicts["edges"]
    assert not good.failures
    assert good.correlations["out"] < 0.5
    assert good.p_value == pytest.approx(5 * 2 / 2**8)  # of five methods; all of eight moments agree
    assert control.correlations == {"out": 1.0}
    assert "it hardly changes when all weights are shuffled (|ρ| 1.00)" in control.failures
    assert (good.record()["passes"], control.record()["passes"]) == (1, 0)
    areas = [np.trapezoid(each.deletion, dx=0.05).mean() for each in (control, good)]
    assert good.record()["over_edges"] == pytest.approx(areas[0] - areas[1])
    assert control.record()["over_edges"] == 0


def test_maps_that_name_the_wrong_pixels_fail(verdicts):
    good = verdicts["integrated_gradients"]
    curves = (good.random_deletion, good.random_insertion, good.deletion, good.insertion, good.deletion)
    wrong = type(good)("wrong", good.maps, *curves)
    wrong.correlations, wrong.p_value = {"out": 0.0}, good.p_value  # a difference, but the wrong way round
    assert wrong.failures == ["removing what it marks harms no more than chance"]


def test_weights_are_shuffled_from_the_output_down_and_come_back(make_frozen, tiny, tiny_shape):
    model = make_frozen(tiny, tiny_shape).load_keras()
    before = {layer.name: layer.get_weights() for layer in model.layers}
    done, names = [], ["conv1", "conv2", "out"]
    for layer in shuffle_from_the_output_down(model, names):
        done.append(layer)
        for name in names:
            now, was = model.get_layer(name).get_weights()[0], before[name][0]
            assert np.array_equal(now, was) == (name not in done)
            np.testing.assert_array_equal(np.sort(now, axis=None), np.sort(was, axis=None))
    assert done == names[::-1]
    for name in names:
        np.testing.assert_array_equal(model.get_layer(name).get_weights()[0], before[name][0])


def test_layers_of_keras_networks_are_shuffled_with_their_norms_and_the_baseline_with_the_policy(policy_folder):
    frozen = open_frozen(policy_folder("impala_shallow_lstm"))
    model, names = frozen.load_keras(), [layer.name for layer in frozen.layers]
    before = {layer.name: layer.get_weights() for layer in model.layers}
    done = shuffle_from_the_output_down(model, names)

    def shuffled():
        return {
            each for each, was in before.items() if was and (model.get_layer(each).get_weights()[0] != was[0]).any()
        }

    assert next(done) == "policy"
    assert shuffled() == {"policy", "baseline"}
    assert next(done) == "lstm"
    assert shuffled() == {"policy", "baseline", "lstm_kernel"}
    done.close()
    assert not shuffled()


def test_likeness_is_spearmans_correlation_of_absolute_values():
    before = np.array([[1, -2], [3, 4]])
    assert likeness(before, np.array([[2, 1], [-40, 3]])) == pytest.approx(0.6)  # 1 - 6 (4 * 1^2) / (4 * 15)
    assert likeness(before, -before[::-1, ::-1]) == pytest.approx(1)  # the reverse tells as much
    assert likeness(before, np.zeros((2, 2))) == 0


def test_a_lead_is_a_probability_or_a_distance_to_the_other_actions():
    values = np.array([[1, 4, 2]])
    assert lead(values, np.array([1]), is_drawn=False) == pytest.approx(2.5)
    assert lead(np.log([[0.5, 0.2, 0.3]]), np.array([2]), is_drawn=True) == pytest.approx(0.3)


def test_moments_carry_what_the_network_remembered(policy_folder, tmp_path):
    folder = policy_folder("impala_shallow_lstm")
    record_rollout(folder, tmp_path / "rollout.npz", max_steps=30, seed=3)
    frozen = open_frozen(folder)
    with open_rollout(tmp_path / "rollout.npz", frozen) as recording:
        moments = choose_moments(frozen, recording, 7)
        network = ReplayedNetwork(frozen, ["policy"])
        network.rewind(actions=np.array(recording.actions), scores=recording.scores_before, starts=recording.starts)
        (preferences,) = network(np.concatenate([block for (block,) in recording.blocks("observations")]))
    assert len(moments.steps) == 7
    probabilities = np.exp(preferences - np.logaddexp.reduce(preferences, axis=1, keepdims=True)).max(axis=1)
    for part, step in zip(np.array_split(np.arange(30), 7), moments.steps, strict=True):
        assert probabilities[step] == probabilities[part].max()
    said, _ = ExplainedNetwork(frozen.load_keras()).outputs(moments.observations, moments.history)
    np.testing.assert_allclose(said, preferences[moments.steps], atol=1e-5)
    np.testing.assert_array_equal(moments.actions, said.argmax(axis=1))
    np.testing.assert_allclose(moments.among([2, 4]).history[2], moments.history[2][[2, 4]])


def test_the_table_has_a_row_for_every_method(policy_folder, tmp_path):
    folder = policy_folder("impala_shallow_lstm")
    record_rollout(folder, tmp_path / "rollout.npz", max_steps=12)
    outputs = tmp_path / "saliency.png", tmp_path / "saliency.csv"
    draw_saliency(folder, tmp_path / "rollout.npz", *outputs, moments=5)
    numbers = ("passes", "moments", "deletion", "random_deletion", "insertion_better", "p_corrected", "correlation")
    table = read_csv_table(outputs[1], numbers=numbers, texts=("method", "failures"), remedy="")
    assert table["method"].tolist()[-2:] == ["grad_cam", "edges"]
    assert (table["moments"] == 5).all()
    assert table["passes"].sum() == 0
    assert table["failures"].str.startswith("5 moments are too few to tell").all()
    assert [*table.columns][-5:] == [f"shuffled_to_{layer}" for layer in ("policy", "lstm", "fc", "conv2", "conv1")]
