"""The book of results, on written-out results of a small project."""

import errno
import json
import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from neurozoo import __version__
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book import claim_runs, record_files, update
from neurozoo.book.claim_runs import ClaimRun, own_score
from neurozoo.book.claims import Earlier, read_claims, read_configuration
from neurozoo.book.core_hours import core_hours_table, measured_run
from neurozoo.book.elites import elite_table, elites_of_records
from neurozoo.book.pages import outdated_pages, render, write_pages
from neurozoo.book.record import RecordedRun, read_record
from neurozoo.book.record_files import runs_that_count
from neurozoo.book.result_tables import earlier_table, read_archives, read_comparison, tables_of_record
from neurozoo.book.update import make_book
from neurozoo.cli.results import add_commands
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.files import sha256_of
from neurozoo.plan.planned_runs import planned_runs, run_settings
from neurozoo.records.run_config import IDENTITY
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games
from neurozoo.records.tables import CURVE

PROJECT = Path(__file__).parents[3]
CONFIG = {
    "experiments": {
        "learnt": {
            "algo": "ga", "preset": "demo", "games": ["pong"], "models": ["small"], "runs": 3,
            "overrides": {"frames": 1000, "population_size": 20},
        },
    },
    "pathvars": {"results": "results/tiny"},
    "statistics": {"replications": 500},
}  # fmt: skip
CLAIM = {
    "title": "A claim",
    "about": "What is claimed.",
    "published": [{"value": "18", "what": "after a billion frames", "source": "Somebody 2017, table 1"}],
    "configuration": "config/tiny.yaml",
    "shows": ["scores"],
    "deviates": ["It is tiny."],
}


@pytest.fixture
def project(tmp_path):
    """Writes a project with one claim and its configuration: `project(**changes of the claim)`."""

    def make(claim=None, config=CONFIG, others=None):
        claims = {"tiny": CLAIM | (claim or {}), **(others or {})}
        for path, value in (("docs/results/book.yaml", {"claims": claims}), ("config/tiny.yaml", config)):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(yaml.safe_dump(value, sort_keys=False))
        return tmp_path

    return make


def write_run(project, number, tests, *, algo="ga", frames=1000, finished=True, version=__version__, **settings):
    """Writes the files of a run that reports the scores `tests`, one every half an hour, up to `frames`."""
    config = read_configuration(project / "config" / "tiny.yaml")
    run = {"algo": algo, "game": "pong", "model": "small", "run": number}
    spec = ALGORITHMS[algo]
    made = spec.settings(**{**run_settings(config, **run), **settings})
    protocol = made.describe_protocol("pong")
    found = {
        "format": 1,
        **run,
        "protocol": protocol["name"],
        **made.records("pong"),
        "neurozoo": version,
        "commit": "0123456789abcdef",
        "frames": made.frames,
    }
    folder = project / "results" / "tiny" / "runs" / algo / "pong" / "small" / str(number)
    log = folder / "log.jsonl" if finished else folder / "state" / "log.jsonl"
    log.parent.mkdir(parents=True)
    # Snakemake deletes the config.yaml of a training that was stopped; state/ has its copy.
    log.with_name("config.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(found))))
    reports = [
        {
            "format": 1, "frames": frames * place // len(tests), "score": 1.1 * test, "test_score": test,
            "score_episodes": 3, "test_episodes": 4, "Iteration": place, "TimeElapsedTotal": 1800.0 * place,
            "ProcessorTimeTotal": 900.0 * place,
        }
        for place, test in enumerate(tests, start=1)
    ]  # fmt: skip
    log.write_text("".join(json.dumps(report) + "\n" for report in reports))
    return folder


@pytest.fixture(autouse=True)
def quick_figures(monkeypatch):
    """Replaces figures, which take half a second each, by the columns that they would show."""

    def draw(metrics, outputs, **look):
        shown = [name for name in (*CURVE, *IDENTITY, "label", "TimeElapsedTotal", "settings") if name in metrics]
        for output in outputs:
            Path(output).write_text(metrics[shown].to_csv())

    monkeypatch.setattr(record_files, "plot_learning_curves", draw)
    monkeypatch.setattr(record_files, "draw_archive_curves", draw)


def take(project, tests, *, forget=False, **changes):
    """Makes runs, number to scores, and takes them; may remove the results then, as if the next were made elsewhere."""
    for number, scores in tests.items():
        write_run(project, number, scores, **changes)
    said = make(project)
    if forget:
        shutil.rmtree(project / "results")
    return said


def record_of(project):
    return read_record(project / "docs/results/tiny")


def page(project, name="tiny"):
    return (project / "docs" / "results" / f"{name}.md").read_text()


def row(project, name="tiny"):
    lines = (project / "docs" / "results" / "README.md").read_text().splitlines()
    return next(line for line in lines if f"]({name}.md)" in line)


def make(project, *names, **options):
    said = []
    make_book(names, project=project, workdir=project, say=said.append, **options)
    return said


# ---- the book of the project


def test_the_pages_in_the_project_are_those_of_its_records():
    assert outdated_pages(PROJECT) == {}


def test_no_statement_in_the_project_has_an_interval_from_fewer_than_five_runs():
    """In a table, the row says how many; in the list, each interval is one of a page; in sentences, there are two."""
    interval = re.compile(r"\[[-+]?[\d.,]+%?, [-+]?[\d.,]+%?\]")
    pages = {path.name: path.read_text() for path in (PROJECT / "docs/results").glob("*.md")}
    listed = pages.pop("README.md")
    found, head = 0, []
    for name, text in pages.items():
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|"):
                head = []
                # Clipped rewards are no interval; the sentence says that this one has ten runs.
                assert set(interval.findall(line)) <= {"[-1, 1]", "[278, 452]"}, f"{name}: {line}"
            elif not head:
                head = cells
            elif interval.search(line):
                found += 1
                count = cells[head.index("runs" if "runs" in head else "episodes")]
                assert min(map(int, count.split(" and "))) >= 5, f"{name}: {line}"
    assert found > 10
    assert all(any(each in text for text in pages.values()) for each in interval.findall(listed))


def test_every_claim_plans_runs_with_results_of_its_own_and_says_where_its_values_come_from():
    claims = read_claims(PROJECT)
    folders = []
    for claim in claims.values():
        assert all(published.source for published in claim.published)
        if claim.configuration:
            config = read_configuration(PROJECT / claim.configuration)
            assert planned_runs(config) or config["imports"]
            folders.append(config["pathvars"]["results"])
    assert len(set(folders)) == len(folders)


def test_every_configuration_of_the_book_belongs_to_a_claim():
    named = {claim.configuration for claim in read_claims(PROJECT).values()}
    files = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "config" / "book").glob("*.yaml")}
    assert files <= named


