"""Populations and weights from elsewhere: what is read, what is refused, and what a run makes of it."""

import hashlib
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from neurozoo.algorithms.neuroevolution import warm_start as starting
from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.settings import EsSettings, GaSettings
from neurozoo.algorithms.neuroevolution.warm_start import (
    Fit,
    keep_start,
    read_layers,
    read_population,
    read_start,
    read_weights,
)
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.packing import pack
from neurozoo.records.comparability import read_facts
from neurozoo.records.lineage import COLUMNS, ancestors
from neurozoo.training import make_context, train
from searches import check_resuming, tell

GAME, MODEL = "hard_maze", "simple"
PROTOCOL = protocol_of(GAME)
LAYOUT = layout_of(GAME, MODEL, PROTOCOL)
COUNT = LAYOUT.parameter_count
NOISE_VALUES = COUNT + 100
NOISE = np.random.default_rng(1).normal(size=NOISE_VALUES).astype(np.float32)
FIT = Fit(GAME, MODEL, LAYOUT, NOISE_VALUES)
A, B, C = [3], [7, [50, 0.5]], [9, [1, 0.5], [2, 0.25]]
GENOMES = [Genome.from_json(each) for each in (A, B, C)]


def written(folder: Path, content: object, name: str = "population.json") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def state(**changes):
    identity = {"algo": "ga", "game": GAME, "model": MODEL, "protocol": "hard_maze", "noise_values": NOISE_VALUES}
    births = [[1, number] for number in range(len(GENOMES))]
    return {"identity": identity | changes, "algorithm": {"genomes": pack(GENOMES)[0], "parent_births": births}}


# ---- what is read


def packed_state(folder):
    """A state whose genomes share 300 mutations, of which 256 are in an array."""
    stem = Genome(3, tuple(Mutation(number % 50, 0.5) for number in range(300)))
    genomes = [stem.mutated(1, 0.5), stem.mutated(2, 0.5), stem]
    packed, arrays = pack(genomes)
    found = {**state(), "algorithm": {"genomes": packed, "parent_births": [[4, 0], [4, 1]]}}
    path = Path(written(folder, found, "state/state.json"))
    (path.parent / "arrays").mkdir()
    for name, array in arrays.items():
        np.save(path.parent / "arrays" / f"{name}.npy", array)
    assert len(arrays) == 1
    return path, genomes


def test_the_parents_of_a_run_are_put_together_from_what_they_share(tmp_path):
    path, genomes = packed_state(tmp_path)
    for source in (str(tmp_path), str(path)):
        start = read_population(source, FIT)
        assert list(start.genomes) == genomes[:2]
        assert start.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_state_that_was_copied_without_its_arrays_is_refused(tmp_path):
    path, _ = packed_state(tmp_path)
    shutil.rmtree(path.parent / "arrays")
    with pytest.raises(NeurozooError, match=r"arrays.* is missing.*Copy the whole state/"):
        read_population(str(path), FIT)


@pytest.mark.parametrize("damage", [("keeps", "keep"), ("genes-", "../genes-"), ('"adds": [[', '"adds": [["x", [')])
def test_a_damaged_state_of_a_run_is_refused(tmp_path, damage):
    path, _ = packed_state(tmp_path)
    path.write_text(path.read_text().replace(*damage))
    with pytest.raises(
        NeurozooError, match=r"state\.json is damaged|damaged JSON|is missing, which holds|A genome looks like"
    ):
        read_population(str(path), FIT)


def test_a_population_with_scores_is_read_best_first_and_of_equals_the_earlier_one_first(tmp_path):
    entries = [{"genome": A, "score": 1}, {"genome": B, "score": 5.5}, {"genome": C, "score": 1}]
    assert read_population(written(tmp_path, {"population": entries}), FIT).genomes == tuple(
        GENOMES[place] for place in (1, 0, 2)
    )
    assert list(read_population(written(tmp_path, {"population": [C, A]}), FIT).genomes) == [GENOMES[2], GENOMES[0]]


@pytest.mark.parametrize(
    "content",
    [
        {"genome": B, "game": GAME, "model": "SimpleClassifier", "protocol": "hard_maze"},
        "(7, (50, 0.5))",
        "[7, [50, 0.5]]",
        "an older line\n11/20/2026 Current elite: (7, (50, 0.5))\n",
    ],
    ids=["genome.json", "tuple", "list", "log"],
)
def test_a_single_genome_is_a_population_of_one(tmp_path, content):
    assert list(read_population(written(tmp_path, content), FIT).genomes) == [GENOMES[1]]


