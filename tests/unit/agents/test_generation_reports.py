import json

import numpy as np
import pytest
from neurozoo.agents.freeze import freeze_run
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.generation_reports import read_reports, reports_of
from neurozoo.environments.game_networks import layout_of
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.records.genome_changes import as_changes

LOG = [
    {"Iteration": 1, "frames": 100, "TruncatedPopulationEliteSeeds": [5], "TruncatedPopulationEliteTestRewMean": 2.5},
    {
        "Iteration": 2,
        "frames": 200,
        "TruncatedPopulationEliteSeeds": [5, [7, 0.01]],
        "TruncatedPopulationEliteValidationRewMean": 3.0,
        "TruncatedPopulationEliteTestRewMean": 2.0,
    },
]


def write_log(folder, records=LOG, name="log.jsonl"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_report_gives_the_elite_and_its_scores(tmp_path):
    write_log(tmp_path)
    first, report = reports_of(tmp_path, [1, 2])
    assert report.genome == Genome(5, (Mutation(7, 0.01),))
    assert report.scores == {"validation_score": 3.0, "test_score": 2.0, "iteration": 2, "frames": 200}
    assert report.score == 3.0
    assert first.score == 2.5


def test_a_finished_run_that_is_continued_has_its_new_reports(tmp_path):
    write_log(tmp_path, LOG[:1])
    write_log(tmp_path, LOG, "state/log.jsonl")
    assert list(read_reports(tmp_path)) == [1, 2]


def test_a_log_of_what_is_new_gives_the_same_elites(tmp_path):
    (tmp_path / "old").mkdir()
    write_log(tmp_path / "old")
    write_log(tmp_path, [LOG[0], as_changes(LOG[1], LOG[0])])
    assert "keeps" in (tmp_path / "log.jsonl").read_text()
    assert reports_of(tmp_path, [2, 1]) == reports_of(tmp_path / "old", [2, 1])


@pytest.mark.parametrize("generation", [0, 3, -1])
def test_a_generation_that_is_not_there_is_refused(tmp_path, generation):
    write_log(tmp_path)
    with pytest.raises(NeurozooError, match=f"has no generation {generation}. Its generations: 1 to 2"):
        reports_of(tmp_path, [generation])


def test_a_run_without_genomes_of_its_generations_says_so(tmp_path):
    write_log(tmp_path, [{"Iteration": 1, "frames": 100}])
    with pytest.raises(NeurozooError, match=r"has no genome for generation 1: .* The run's result can be frozen"):
        reports_of(tmp_path, [1])


@pytest.mark.parametrize("text", ["{", "[]\n", '{"frames": 1}\n', '{"Iteration": "one"}\n'])
def test_a_damaged_log_is_refused(tmp_path, text):
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(NeurozooError, match=r"log\.jsonl holds no finished report"):
        read_reports(tmp_path)
    (tmp_path / "log.jsonl").write_text(text.strip() + "\n" + json.dumps(LOG[0]) + "\n")
    with pytest.raises(NeurozooError, match=r"log\.jsonl is damaged: line 1 .* Restore the file from a copy"):
        read_reports(tmp_path)


@pytest.mark.parametrize("tail", ['{"Iteration": 3, "frames": 30', "\0\0\0\0", "\n\n"])
def test_a_report_that_is_being_written_is_left_out(tmp_path, tail):
    write_log(tmp_path)
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write(tail)
    assert list(read_reports(tmp_path)) == [1, 2]


@pytest.fixture
def run_dir(small_noise_table, tmp_path):
    """A run of two generations; its result is the first one's elite."""
    from neurozoo.agents.genome_import import import_genome

    folder = import_genome("[5]", noise=small_noise_table, game="breakout", model="small", run_dir=tmp_path / "run")
    write_log(folder)
    return folder


def test_a_generation_is_frozen_beside_the_result(run_dir, core, small_noise_table):
    assert freeze_run(run_dir, core=core, noise=small_noise_table, generation=2)["steps"] > 0
    second = open_frozen(run_dir / "generations" / "2" / "frozen")
    assert (second.generation, second.title) == (2, "imported/breakout/small/1, generation 2")
    layout = layout_of("breakout", "small", second.protocol)
    theta = decode(Genome(5, (Mutation(7, 0.01),)), noise=open_noise_table(small_noise_table), layout=layout)
    weights = second.load_keras().get_layer("conv1").get_weights()[0]
    np.testing.assert_array_equal(weights, layout.split(theta)["conv1/w"])
    record = json.loads((second.folder / "model.json").read_text())
    assert record["scores"] == {"validation_score": 3.0, "test_score": 2.0, "iteration": 2, "frames": 200}