# ---- taking results


def test_a_claim_without_results_keeps_its_row_and_its_command(project):
    root = project()
    make(root)
    assert "**not run yet**" in row(root)
    assert "config/tiny.yaml" in row(root)
    assert "snakemake --profile local --configfile config/tiny.yaml" in page(root)
    assert "**18** after a billion frames (Somebody 2017, table 1)" in row(root)


def test_a_finished_claim_shows_the_mean_of_the_last_test_scores_with_its_interval(project, monkeypatch):
    monkeypatch.setattr(record_files, "plot_learning_curves", plot_learning_curves)
    experiments = {"learnt": CONFIG["experiments"]["learnt"] | {"runs": 5}}
    root = project(config=CONFIG | {"experiments": experiments})
    finals = (2.0, 3.0, 6.0, 9.0, 10.0)
    for number, final in enumerate(finals, start=1):
        write_run(root, number, [99.0, final])  # the best test is not the last one
    assert "tiny: took 5 runs" in make(root)
    low, high = bootstrap_intervals([np.array(finals)], {"": mean_over_games}, replications=500)[""]
    assert f"GA, small: 6 [{low:.3g}, {high:.3g}]" in row(root)
    assert "**" not in row(root).split("|")[3]  # no caveat
    assert "5 runs, 1k frames each" in row(root)
    assert "5 h 0 min in all" in row(root)  # 2 reports of half an hour, 5 runs
    assert (root / "docs/results/tiny/figure.png").read_bytes().startswith(b"\x89PNG")
    assert "![A claim](tiny/figure.png)" in page(root)


def test_a_full_disk_leaves_the_record_as_it_was(project, monkeypatch):
    root = project()
    take(root, {1: [2.0]})
    before = {path: path.read_bytes() for path in sorted((root / "docs").rglob("*")) if path.is_file()}
    write_run(root, 2, [4.0])

    def copyfile(source, target):
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(update.shutil, "copyfile", copyfile)
    with pytest.raises(NeurozooError, match="no space left"):
        make(root)
    assert {path: path.read_bytes() for path in sorted((root / "docs").rglob("*")) if path.is_file()} == before


def test_unfinished_runs_are_marked_with_how_far_they_came_and_do_not_lower_finished_ones(project):
    root = project()
    write_run(root, 1, [8.0])
    take(root, {2: [1.0]}, frames=250, finished=False)
    assert "GA, small: 8 (one run)<br>" in row(root)
    assert "**1 of 2 runs unfinished, the least at 25%**" in row(root)
    assert "**2 of 3 runs**" in row(root)
    assert "ga/pong/small/2 at 250 of 1,000 frames" in page(root)
    assert "Missing: ga/pong/small/3." in page(root)


def test_a_run_without_a_test_says_so_and_its_own_score_is_not_shown_as_one(project):
    root = project()
    folder = write_run(root, 1, [0.0], frames=500, finished=False)
    report = {"format": 1, "frames": 500, "score": 7.5, "test_score": None, "Iteration": 1, "TimeElapsedTotal": 9.0}
    (folder / "state" / "log.jsonl").write_text(json.dumps(report) + "\n")
    make(root)
    assert "no test after 500 frames; its own score is 7.5" in row(root)
    assert "There is nothing to compare yet" in page(root)
    assert not (root / "docs/results/tiny/scores.csv").exists()


HALF = {"frames": 500, "finished": False}


@pytest.mark.parametrize(
    ("recorded", "found", "counts"),
    [
        ({}, HALF, "recorded"),
        (HALF, {}, "found"),
        (HALF, HALF, "found"),
        ({"frames": 4000}, {}, "found"),  # both spend the whole budget of now
        ({}, {"mutation_power": 0.5}, "recorded"),  # which is as planned
        ({"mutation_power": 0.5}, HALF, "recorded"),  # nothing is planned so, but it is finished
        ({"mutation_power": 0.5}, {}, "found"),
    ],
)
def test_the_run_that_is_as_planned_and_further_counts_or_else_that_of_the_results(project, recorded, found, counts):
    root = project()
    take(root, {1: [5.0]}, forget=True, **recorded)
    before = record_of(root).runs
    said = take(root, {1: [1.0]}, **found)
    assert record_of(root).runs[0].test_score == {"recorded": 5.0, "found": 1.0}[counts]
    if counts == "recorded":
        assert record_of(root).runs == before
        assert any(
            "has come to 500 frames, but the record has" in words or "left as the record" in words for words in said
        )
    make(root, "tiny", replaces=True)
    assert record_of(root).runs[0].test_score == 1.0


def test_runs_of_several_nights_come_together_as_if_they_were_made_in_one(project, tmp_path_factory):
    claim = {"shows": ["scores", "scores_at_equal_hours"], "fields": ["Iteration"]}
    scores = {1: [1.0, 2.0], 2: [3.0, 4.0, 50.0, 60.0], 3: [0.1, 1e-7]}
    root = project(claim)
    for number in (1, 3):
        write_run(root, number, scores[number])
    make(root)
    assert "**2 of 3 runs**" in row(root)
    shutil.rmtree(root / "results")  # another night, another machine
    write_run(root, 2, scores[2])
    assert "tiny: took 1 run; kept 2 runs that only the record has" in make(root)
    assert "**" not in row(root).split("|")[3]
    gathered = {path.name: path.read_bytes() for path in (root / "docs/results/tiny").iterdir()}
    for number in (1, 3):
        write_run(root, number, scores[number])
    make(root, replaces=True)
    at_once = {path.name: path.read_bytes() for path in (root / "docs/results/tiny").iterdir()}
    assert set(gathered) >= {"record.json", "scores.csv", "scores_at_equal_hours.csv", "reports.csv", "figure.png"}
    assert gathered == at_once