# ---- what is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (state(model="small"), "network 'small', but this run trains 'simple'. Train the same network"),
        (state(noise_values=1234), "a noise table of 1,234 values, but the table of this run has"),
        (state(game="gym.CartPole-v1", protocol="gymnasium"), "parameters, but 'simple' with 2 outputs has"),
        ({"population": [A], "parameters": 7}, "holds weights of 7 parameters, but 'simple' with 2 outputs has"),
        ({"population": [A, [101]]}, "The genome's index 101 lies outside the noise table"),
        ({"population": []}, "should have a list of genomes as its population, but has []"),
        ({"population": [{"genome": A, "score": 1}, A]}, "a score for all genomes of its population or for none"),
        ({"population": [{"genome": A, "score": "x"}] * 2}, "the score of a genome should be a number"),
        ({"population": [{"genome": A, "score": math.nan}] * 2}, "the score of a genome should be a number"),
        ({"population": [{"genome": None}]}, "A genome looks like"),
        ({"genome": None, "game": GAME, "model": MODEL}, "cannot start a genetic algorithm"),
        ({"identity": {"algo": "es"}, "algorithm": {"agent": {}}}, "it is one of 'es'. Give its genome.json"),
        ({"identity": {"algo": "ga"}, "algorithm": None}, "its first generation is not finished"),
        ('{"population": [', "damaged JSON"),
        ("", "The genome is empty"),
    ],
)
def test_a_population_that_does_not_fit_is_refused_in_a_sentence(tmp_path, content, message):
    with pytest.raises(NeurozooError) as caught:
        read_population(written(tmp_path, content), FIT)
    assert message in str(caught.value)


def test_a_source_that_is_replaced_while_it_is_read_is_refused(tmp_path, monkeypatch):
    source = written(tmp_path, [1, [2, 0.002]])
    read_text = starting.read_text

    def read_and_replace(place):
        text = read_text(place)
        written(tmp_path, [1, [3, 0.002]])
        return text

    monkeypatch.setattr(starting, "read_text", read_and_replace)
    with pytest.raises(NeurozooError, match="changed while it was read"):
        read_population(source, FIT)


def test_missing_sources_are_named(tmp_path):
    with pytest.raises(NeurozooError, match=r"load_population: .*nowhere\.json is missing"):
        read_population(str(tmp_path / "nowhere.json"), FIT)
    with pytest.raises(NeurozooError, match=r"has no state/state\.json.*Give its genome\.json"):
        read_population(str(tmp_path), FIT)
    with pytest.raises(NeurozooError, match=r"load_from: .*nowhere\.npz is missing"):
        read_weights(str(tmp_path / "nowhere.npz"), FIT)
    with pytest.raises(NeurozooError, match=r"neither genome\.json nor checkpoint\.npz"):
        read_weights(str(tmp_path), FIT)


# ---- weights


def saved_checkpoint(path, theta):
    write_checkpoint(
        path, Checkpoint(theta=theta, algo="es", game=GAME, model=MODEL, run=1, protocol=PROTOCOL, num_actions=2)
    )
    return str(path)


def test_weights_are_read_from_checkpoints_folders_and_genomes(tmp_path):
    theta = decode(GENOMES[1], noise=NOISE, layout=LAYOUT)
    checkpoint = saved_checkpoint(tmp_path / "run" / "checkpoint.npz", theta)
    for source in (checkpoint, str(tmp_path / "run")):
        start = read_weights(source, FIT)
        np.testing.assert_array_equal(decode(start.genomes[0], noise=NOISE, layout=LAYOUT), theta)
        assert start.sha256 == hashlib.sha256(Path(checkpoint).read_bytes()).hexdigest()
    genome = {"genome": B, "game": GAME, "model": MODEL, "protocol": "hard_maze"}
    for content in (genome, "(7, (50, 0.5))"):
        assert list(read_weights(written(tmp_path, content, "genome.json"), FIT).genomes) == [GENOMES[1]]


