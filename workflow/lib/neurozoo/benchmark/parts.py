"""The cost of a step's parts (emulator, preprocessing, forward pass), and the least they could cost."""

import math
import os
from typing import Any

import numpy as np

from neurozoo.agents.frozen_check import stacked
from neurozoo.benchmark.speed import Workload
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Trace
from neurozoo.evaluation.native import NativeEvaluator, make_world, starts_of
from neurozoo.evaluation.reference_batch import collect_reference
from neurozoo.native import load_core
from neurozoo.networks.chains import Layout
from neurozoo.networks.native_plan import native_plan, plan_scales

REPETITIONS = 3  # the fastest counts
COUNTED = 64  # observations per episode for which multiply-adds are counted


def measure_parts(
    workload: Workload, *, peak_multiply_adds: float, core: str | os.PathLike, noise: str | os.PathLike
) -> dict[str, Any]:
    """Records the episodes of a workload, and replays them part by part.

    `peak_multiply_adds` is the peak rate of one core, per second.

    Returns:
        The parts of one step on one core, in seconds of processor time.

    Raises:
        NeurozooError: A file is missing, or a replay differs from the recording.
    """
    layout = workload.layout
    reference = None
    if layout.needs_reference:
        reference = collect_reference(workload.game, workload.protocol, entropy=(0, 1))
    seconds = np.zeros(4)  # reset, play, observe, forward
    steps = frames = done = 0
    multiply_adds = 0.0
    for number in range(len(workload.episodes)):
        trace, theta = _record(workload, number, core=core, noise=noise, reference=reference)
        played, episode_frames = _time_world(workload, number, trace, core=core)
        forward, episode_done = _time_forward(layout, trace, theta, reference, core=core)
        seconds += [*played, forward]
        steps += len(trace.planes)
        frames += episode_frames
        done += episode_done
        multiply_adds += len(trace.planes) * count_multiply_adds(layout, theta, trace.planes, reference=reference)
    reset, play, observe, forward = seconds
    floor, done_floor = ((reset + play + count / peak_multiply_adds) / steps for count in (multiply_adds, done))
    return {
        "network": workload.network,
        "game": workload.game,
        "steps": steps,  # of the episodes
        "frames": frames,
        # The emulator alone, with the recorded actions, including resets; then the same as a speed.
        "emulator_microseconds_per_frame": 1e6 * (reset + play) / frames,
        "emulator_frames_per_second": frames / (reset + play),
        "reset_milliseconds": 1e3 * reset / len(workload.episodes),  # the start of an episode, including no-ops
        # From two screens to a plane of the observation, and from there to the outputs.
        "preprocessing_microseconds_per_step": 1e6 * observe / steps,
        "forward_microseconds_per_step": 1e6 * forward / steps,
        "forward_gigaflops": 2e-9 * done / forward,  # two operations for each multiply-add of the engine
        # Of a step that reuses nothing: all of the convolutions, and those of dense layers whose input is not zero.
        "multiply_adds_per_step": multiply_adds / steps,
        # The emulator's share of a step plus these multiply-adds at the core's peak rate; then the same as a speed.
        "floor_microseconds_per_step": 1e6 * floor,
        "floor_frames_per_second": frames / steps / floor,
        # The same with those of the engine, which skips inputs that have not changed since the step before.
        "done_multiply_adds_per_step": done / steps,
        "done_floor_microseconds_per_step": 1e6 * done_floor,
        "done_floor_frames_per_second": frames / steps / done_floor,
    }


def _record(workload: Workload, number: int, *, core, noise, reference) -> tuple[Trace, np.ndarray]:
    """Returns the trace of an episode, and the weights that played it."""
    episode = workload.episodes[number]
    with NativeEvaluator(
        core=core, noise=noise, layout=workload.layout, game=workload.game, protocol=workload.protocol
    ) as evaluator:
        if reference is not None:
            evaluator.set_reference(reference)
        evaluator.pin([episode.genome])
        return evaluator.trace(episode), evaluator.parameters(episode.genome)


def _time_world(workload: Workload, number: int, trace: Trace, *, core) -> tuple[np.ndarray, int]:
    """Returns processor seconds for reset, steps and observations, the fastest of each, and the number of frames."""
    native, starts = load_core(core), starts_of([workload.episodes[number]])

    def measure(observes: bool) -> tuple[np.ndarray, int]:
        world = make_world(native, workload.game, workload.protocol)
        seconds, frames, score = native.time_world(
            world=world, **starts, decisions=trace.actions, observes=observes, repetitions=REPETITIONS
        )
        if float(score) != float(trace.rewards.sum(dtype=np.float64)):
            raise NeurozooError(
                f"A replayed episode of {workload.game} differs from its recording: {float(score):g} points instead "
                f"of {float(trace.rewards.sum()):g}. Please report this, with the output of --json."
            )
        return seconds[:, :, 1].min(axis=0), int(frames)

    (reset, play, _), frames = measure(observes=False)
    return np.array([reset, play, measure(observes=True)[0][2]]), frames


def _time_forward(
    layout: Layout, trace: Trace, theta: np.ndarray, reference: np.ndarray | None, *, core
) -> tuple[float, int]:
    """Returns the processor seconds of all forward passes of an episode, and the number of multiply-adds done."""
    seconds, outputs, multiply_adds = load_core(core).time_forward(
        parameters=theta,
        reference=np.zeros(0, np.float32) if reference is None else reference,
        planes=trace.planes,
        plan=native_plan(layout),
        plan_scales=plan_scales(layout),
        repetitions=REPETITIONS,
    )
    if not np.array_equal(outputs, trace.logits):
        raise NeurozooError(
            f"The outputs of the network {layout.network.name} differ from those of the recorded episode. Please "
            "report this."
        )
    return float(seconds[:, 1].min()), int(multiply_adds)


def count_multiply_adds(
    layout: Layout, theta: np.ndarray, planes: np.ndarray, *, reference: np.ndarray | None = None
) -> float:
    """Counts the multiply-adds of a step that reuses nothing. Zero inputs of dense layers are left out.

    Convolutions count in full, with the zero padding around a picture. Channels of a gated layer count only in the
    cycles in which they take part. The count uses Keras, so it does not depend on the engine that it judges. Planes are
    those of a `Trace`.

    Returns:
        The mean over about `COUNTED` observations, evenly spaced.
    """
    import keras

    height, width, channels = planes.shape[1:]
    shape = ObservationShape(height, width, channels, stack=layout.observation_shape[2] // channels)
    observations = next(stacked(planes, len(planes), shape))[:: -(-len(planes) // COUNTED)]
    model = layout.keras_model(theta, reference)
    names = [placed.layer.name for placed in layout.layers]
    inner = keras.Model(model.inputs, [model.inputs[0], *(model.get_layer(name).output for name in names)])
    inputs = [np.asarray(values) for values in inner([observations])]  # of the first layer, the second, ...
    total = 0.0
    for placed, values in zip(layout.layers, inputs, strict=False):
        layer = placed.layer
        if layer.kind == "dense":
            total += np.count_nonzero(values) / len(observations) * placed.out_shape[2]
            continue
        cycles = np.full(placed.out_shape[2], layer.cycles)
        if layer.skip == "gated":
            cycles = placed.gate_cycles(layout.split(theta)[f"{layer.name}/gates"])
        positions, per_output = math.prod(placed.out_shape[:2]), placed.weight_count / placed.out_shape[2]
        total += positions * per_output * float(cycles.sum())
    return total