def test_a_claim_may_keep_the_states_that_continue_its_runs_elsewhere(project):
    root = project({"keeps_state": True})
    place = write_run(root, 1, [5], finished=False)
    files = {"state.json": b"{}", "log.jsonl": (place / "state" / "log.jsonl").read_bytes()}
    for name, content in files.items():
        (place / "state" / name).write_bytes(content)
    (place / "state" / "journal.jsonl").write_text("what a training is about to do")
    make_book(["tiny"], project=root, workdir=root)
    kept = root / "docs" / "results" / "tiny" / "runs"
    at = kept / "ga" / "pong" / "small" / "1" / "state"
    assert {path.name: path.read_bytes() for path in at.iterdir()} == files
    page = (root / "docs/results/tiny.md").read_text()
    assert "mkdir -p results/tiny && cp -rn docs/results/tiny/runs results/tiny/\n" in page
    # On a machine without the results, the state stays.
    shutil.rmtree(root / "results")
    make_book(["tiny"], project=root, workdir=root)
    assert at.is_dir()
    # A state with arrays, such as a replay memory, does not belong into a repository.
    place = write_run(root, 2, [6], finished=False)
    (place / "state" / "arrays").mkdir()
    (place / "state" / "arrays" / "weights.npy").touch()
    with pytest.raises(NeurozooError, match="has arrays, too large for a record"):
        make_book(["tiny"], project=root, workdir=root)


def test_tables_and_figures_are_made_from_the_record_again_for_a_named_claim(project):
    root = project()
    take(root, {1: [1.0, 5.0]})
    folder = root / "docs/results/tiny"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    shutil.rmtree(root / "results")
    inode = (folder / "figure.png").stat().st_ino
    assert not any("tiny" in sentence for sentence in make(root))
    assert (folder / "figure.png").stat().st_ino == inode
    assert "tiny: made from the record again; kept 1 run that only the record has" in make(root, "tiny")
    assert (folder / "figure.png").stat().st_ino != inode
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_runs_that_are_no_longer_planned_as_they_were_made_are_named_before_they_are_forgotten(project):
    root = project()
    write_run(root, 1, [5.0])
    take(root, {2: [6.0]}, mutation_power=0.5, forget=True)
    write_run(root, 3, [7.0])
    said = make(root)
    lost = "ga/pong/small/2 (1,000 frames) was made with other settings: mutation_power was 0.5, is now "
    assert any("the record stays as it is, because it would lose runs: " + lost in sentence for sentence in said)
    with pytest.raises(NeurozooError, match="--replace takes the results all the same, and keeps the other runs"):
        make(root, "tiny")
    assert [run.run for run in record_of(root).runs] == [1, 2]
    told = make(root, "tiny", replaces=True)[0]
    assert told.startswith("tiny: took 1 run; kept 1 run that only the record has; forgot: " + lost)
    assert [run.run for run in record_of(root).runs] == [1, 3]


def test_a_run_that_is_no_longer_planned_is_not_forgotten_either(project):
    root = project()
    take(root, {number: [5.0] for number in (1, 2, 3)})
    project(config=CONFIG | {"experiments": {"learnt": CONFIG["experiments"]["learnt"] | {"runs": 2}}})
    shutil.rmtree(root / "results")
    write_run(root, 2, [5.0])
    assert any("ga/pong/small/3 (1,000 frames) is no longer planned" in sentence for sentence in make(root))


def test_results_that_do_not_count_are_named(project):
    root = project()
    take(root, {1: [5.0]}, forget=True)
    write_run(root, 1, [1.0], frames=100, finished=False)
    assert take(root, {2: [3.0]})[0] == (
        "tiny: took 1 run; left as the record has it, where it is further or as planned: ga/pong/small/1"
    )


def test_runs_of_the_record_have_the_fields_that_the_claim_names_now(project):
    root = project({"fields": ["Iteration", "score"]})
    take(root, {1: [5.0]})
    project({"fields": ["TimeElapsedTotal"]})
    shutil.rmtree(root / "results")
    take(root, {2: [5.0]})
    runs = record_of(root).runs
    assert [dict(run.fields_) for run in runs] == [{"TimeElapsedTotal": 1800.0}] * 2


def test_the_page_says_which_machine_made_which_run(project, monkeypatch):
    root = project()
    for number, name in ((1, "First"), (2, "Second"), (3, "Second")):
        machine = {"processor": name, "physical_cores": 2, "memory_gigabytes": number}
        monkeypatch.setattr(claim_runs, "machine_of", lambda _, machine=machine: machine)
        write_run(root, number, [5.0])
        make(root)
        shutil.rmtree(root / "results")
    assert "Machines: First, 2 cores; Second, 2 cores." in page(root)
    assert page(root).count("| First, 2 cores |") == 1
    assert page(root).count("| Second, 2 cores |") == 2
    monkeypatch.setattr(claim_runs, "machine_of", lambda _: {})  # the results have been copied to another machine
    take(root, {number: [5.0] for number in (1, 2, 3)})
    assert "Machines: First, 2 cores; Second, 2 cores." in page(root)


@pytest.mark.parametrize("damage", [lambda text: text.replace("algo,", "", 1), lambda text: "\xff" + text[1:]])
def test_damaged_reports_are_refused_with_a_remedy(project, damage):
    root = project()
    take(root, {1: [5.0]})
    folder = root / "docs/results/tiny"
    reports = folder / "reports.csv"
    record = json.loads((folder / "record.json").read_text())
    reports.write_text(damage(reports.read_text()), encoding="latin-1")
    record["files"]["reports.csv"] = sha256_of(reports)
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(NeurozooError, match=r"reports\.csv is damaged.*Restore its folder: git checkout"):
        make(root)


def test_a_run_whose_reports_the_record_lacks_is_not_lost_because_others_have_come_further(project):
    root = project()
    take(root, {1: [5.0]})
    folder = root / "docs/results/tiny"
    record = json.loads((folder / "record.json").read_text())
    del record["files"]["reports.csv"]
    (folder / "record.json").write_text(json.dumps(record))
    (folder / "reports.csv").unlink()
    shutil.rmtree(root / "results")
    for number in (2, 3):
        write_run(root, number, [1.0])
    said = make(root)
    assert any(
        "ga/pong/small/1 (1,000 frames) is not in the results, and its reports are not in the record" in sentence
        for sentence in said
    )