def test_weights_of_another_network_or_another_number_are_refused(tmp_path):
    checkpoint = saved_checkpoint(tmp_path / "checkpoint.npz", np.zeros(COUNT, np.float32))
    with pytest.raises(NeurozooError, match="of the network 'simple', but this run trains 'small'"):
        read_weights(checkpoint, Fit("pong", "small", layout_of("pong", "small", protocol_of("pong")), 10_000_000))
    other = layout_of("gym.CartPole-v1", MODEL, protocol_of("gym.CartPole-v1"))
    with pytest.raises(NeurozooError, match=rf"of {COUNT:,} parameters, but 'simple' with 2 outputs has"):
        read_weights(checkpoint, Fit(GAME, MODEL, other, NOISE_VALUES))


# ---- layers that do not evolve

AGENT = str(Path(__file__).parents[4] / "config" / "agents" / "ga_river_crossing.npz")  # a `modular`


def river_fit(model):
    protocol = protocol_of("river_crossing", observation="objects")
    return Fit("river_crossing", model, layout_of("river_crossing", model, protocol), NOISE_VALUES)


def test_layers_that_both_networks_have_are_fixed_and_the_others_evolve(tmp_path):
    folder = tmp_path / "version.2"
    folder.mkdir()
    shutil.copy(AGENT, folder / "checkpoint.npz")
    decisions = read_checkpoint(AGENT).theta
    for source in (AGENT, str(folder)):
        (genome,) = read_layers(source, river_fit("modular_evolved")).genomes
        np.testing.assert_array_equal(genome.initial.theta, [*decisions, *[np.nan] * 9])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("modular", "It has all of its layers, so nothing would evolve. Take another agent"),
        ("modular_rgb", "holds a 'modular', but the run evolves a 'modular_rgb'. Their layers 'decision' differ"),
        ("small", "They have no layer in common. Take another agent"),
    ],
)
def test_an_agent_whose_layers_do_not_fit_is_refused(model, message):
    fit = river_fit(model) if model != "small" else Fit("pong", model, layout_of("pong", model, protocol_of("pong")), 9)
    with pytest.raises(NeurozooError) as caught:
        read_layers(AGENT, fit)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", r"^fixed_layers_of: nowhere is missing\. Give a run's folder"),
        ("(1, (2, 0.002))", r"^fixed_layers_of: give a run's folder or a checkpoint\.npz instead of '\(1, "),
        ("genome.json", r"^fixed_layers_of: give a run's folder or a checkpoint\.npz instead of 'genome\.json'"),
    ],
)
def test_layers_come_from_runs_and_checkpoints_only(source, message):
    with pytest.raises(NeurozooError, match=message):
        read_layers(source, river_fit("modular_evolved"))


@pytest.mark.parametrize(("model", "source"), [("small", "cshenton"), ("recurrent_large_iotas", "recurrent_large")])
def test_a_layer_is_fixed_as_a_whole_or_not_at_all(model, source, tmp_path):
    """These have a layer of the same name with other parts."""
    protocol = protocol_of("pong")
    given = Checkpoint(
        theta=np.zeros(layout_of("pong", source, protocol).parameter_count, np.float32), algo="ga", game="pong",
        model=source, run=1, protocol=protocol, num_actions=layout_of("pong", source, protocol).num_actions,
    )  # fmt: skip
    write_checkpoint(tmp_path / "checkpoint.npz", given)
    with pytest.raises(NeurozooError, match="differ"):
        read_layers(str(tmp_path), Fit("pong", model, layout_of("pong", model, protocol), NOISE_VALUES))


def test_a_run_keeps_the_layers_that_it_is_given(tmp_path, small_noise_table, core):
    settings = {
        "crossover": "one_point", "population_size": 8, "selection_threshold": 4, "validation_threshold": 1,
        "num_validation_episodes": 1, "num_test_episodes": 1, "mutation_power": 0.05, "frames": 20_000,
        "observation": "objects", "fixed_layers_of": AGENT,
    }  # fmt: skip
    assert GaSettings(**settings).start_sources == (AGENT,)
    game = {"algo": "ga", "game": "river_crossing", "model": "modular_evolved", "run": 1}
    context = make_context(**game, core=core, noise=small_noise_table, run_dir=tmp_path, settings=settings, threads=1)
    train(context, terminal="lines")
    theta, facts = read_checkpoint(tmp_path / "checkpoint.npz").theta, read_facts(tmp_path / "config.yaml")
    np.testing.assert_array_equal(theta[:-9], read_checkpoint(AGENT).theta)
    assert np.isfinite(theta).all()
    assert facts["settings_start_sha256"] == hashlib.sha256(Path(AGENT).read_bytes()).hexdigest()[:12]


