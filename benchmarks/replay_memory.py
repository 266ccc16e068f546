"""Measures the replay memory of deep Q-learning: the time to append and to sample, and the memory it really occupies.

    python benchmarks/replay_memory.py                     1,000,000 screens of 8 environments, in memory
    python benchmarks/replay_memory.py --folder FOLDER     in files (7.1 GB) in FOLDER, deleted afterwards
    python benchmarks/replay_memory.py --screens 200000

Times are processor times (user and system), because other load disturbs them least; the median of several rounds.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.algorithms.dqn.replay import Replay

WORLDS = 8
BATCH = 32
ROUNDS = 9
REPEATS = 200


def resident() -> float:
    """Returns the bytes of main memory that this process occupies."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


def microseconds(function, repeats: int = REPEATS) -> float:
    """Returns the processor time of one call, the median of several rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            function()
        times.append((time.process_time() - start) / repeats)
    return 1e6 * float(np.median(times))


def measure(screens: int, folder: Path | None, *, steps: int, prioritised: bool) -> None:
    """Fills a replay memory, overwrites its oldest rows, draws samples, and prints one line."""
    random = np.random.default_rng(0)
    before = resident()
    replay = Replay(
        capacity=screens, worlds=WORLDS, windows="padded", steps=steps, prioritised=prioritised, folder=folder
    )
    worlds = np.arange(WORLDS)
    planes = random.integers(256, size=(WORLDS, 84, 84), dtype=np.uint8)
    replay.begin(worlds, planes)

    def append():
        replay.append(worlds, worlds, worlds, planes, random.random(WORLDS) < 0.01)

    start = time.process_time()
    for _ in range(screens // WORLDS):
        append()
    filling = 1e6 * (time.process_time() - start) / (screens // WORLDS)
    sample = replay.sample(BATCH, random)
    row = [
        replay.announcement.split("(")[0],
        f"n = {steps}{', prioritised' if prioritised else ''}: ",
        f"{(resident() - before) / 1e9:.2f} GB resident, append {filling:.0f} us at first, ",
        f"{microseconds(append):.0f} us later, ",
        f"sample {microseconds(lambda: replay.sample(BATCH, random)):.0f} us",
    ]
    if prioritised:

        def learn():
            rows = replay.sample(BATCH, random).rows
            replay.update(rows, random.normal(size=len(rows)))

        row.append(f", sample and update {microseconds(learn):.0f} us")
    if folder is not None:
        start = time.perf_counter()
        replay.flush()
        row.append(f", flushing everything {time.perf_counter() - start:.1f} s")
    gathering = microseconds(lambda: sample.screens.copy())
    print("".join(row) + f" (copying a batch: {gathering:.0f} us)", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screens", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    for n, is_prioritised in ((1, False), (3, True)):
        if arguments.folder is None:
            measure(arguments.screens, None, steps=n, prioritised=is_prioritised)
            continue
        with tempfile.TemporaryDirectory(dir=arguments.folder) as temporary:
            measure(arguments.screens, Path(temporary), steps=n, prioritised=is_prioritised)