def test_scores_at_equal_hours_end_where_the_quickest_run_ends(project):
    root = project({"shows": ["scores", "scores_at_equal_hours"]})
    write_run(root, 1, [1.0, 2.0])  # half an hour of the processor
    write_run(root, 2, [3.0, 4.0, 50.0, 60.0])  # an hour
    make(root)
    record = record_of(root)
    assert record.hours == {"pong": 0.5}
    assert "GA, small: 31 (2, 60)" in row(root)  # (2 + 60) / 2
    assert "![The same over hours](tiny/figure_hours.png)" in page(root)
    later = page(root).split("At equal processor hours, with tests (Pong 0.5 h)")[1]
    assert "| 3 (2, 4) | 2 |" in later


def test_equal_hours_say_when_machines_differ_or_are_not_known(project):
    root = project({"shows": ["scores_at_equal_hours"]})
    for number in (1, 2):
        write_run(root, number, [1.0, 2.0])
    take(root, {3: [1.0]}, frames=500, finished=False)
    folder = root / "docs/results/tiny"
    claim, record = read_claims(root)["tiny"], read_record(folder)

    def title(*machines):
        runs = [run.model_copy(update={"machine": name}) for run, name in zip(record.runs, machines, strict=True)]
        known = {name: {"processor": name} for name in machines if name}
        now = record.model_copy(update={"runs": runs, "machines": known})
        return tables_of_record(claim, now, folder, budgets={}, labels={})[0].title

    known = title("First", "First", None)  # the unfinished run is not in the table
    assert known == "At equal processor hours, with tests (Pong 0.5 h)"
    assert title("First", "Second", None) == f"{known}; on different processors, so hours are not equal"
    assert title("First", None, None) == (
        f"{known}; the machines of 1 of 2 runs are not recorded, so hours may not be equal"
    )
    assert title(None, None, None) == f"{known}; the machines are not recorded, so hours may not be equal"


def test_a_run_whose_time_is_only_known_at_first_has_no_part_in_equal_hours_and_is_named(project):
    root = project({"shows": ["scores_at_equal_hours"]})
    write_run(root, 1, [1.0, 2.0])  # half an hour of the processor
    log = write_run(root, 2, [3.0, 4.0, 50.0, 60.0]) / "log.jsonl"
    reports = [json.loads(line) for line in log.read_text().splitlines()]
    for report in reports[1:]:
        del report["ProcessorTimeTotal"]  # it continued on a Dask cluster
    log.write_text("".join(json.dumps(report) + "\n" for report in reports))
    make(root)
    assert record_of(root).hours == {"pong": 0.5}
    assert "or a processor time in the log: 1 of 2 runs of GA, small in Pong" in page(root)


def test_scores_at_equal_frames_end_where_the_shortest_run_ends_and_unfinished_runs_cut_nothing(project):
    root = project({"shows": ["scores_at_equal_frames", "comparison", "scores"]})
    write_run(root, 1, [1.0, 2.0, 3.0], frames=3000)
    write_run(root, 2, [5.0, 7.0], frames=2000)
    take(root, {3: [100.0]}, frames=500, finished=False)
    assert record_of(root).frames == {"pong": 2000}
    assert "GA, small: 4.5 (2, 7)" in row(root)  # (2 + 7) / 2
    equal, final = page(root).split("At equal frames of training (Pong 2k)")[1].split("Final test scores")
    assert "| 4.5 (2, 7) | 2 |" in equal
    assert "| 5 (3, 7) | 2 |" in final


def test_without_finished_runs_there_is_no_table_at_equal_frames_or_hours(project):
    root = project({"shows": ["scores_at_equal_frames", "scores_at_equal_hours", "comparison", "scores"]})
    take(root, {1: [1.0]}, frames=500, finished=False)
    assert "At equal" not in page(root)
    assert "Final test scores" in page(root)


def test_words_that_are_older_than_the_results_are_called_so(project):
    root = project({"written_for": 1})
    write_run(root, 1, [4.0])
    take(root, {2: [5.0]}, frames=500, finished=False)
    assert "These words" not in page(root)
    take(root, {3: [5.0]})
    assert "were written for 1 finished run; now there are 2." in page(root)


def test_fields_are_shown_and_finished_runs_that_reach_a_score_are_counted(project):
    root = project({"fields": ["Iteration"], "reaches": 5})
    write_run(root, 1, [6.0])
    take(root, {2: [4.0]}, frames=500, finished=False)
    assert "test score of 5 or more: GA in 1 of 1 run" in row(root)
    take(root, {3: [4.9]})
    assert "test score of 5 or more: GA in 1 of 2 runs" in row(root)
    assert "| own score | Iteration | time |" in page(root)


def test_agents_have_the_label_that_the_configuration_has_now(project):
    root = project({"reaches": 5, "highest": 20})
    take(root, {number: [6.0] for number in (1, 2)})
    assert "GA, small: 6 (6, 6) of 20" in row(root)
    changed = json.loads(json.dumps(CONFIG))
    changed["experiments"]["learnt"]["label"] = "weak"
    project({"reaches": 5, "highest": 20}, config=changed)
    make(root)  # the tables have this label, too; the next one counts
    changed["experiments"]["learnt"]["label"] = "small budget"
    project({"reaches": 5, "highest": 20}, config=changed)
    told = render(root)["docs/results/README.md"]
    assert "GA, small, small budget: 6 (6, 6) of 20" in told
    assert "test score of 5 or more: GA, small budget in 2 of 2 runs" in told


def two_settings(label=None):
    """Returns a configuration with runs 1 to 3 of one mutation power, and runs 4 to 6 of another."""
    agent = CONFIG["experiments"]["learnt"] | ({"label": label} if label else {})
    one = agent | {"overrides": agent["overrides"] | {"mutation_power": 0.1}}
    other = agent | {"runs": [4, 5, 6], "overrides": agent["overrides"] | {"mutation_power": 0.5}}
    return CONFIG | {"experiments": {"learnt": one, "strong": other}}


