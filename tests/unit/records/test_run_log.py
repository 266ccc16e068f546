import csv
import json
import tracemalloc
from datetime import datetime
from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.genome_changes import as_changes
from neurozoo.records.published_log import GA_FIELDS, format_table, stamped
from neurozoo.records.run_log import check_whole, current_log, iter_backwards, parse_log, read_last_complete, read_log

SAMPLES = Path(__file__).parents[2] / "data" / "logs"
IDENTITY = {"algo": "ga", "game": "frostbite", "model": "large", "run": 3, "protocol": "uber2018"}
GENOMES = [[163570948], [163570948, [80914285, 0.002]], [163570948, [80914285, 0.002], [9131717, 0.002]]]


def parsed(log, tmp_path, columns=None):
    parse_log(log, tmp_path / "metrics.csv", identity=IDENTITY, columns=columns)
    with open(tmp_path / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def report(iteration, **more):
    return {
        "format": 1, "frames": 4000 * iteration, "score": 10.125, "test_score": 9.5, "test_episodes": 200,
        "Iteration": iteration,
        "TruncatedPopulationEliteSeeds": [1, [2, 0.002]], **more,
    }  # fmt: skip


def written(tmp_path, *records, tail=""):
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records) + tail)
    return log


def test_json_lines_become_one_row_per_report_at_full_precision(tmp_path):
    third = 1 / 3
    rows = parsed(written(tmp_path, report(1), report(2, MutationPower=third)), tmp_path)
    identity = ["algo", "game", "model", "run", "protocol"]
    assert list(rows[0])[:10] == [*identity, "frames", "score", "test_score", "score_episodes", "test_episodes"]
    assert (rows[0]["score_episodes"], rows[0]["test_episodes"]) == ("", "200")
    assert [row["frames"] for row in rows] == ["4000", "8000"]
    assert rows[0]["run"] == "3"
    assert rows[0]["protocol"] == "uber2018"
    assert rows[0]["MutationPower"] == ""  # the field is missing in this report; the row stays aligned
    assert float(rows[1]["MutationPower"]) == third
    assert "TruncatedPopulationEliteSeeds" not in rows[1]  # the genome of every generation, only where asked for


def test_only_the_chosen_fields_are_kept_in_their_order(tmp_path):
    rows = parsed(written(tmp_path, report(1)), tmp_path, columns=["TimeElapsed", "Iteration"])
    assert list(rows[0])[10:] == ["TimeElapsed", "Iteration"]
    assert (rows[0]["TimeElapsed"], rows[0]["Iteration"]) == ("", "1")


def test_an_unknown_field_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(NeurozooError, match="'TimestepSoFar' is unknown; did you mean 'TimestepsSoFar'"):
        parsed(written(tmp_path, report(1)), tmp_path, columns=["TimestepSoFar"])
    assert not (tmp_path / "metrics.csv").exists()


LONG = [1, *([10**8 + number, 0.002] for number in range(3000))]


def long_log(tmp_path, generations):
    """A log in which every elite is a child of the one before."""
    reports = [report(number, TruncatedPopulationEliteSeeds=LONG[:number]) for number in range(1, generations + 1)]
    pairs = zip(reports, [None, *reports], strict=False)
    return written(tmp_path, *(as_changes(now, before) for now, before in pairs))


def test_genomes_are_put_together_from_what_the_log_says_is_new(tmp_path):
    log = long_log(tmp_path, 30)
    assert log.stat().st_size < 30 * 250
    assert [record["TruncatedPopulationEliteSeeds"] for record in read_log(log)] == [LONG[:n] for n in range(1, 31)]
    rows = parsed(log, tmp_path, columns=["TruncatedPopulationEliteSeeds"])
    assert json.loads(rows[-1]["TruncatedPopulationEliteSeeds"]) == LONG[:30]
    assert read_last_complete(log)["TruncatedPopulationEliteSeeds"] == LONG[:30]


def test_a_log_of_another_format_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(NeurozooError, match=r"log\.jsonl has format 7, but this version reads format 1\. Make"):
        read_log(written(tmp_path, report(1) | {"format": 7}))


def test_a_log_that_was_cut_off_is_not_whole(tmp_path):
    log = written(tmp_path, report(1), report(2))
    check_whole(log)
    log.write_bytes(log.read_bytes().rstrip())  # as an editor may save it
    check_whole(log)
    log.write_bytes(log.read_bytes()[:-5])
    with pytest.raises(NeurozooError, match=r"cut off, so its last report is missing. Copy .*state/log.jsonl over it"):
        check_whole(log)


