"""The batched engine plays like the native engine, on the Keras backend of this process and then on JAX."""

import dataclasses
import os
import shutil
import subprocess
import sys
import threading
import time

import keras
import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import rom_path
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, play
from neurozoo.evaluation.array_backends import make_backend
from neurozoo.evaluation.batched import BatchedEvaluator
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.evaluation.reference_batch import collect_reference
from neurozoo.evaluation.slot_networks import SlotNetworks, memory_needed
from neurozoo.evaluation.world_pool import WorldPool
from neurozoo.genomes.genome import Genome, Mutation, Weights

PARENTS = [Genome(1000 * i, (Mutation(i, 0.01),)) for i in range(3)]


@pytest.fixture(scope="module")
def engines(core, noise_table):
    """Makes evaluators: `engines(class, game=...)`. Closes all of them at the end."""
    made = []

    def make(kind, *, game="frostbite", model="small", protocol=None, layout=None, **more):
        record = protocol_of(game, protocol)
        layout = layout or layout_of(game, model, record)
        made.append(kind(core=core, noise=noise_table, layout=layout, game=game, protocol=record, **more))
        return made[-1]

    yield make
    for evaluator in made:
        evaluator.close()


@pytest.fixture(scope="module")
def quick(engines):
    """An evaluator that several tests share."""
    return engines(BatchedEvaluator, slots=4, threads=2)


def families(noops=30):
    """More episodes than slots: of pinned genomes, of their children and of fresh genomes, with various lengths."""
    players = [*PARENTS, *(parent.mutated(77, 0.02) for parent in PARENTS), Genome(5), Genome(6)]
    return {
        100 + i: Episode(players[i % len(players)], min(noops, 1 + i % 30), i, 60 + 9 * i)
        for i in range(2 * len(players))
    }


def facts(results):
    """Results without times, and with behaviours as bytes."""
    return {
        number: (*dataclasses.astuple(dataclasses.replace(result, seconds=0.0, behaviour=None)), bytes_of(result))
        for number, result in results.items()
    }


def bytes_of(result):
    behaviour = result.behaviour
    return None if behaviour is None else (behaviour.dtype, behaviour.shape, behaviour.tobytes())


# ---- outputs equal those of the native engine


def answers(layout, thetas, planes, reference=None):
    """Runs the networks on planes, (slots, steps, height, width, channels); returns (slots, steps, outputs)."""
    backend = make_backend()
    networks = SlotNetworks(layout, slots=len(thetas), backend=backend)
    device_reference = None if reference is None else backend.array(reference[None])
    for slot, theta in enumerate(thetas):
        networks.load(slot, networks.on_device(lambda theta=theta: theta), device_reference)
    begun = np.arange(planes.shape[1]) == 0
    outputs = [networks.step(planes[:, t], np.full(len(thetas), begun[t])) for t in range(planes.shape[1])]
    return np.stack([np.asarray(step) for step in outputs], axis=1)


def recorded(evaluator, genomes, steps):
    evaluator.pin(genomes)
    traces = [evaluator.trace(Episode(genome, 3 + i, i, 4 * steps)) for i, genome in enumerate(genomes)]
    shortest = min(len(trace.planes) for trace in traces)
    return [evaluator.parameters(genome) for genome in genomes], [
        np.stack([getattr(trace, name)[:shortest] for trace in traces]) for name in ("planes", "logits")
    ]


@pytest.mark.parametrize(
    ("game", "model"), [("qbert", "small"), pytest.param("frostbite", "large", marks=pytest.mark.long)]
)
def test_of_a_thousand_recorded_decisions_all_but_one_are_the_native_engines(engines, game, model):
    evaluator = engines(NativeEvaluator, game=game, model=model)
    thetas, (planes, logits) = recorded(evaluator, [*PARENTS, Genome(7), Genome(8)], 300)
    found = answers(evaluator.layout, thetas, planes)
    assert logits[..., 0].size >= 1000
    assert (found.argmax(-1) == logits.argmax(-1)).mean() >= 0.999
    assert len(set(logits.argmax(-1).ravel())) > 1  # several actions are chosen


MORE_KINDS = "recurrent_large recurrent_large_iotas es_atari cshenton linear nature simple_dqn"


