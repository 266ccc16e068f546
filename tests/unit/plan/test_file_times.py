"""Files from the future, and files in the order of copying."""

import json
import os
import time
from types import SimpleNamespace

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.files.times import time_in
from neurozoo.plan import file_times
from neurozoo.plan.file_times import (
    about_copies,
    about_the_future,
    check_copies,
    copied_runs,
    files_from_the_future,
    older_than_inputs,
    set_to_now,
)
from neurozoo.plan.planned_runs import PlannedRun

RUN = PlannedRun("ga", "pong", "small", 1)
HOUR = 3600 * 10**9  # nanoseconds


def write(path, *, hours=0.0, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    when = time.time_ns() + int(hours * HOUR)
    os.utime(path, ns=(when, when))
    return path


def test_files_from_the_future_are_found_wherever_they_are_and_named(tmp_path):
    results = tmp_path / "results"
    past = write(results / "runs/a/config.yaml", hours=-1)
    write(results / "runs/a/now.txt")
    first = write(results / "runs/a/frozen/model.keras", hours=2)
    folder = results / "runs/a/frozen"
    os.utime(folder, ns=(0, time.time_ns() + HOUR))
    noise = write(tmp_path / "elsewhere/table.f32", hours=26.01)
    found = files_from_the_future(results, [noise, past, tmp_path / "missing"])
    assert set(found) == {str(first), str(folder), str(noise)}
    said = about_the_future(found, time_in(results))
    assert said.startswith(f"3 files are newer than now, such as {noise} (by 1 d 2 h): another clock was ahead")
    assert said.endswith(f"A start sets their times to now; so does: touch {noise}")
    one = about_the_future({str(noise): found[str(noise)]}, time_in(results))
    assert one.startswith(f"{noise} is newer than now (by 1 d 2 h)")
    assert about_the_future({}, 0) == ""


def test_set_to_now_they_keep_their_order_and_nothing_is_newer_than_what_is_made_next(tmp_path):
    paths = [write(tmp_path / f"{hours}", hours=hours) for hours in (50, 1, 2)]
    others = [write(tmp_path / "equal", hours=3), tmp_path / "too"]
    os.link(*others)
    set_to_now({**files_from_the_future(tmp_path, []), str(tmp_path / "gone"): time.time_ns()}, time_in(tmp_path))
    made = write(tmp_path / "made")
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert times["1"] < times["2"] < times["equal"] == times["too"] < times["50"] <= made.stat().st_mtime_ns
    assert time.time_ns() - times["1"] < 10 * 10**9
    assert [path.read_text() for path in paths] == ["x", "x", "x"]
    assert files_from_the_future(tmp_path, []) == {}


def test_a_file_of_somebody_else_is_refused_before_anything_is_made_of_it(tmp_path, monkeypatch):
    table = write(tmp_path / "table.f32", hours=1)

    def refuse(path, when):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(file_times, "set_time", refuse)
    with pytest.raises(NeurozooError, match=f"Operation not permitted.*Ask its owner to do it: touch {table}"):
        set_to_now(files_from_the_future(tmp_path, []), time_in(tmp_path))


def test_links_in_results_are_refused(tmp_path):
    (tmp_path / "runs").symlink_to(tmp_path)
    with pytest.raises(NeurozooError, match="runs is a link"):
        files_from_the_future(tmp_path, [])
    assert files_from_the_future(tmp_path / "missing", []) == {}


class Pattern(str):
    """A file of a rule, as Snakemake has it, with the wildcard {run} alone."""

    is_ancient = False

    def is_callable(self):
        return False

    def contains_wildcard(self):
        return "{run}" in self

    def match(self, path):
        before, _, after = self.partition("{run}")
        is_ours = path == self if not after else path.startswith(before) and path.endswith(after)
        run = path[len(before) : len(path) - len(after)]
        return SimpleNamespace(groupdict=lambda: {"run": run}) if is_ours else None

    def apply_wildcards(self, wildcards):
        return self.format(**wildcards)


def rule(inputs, output):
    patterns = [each if callable(each) else Pattern(each) for each in inputs]
    return SimpleNamespace(input=patterns, output=[Pattern(output)])


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A run and a table whose times are in the order of copying."""
    monkeypatch.chdir(tmp_path)
    results = tmp_path.__class__("results")
    run = results / "runs/ga/pong/small/1"
    for hours, name in enumerate(("activation.mp4", "checkpoint.npz", "frozen/model.keras", "rollout.npz")):
        write(run / name, hours=hours - 9)
    write(results / "tables/scores.csv", hours=-20)
    return run


RULES = [
    rule([lambda wildcards: "core"], "results/runs/{run}/checkpoint.npz"),
    rule(["results/runs/{run}/checkpoint.npz"], "results/runs/{run}/frozen/model.keras"),
    rule(["results/runs/{run}/frozen/model.keras"], "results/runs/{run}/rollout.npz"),
    rule(["results/runs/{run}/rollout.npz", "results/runs/{run}/missing"], "results/runs/{run}/activation.mp4"),
    rule(["results/runs/ga/pong/small/1/rollout.npz"], "results/tables/scores.csv"),
]


def test_files_that_only_copying_has_made_older_than_their_inputs_are_found(copy):
    results = copy.parents[4]
    assert copied_runs(results, [RUN, PlannedRun("ga", "pong", "small", 2)]) == [copy]
    found = older_than_inputs(RULES, [copy])
    assert found == ["results/tables/scores.csv", str(copy / "activation.mp4")]
    assert about_copies(found).startswith("2 files are older than what they are made of, such as results/tables/sc")
    assert about_copies([]) == ""


def test_what_snakemake_made_here_is_left_to_it(copy, monkeypatch):
    result, movie = copy / "checkpoint.npz", str(copy / "activation.mp4")
    records = {
        result: {"endtime": result.stat().st_mtime},
        movie: {"input_checksums": {str(copy / "rollout.npz"): "sha256:..."}},
    }
    monkeypatch.setattr(file_times, "record_of", lambda file: records.get(file, {}))
    assert copied_runs(copy.parents[4], [RUN]) == []
    os.utime(result, (0, 0))  # copied together with .snakemake
    assert copied_runs(copy.parents[4], [RUN]) == [copy]
    assert older_than_inputs(RULES, [copy]) == ["results/tables/scores.csv"]  # the other is compared by content


def test_copies_that_do_not_belong_together_are_not_kept(tmp_path):
    checkpoint = write(tmp_path / "checkpoint.npz", text="weights")
    scores = {"frames": 400, "iteration": 2, "test_score": 1.5}
    result = {"format": 1, **scores, "files": {"checkpoint.npz": {"sha256": "that of another file"}}}
    write(tmp_path / "result.json", text=json.dumps(result))
    with pytest.raises(NeurozooError, match=r"checkpoint.npz is not the file that result.json beside it describes"):
        check_copies([tmp_path])
    result["files"]["checkpoint.npz"]["sha256"] = file_times.sha256_of(checkpoint)
    write(tmp_path / "result.json", text=json.dumps(result))
    check_copies([tmp_path, tmp_path / "without a result"])
    write(tmp_path / "frozen/model.json", text=json.dumps({"scores": scores}))
    check_copies([tmp_path])
    write(tmp_path / "frozen/model.json", text=json.dumps({"scores": scores | {"frames": 300}}))
    with pytest.raises(NeurozooError, match=r"frozen is the agent after 300 frames, but .* reached 400.*With --touch"):
        check_copies([tmp_path])