@pytest.mark.parametrize(("label", "called"), [(None, "GA, small, "), ("robots", "GA, small, robots, ")])
def test_runs_of_different_settings_are_counted_and_named_apart(project, label, called):
    root = project({"reaches": 5, "shows": ["scores", "elites"]}, config=two_settings(label))
    for number in (1, 2):
        write_run(root, number, [4.0])
        write_run(root, 3 + number, [6.0])
    make(root)
    weak, strong = "mutation_power 0.1", "mutation_power 0.5"
    reached = f"test score of 5 or more: {called}{weak} in 0 of 2 runs, {called}{strong} in 2 of 2 runs"
    assert reached in row(root)
    assert f"| {called}{weak} | Pong | 4 (4, 4) | 2 |" in page(root)
    assert f"| {called}{strong} | Pong | 6 (6, 6) | 2 |" in page(root)
    assert f"| Pong, GA, small, {weak} (tiny) | 2 | 4.4 | 4 |" in page(root)
    assert f"| Pong, GA, small, {strong} (tiny) | 2 | 6.6 | 6 |" in page(root)


def test_a_label_that_two_settings_get_later_does_not_make_them_one(project):
    root = project(config=two_settings())
    for number in (1, 4):
        write_run(root, number, [float(number)])
    make(root)
    project(config=two_settings("robots"))
    told = render(root)["docs/results/tiny.md"]
    assert "| GA, small, mutation_power 0.1 | Pong | 1 (one run) | 1 |" in told
    assert "| GA, small, mutation_power 0.5 | Pong | 4 (one run) | 1 |" in told


def test_runs_that_were_played_differently_are_not_counted_as_one_agent(project):
    root = project({"shows": ["elites"]})
    take(root, {number: [10.0] for number in (1, 2)})
    record = record_of(root)
    sticky = record.facts[record.runs[0].facts] | {"protocol_sticky_probability": "0.25"}
    runs = [record.runs[0], record.runs[1].model_copy(update={"facts": "sticky"})]
    both = record.model_copy(update={"runs": runs, "facts": record.facts | {"sticky": sticky}})
    assert elites_of_records({"tiny": both})["source"].nunique() == 2


def elites(game, reported, tested, **more):
    return pd.DataFrame({"game": game.lower(), "source": game, "reported": reported, "tested": tested, **more})


def test_core_hours_bought_the_last_test_until_then(project):
    root = project()
    take(root, {1: [1.0, 2.0, 3.0, 4.0, 5.0], 2: [10.0, 20.0, 30.0, 40.0]})  # a test every quarter of a core hour
    shutil.copytree(root / "docs/results/tiny", root / "docs/results/again")
    table = core_hours_table({name: record_of(root) for name in ("tiny", "again")}, root)
    assert table.rows == [("Pong", "GA, small", "22", "–", "–", "22.5", "1.12", "1k", "2", "[tiny](tiny.md)")]


def test_nobody_is_said_to_have_a_score_after_hours_that_a_run_did_not_have(project):
    root = project({"shows": ["scores", "core_hours"]})
    take(root, {1: [1.0, 2.0, 3.0, 4.0, 5.0], 2: [10.0]})
    assert core_hours_table({"tiny": record_of(root)}, root).rows[0][2:6] == ("–", "–", "–", "7.5")
    assert "| game | agent | at the end | core hours | frames | runs | more |" in page(root)


def test_core_hours_count_from_the_start_and_are_unknown_after_a_cluster():
    reports = [
        {"test_score": "", "ProcessorTimeTotal": "3600", "frames": "10"},
        {"test_score": "5.5", "ProcessorTimeTotal": "7200", "frames": "20"},
        {"test_score": "", "ProcessorTimeTotal": "10800", "frames": "30"},
    ]
    run = measured_run(reports)
    assert (run.tests, run.hours, run.frames) == ([(2.0, 5.5)], 3.0, 30)
    assert [run.score_after(hours) for hours in (1, 2, 3, 10)] == [None, 5.5, 5.5, None]
    assert measured_run([*reports, {"test_score": "6", "ProcessorTimeTotal": "", "frames": "40"}]) is None
    assert measured_run(reports[:1]) is None


def test_games_without_a_zero_have_no_share_whatever_came_out():
    """Else the share would be of those elites only that did not lose what they reported."""
    lucky = elites("Pong", [2.0, 1.0], [-20.0, -21.0])
    honest = elites("Skiing", [-8.0] * 5, [-10.0] * 5)
    venture = elites("Venture", [10.0, 0.0, 200.0], [0.0, 0.0, 190.0])
    amidar = elites("Amidar", [12.0] * 5, [10.0] * 5)
    shown = elite_table(pd.concat([lucky, honest, venture, amidar]))
    assert [(cells[0], *cells[4:]) for cells in shown.rows] == [
        ("Pong", "22 (22, 22)", "–"),
        ("Skiing", "2", "–"),
        ("Venture", "6.67 (10, 0, 10)", "–"),
        ("Amidar", "2", "+20.0%"),
        ("all", "", "+20.0%"),
    ]
    assert shown.title.endswith(", all of them without Pong; Skiing; Venture")
    nothing = elite_table(elites("Amidar", [2.0, 1.0], 0.0))
    assert (list(nothing.rows), nothing.brief) == ([("Amidar", "2", "1.5", "0", "1.5 (2, 1)", "–")], [])


def test_elites_have_intervals_from_five_runs_on():
    assert "[" not in str(elite_table(elites("Amidar", [2.0, 3, 4, 5], [1.0, 2, 2, 2])).rows[0])
    assert elite_table(elites("Amidar", [2.0, 3, 4, 5, 6], [1.0, 2, 2, 2, 2])).rows[0][4].startswith("2.2 [")


def test_elites_are_apart_by_the_number_of_their_validation_episodes():
    few = elites("Amidar", [3.0, 3.0], [2.0, 2.0], episodes=[10, 5])
    many = elites("Asterix", [11.0] * 4, [10.0] * 4, episodes=30)
    shown = elite_table(pd.concat([many, few]))
    assert shown.brief == [
        "reported +50.0% above the test after 5 validation episodes, 2 runs",
        "reported +10.0% above the test after 30 validation episodes, 4 runs",
    ]