@pytest.mark.parametrize(
    "model",
    [
        "recurrent_large_evolved",
        "virtual_bn",
        "dense_tanh",
        *(pytest.param(model, marks=pytest.mark.long) for model in MORE_KINDS.split()),
    ],
)
def test_every_kind_of_layer_computes_what_the_native_engine_does(engines, model):
    protocol = protocol_of("frostbite")
    evaluator = engines(NativeEvaluator, model=model)
    reference = None
    if evaluator.layout.needs_reference:
        reference = collect_reference("frostbite", protocol, entropy=(0, 1))[:16]
        evaluator.set_reference(reference)
    # A large mutation, so that offsets, gains, iotas and gates differ from their initial values.
    genomes = [Genome(1000, (Mutation(5, 0.1),)), Genome(8000, (Mutation(6, 0.1),))]
    thetas, (planes, logits) = recorded(evaluator, genomes, 5)
    found = answers(evaluator.layout, thetas, planes, reference)
    # The order of sums differs, each rounded to 24 bits; 20 cycles and divisions by small deviations amplify that.
    np.testing.assert_allclose(found, logits, rtol=0, atol=2e-4 * np.abs(logits).max())
    assert np.abs(logits[0] - logits[1]).max() > 0.1 * np.abs(logits).max()  # the slots are different agents


# ---- episodes equal those of the native engine


@pytest.mark.parametrize(
    ("game", "protocol", "behaviour"),
    [
        ("frostbite", None, "ram"),
        ("pong", "machado2018", "none"),
        pytest.param("frostbite", "uber2017", "none", marks=pytest.mark.long(seconds=3)),
        ("river_crossing", None, "final_position"),
    ],
)
def test_episodes_have_the_native_engines_scores_lengths_and_behaviours(engines, game, protocol, behaviour):
    episodes = families(noops=protocol_of(game, protocol).max_noops)
    found = []
    for kind, more in ((NativeEvaluator, {"threads": 2}), (BatchedEvaluator, {"threads": 3, "slots": 4})):
        evaluator = engines(kind, game=game, protocol=protocol, behaviour=behaviour, **more)
        evaluator.pin(PARENTS)
        found.append(facts(play(evaluator, episodes)))
        if kind is BatchedEvaluator:
            found.append(facts(play(evaluator, episodes)))  # in slots that are used again
    assert found[0] == found[1] == found[2]
    assert len({values[2] for values in found[0].values()}) > 4  # lengths


def test_neither_threads_nor_the_genomes_that_are_pinned_meanwhile_change_a_result(engines, quick):
    quick.pin(PARENTS)
    expected = facts(play(quick, families()))
    alone = engines(BatchedEvaluator, slots=4, threads=1)
    alone.pin(PARENTS)
    alone.submit(families())
    found = alone.receive(timeout=600)
    alone.pin([Genome(31)])
    while len(found) < len(expected):
        found |= alone.receive(timeout=600)
    assert facts(found) == expected


def test_virtual_batch_norm_uses_the_reference_of_the_submission(engines):
    protocol = protocol_of("frostbite")
    layout = layout_of("frostbite", "es_atari", protocol)
    references = [
        collect_reference("frostbite", protocol, entropy=(seed, 1))[start : start + 64 : 8]
        for seed, start in ((0, 0), (1, 4))
    ]
    genome, found = Genome(3, (Mutation(9, 0.05),)), {}
    for kind, more in ((NativeEvaluator, {}), (BatchedEvaluator, {"slots": 2})):
        evaluator = engines(kind, layout=layout, **more)
        with pytest.raises(NeurozooError, match="needs reference observations, but none have been set"):
            evaluator.pin([genome]) or evaluator.submit({0: Episode(genome, 1, 0, 8)})
        found[kind] = {}
        for number, reference in enumerate(references):
            evaluator.set_reference(reference)
            evaluator.submit({number: Episode(genome, 1, 0, 160)})
        while len(found[kind]) < 2:
            found[kind] |= evaluator.receive(timeout=600)
        found[kind] = facts(found[kind]), evaluator.trace(Episode(genome, 1, 0, 80)).actions.tolist()
    assert found[NativeEvaluator] == found[BatchedEvaluator]
    with pytest.raises(
        NeurozooError, match=r"needs a reference batch of shape \(batch, 84, 84, 4\), but got one of shape"
    ):
        evaluator.set_reference(np.zeros((3, 20, 20, 4)))


def test_weights_are_the_native_engines_to_the_bit(engines, quick):
    native = engines(NativeEvaluator)
    long = Genome(9, tuple(Mutation(1000 * i + 7, 0.013) for i in range(20)))
    start = Genome(Weights.of(np.linspace(-1, 1, quick.layout.parameter_count)))
    for genomes in (
        [long, start, PARENTS[0], Genome(5)],
        [long.mutated(3, 0.002), start.mutated(8, -0.02), PARENTS[0], Genome(6)],
    ):
        native.pin(genomes)
        quick.pin(genomes)
        for genome in genomes:
            np.testing.assert_array_equal(
                quick.parameters(genome).view(np.int32), native.parameters(genome).view(np.int32)
            )


