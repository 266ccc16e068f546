"""The core's functions for benchmarks: they repeat the recorded episode and check their inputs."""

from dataclasses import replace

import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import make_world
from neurozoo.genomes.genome import Genome
from neurozoo.native import load_core
from neurozoo.networks.native_plan import native_plan, plan_scales

PUBLISHED = protocol_of("frostbite", "uber2018")
PROTOCOLS = {
    "published": PUBLISHED,
    "sticky": protocol_of("frostbite", "machado2018"),
    "steps of 2 to 4 frames": replace(PUBLISHED, least_frame_skip=2),
}


def time_world(core, protocol, decisions, *, observes=True, repetitions=1, max_frames=400):
    native = load_core(core)
    return native.time_world(
        world=make_world(native, "frostbite", protocol),
        noops=7,
        seeds=3,
        max_frames=max_frames,
        decisions=decisions,
        observes=observes,
        repetitions=repetitions,
    )


def time_forward(core, layout, *, parameters=None, planes=None, repetitions=1):
    size = layout.parameter_count
    return load_core(core).time_forward(
        parameters=np.zeros(size) if parameters is None else parameters,
        reference=[],
        planes=np.zeros((1, 84, 84, 1)) if planes is None else planes,
        plan=native_plan(layout),
        plan_scales=plan_scales(layout),
        repetitions=repetitions,
    )


@pytest.mark.parametrize("observes", [True, False])
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_an_episode_is_repeated_from_its_decisions(core, evaluators, protocol, observes):
    evaluator = evaluators(game="frostbite", model="small", protocol=protocol)
    genome = Genome(12_345)
    evaluator.pin([genome])
    trace = evaluator.trace(Episode(genome, noops=7, seed=3, max_frames=400))
    seconds, frames, score = time_world(core, protocol, trace.actions, observes=observes, repetitions=2)
    assert float(score) == trace.rewards.sum()
    assert int(frames) == 400
    wall, processor = np.moveaxis(seconds, 2, 0)
    assert wall.shape == processor.shape == (2, 3)  # start, steps, observations
    assert np.all(wall[:, :2] > 0)
    assert np.all(processor[:, :2] > 0)
    assert np.all((wall[:, 2] > 0) == observes)


def test_no_more_frames_are_repeated_than_the_episode_may_have(core):
    _, frames, _ = time_world(core, PUBLISHED, [0] * 5, max_frames=18)
    assert int(frames) == 18  # 4 * 4 + 2


def test_what_is_counted_is_1_at_least(core):
    with pytest.raises(NeurozooError, match=r"^repetitions should be at least 1, but is 0\.$"):
        time_world(core, PUBLISHED, [0], repetitions=0)
    with pytest.raises(NeurozooError, match=r"^num_threads should be at least 1, but is -1\.$"):
        load_core(core).measure_read_bandwidth(num_threads=-1)


@pytest.mark.parametrize("decision", [-1, 18])
def test_a_decision_that_the_game_does_not_have_is_refused(core, decision):
    with pytest.raises(NeurozooError, match=rf"^Action {decision} does not exist; the game has 18\.$"):
        time_world(core, PUBLISHED, [0, decision])


def test_the_network_answers_as_in_the_episode_in_every_repetition(core, evaluators):
    evaluator = evaluators(game="frostbite", model="small")
    genome = Genome(12_345)
    evaluator.pin([genome])
    trace = evaluator.trace(Episode(genome, noops=7, seed=3, max_frames=200))
    layout = layout_of("frostbite", "small", PUBLISHED)
    for repetitions in (1, 3):
        seconds, outputs, *_ = time_forward(
            core, layout, parameters=evaluator.parameters(genome), planes=trace.planes, repetitions=repetitions
        )
        np.testing.assert_array_equal(outputs, trace.logits)
        assert seconds.shape == (repetitions, 2)
        assert np.all(seconds > 0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"parameters": np.zeros(3, np.float32)}, "Input parameters should have [0-9]+ values, but has 3"),
        ({"planes": np.zeros((1, 84, 42, 1), np.float32)}, r"shape \[1,84,42,1\]"),
        ({"planes": np.zeros((1, 84, 84, 3), np.float32)}, r"shape \[1,84,84,3\]"),  # 4 channels are no multiple of 3
        ({"planes": np.zeros((84, 84), np.float32)}, r"shape \[84,84\]"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(core, wrong, sentence):
    layout = layout_of("frostbite", "small", PUBLISHED)
    with pytest.raises(NeurozooError, match=sentence):
        time_forward(core, layout, **wrong)
