"""What a run writes grows with its generations, not with their square."""

import shutil

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.session import EvolutionSession
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.records.run_log import iter_log
from neurozoo.training.clock import Clock
from neurozoo.training.reporting import RunReporter, log_record
from neurozoo.training.state import RunState

FEW, MANY = 60, 600
SETTINGS = {
    "population_size": 12, "selection_threshold": 4, "validation_threshold": 3, "num_validation_episodes": 1,
    "num_test_episodes": 1, "frames": 10**12,
}  # fmt: skip


def write_log(run_dir, generations):
    """Writes log, text log and state as training does; genomes grow by a mutation in every second generation."""
    protocol, clock = get_protocol("uber2018"), Clock()
    algorithm = GeneticAlgorithm(
        resolve_settings("ga", preset="demo", overrides=SETTINGS),
        entropy=(1,),
        layout=layout_of("frostbite", "large", protocol),
        noise=np.broadcast_to(np.float32(0), 250_000_000),
        protocol=protocol,
    )
    session = object.__new__(EvolutionSession)  # only its reports are wanted, and no engine
    session._printed_elite = None
    state = RunState(run_dir, identity={}, budget=10**12)
    reporter = RunReporter(
        kept=state.text_log, shown=run_dir / "train.log", budget=10**12, unit="frames", progress=0, title="growth",
        report_name="generation", fields=algorithm.fields, terminal="lines",
    )  # fmt: skip
    while algorithm.iteration < generations:
        record = None
        while record is None:
            episodes, length = algorithm.ask().episodes, algorithm.iteration / 2
            scores = [n / 100 - abs(len(e.genome.mutations) - length) for n, e in enumerate(episodes)]
            record = algorithm.tell([EpisodeResult(score, 500, 2000) for score in scores])
        report = session._make_report(record)
        clock.add(1.0, untimed=0.1, playing=0.8, processor=1.0)
        line = log_record(report, unit="frames", spent=clock.end_iteration(), clock=clock)
        state.report(line)
        reporter.report(line, report)
        state.save(algorithm.get_state(), clock.to_state(), algorithm.get_arrays(), progress=algorithm.frames)
    reporter.close()
    shutil.copyfile(state.log, run_dir / "log.jsonl")


@pytest.mark.long(seconds=8)
def test_logs_grow_with_the_number_of_generations_and_the_state_hardly(tmp_path):
    for generations in (FEW, MANY):
        write_log(tmp_path / str(generations), generations)

    def sizes(name):
        return [(tmp_path / str(count) / name).stat().st_size for count in (FEW, MANY)]

    for name in ("log.jsonl", "train.log", "state/log.jsonl", "state/train.log"):
        few, many = sizes(name)
        assert many < 1.15 * MANY / FEW * few  # with whole genomes: 2.4 times that
    few, many = sizes("state/state.json")
    assert many < few + 20_000  # the last mutations of some genomes, of which a block holds 256
    *_, last = records = list(iter_log(tmp_path / str(MANY) / "log.jsonl", with_genomes=True))
    assert len(records) == MANY
    assert len(last["TruncatedPopulationEliteSeeds"]) > MANY / 3