def test_a_recorded_episode_is_the_native_engines_and_the_one_that_slots_play(engines, quick):
    native = engines(NativeEvaluator)
    episode = Episode(PARENTS[1], 4, 2, 201)
    for evaluator in (native, quick):
        evaluator.pin(PARENTS)
    (result,) = play(quick, {0: episode}).values()
    here, there = quick.trace(episode), native.trace(episode)
    assert (result.score, result.steps) == (here.rewards.sum(), len(here.rewards))
    np.testing.assert_array_equal(here.planes, there.planes)
    np.testing.assert_array_equal(here.rewards, there.rewards)
    np.testing.assert_allclose(here.logits, there.logits, atol=1e-5)


# ---- lockstep


def test_nothing_is_compiled_again_as_episodes_end(engines, monkeypatch):
    from neurozoo.evaluation import slot_layers

    compilations = []
    original = slot_layers.run_network
    monkeypatch.setattr(slot_layers, "run_network", lambda *given: compilations.append(1) or original(*given))
    evaluator = engines(BatchedEvaluator, slots=6)  # no other test has 6, so that nothing is cached
    evaluator.pin(PARENTS)
    for _ in range(2):
        assert len(play(evaluator, families())) == 16
    assert len(compilations) == 1  # for both halves


def test_the_networks_of_one_half_are_computed_while_the_worlds_of_the_other_are_stepped(engines, monkeypatch):
    evaluator = engines(BatchedEvaluator, slots=4)
    evaluator.pin(PARENTS)
    play(evaluator, families())
    called, advanced, overlaps, change = {0: 0, 2: 0}, {0: 0, 2: 0}, [], threading.Condition()
    step_worlds, step_networks = WorldPool.advance, SlotNetworks.step
    half_of = {id(half.networks): half.first for half in evaluator._halves}

    def advance(self, first, outputs):
        with change:
            advanced[first] += 1
            # 20 steps and a reset for each half. The first half is one call ahead, until its last step.
            expected = min(21, advanced[first] + (first == 2))
            # Goes on only when the other half's networks are called meanwhile.
            overlaps.append(change.wait_for(lambda: called[2 - first] >= expected, timeout=600))
        return step_worlds(self, first, outputs)

    def step(self, *given):
        outputs = step_networks(self, *given)
        with change:
            called[half_of[id(self)]] += 1
            change.notify_all()
        return outputs

    monkeypatch.setattr(WorldPool, "advance", advance)
    monkeypatch.setattr(SlotNetworks, "step", step)
    play(evaluator, {n: Episode(PARENTS[n % 3], 1, 0, 80) for n in range(4)})
    assert overlaps == [True] * (2 * 21)


def test_both_halves_step_at_once_and_the_time_is_counted_once(engines, monkeypatch):
    evaluator = engines(BatchedEvaluator, slots=4)
    evaluator.pin(PARENTS)
    play(evaluator, families())  # compiles everything
    counted = evaluator.usage.world_seconds
    meeting, step_worlds = threading.Barrier(2, timeout=600), WorldPool.advance

    def advance(self, first, outputs):
        meeting.wait()  # until the other half is here, too
        time.sleep(0.01)
        return step_worlds(self, first, outputs)

    monkeypatch.setattr(WorldPool, "advance", advance)
    begin = time.perf_counter()
    play(evaluator, {n: Episode(PARENTS[0], 1, 0, 80) for n in range(4)})
    assert 21 * 0.01 < evaluator.usage.world_seconds - counted < time.perf_counter() - begin


def test_receive_ends_in_time_and_waits_if_nothing_is_queued(quick):
    quick.pin(PARENTS)
    begin = time.monotonic()
    assert quick.receive(timeout=0.3) == {}
    assert time.monotonic() - begin > 0.25
    quick.submit({7: Episode(PARENTS[0], 1, 0, 4000)})
    assert quick.receive(timeout=0.0) == {}
    assert set(quick.receive(timeout=600)) == {7}


def test_close_stops_running_episodes(engines):
    evaluator = engines(BatchedEvaluator, slots=2)
    evaluator.pin(PARENTS)
    evaluator.submit({0: Episode(PARENTS[0], 1, 0, 400_000)})
    assert evaluator.receive(timeout=0.0) == {}
    evaluator.close()
    evaluator.close()


