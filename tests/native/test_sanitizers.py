"""The core under sanitizers: threads, memory, undefined behaviour. And compiled by Clang."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import rom_path
from neurozoo.environments.protocols import protocol_of
from neurozoo.native.build import SOURCES, find_compiler
from neurozoo.native.processor import processor_flags
from neurozoo.networks.native_plan import native_plan, plan_scales

CORE = ("batch_norm", "block_sums", "changed_positions", "episode", "evaluator", "hard_maze", "held_genome")
CORE += tuple(
    f"learner/{name}" for name in ("bfloat16", "chain", "learner", "optimizer", "products_256", "q_learner", "winograd")
)
CORE += ("layer_kernels", "maze", "maze_episodes", "maze_network", "modular", "network", "network_plan", "noise_table")
CORE += ("recurrence", "worker_threads", "world_pool")
SANITIZERS = ("thread", "address,undefined")
# Otherwise `bfloat16` is empty; the program runs here only.
BFLOAT16 = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512bf16", "-mamx-tile", "-mamx-bf16")
BFLOAT16 = BFLOAT16 if "avx512_bf16" in processor_flags() else ()


def stress(folder, world, *, core, options, libraries=(), episodes, rom=(), compiler=None):
    """Compiles and runs the stress program; returns what it prints."""
    layout = layout_of(*world, protocol_of(world[0]))
    native_plan(layout).astype(np.int64).tofile(folder / "plan")
    plan_scales(layout).astype(np.float32).tofile(folder / "scales")
    np.random.default_rng(1).standard_normal(2_000_000, np.float32).tofile(folder / "noise")
    names = [*(f"core/{name}.cc" for name in core), "interface/functions.cc"]
    sources = [*(str(SOURCES / name) for name in names), str(Path(__file__).with_name("stress.cc"))]
    command = [
        compiler or find_compiler(),
        "-std=c++17",
        *options,
        f"-I{SOURCES}",
        *sources,
        "-o",
        str(folder / "stress"),
        *libraries,
        "-lpthread",
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    (folder / "known").write_text("leak:games/supported\n")  # the emulator library leaks 24 bytes per game
    inputs = [str(folder / name) for name in ("plan", "scales", "noise")]
    run = subprocess.run(
        [str(folder / "stress"), *inputs, str(episodes), *rom],
        env={"LSAN_OPTIONS": f"suppressions={folder / 'known'}:print_suppressions=0"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stdout


def under(sanitizer):
    return ["-O1", "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]


@pytest.mark.long(seconds=40)
@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no Clang: apt install clang")
def test_the_core_works_when_clang_compiles_it(tmp_path):
    """Clang takes other liberties with vectors in memory than GCC."""
    options = ["-O3", "-march=x86-64-v3", "-ffp-contract=fast"]
    printed = stress(tmp_path, ("hard_maze", "simple"), core=CORE, options=options, episodes=1000, compiler="clang++")
    assert printed == "1000 episodes, 10 pools, 10 errors, 2 sets of mazes, 0 vectors, 60 refused, 7 learners\n"


@pytest.mark.long(seconds=40)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_evaluators_and_pools_come_and_go_and_fail_without_a_complaint(tmp_path, sanitizer):
    options = [*under(sanitizer), *BFLOAT16]
    printed = stress(tmp_path, ("hard_maze", "simple"), core=CORE, options=options, episodes=1000)
    assert printed == "1000 episodes, 10 pools, 10 errors, 2 sets of mazes, 0 vectors, 60 refused, 7 learners\n"


@pytest.mark.long(seconds=240)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_the_same_with_the_emulator(tmp_path, core, sanitizer):
    """The emulator's own code is that of the built core, without a sanitizer."""
    build = core.parent / "build"
    library = build / "cmake" / "ale" / "src" / "ale" / "libale.a"
    if not library.exists():
        pytest.fail(f"{library} is missing; it stays where the core was built: make clean foundations", pytrace=False)
    (source,) = {path.parents[2] for path in build.glob("ale_py-*-*/src/ale/ale_interface.hpp")}
    printed = stress(
        tmp_path,
        ("frostbite", "small"),
        core=(*CORE, "ale_picture", "atari", "atari_vector", "emulator", "preprocessing"),
        options=[
            *under(sanitizer),
            *("-O2", "-march=x86-64-v3", "-DEMULATOR", f"-isystem{source / 'src'}", f"-isystem{library.parent}"),
        ],
        libraries=[str(library), "-lz"],
        episodes=100,
        rom=[str(rom_path("frostbite"))],
    )
    assert printed == "100 episodes, 10 pools, 10 errors, 2 sets of mazes, 4 vectors, 60 refused, 7 learners\n"
