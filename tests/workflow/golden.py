"""Short runs of every kind of learner, and the hashes of their results: `make golden` renews them.

A hash covers the bytes of an array, or records as JSON; never a container or the name of a key, so that the layout of a
file may change. Time fields of the log are left out.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from neurozoo.records.run_log import read_log

PROJECT = Path(__file__).parents[2]
HASHES = PROJECT / "tests" / "data" / "golden.json"
_TINY = ("population_size=6", "num_test_episodes=2", "episode_cutoff_mode=40")
# The settings of each run; budgets are about three generations or epochs.
RUNS = {
    "ga/frostbite/small/1": (*_TINY, "selection_threshold=3", "validation_threshold=2", "frames=4500"),
    "es/frostbite/small/2": (*_TINY, "frames=3000", "tied_ranks=order"),
    "nsra_es/river_crossing/river_test/1": (*_TINY, "frames=500", "tied_ranks=order"),
    "dqn/pong/small/1": (
        *("learning_starts=64", "epoch_steps=128", "num_test_episodes=1", "test_cutoff=30", "batch_size=8"),
        *("replay_size=800", "frames=1600"),
    ),
    "impala/pong/impala_shallow_lstm/1": ("epoch_steps=160", "num_test_episodes=1", "test_cutoff=30", "frames=1600"),
    "map_elites/maze/plain/1": ("evaluations=300", "num_episodes=10", "num_emitters=2"),
    "dsage/maze/full/1": (
        *("evaluations=60", "num_episodes=5", "initial_solutions=40", "inner_iterations=4", "batch_size=10"),
        *("num_emitters=2", "initial_population=10", "channels=4", "occupancy_channels=4", "train_epochs=4"),
    ),
}


def train(run: str, folder: Path, *, library: Path = PROJECT / "workflow" / "lib", threads: int = 2) -> None:
    """Trains one of `RUNS` in a process of its own, as a user would."""
    algo, game, model, number = run.split("/")
    words = ["--algo", algo, "--game", game, "--model", model, "--run", number, "--threads", str(threads)]
    settings = [word for setting in RUNS[run] for word in ("--set", setting)]
    subprocess.run(
        [sys.executable, "-m", "neurozoo", "train", *words, *settings, "--run-dir", str(folder)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(library), "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def hashes(run_dir: Path) -> dict[str, str]:
    """Returns the hashes of a run's weights or of its archive's arrays, of its genome and of its log."""
    result = next(run_dir / name for name in ("checkpoint.npz", "archive.npz") if (run_dir / name).exists())
    with np.load(result, allow_pickle=False) as arrays:
        weights = sorted(_hash_of_array(arrays[name]) for name in arrays if arrays[name].dtype.kind != "U")
    genome = json.loads((run_dir / "genome.json").read_text()) if (run_dir / "genome.json").exists() else {}
    records = read_log(run_dir / "log.jsonl")  # complete, however the log holds them
    timeless = [{name: value for name, value in record.items() if not _is_about_time(name)} for record in records]
    return {"weights": _hash_of(weights), "genome": _hash_of(genome.get("genome")), "log": _hash_of(timeless)}


def processor() -> str:
    """Returns the kind of the processor, on which sums of floating-point numbers depend: names stand for several."""
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    lines = [line.partition(":") for line in cpu.partition("\n\n")[0].splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in lines}
    found = [facts[name] for name in ("model name", "cpu family", "model") if name in facts]
    return ", ".join(found) or platform.processor()


def _hash_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _hash_of_array(array: np.ndarray) -> str:
    return hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).hexdigest()


def _is_about_time(name: str) -> bool:
    words = (
        *("TimeElapsed", "ProcessorTime", "Overhead", "PerSecond", "per_second"),
        *("seconds", "_time", "_per_s", "wait_data_share"),
    )
    return any(word in name for word in words)


def main(folder: str) -> None:
    """Trains all runs in a folder, from the start, and writes their hashes."""
    shutil.rmtree(folder, ignore_errors=True)
    found = {}
    for run in RUNS:
        train(run, Path(folder) / run)
        found[run] = hashes(Path(folder) / run)
    HASHES.write_text(json.dumps({"processor": processor(), "runs": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