def test_a_change_that_continues_no_report_is_damage(tmp_path):
    orphan = report(1, TruncatedPopulationEliteSeeds={"keeps": 3, "adds": []})
    with pytest.raises(NeurozooError, match="line 1 should be a report"):
        read_log(written(tmp_path, orphan, report(2)))


def test_the_memory_of_parsing_does_not_grow_with_the_log(tmp_path):
    peaks = []
    for generations in (300, 3000):
        log = long_log(tmp_path, generations)
        tracemalloc.start()
        parse_log(log, tmp_path / "metrics.csv", identity=IDENTITY)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (tmp_path / "metrics.csv").read_text().count("\n") == generations + 1
    # The last genome is there, whose entries are 100 bytes longer than those of the first log's.
    assert peaks[1] < peaks[0] + 2700 * 400


def test_nan_becomes_an_empty_cell(tmp_path):
    assert parsed(written(tmp_path, report(1, score=float("nan"))), tmp_path)[0]["score"] == ""


@pytest.mark.parametrize("tail", ['{"frames": 12000, "sc', "{", '{"frames": 1', "\0\0\0\0"])
def test_a_last_line_that_was_cut_off_is_forgiven(tmp_path, tail):
    assert [record["Iteration"] for record in read_log(written(tmp_path, report(1), report(2), tail=tail))] == [1, 2]


def test_damage_before_the_last_line_is_named(tmp_path):
    log = written(tmp_path, report(1), tail='{"frames": 12000, "sc\n' + json.dumps(report(3)) + "\n")
    with pytest.raises(NeurozooError, match="line 2 should be a report"):
        read_log(log)


@pytest.mark.parametrize("content", ["", "\n\n", "nothing of the kind\n", '{"frames": 1', "\xff\x00"])
def test_a_log_without_a_report_says_what_was_expected(tmp_path, content):
    (tmp_path / "log").write_text(content, encoding="latin-1")
    with pytest.raises(NeurozooError, match="holds no finished report: neither JSON lines nor a table"):
        read_log(tmp_path / "log")


def test_a_missing_log_says_so(tmp_path):
    with pytest.raises(NeurozooError, match="is missing; a run's log was expected there"):
        read_log(tmp_path / "log.jsonl")


def test_the_gpu_codes_log_keeps_every_finished_generation_and_restores_names_and_genomes():
    records = read_log(SAMPLES / "gpu_ga.txt")
    assert [record["Iteration"] for record in records] == [1, 2, 3]  # the fourth table is cut off
    assert set(records[0]) == {*GA_FIELDS, "frames", "score", "test_score", "score_episodes", "test_episodes"}
    assert [(record["score_episodes"], record["test_episodes"]) for record in records] == [(None, 200)] * 3
    assert [record["TruncatedPopulationEliteSeeds"] for record in records] == GENOMES
    assert [record["frames"] for record in records] == [4 * 401_000, 4 * 802_000, 4 * 1_200_000]  # of three digits
    assert [record["score"] for record in records] == [160, 200, 210]
    # The third elite's 250 does not count: the mean over all validated individuals fell from 180 (180.5) to 179.
    assert [record["test_score"] for record in records] == [170, 190, 190]


def test_a_field_missing_in_one_generation_leaves_an_empty_cell_there_only(tmp_path):
    rows = parsed(SAMPLES / "gpu_ga.txt", tmp_path)
    assert [row["PopulationEpRewMean"] for row in rows] == ["102", "", "102"]
    assert [row["TimeElapsedTotal"] for row in rows] == ["390", "780", "1170.0"]


def test_the_distributed_codes_log_takes_the_iteration_from_its_headings():
    records = read_log(SAMPLES / "distributed_ga.txt")
    assert [record["Iteration"] for record in records] == [0, 1]
    assert [record["frames"] for record in records] == [8_200_000, 16_400_000]
    assert [(record["score"], record["test_score"]) for record in records] == [(None, None), (101, 101)]
    assert records[1]["EpRewMax"] == 1610


def test_windows_line_ends_change_nothing(tmp_path):
    text = (SAMPLES / "gpu_ga.txt").read_text()
    (tmp_path / "log.txt").write_bytes(text.replace("\n", "\r\n").encode())
    assert read_log(tmp_path / "log.txt") == read_log(SAMPLES / "gpu_ga.txt")