def test_over_all_sources_of_elites_each_counts_once_and_runs_stay_in_theirs():
    one = elites("Amidar", [2.0, 2.0], [1.0, 1.0])
    other = elites("Asterix", [12.0] * 4, [10.0] * 4)
    assert elite_table(pd.concat([one, other])).rows[-1] == ("all", "6", "", "", "", "+60.0%")


def test_sources_of_elites_with_one_run_do_not_take_the_interval_of_all():
    one = elites("Amidar", [2.0], [1.0])
    other = elites("Asterix", [12.0] * 4, [10.0] * 4)
    shown = elite_table(pd.concat([one, other]))
    assert shown.rows[0] == ("Amidar", "1", "2", "1", "1 (one run)", "+100.0%")
    assert shown.rows[-1] == ("all", "4", "", "", "", "+20.0%")
    assert shown.title.endswith(", all of them without Amidar")
    assert elite_table(one).rows[-1] == ("all", "1", "", "", "", "+100.0%")


@pytest.mark.parametrize(("rule", "score"), [("validated", 22.0), ("racing", 16.5), ("carried", 16.5)])
def test_the_own_score_is_that_of_the_elite_that_was_tested(project, rule, score):
    """Under `validated`, the result is the best elite of all generations, and the test is about it."""
    root = project()
    write_run(root, 1, [10.0, 20.0, 15.0], elite_rule=rule)  # reported 11, 22, 16.5
    make(root)
    assert record_of(root).runs[0].score == pytest.approx(score)
    write_run(root, 2, [10.0], elite_rule=rule)
    shutil.rmtree(root / "results" / "tiny" / "runs" / "ga" / "pong" / "small" / "1")
    make(root)  # run 1 is in the record only
    assert record_of(root).runs[0].score == pytest.approx(score)


@pytest.mark.parametrize(("algo", "score"), [("nsr_es", -5.0), ("es", -20.0)])
def test_the_own_score_of_novelty_search_is_that_of_its_best_agent(algo, score):
    """Which is the one that was tested: its test score is repeated until another agent is better."""
    metrics = pd.DataFrame({"algo": algo, "score": [-9.0, -5.0, -20.0], "score_episodes": [3, 5, 7]})
    assert own_score(metrics, {})["score"] == score


def test_runs_in_stages_have_no_elites_because_their_test_has_other_stages(project):
    root = project()
    write_run(root, 1, [10.0])
    take(root, {2: [20.0]})
    record = record_of(root)
    assert len(elites_of_records({"tiny": record})) == 2
    # A run that two claims share counts once.
    assert len(elites_of_records({"tiny": record, "same": record})) == 2
    facts = {digest: fact | {"settings_stage_threshold": "0.8"} for digest, fact in record.facts.items()}
    assert elites_of_records({"tiny": record.model_copy(update={"facts": facts})}).empty


def test_an_agent_without_a_test_up_to_equal_frames_is_named(project):
    root = project({"shows": ["scores_at_equal_frames"]})
    take(root, {1: [1.0, 2.0]})
    folder = root / "docs/results/tiny"
    record = read_record(folder)
    late = record.runs[0].model_copy(update={"algo": "es", "model": "virtual_bn"})
    begun = late.model_copy(update={"algo": "nsr_es", "progress": 10})
    several = record.model_copy(update={"runs": [*record.runs, late, begun]})
    claim, equal = read_claims(root)["tiny"], "At equal frames of training (Pong 1k)"
    assert tables_of_record(claim, several, folder, budgets={}, labels={})[0].title == (
        f"{equal}; without a test up to then: ES, virtual bn in Pong"
    )
    # The budgets of now count: with more to do, that run is unfinished.
    assert tables_of_record(claim, several, folder, budgets={late.name: 10**9}, labels={})[0].title == equal
    again = record.model_copy(update={"runs": [*record.runs, record.runs[0].model_copy(update={"run": 2})]})
    assert tables_of_record(claim, again, folder, budgets={}, labels={})[0].title == (
        f"{equal}; without a test up to then: 1 of 2 runs of GA, small in Pong"
    )


def test_pairs_of_the_same_name_are_told_apart_and_say_why_they_were_not_compared(project, tmp_path):
    columns = "algo,model,variant,other_algo,other_model,other_variant,game,games,runs,other_runs,left_out,"
    columns += "probability,p_holm"
    rows = [
        "ga,large,power 0.5,ga,large,power 0.1,pong,1,5,6,,0.9,0.03",
        "ga,large,power 0.5,ga,large,power 0.1,all,1,5,6,,0.9,",
        "ga,large,power 0.5,rs,large,,all,0,,,Left out in pong: played differently.,,",
    ]
    (tmp_path / "comparison.csv").write_text("\n".join([columns, *rows]) + "\n")
    project()
    shown = read_comparison(tmp_path / "comparison.csv")
    assert shown.brief == [
        "GA, large, power 0.5 scores more than GA, large, power 0.1 in 90% of the pairs of runs in Pong (p = 0.03)"
    ]
    assert shown.rows[-1] == (
        "GA, large, power 0.5", "RS, large", "all games", "Left out in pong: played differently.", "–", "–",
    )  # fmt: skip


def test_pairs_with_four_runs_of_an_agent_are_only_counted(project, tmp_path):
    columns = "algo,model,other_algo,other_model,game,games,runs,other_runs,probability,p_holm"
    rows = [
        f"ga,small,{other},small,{game},{games},{games * 5},{games * runs},1,{p if game != 'all' else ''}"
        for other, runs, p in (("rs", 4, ""), ("es", 5, 0.032))
        for game, games in (("pong", 1), ("venture", 1), ("all", 2))
    ]
    (tmp_path / "comparison.csv").write_text("\n".join([columns, *rows]) + "\n")
    project()
    shown = read_comparison(tmp_path / "comparison.csv")
    assert [cells[1:5] for cells in shown.rows] == [
        ("ES, small", "Pong", "1", "0.032"),
        ("ES, small", "Venture", "1", "0.032"),
        ("ES, small", "all games", "1", "–"),
    ]
    assert "corrected for 2 tests" in shown.note
    assert "2 pairs of agents in a game: fewer than five runs of one" in shown.note
    assert not any("RS" in words for words in shown.brief)


