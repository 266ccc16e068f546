"""Generators are judged by what hand-made levels are like."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from neurozoo.algorithms.quality_diversity.generator_settings import generator_settings
from neurozoo.environments.platformer.acceptance import judge, pipe_widths
from neurozoo.environments.platformer.generator import Generator
from neurozoo.environments.platformer.tiles import ALPHABET, PIPE

from .levels import level_of

PROJECT = Path(__file__).parents[4]


def test_pipes_are_as_wide_as_their_runs_in_rows():
    level = np.zeros((2, 16, 56), np.uint8)
    level[0, 3, 54:] = PIPE  # ends at the border, and the next row begins with one
    level[0, 4, 0] = PIPE
    level[1, 15, 10:13] = PIPE
    assert pipe_widths(level).tolist() == [2, 1, 3]
    assert len(pipe_widths(np.zeros((1, 16, 56), np.uint8))) == 0


def test_each_criterion_is_what_the_levels_say():
    every = level_of("".join(f"{tile}@{5 + number}-{5 + number}/0-0;" for number, tile in enumerate("*ygkrS!@%|o#")))
    every[13, 30:32] = PIPE
    every[13, 1], every[13, 54] = ALPHABET.index("M"), ALPHABET.index("F")
    found = judge(lambda solutions: np.repeat(every[None], len(solutions), axis=0), count=3)
    assert found["missing_tiles"] == ""
    assert found["whole_pipes"] == 1
    assert found["met"]["missing_tiles"]
    assert found["sky_percentiles"] == {"5": 12, "50": 12, "95": 12}
    assert not found["met"]["sky_percentiles"]
    assert not found["is_accepted"]
    # Half of these levels have a wall that nobody gets over, a third of the pipes is whole.
    wall = level_of("#@20-20/4-13")
    wall[13, 30:33] = wall[10, 40] = PIPE
    wall[9, 5:7] = PIPE
    found = judge(lambda solutions: np.stack([level_of(), wall] * (len(solutions) // 2)), count=2)
    assert (found["won"], found["whole_pipes"]) == (0.5, 0.3333)
    assert not found["met"]["won"]
    assert not found["met"]["whole_pipes"]
    assert set(found["missing_tiles"]) == set(ALPHABET) - set("-X#t")


@pytest.mark.long(seconds=9)
def test_the_generator_that_comes_with_the_project_is_accepted():
    shipped = PROJECT / "config/generators/platformer"
    written = json.loads(shipped.with_suffix(".json").read_text())
    assert written["settings"] == asdict(generator_settings("laptop", {}))
    record = written["acceptance"]
    assert record["is_accepted"]
    found = judge(Generator.read(shipped.with_suffix(".npz")).decode, count=1000, threads=2)
    assert found["is_accepted"]
    # Sums are rounded otherwise on other processors, which can change a tile.
    assert found["sky_percentiles"] == pytest.approx(record["sky_percentiles"], abs=2)
    assert found["won"] == pytest.approx(record["won"], abs=0.01)