def test_what_the_trainer_writes_for_people_reads_as_a_published_log(tmp_path):
    now = datetime(2026, 11, 20, 21, 0)
    text = stamped("Start timing", now=now)
    for number, genome in enumerate(GENOMES, start=1):
        fields = dict.fromkeys(GA_FIELDS, 7) | {"Iteration": number, "TruncatedPopulationEliteSeeds": genome}
        elite = str(tuple(tuple(gene) if isinstance(gene, list) else gene for gene in genome))
        text += format_table(fields, now=now) + stamped(f"Current elite: {elite}", now=now)
    (tmp_path / "train.log").write_text(text)
    records = read_log(tmp_path / "train.log")
    assert [record["TruncatedPopulationEliteSeeds"] for record in records] == GENOMES
    assert [record["Iteration"] for record in records] == [1, 2, 3]
    assert records[0]["frames"] == 28


def tables(*iterations):
    now = datetime(2026, 11, 20, 21, 0)
    return "".join(format_table({"Iteration": i, "TimestepsSoFar": 5}, now=now) for i in iterations)


def test_iterations_from_1000_on_get_their_lost_digits_back(tmp_path):
    (tmp_path / "log.txt").write_text(tables(*range(1, 1213)))
    assert [record["Iteration"] for record in read_log(tmp_path / "log.txt")] == list(range(1, 1213))


def test_iterations_repeated_after_a_restart_replace_the_first_attempt(tmp_path):
    (tmp_path / "log.txt").write_text(tables(1, 2, 3, 4) + tables(3, 4, 5))
    assert [record["Iteration"] for record in read_log(tmp_path / "log.txt")] == [1, 2, 3, 4, 5]


def test_whole_numbers_from_1000_on_are_exact_when_they_are_repeated(tmp_path):
    text = (SAMPLES / "distributed_ga.txt").read_text()
    late = text.replace("Iteration 0", "Iteration 1005").replace("Iteration 1 ", "Iteration 1006 ")
    (tmp_path / "log.txt").write_text(late + late)
    assert [record["Iteration"] for record in read_log(tmp_path / "log.txt")] == [1005, 1006]


def test_a_damaged_number_in_a_table_costs_that_cell_only(tmp_path):
    (tmp_path / "log.txt").write_text(tables(1, 2, 3).replace("|  2  ", "|  2x ").replace("|  5  ", "|  5y ", 1))
    records = read_log(tmp_path / "log.txt")
    assert [record["Iteration"] for record in records] == [1, None, 3]
    assert [record["frames"] for record in records] == [None, 20, 20]


def test_frames_of_a_published_log_follow_from_the_protocol(tmp_path):
    identity = IDENTITY | {"game": "river_crossing", "protocol": "river_fixed"}
    frames = []
    for changed in (IDENTITY, identity, IDENTITY | {"protocol": "unknown"}):
        parse_log(SAMPLES / "gpu_ga.txt", tmp_path / "metrics.csv", identity=changed)
        with open(tmp_path / "metrics.csv", newline="") as file:
            frames.append(next(csv.DictReader(file))["frames"])
    assert frames == ["1604000", "401000", "1604000"]  # one frame per step in the river crossing task, else four


def test_what_makes_a_run_comparable_is_in_every_row(tmp_path):
    facts = {"settings": "0123456789ab", "protocol_action_set": "full"}
    log, table = written(tmp_path, report(1), report(2)), tmp_path / "metrics.csv"
    parse_log(log, table, identity=IDENTITY, facts=facts, columns=["Iteration"])
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[10:] == ["Iteration", "settings", "protocol_action_set"]
    assert [(row["settings"], row["protocol_action_set"]) for row in rows] == [("0123456789ab", "full")] * 2


def test_the_log_of_a_run_is_the_one_that_grows_or_else_that_of_the_end(tmp_path):
    growing, finished = tmp_path / "state" / "log.jsonl", tmp_path / "log.jsonl"
    assert current_log(tmp_path) is None
    finished.write_text("{}\n")
    assert current_log(tmp_path) == finished
    growing.parent.mkdir()
    growing.touch()  # no report yet
    assert current_log(tmp_path) == finished
    growing.write_text("{}\n")
    assert current_log(tmp_path) == growing


@pytest.mark.parametrize("length", [1, 30_000, 65_522, 200_000])
def test_a_log_is_read_from_its_end(tmp_path, length):
    reports = [report(number, Note="x" * length) for number in range(1, 8)]
    log = written(tmp_path, *reports, tail='{"Iteration": 8, "fr')
    assert list(iter_backwards(log)) == reports[::-1]
    log.write_text("{\n" + log.read_text())
    assert list(iter_backwards(log)) == reports[::-1]
    assert list(iter_backwards(tmp_path / "missing.jsonl")) == []