def test_archives_are_related_to_the_baseline(project):
    search = {"games": ["maze"], "preset": "demo", "runs": 1}
    config = CONFIG | {
        "experiments": {
            "searches": search | {"algo": "map_elites", "models": ["plain"]},
            "dsage": search | {"algo": "dsage", "models": ["full"]},
        }
    }
    root = project({"shows": ["archives"], "baseline": "map_elites"}, config)
    for algo, model, score in (("map_elites", "plain", 200.0), ("dsage", "full", 314.0)):
        folder = root / "results" / "tiny" / "runs" / algo / "maze" / model / "1"
        folder.mkdir(parents=True)
        identity = {"format": 1, "algo": algo, "game": "maze", "model": model, "run": 1}
        identity |= {"protocol": "maze_walls_path_length"}
        report = {
            "format": 1,
            "evaluations": 600,
            "score": None,
            "test_score": None,
            "Iteration": 1,
            "TimeElapsedTotal": 60.0,
        }
        result = {"kind": "archive", "evaluations": 600, "qd_score": score, "coverage": 0.25, "settings_hash": "0"}
        (folder / "config.yaml").write_text(yaml.safe_dump(identity))
        (folder / "log.jsonl").write_text(json.dumps(report) + "\n")
        (folder / "result.json").write_text(json.dumps(identity | result | {"measures": ["walls", "path_length"]}))
        (folder / "corrected.json").write_text(json.dumps({"qd_score": score - 10, "coverage": 0.2}))
    make(root)
    assert "DSAGE, full: 314 (one run), ratio 1.57<br>MAP-Elites, plain: 200 (one run), ratio 1.00" in row(root)
    assert "| DSAGE, full | 314 (one run) | 304 | 25.0% | 1.57 | 1 | 600 |" in page(root)
    before = (root / "docs/results/tiny/archives.csv").read_bytes()
    (folder / "corrected.json").unlink()
    with pytest.raises(NeurozooError, match=r"dsage/maze/full/1 is finished, but has no corrected\.json"):
        make(root, "tiny")
    assert any("has no corrected.json" in sentence for sentence in make(root))  # and the other claims are taken
    assert (root / "docs/results/tiny/archives.csv").read_bytes() == before


@pytest.fixture
def ratios(project, tmp_path):
    """Reads archives: rows of game, algo, model, runs, evaluations, score and settings; and scores of known runs."""

    def read(rows, scores=None):
        names = ["game", "algo", "model", "runs", "evaluations", "qd_score", "settings"]
        table = pd.DataFrame(rows, columns=names)
        table = table.assign(corrected_qd_score=4, coverage=0.1, qd_score_low=None, qd_score_high=None)
        table.to_csv(tmp_path / "archives.csv", index=False)
        common = {"game": "maze", "protocol": "p", "unit": "evaluations", "facts": "0"}
        runs = [
            RecordedRun(**common, algo=algo, model=model, run=run, score=score, progress=spent, budget=spent)
            for (algo, model, spent), each in (scores or {}).items()
            for run, score in enumerate(each, 1)
        ]
        claim = read_claims(project({"shows": ["archives"], "baseline": "map_elites"}))["tiny"]
        return read_archives(tmp_path / "archives.csv", claim, runs)

    return read


def test_archives_of_several_games_have_a_baseline_each(ratios):
    scores = (("maze", "cma_me", 10), ("maze", "map_elites", 5), ("mario", "cma_me", 9), ("mario", "map_elites", 3))
    shown = ratios([(game, algo, "plain", 3, 600, score, "x") for game, algo, score in scores])
    assert [row[4] for row in shown.rows] == ["2.00", "1.00", "3.00", "1.00"]
    assert len({row[0] for row in shown.rows}) == 4


def test_a_search_is_related_to_the_baseline_with_as_many_evaluations(ratios):
    means = {("cma_me", 600): 6, ("map_elites", 600): 3, ("map_elites", 900): 9}
    rows = [("maze", algo, "plain", 2, spent, score, "x") for (algo, spent), score in means.items()]
    shown = ratios(rows, {(algo, "plain", spent): (score, score) for (algo, spent), score in means.items()})
    assert [row[4] for row in shown.rows] == ["2.00", "1.00", "1.00"]


def test_ratios_have_intervals_where_five_runs_are_known(ratios):
    rows = [("maze", "dsage", "full", 5, 6, 4, "x"), ("maze", "map_elites", "plain", 5, 6, 2, "x")]
    own, base, other = ("dsage", "full", 6), ("map_elites", "plain", 6), ("dsage", "basic", 6)
    scores = {own: (2, 2, 4, 6, 6), base: (2,) * 5, other: (900,) * 5}
    # A mean of all 2 or all 6 has a probability of (2/5)^5, 1 %; one of 4.8 / 2 and 5.2 / 2 more than 2.5 %.
    shown = ratios(rows, scores)
    low, high = map(float, shown.rows[0][4].removeprefix("2.00 [").rstrip("]").split(", "))
    assert 1 < low < 2 < high < 3
    assert shown.head[4] == "ratio to MAP-Elites [95 %]"
    for unknown in ({own: (2,), base: (2,)}, scores | {base: (0,) * 5}):
        shown = ratios(rows, unknown)
        assert ([row[4] for row in shown.rows], shown.head[4]) == (["2.00", "1.00"], "ratio to MAP-Elites")


def test_a_ratio_has_no_interval_of_other_runs_than_its_own(ratios):
    rows = [("maze", "dsage", "full", 3, 6, score, settings) for score, settings in ((100, "x"), (200, "y"))]
    both = {("dsage", "full", 6): (99, 100, 101, 199, 200, 201), ("map_elites", "plain", 6): (49, 50, 51)}
    shown = ratios([*rows, ("maze", "map_elites", "plain", 3, 6, 50, "")], both)
    assert [row[4] for row in shown.rows] == ["2.00", "4.00", "1.00"]


def test_a_finished_run_hides_no_unfinished_one_of_other_settings():
    def run(number, progress, settings):
        taken = RecordedRun(
            algo="ga", game="pong", model="small", run=number, protocol="p", unit="frames",
            progress=progress, budget=100, facts="0",
        )  # fmt: skip
        return ClaimRun(taken, {"settings": settings}, Path("table"), 100, True, None, {})

    done, late, other = run(1, 100, "a"), run(2, 90, "a"), run(101, 90, "b")
    assert runs_that_count([done, late, other]) == [done, other]


