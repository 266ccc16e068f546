"""Interventions in the core, and the causal report of networks in which it is known what decides."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from neurozoo.agents.checkpoint import Checkpoint, write_checkpoint
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode
from neurozoo.feature_visualization.causal import list_ablations, measure_effects
from neurozoo.feature_visualization.causal_effects import Effect, different_starts
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.interventions.intervention import INPUT, Intervention
from neurozoo.interventions.weights import intervened_weights
from neurozoo.networks.catalogue import get_network

SHORT = replace(get_protocol("uber2018"), max_frames=800)
DECIDES = 5


def random_weights(layout, seed=1):
    noise = np.random.default_rng(seed).standard_normal(layout.parameter_count).astype(np.float32)
    return layout.initialise(noise) + np.float32(0.02) * noise


def test_without_interventions_the_episode_is_the_same_to_the_bit_and_without_a_layer_the_action_never_changes(
    evaluators,
):
    evaluator = evaluators(model="small")
    theta = random_weights(evaluator.layout)
    means = {"fc": np.linspace(0, 1, 256)}
    changes = [[], [Intervention("conv1", with_="scale")], [Intervention("conv2")], [Intervention("fc", with_="mean")]]
    changed = [intervened_weights(evaluator.layout, theta, each, means=means) for each in changes]
    genomes = [Genome(Weights.of(each)) for each in (theta, *changed)]
    evaluator.pin(genomes)
    plain, *traces = [evaluator.trace(Episode(genome, 7, 3, 600)) for genome in genomes]
    assert len(set(plain.actions.tolist())) > 1
    for same in traces[:2]:
        for name in ("planes", "logits", "rewards"):
            assert getattr(same, name).tobytes() == getattr(plain, name).tobytes()
    for constant in traces[2:]:
        assert np.ptp(constant.logits, axis=0).max() < 1e-5
        assert len(set(constant.actions.tolist())) == 1


@pytest.fixture(scope="module")
def shooter(tmp_path_factory):
    """An agent in Space Invaders that fires while one channel of `conv1` sees something, and else does nothing."""
    layout = layout_of("space_invaders", "small", SHORT)
    theta = np.zeros(layout.parameter_count, np.float32)
    arrays = layout.split(theta)
    arrays["conv1/w"][:] = 0.01  # all channels see how bright it is, in all four frames
    arrays["conv1/w"][..., 9] = 0  # but one is silent
    arrays["conv2/w"][:, :, DECIDES, 2] = 1
    arrays["fc/w"].reshape(11, 11, 32, 256)[:, :, 2, 40] = 1
    arrays["out/w"][40, 1] = 1  # FIRE
    arrays["out/b"][0] = 0.001
    path = tmp_path_factory.mktemp("shooter") / "checkpoint.npz"
    write_checkpoint(path, Checkpoint(theta, "ga", "space_invaders", "small", 1, SHORT, layout.num_actions, None))
    return path


@pytest.fixture(scope="module")
def report(shooter, core, small_noise_table, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "causal.csv"
    interventions = {
        "no_new_frame": {"layer": INPUT, "channels": [3]},
        "in_a_corner": {"layer": "conv1", "region": [0, 0, 2, 2]},
        "of_another_network": {"layer": "conv9"},
    }
    options = {"episodes": 12, "layers": ["conv1", "fc"], "interventions": interventions, "replications": 500}
    effects = measure_effects(shooter, path, core=core, noise=small_noise_table, **options)
    with path.open() as file:
        return effects, list(csv.DictReader(file))


def test_the_channel_that_decides_is_found(report):
    effects, rows = report
    none, *others = rows
    parts = [row for row in others if row["kind"] in ("channel", "group")]
    assert len(parts) == 16 + 32
    decides = {f"conv1 {DECIDES}", "fc 40-47"}
    assert {row["name"] for row in parts[:2]} == decides
    for row in parts:
        if row["name"] in decides:
            assert float(none["score"]) > 0
            assert float(row["change"]) == pytest.approx(-float(none["score"]))
            assert float(row["high"]) < 0
            assert float(row["again"]) < 0
            assert float(row["p_corrected"]) < 0.05
            assert float(row["changed_actions"]) > 0.9
        else:
            assert float(row["change"]) == float(row["changed_actions"]) == 0
    silent = {effect.name for effect in effects if effect.is_silent}
    assert "conv1 9" in silent
    assert "conv1 3" not in silent  # active, but nothing reads it
    (pair,) = [row for row in rows if row["kind"] == "pair"]  # without one, the other has nothing left to do
    assert set(pair["name"].split(" + ")) == decides
    assert float(pair["excess_low"]) > 0
    assert {row["name"] for row in rows if row["kind"] == "named"} == {"no_new_frame"}  # what weights can do


def test_two_copies_of_a_channel_show_nothing_alone_but_their_layer_does(core, small_noise_table, shooter, tmp_path):
    from neurozoo.agents.checkpoint import read_checkpoint

    agent = read_checkpoint(shooter)
    theta = np.array(agent.theta)
    layout = agent.layout
    layout.split(theta)["conv2/w"][:, :, 6, 2] = 1  # the same as the channel that decides
    write_checkpoint(tmp_path / "checkpoint.npz", replace(agent, theta=theta))
    # Alone they do nothing, so there is nothing to pair; what is left is known from the whole layer.
    options = {"episodes": 6, "layers": ["conv1"], "replications": 100, "core": core, "noise": small_noise_table}
    effects = measure_effects(tmp_path / "checkpoint.npz", tmp_path / "causal.csv", **options)
    assert all(effect.numbers["change"] == 0 for effect in effects if effect.kind == "channel")
    (whole,) = [effect for effect in effects if effect.kind == "layer"]
    assert whole.numbers["change"] < 0


def test_without_chance_other_starts_bring_no_game_of_the_first(core, small_noise_table, shooter, tmp_path):
    options = {"episodes": 3, "layers": ["conv1"], "replications": 100, "core": core, "noise": small_noise_table}
    effects = measure_effects(shooter, tmp_path / "causal.csv", sticky_probability=0, **options)
    assert effects[0].numbers["starts"] == 1  # it plays the same game after any number of no-ops
    top = [effect for effect in effects if effect.kind == "channel" and effect.numbers["change"]]
    assert [effect.name for effect in top] == [f"conv1 {DECIDES}"]
    assert "again" not in top[0].numbers


def test_copies_of_a_game_do_not_count_as_games():
    scores = [np.array([3.0, 5, 3, 5, 5]), np.array([1.0, 1, 1, 1, 2])]
    effects = [Effect("none", "none", (), scores=row) for row in scores]
    assert different_starts(effects, has_chance=False) == [0, 1, 4]
    assert different_starts(effects, has_chance=True) == [0, 1, 2, 3, 4]


def test_layers_that_no_weights_ablate_are_left_out_unless_they_are_named():
    layout = get_network("recurrent_large").layout(6)
    names = {effect.name.split(" ")[0].strip(",") for effect in list_ablations(layout, with_="zero")[1:]}
    assert names == {INPUT, "recu1", "conv2", "conv3", "fc"}
    with pytest.raises(NeurozooError, match=r"'recu1'.*also passes on"):
        list_ablations(layout, with_="zero", layers=["conv1"])
    with pytest.raises(NeurozooError, match="scales activations by statistics"):
        list_ablations(get_network("virtual_bn").layout(6), with_="zero")


def test_outputs_can_be_held_at_their_mean_if_one_asks_for_it(shooter, core, small_noise_table, tmp_path):
    options = {"episodes": 6, "layers": ["out"], "with_": "mean", "core": core, "noise": small_noise_table}
    named = {"a": {"layer": "out", "with": "mean"}}
    effects = measure_effects(shooter, tmp_path / "causal.csv", interventions=named, replications=100, **options)
    assert {effect.name for effect in effects if effect.kind == "channel"} == {f"out {n}" for n in range(6)}
    (whole,), (own,) = ([each for each in effects if each.kind == kind] for kind in ("layer", "named"))
    assert whole.interventions == own.interventions
    assert whole.scores.tolist() == own.scores.tolist()
    assert whole.changed_actions == own.changed_actions >= 0  # measured
