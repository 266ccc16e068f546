"""The core, all but the emulator, under sanitizers: threads, memory, undefined behaviour."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from neurozoo.games import layout_of, protocol_of
from neurozoo.native.build import SOURCES, find_compiler

CORE = ("block_sums", "changed_positions", "episode", "evaluator", "hard_maze", "held_genome", "network")
CORE += ("network_plan", "noise_table")
EPISODES = 1000


@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_evaluators_come_and_go_and_fail_without_a_complaint(tmp_path, sanitizer):
    layout = layout_of("hard_maze", "simple", protocol_of("hard_maze"))
    layout.plan().astype(np.int64).tofile(tmp_path / "plan")
    layout.plan_scales().astype(np.float32).tofile(tmp_path / "scales")
    np.random.default_rng(1).standard_normal(20_000).astype(np.float32).tofile(tmp_path / "noise")
    sources = [str(SOURCES / "core" / f"{name}.cc") for name in CORE] + [str(Path(__file__).with_name("stress.cc"))]
    options = ["-std=c++17", "-O1", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", f"-I{SOURCES}"]
    command = [find_compiler(), *options, *sources, "-o", str(tmp_path / "stress"), "-lpthread"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    inputs = [str(tmp_path / name) for name in ("plan", "scales", "noise")]
    run = subprocess.run([str(tmp_path / "stress"), *inputs, str(EPISODES)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]
    assert run.stdout == f"{EPISODES} episodes, 5 errors\n"