def test_one_game_over_and_over_has_no_interval(tmp_path):
    protocol = asdict(get_protocol("hard_maze"))
    episodes = [{"score": 5.0, "noops": 0, "steps": 9}] * 30
    record = {"game": "hard_maze", "model": "simple", "protocol": protocol, "episodes": episodes}
    (tmp_path / "evaluation.json").write_text(json.dumps(record))
    earlier = Earlier(kind="evaluation", table="evaluation.json", how="one run", note="None.")
    assert "[" not in earlier_table(earlier, None, tmp_path).rows[0][3]


def test_imported_genomes_have_intervals_over_episodes(project):
    genome = {"genome": "(1, (2, 0.002))", "game": "frostbite", "model": "small"}
    config = {
        "imports": {"first": genome, "second": genome | {"run": 2}},
        "pathvars": CONFIG["pathvars"],
        "statistics": CONFIG["statistics"],
        "evaluation": {"episodes": 5},
    }
    root = project({"shows": ["imports"]}, config)
    folder = root / "results" / "tiny" / "runs" / "imported" / "frostbite" / "small" / "1"
    folder.mkdir(parents=True)
    protocol = ALGORITHMS["ga"].presets["uber2018"].describe_protocol("frostbite")
    scores = (100.0, 200.0, 250.0, 300.0, 400.0)
    episodes = [{"noops": n, "seed": n, "score": score, "steps": 1, "frames": 4} for n, score in enumerate(scores)]
    summary = {"mean": 250.0, "standard_error": 1.0, "median": 250.0, "lowest": 100.0, "highest": 400.0}
    evaluation = {"game": "frostbite", "model": "small", "protocol": dict(protocol), "episodes": episodes}
    (folder / "evaluation.json").write_text(json.dumps(evaluation | {"summary": summary}))
    identity = {"algo": "imported", "game": "frostbite", "model": "small", "run": 1, "protocol": "uber2018"}
    (folder / "config.yaml").write_text(yaml.safe_dump({"format": 1, **identity, "neurozoo": __version__}))
    make(root)
    low, high = bootstrap_intervals([np.array(scores)], {"": mean_over_games}, replications=500)[""]
    assert f"Frostbite, small, today's start: 250 [{low:.0f}, {high:.0f}]" in row(root)
    assert "Missing: imported/frostbite/small/2." in page(root)


# ---- caveats


@pytest.mark.parametrize(
    ("made", "planned", "caveat", "sentence"),
    [
        ({"population_size": 10}, {}, "made with other settings", "population_size was 10, is now 20"),
        ({}, {"frames": 400}, "a larger budget than now", "ga/pong/small/3 had 1,000 frames, now 400."),
        ({}, {"frames": 4000}, "3 of 3 runs unfinished, the least at 25%", "small/1 at 1,000 of 4,000 frames"),
        ({}, {"protocol": "machado2018"}, "made with other settings", "sticky probability was 0, is now 0.25"),
        ({"version": "0.0.7"}, {}, "made by 0.0.7", f"Made by 0.0.7; this is version {__version__}."),
    ],
)
def test_what_differs_from_the_configuration_and_version_of_now_is_said(project, made, planned, caveat, sentence):
    root = project()
    take(root, {number: [1.0] for number in (1, 2, 3)}, **made)
    changed = json.loads(json.dumps(CONFIG))
    changed["experiments"]["learnt"]["overrides"] |= planned
    project(config=changed)
    write_pages(root)
    assert f"**{caveat}**" in row(root)
    assert sentence in page(root)


# ---- bad input


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (
            {"published": [{"value": "18", "what": "points"}]},
            r"published\[0\]: the key 'source' is missing\. Write who",
        ),
        ({"configuration": "config/tyni.yaml"}, r"configuration: the file config/tyni\.yaml is missing"),
        ({"configuration": ""}, "should have a configuration, or a command that repeats it, but has neither"),
    ],
)
def test_an_incomplete_claim_is_refused(project, claim, sentence):
    with pytest.raises(NeurozooError, match=rf"claims\.tiny.*{sentence}"):
        read_claims(project(claim))


def test_an_unknown_claim_is_refused_with_the_most_similar_one(project):
    with pytest.raises(NeurozooError, match="claim 'tinny' is unknown; did you mean 'tiny'"):
        make(project(), "tinny")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda folder: (folder / "record.json").write_text("{"), "record.json is damaged"),
        (lambda folder: (folder / "record.json").write_text("{}"), "the key 'claim' is missing"),
        (lambda folder: (folder / "scores.csv").write_text("algo\n"), "scores.csv is not the file that record.json"),
        (lambda folder: (folder / "scores.csv").unlink(), "scores.csv is missing, but record.json names it"),
        (
            lambda folder: (folder / "record.json").write_text(
                (folder / "record.json").read_text().replace('"scores.csv"', '"../book.yaml"')
            ),
            "should be the name of a file beside it",
        ),
    ],
)
def test_a_damaged_record_is_refused_with_a_remedy(project, damage, sentence):
    root = project()
    take(root, {1: [1.0]})
    damage(root / "docs" / "results" / "tiny")
    with pytest.raises(NeurozooError, match=sentence) as error:
        render(root)
    assert "git checkout" in str(error.value)


def test_a_folder_with_another_run_is_refused(project):
    root = project()
    folder = write_run(root, 1, [1.0])
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text(yaml.safe_dump(config | {"game": "breakout"}))
    with pytest.raises(
        NeurozooError, match=r"should hold its own run, but its config\.yaml is that of ga/breakout/small/1"
    ):
        make(root)


def test_the_command_checks_the_pages(project, monkeypatch, capsys):
    import argparse

    root = project()
    monkeypatch.chdir(root)
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    check = parser.parse_args(["book", "--check"])
    with pytest.raises(NeurozooError, match=r"The book is out of date: docs/results/README\.md"):
        check.command(check)
    write = parser.parse_args(["book", "--pages"])
    write.command(write)
    check.command(check)
    assert "All pages of the book are up to date" in capsys.readouterr().out
