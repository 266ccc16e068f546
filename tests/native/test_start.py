"""A job that plays, or learns in the core, starts at once: it imports nothing that only other jobs need."""

import pytest

# TensorFlow takes 4 seconds and 750 MB; pandas and Matplotlib half a second and 90 MB.
JOB = """
import re, sys
from neurozoo.__main__ import main
megabytes = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10
main(sys.argv[1:])
found = {"tensorflow", "keras", "jax", "pandas", "pyarrow", "matplotlib", "scipy"} & set(sys.modules)
print(megabytes, *found, file=sys.stderr)
"""
TRAIN = "train --algo ga --game hard_maze --model simple --run 1 --set frames=2000 --set population_size=4"
TRAIN += " --set selection_threshold=2 --set validation_threshold=1 --set num_test_episodes=1"


LEARN = "train --algo dqn --preset demo --game pong --model small --run 1 --set frames=40 --set epoch_steps=10"
LEARN += " --set learning_starts=0 --set num_test_episodes=1 --set test_cutoff=100"


@pytest.fixture(scope="module")
def play(core, python):
    """Runs a command; returns the memory of its imports in megabytes, and which heavy modules it has imported."""

    def run(words, *more):
        said = python(JOB, *words.split(), *more, "--core", core).stderr.splitlines()[-1].split()
        return int(said[0]), said[1:]

    return run


@pytest.mark.parametrize("command", ["train", "learn", "evaluate", "mazes"])
def test_a_job_that_plays_imports_little(play, small_noise_table, tmp_path, command):
    noise = ("--noise", small_noise_table)
    if command == "mazes":
        megabytes, heavy = play("mazes wall_follower --mazes 2")
    elif command == "learn":
        megabytes, heavy = play(LEARN, "--run-dir", tmp_path)
    else:
        megabytes, heavy = play(TRAIN, "--run-dir", tmp_path, *noise)
    if command == "evaluate":
        megabytes, heavy = play("evaluate --episodes 1 --genome", tmp_path, *noise)
    assert megabytes < 200
    assert heavy == []