# ---- a run's own copy


@pytest.mark.parametrize("kind", ["population", "weights", "layers"])
def test_a_run_keeps_a_copy_of_what_it_began_with(tmp_path, kind):
    fit = FIT
    if kind == "population":
        source = written(tmp_path, {"population": [A, B]})
    elif kind == "weights":
        source = saved_checkpoint(tmp_path / "checkpoint.npz", np.arange(COUNT, dtype=np.float32))
    else:
        source, fit = shutil.copy(AGENT, str(tmp_path / "checkpoint.npz")), river_fit("modular_evolved")
    begun = read_start(source, fit, state_dir=tmp_path / "state", kind=kind)
    keep_start(begun, tmp_path / "state")
    Path(source).unlink()  # the copy is enough
    again = read_start(source, fit, state_dir=tmp_path / "state", kind=kind)
    assert again == begun
    assert again.identity == begun.identity == {"start_sha256": begun.sha256, "start_genomes": len(begun.genomes)}
    if kind == "weights":
        np.testing.assert_array_equal(again.genomes[0].initial.theta, np.arange(COUNT))


def test_another_source_is_read_although_there_is_a_copy(tmp_path):
    keep_start(read_population(written(tmp_path, {"population": [A]}), FIT), tmp_path / "state")
    other = written(tmp_path, {"population": [B]}, "other.json")
    assert list(read_start(other, FIT, state_dir=tmp_path / "state", kind="population").genomes) == [GENOMES[1]]


def test_a_damaged_copy_is_reported(tmp_path):
    written(tmp_path, "nothing", "state/start.npz")
    with pytest.raises(NeurozooError, match=r"start\.npz is damaged.*to train this run from the start"):
        read_start("p.json", FIT, state_dir=tmp_path / "state", kind="population")


# ---- what the genetic algorithm makes of it


def made(start, **changes):
    settings = {
        "population_size": 40,
        "selection_threshold": 2,
        "validation_threshold": 1,
        "num_validation_episodes": 1,
        "num_test_episodes": 1,
        "mutation_power": 0.5,
        "load_population": "p.json",
    }
    return GeneticAlgorithm(
        GaSettings(**settings | changes), entropy=(0, 1), layout=LAYOUT, noise=NOISE, protocol=PROTOCOL, start=start
    )


def test_the_first_generation_are_children_of_the_best_loaded_genomes():
    batch = made(GENOMES).ask()
    assert batch.parents == (GENOMES[0], GENOMES[1])  # two parents; the third one is too many
    children = [episode.genome for episode in batch.episodes]
    # 40 draws of two parents: that one is never drawn has the chance 2 * 0.5^40.
    assert {child.parent for child in children} == {GENOMES[0], GENOMES[1]}
    assert {child.mutations[-1].power for child in children} == {0.5}


def test_later_generations_descend_from_the_first_one_and_the_loaded_genomes_are_ancestors_without_a_row():
    ga = made([GENOMES[0]], population_size=2, selection_threshold=1)
    first = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [1, 2])
    tell(ga, "validation", [3])  # the second one
    report = tell(ga, "test", [4])
    assert [row[:4] for row in report["Lineage"]] == [[1, 1, 0, 0]]  # a child of the first loaded genome
    assert {episode.genome.parent for episode in ga.ask().episodes} == {first[1]}
    lineage = pd.DataFrame([[1, *report["Lineage"][0]]], columns=["iteration", *COLUMNS])
    assert len(ancestors(lineage)) == 1


def loaded_strategy():
    settings = EsSettings(population_size=2, num_test_episodes=1, load_from="elsewhere.npz")
    return EvolutionStrategy(
        settings, entropy=(0, 1), layout=LAYOUT, noise=NOISE, protocol=PROTOCOL, start=[GENOMES[2]]
    )


def test_an_evolution_strategy_starts_with_the_loaded_weights():
    weights = [decode(genome, noise=NOISE, layout=LAYOUT) for genome in (*loaded_strategy().ask().parents, GENOMES[2])]
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("make", [lambda: made(GENOMES, population_size=4), loaded_strategy], ids=["ga", "es"])
def test_stopping_and_continuing_after_any_generation_equals_never_stopping(make):
    check_resuming(make, lambda episode: EpisodeResult(float(episode.seed % 101), 5, 5), generations=3)
