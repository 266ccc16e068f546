"""What a run writes grows with its generations, not with their square."""

import sys
from pathlib import Path

import pytest
from neurozoo.records.run_log import iter_log

FEW, MANY = 60, 600


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of a short and of a long run whose genomes grow."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    from synthetic_results import write_log

    folder = tmp_path_factory.mktemp("growth")
    for generations in (FEW, MANY):
        write_log(folder / str(generations), generations)
    return folder


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize("name", ["log.jsonl", "train.log", "state/log.jsonl", "state/train.log"])
def test_logs_grow_with_the_number_of_generations(runs, name):
    few, many = ((runs / str(count) / name).stat().st_size for count in (FEW, MANY))
    assert many < 1.15 * MANY / FEW * few  # with whole genomes: 2.4 times that


def test_the_state_hardly_grows(runs):
    few, many = ((runs / str(count) / "state/state.json").stat().st_size for count in (FEW, MANY))
    assert many < few + 20_000  # the last mutations of some genomes, of which a block holds 256


def test_the_long_run_has_long_genomes(runs):
    lengths = [
        len(record["TruncatedPopulationEliteSeeds"])
        for record in iter_log(runs / str(MANY) / "log.jsonl", with_genomes=True)
    ]
    assert len(lengths) == MANY
    assert lengths[-1] > MANY / 3