# ---- errors


def test_an_exception_in_a_world_reaches_python_and_stays(engines, tmp_path, monkeypatch):
    # With sticky actions the ROM is loaded for every episode. Here it is gone by then.
    rom = tmp_path / "double_dunk.bin"
    shutil.copyfile(rom_path("double_dunk"), rom)
    monkeypatch.setattr("neurozoo.evaluation.native.rom_path", lambda game: rom)
    evaluator = engines(BatchedEvaluator, game="double_dunk", protocol="machado2018", slots=2)
    rom.unlink()
    evaluator.submit({1: Episode(Genome(1), 0, 0, 8)})
    for _ in range(2):
        with pytest.raises(NeurozooError, match=r"^The ROM .*double_dunk\.bin is missing\.$"):
            evaluator.receive(timeout=600)


@pytest.mark.parametrize(
    ("episode", "complaint"),
    [
        (Episode(Genome(2, (Mutation(3, 0.1),)), 1, 0, 100), "genome or its parent must be pinned first"),
        (Episode(Genome(Weights.of(np.zeros(1_008_450))), 1, 0, 100), "genome or its parent must be pinned first"),
        (Episode(Genome(249_000_000), 1, 0, 100), "index 249,000,000 lies outside the noise table"),
        (Episode(PARENTS[0].mutated(249_000_000, 0.1), 1, 0, 100), "index 249,000,000 lies outside the noise table"),
    ],
)
def test_an_episode_that_cannot_be_played_is_refused_and_none_of_its_batch_is_queued(quick, episode, complaint):
    quick.pin(PARENTS)
    with pytest.raises(NeurozooError, match=complaint):
        quick.submit({0: Episode(PARENTS[0], 1, 0, 8), 1: episode})
    assert quick.receive(timeout=0.1) == {}


def test_a_genome_that_does_not_fit_is_refused_and_the_pinned_ones_stay(quick):
    quick.pin(PARENTS)
    with pytest.raises(NeurozooError, match="lies outside the noise table"):
        quick.pin([Genome(249_000_000)])
    assert quick.parameters(PARENTS[2]).shape == (1_008_450,)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"slots": 3}, r"^The number of slots should be even and at least 2, but got 3\.$"),
        ({"threads": 0}, "needs at least 1 thread"),
        ({"behaviour": "final_position"}, "does not have the behaviour 'final_position'"),
        (
            {"slots": 100_000_000},
            r"^100000000 slots of network 'small' need .* are free on .*\. Use at most \d+ slots\.$",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(engines, changes, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        engines(BatchedEvaluator, **{"slots": 2, **changes})


def test_the_number_of_slots_that_would_fit_is_told_and_fits(engines, monkeypatch):
    layout = layout_of("frostbite", "large", protocol_of("frostbite"))
    # By hand: 4 bytes for each weight, two observations of 84 * 84 * 4, and 21 * 21 patches of 8 * 8 * 4.
    assert memory_needed(layout, 10) == 40 * (layout.parameter_count + 2 * 28_224 + 441 * 256)
    assert memory_needed(layout, 10, waiting=3) == memory_needed(layout, 10) + 12 * layout.parameter_count
    backend = type(make_backend())
    monkeypatch.setattr(backend, "free_bytes", lambda self: memory_needed(layout, 7, waiting=2))
    with pytest.raises(NeurozooError, match="Use at most 6 slots"):
        engines(BatchedEvaluator, model="large", slots=8)
    assert (
        "6 slots of network 'large' need about 0.1 of 0.2 GB"
        in engines(BatchedEvaluator, model="large", slots=6).announcement
    )


def test_other_backends_of_keras_are_refused(engines, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(NeurozooError, match="Keras with tensorflow or jax, but Keras uses torch"):
        engines(BatchedEvaluator, slots=2)


# ---- JAX

FEW = "qbert or recurrent_large_evolved"
ALL = "decisions or kind_of_layer or scores or compiled or computed_while"


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="this is the other backend")
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(FEW, id="some", marks=pytest.mark.long(seconds=15)),
        pytest.param(ALL, id="all", marks=pytest.mark.long(seconds=60)),
    ],
)
def test_what_depends_on_the_backend_holds_with_jax_too(tests):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "long or not long",
            "-k",
            tests,
            __file__,
        ],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert result.returncode == 0, result.stdout[-4000:]
    assert " passed" in result.stdout
