"""A small C++ program that plays the native environments without TensorFlow and without an emulator."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[2] / "native"


class NativeEpisode(NamedTuple):
    planes: np.ndarray  # (steps + 1, *plane)
    rewards: np.ndarray
    frames: np.ndarray
    is_over: np.ndarray
    final_positions: np.ndarray


@pytest.fixture(scope="session")
def world_driver(tmp_path_factory) -> Path:
    """The compiled program, with the flags of native/CMakeLists.txt."""
    program = tmp_path_factory.mktemp("native") / "world_driver"
    sources = [HERE / "world_driver.cc", NATIVE / "core/river_crossing.cc", NATIVE / "core/hard_maze.cc"]
    flags = ["-std=c++17", "-O2", "-march=x86-64-v3", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-I", NATIVE]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, *sources, "-o", program], check=True, timeout=300)
    return program


@pytest.fixture
def play_natively(world_driver):
    """Plays an episode in C++: `play_natively(protocol, outputs, shape, seed=, max_frames=)`."""

    def play(protocol, outputs, shape, *, seed=0, max_frames=10**9) -> NativeEpisode:
        command = [world_driver, protocol.world, seed, max_frames, protocol.rules, protocol.observation]
        stdin = np.asarray(outputs, np.float32).tobytes()
        record = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, check=True).stdout
        plane = np.dtype(("<f4", shape.plane))
        step = np.dtype([("reward", "<f8"), ("frames", "<i8"), ("is_over", "<i8"), ("plane", plane)])
        steps = np.frombuffer(record, step, len(outputs), offset=plane.itemsize)
        first = np.frombuffer(record, plane, 1)
        positions = np.frombuffer(record, "<f4", offset=plane.itemsize + steps.nbytes)
        planes = np.concatenate([first, steps["plane"]])
        return NativeEpisode(planes, steps["reward"], steps["frames"], steps["is_over"], positions)

    return play
