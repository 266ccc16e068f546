"""The cost of a step's parts."""

from dataclasses import replace

import numpy as np
import pytest
from neurozoo.benchmark.parts import count_multiply_adds, measure_parts
from neurozoo.benchmark.speed import make_workload
from neurozoo.errors import NeurozooError
from neurozoo.networks.chains import Layout, Network
from neurozoo.networks.layers import Layer


def layout_with(*layers, observation_shape=(4, 4, 1)):
    network = Network("tiny", (), (*layers, Layer("out", "dense", activation="linear")))
    return Layout(network, 2, observation_shape)


def test_dense_layers_count_what_is_not_zero_and_convolutions_everything():
    layout = layout_with(Layer("conv", "conv", 3, kernel=2, stride=2))
    theta = np.zeros(layout.parameter_count, np.float32)
    arrays = layout.split(theta)  # views
    arrays["conv/b"][:] = [1, -1, 0]  # the first channel is never zero, the second always
    arrays["conv/w"][..., 2] = 1  # the third where its patch is not empty
    planes = np.zeros((2, 4, 4, 1), np.float32)
    planes[1, 0, 3] = 1
    # 2 x 2 positions with 2 x 2 weights for 3 channels; then 4 values in the first observation and 5 in the second.
    assert count_multiply_adds(layout, theta, planes) == 4 * 4 * 3 + (4 + 5) / 2 * 2


def test_a_first_layer_that_is_dense_counts_the_pixels_that_are_not_black():
    layout = layout_with(observation_shape=(1, 1, 8))
    planes = np.array([[1, 0, 0, 5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 2]], np.float32).reshape(2, 1, 1, 8)
    theta = np.ones(layout.parameter_count, np.float32)
    assert count_multiply_adds(layout, theta, planes) == (2 + 1) / 2 * 2


@pytest.mark.parametrize(
    ("recurrence", "cycles"),
    [({"cycles": 3}, 3 + 3), ({"skip": "gated"}, 2 + 1)],  # of both channels; by their gates below
)
def test_recurrent_layers_count_the_cycles_of_their_channels(recurrence, cycles):
    layout = layout_with(Layer("loop", "recurrent_conv", kernel=3, **recurrence), observation_shape=(4, 4, 2))
    theta = np.zeros(layout.parameter_count, np.float32)
    if "skip" in recurrence:
        layout.split(theta)["loop/gates"][:] = [0.5, -0.25]  # of a width of 4
    planes = np.zeros((1, 4, 4, 2), np.float32)
    assert count_multiply_adds(layout, theta, planes) == 4 * 4 * 3 * 3 * 2 * cycles


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize("network", ["small", "virtual_bn"])
def test_the_parts_are_those_of_the_episodes_that_are_played(core, small_noise_table, network):
    workload = make_workload(network, "pong", noise=small_noise_table, frames=80)
    parts = measure_parts(workload, peak_multiply_adds=1e9, core=core, noise=small_noise_table)
    assert (parts["steps"], parts["frames"]) == (4 * 20, 4 * 80)  # no game of Pong is over after 80 frames
    resets = 4 * 1000 * parts["reset_milliseconds"]
    emulator = parts["emulator_microseconds_per_frame"] * parts["frames"]
    assert 0 < resets < emulator
    floor = emulator / parts["steps"] + parts["multiply_adds_per_step"] / 1e9 * 1e6
    assert parts["floor_microseconds_per_step"] == pytest.approx(floor)
    assert parts["floor_frames_per_second"] == pytest.approx(4e6 / floor)
    assert (
        0 < parts["done_multiply_adds_per_step"] <= parts["multiply_adds_per_step"] * 1.0001
    )  # Keras rounds otherwise
    assert parts["done_floor_frames_per_second"] >= parts["floor_frames_per_second"] * 0.9999
    rate = 2e-3 * parts["done_multiply_adds_per_step"] / parts["forward_microseconds_per_step"]
    assert parts["forward_gigaflops"] == pytest.approx(rate)
    assert parts["preprocessing_microseconds_per_step"] > 0


def test_the_workload_is_always_the_same_and_no_two_networks_of_it_are(small_noise_table):
    first, second = (make_workload("small", "pong", noise=small_noise_table) for _ in range(2))
    assert first == second
    assert len(set(first.parents)) == len(first.episodes)
    assert all(1 <= episode.noops <= 30 for episode in first.episodes)


def test_a_repetition_that_went_another_way_is_no_measurement(core, small_noise_table, monkeypatch):
    from neurozoo.benchmark import parts

    workload = make_workload("small", "pong", noise=small_noise_table, frames=40)
    record = parts._record

    def with_a_point_more(*arguments, **named):
        trace, theta = record(*arguments, **named)
        return replace(trace, rewards=trace.rewards + 1), theta

    monkeypatch.setattr(parts, "_record", with_a_point_more)
    with pytest.raises(NeurozooError, match="differs from its recording: 0 points instead of 10"):
        measure_parts(workload, peak_multiply_adds=1e9, core=core, noise=small_noise_table)
