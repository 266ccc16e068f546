import json
import re
from pathlib import Path

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.folders import move
from neurozoo.records.kept_result import keep_result
from neurozoo.training.state import RunState

RULES = Path(__file__).parents[3] / "workflow" / "rules"
IDENTITY = {"algo": "ga", "game": "pong", "mutation_power": {"type": "constant", "initial": 0.1}, "seed": 0}
ELAPSED = {"counted": 1.5, "total": 2.0}
RESULT = EpisodeResult(1.5, 10, 39, 0.2)


def open_state(run_dir, *, identity=None, budget=1000):
    return RunState(run_dir, identity=IDENTITY | (identity or {}), budget=budget)


def save_generation(state, iteration, *, frames=100):
    state.report({"Iteration": iteration})
    state.save({"iteration": iteration, "frames": frames}, ELAPSED, progress=frames)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- between generations


def test_a_state_comes_back_as_it_was_saved(tmp_path):
    state = open_state(tmp_path)
    save_generation(state, 1)
    again = open_state(tmp_path)
    assert again.saved["algorithm"] == {"iteration": 1, "frames": 100}
    assert again.saved["elapsed"] == ELAPSED
    assert again.log.read_text() == '{"format": 1, "Iteration": 1}\n'


def test_seconds_of_a_stopped_generation_are_kept_until_the_next_state(tmp_path):
    assert open_state(tmp_path).elapsed is None
    state = open_state(tmp_path)
    save_generation(state, 1)
    assert open_state(tmp_path).elapsed == ELAPSED
    for seconds in (1.0, 4.0):  # stopped twice
        state.journal(1, "population", {1: RESULT})
        state.keep_elapsed(ELAPSED | {"now": {"counted": seconds, "total": seconds, "playing": 0.0, "processor": 1.0}})
    again = open_state(tmp_path)
    assert again.elapsed["now"]["total"] == 4.0
    assert set(again.finished_episodes(1, "population")) == {1}
    save_generation(again, 2)
    assert open_state(tmp_path).elapsed == ELAPSED


def test_reports_after_the_last_saved_state_are_cut_off(tmp_path):
    state = open_state(tmp_path)
    save_generation(state, 1)
    state.report({"Iteration": 2})
    with open(state.log, "a") as file:
        file.write('{"Itera')
    assert open_state(tmp_path).log.read_text() == '{"format": 1, "Iteration": 1}\n'


def elites(state):
    return [json.loads(line).get("TruncatedPopulationEliteSeeds") for line in state.log.read_text().splitlines()]


def test_a_log_holds_what_is_new_in_the_elites_genome_whether_or_not_the_run_was_interrupted(tmp_path):
    expected = [[5], {"keeps": 1, "adds": [[7, 0.01]]}, {"keeps": 2, "adds": [[8, 0.01]]}, {"keeps": 1, "adds": []}]
    genomes = [[5], [5, [7, 0.01]], [5, [7, 0.01], [8, 0.01]], [5]]
    through, killed = open_state(tmp_path / "through"), tmp_path / "killed"
    for number, genome in enumerate(genomes, 1):
        for state in (through, open_state(killed)):
            state.report({"Iteration": number, "TruncatedPopulationEliteSeeds": genome})
            state.save({"iteration": number, "frames": 100}, ELAPSED, progress=100)
        lost = open_state(killed)
        lost.report({"Iteration": number + 1, "TruncatedPopulationEliteSeeds": [9]})  # killed before it was saved
    assert elites(through) == elites(open_state(killed)) == expected


def test_reports_of_a_run_that_was_never_saved_are_cut_off(tmp_path):
    state = open_state(tmp_path)
    state.report({"Iteration": 1})
    assert open_state(tmp_path).log.read_text() == ""


def test_lost_reports_are_noticed(tmp_path):
    state = open_state(tmp_path)
    save_generation(state, 1)
    state.log.write_text("")
    with pytest.raises(
        NeurozooError, match=r"should have at least 30 bytes, but has 0: reports are lost\. Restore the file"
    ):
        open_state(tmp_path)


# ---- arrays


def save_arrays(state, iteration, **arrays):
    state.save(
        {"iteration": iteration, "frames": 100}, ELAPSED, {name.replace("_", "-"): a for name, a in arrays.items()}
    )


def killed(*_):
    raise KeyboardInterrupt


def test_arrays_come_back_to_the_bit(tmp_path):
    theta = np.array([0.1, np.float32(1) / 3, -0.0], np.float32)
    save_arrays(open_state(tmp_path), 1, theta_1=theta, archive_0=np.arange(6, dtype=np.uint8).reshape(2, 3))
    again = open_state(tmp_path).arrays()
    assert sorted(again) == ["archive-0", "theta-1"]
    assert again["theta-1"].dtype == np.float32
    assert again["theta-1"].tobytes() == theta.tobytes()
    assert again["archive-0"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_array_is_written_once_and_removed_when_the_state_no_longer_names_it(tmp_path):
    state = open_state(tmp_path)
    save_arrays(state, 1, archive_0=np.zeros(3), theta_1=np.ones(3))
    written = (state.folder / "arrays" / "archive-0.npy").stat()
    save_arrays(state, 2, archive_0=np.zeros(3), theta_2=np.ones(3))
    assert names(state.folder / "arrays") == ["archive-0.npy", "theta-2.npy"]
    after = (state.folder / "arrays" / "archive-0.npy").stat()
    assert (after.st_ino, after.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def test_a_kill_between_arrays_and_state_leaves_the_previous_state(tmp_path, monkeypatch):
    state = open_state(tmp_path)
    save_arrays(state, 1, theta_1=np.ones(3))
    monkeypatch.setattr("neurozoo.training.state.write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        save_arrays(state, 2, theta_2=np.full(3, 2.0))
    again = open_state(tmp_path)
    assert again.saved["algorithm"]["iteration"] == 1
    assert again.arrays()["theta-1"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("had_a_state", [True, False])
def test_arrays_that_a_kill_left_behind_do_not_become_those_of_a_run_that_continues_otherwise(
    tmp_path, monkeypatch, had_a_state
):
    state = open_state(tmp_path)
    if had_a_state:
        save_arrays(state, 1, theta_1=np.ones(3))
    with monkeypatch.context() as patch:
        patch.setattr("neurozoo.training.state.write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            save_arrays(state, 2, theta_2=np.ones(3))
    again = open_state(tmp_path)  # such as a learner on a GPU, or whose replay memory was not kept
    assert names(again.folder / "arrays") == (["theta-1.npy"] if had_a_state else [])
    save_arrays(again, 2, theta_2=np.full(3, 2.0))
    assert open_state(tmp_path).arrays()["theta-2"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"\x93NUMPY")])
def test_a_lost_or_damaged_array_is_explained(tmp_path, damage):
    save_arrays(open_state(tmp_path), 1, theta_1=np.ones(3))
    damage(tmp_path / "state" / "arrays" / "theta-1.npy")
    with pytest.raises(NeurozooError, match=r"theta-1\.npy is missing or damaged .*Delete .*state to train"):
        open_state(tmp_path).arrays()


# ---- within a generation


@pytest.mark.parametrize(
    "behaviour", [np.arange(256, dtype=np.uint8).reshape(2, 128), np.array([[0.1, 2]], np.float32), np.zeros((0, 3))]
)
def test_behaviours_survive_with_their_episodes(tmp_path, behaviour):
    open_state(tmp_path).journal(
        0, "population", {3: EpisodeResult(1.5, 10, 39, sign_score=3, behaviour=behaviour), 4: RESULT}
    )
    again = open_state(tmp_path).finished_episodes(0, "population")
    assert again[3].sign_score == 3
    assert again[4].behaviour is None
    assert again[3].behaviour.dtype == behaviour.dtype
    np.testing.assert_array_equal(again[3].behaviour, behaviour)


def test_finished_episodes_survive(tmp_path):
    state = open_state(tmp_path)
    state.journal(0, "population", {3: RESULT, 1: EpisodeResult(-0.1, 2, 8)})
    state.journal(0, "validation", {7: RESULT})
    again = open_state(tmp_path)  # as after a kill: nothing was closed
    assert again.finished_episodes(0, "population") == {3: EpisodeResult(1.5, 10, 39), 1: EpisodeResult(-0.1, 2, 8)}
    assert again.finished_episodes(0, "validation") == {7: EpisodeResult(1.5, 10, 39)}
    assert again.finished_episodes(0, "test") == {}
    assert again.finished_episodes(1, "population") == {}


@pytest.mark.parametrize("kept", range(0, 39, 3))
def test_a_line_that_a_kill_cut_off_does_not_count_and_does_not_swallow_the_next(tmp_path, kept):
    state = open_state(tmp_path)
    state.journal(0, "population", {1: RESULT})
    whole = state.folder.joinpath("journal.jsonl").read_bytes()
    assert len(whole) == 39
    state.folder.joinpath("journal.jsonl").write_bytes((whole * 2)[: len(whole) + kept])
    again = open_state(tmp_path)
    assert set(again.finished_episodes(0, "population")) == {1}
    again.journal(0, "population", {2: RESULT})
    assert set(open_state(tmp_path).finished_episodes(0, "population")) == {1, 2}


@pytest.mark.parametrize(
    "line", [b"\xff\xfe\x00", bytes(100), b"12", b"null", b'"text"', b"[]", b"[0]", b'[0, "population", 1, 2]', b"{}"]
)
def test_a_damaged_line_of_the_journal_does_not_count(tmp_path, line):
    state = open_state(tmp_path)
    state.journal(0, "population", {1: RESULT})
    with open(state.folder / "journal.jsonl", "ab") as file:
        file.write(line + b"\n")
    again = open_state(tmp_path)
    again.journal(0, "population", {2: RESULT})
    assert set(again.finished_episodes(0, "population")) == {1, 2}


def test_saving_a_generation_empties_the_journal(tmp_path):
    state = open_state(tmp_path)
    state.journal(0, "population", {1: RESULT})
    save_generation(state, 1)
    assert not (state.folder / "journal.jsonl").exists()
    state.journal(1, "population", {5: RESULT})
    assert set(state.finished_episodes(1, "population")) == {5}


def test_a_journal_of_an_older_generation_does_not_count(tmp_path):
    # Killed after the state was saved and before the journal was emptied.
    state = open_state(tmp_path)
    state.journal(0, "population", {1: RESULT})
    journal = (state.folder / "journal.jsonl").read_bytes()
    save_generation(state, 1)
    (state.folder / "journal.jsonl").write_bytes(journal)
    assert open_state(tmp_path).finished_episodes(1, "population") == {}


# ---- other settings


def test_superseded_states_never_share_a_folder(tmp_path):
    (tmp_path / "superseded" / "1").mkdir(parents=True)
    (tmp_path / "superseded" / "3").mkdir()
    for seed in (1, 2, 3):
        open_state(tmp_path, identity={"seed": seed})
    assert {name: names(tmp_path / "superseded" / name) for name in names(tmp_path / "superseded")} == {
        "1": [],
        "2": ["state.json"],
        "3": [],
        "4": ["state.json"],
    }


def test_changed_settings_move_the_old_state_out_of_the_way(tmp_path):
    state = open_state(tmp_path)
    save_generation(state, 1)
    state.journal(1, "population", {1: RESULT})
    before = content(state.folder)
    other = open_state(tmp_path, identity={"seed": 1})
    assert other.saved is None
    assert other.superseded == tmp_path / "superseded" / "1"
    assert content(other.superseded) == before
    assert other.finished_episodes(1, "population") == {}
    save_generation(other, 1)
    third = open_state(tmp_path, identity={"seed": 1, "architecture": "of an edited network"})
    assert third.superseded == tmp_path / "superseded" / "2"
    assert (other.why_superseded, third.why_superseded) == ("The settings have changed", "The network has changed")


def test_every_file_of_a_run_that_a_rule_makes_moves_out_of_the_way(tmp_path):
    """Else they would stand beside the new `config.yaml` and be taken for results of the new settings."""
    save_generation(open_state(tmp_path), 1)
    rules = "".join(path.read_text() for path in RULES.glob("*.smk"))
    made = set(re.findall(r'"<results>/runs/\{+algo\}+/[^"/]+/[^"/]+/\{+run\}+/([^"]+)"', rules))
    wanted = {name for name in made if not name.startswith(("logs/", "train.", "tags/", "profile.", "{result_file"))}
    assert len(wanted) > 30
    for name in (*wanted, "population/00009.npz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"old {name}")
    (tmp_path / "train.log").touch()  # Snakemake's, of the training that begins
    open_state(tmp_path)
    assert not (tmp_path / "superseded").exists()
    open_state(tmp_path, identity={"seed": 1})
    assert names(tmp_path) == ["state", "superseded", "train.log"]
    there = tmp_path / "superseded" / "1"
    assert names(there / "population") == ["00009.npz"]
    assert {name: (there / "result" / name).read_text() for name in wanted} == {name: f"old {name}" for name in wanted}


def test_snapshots_without_a_state_move_out_of_the_way_too(tmp_path):
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "1000.npz").write_bytes(b"old")
    state = open_state(tmp_path)
    assert (tmp_path / "superseded" / "1" / "snapshots" / "1000.npz").read_bytes() == b"old"
    assert not (tmp_path / "snapshots").exists()
    assert (state.superseded, state.why_superseded) == (
        tmp_path / "superseded" / "1",
        "There is no state to continue from",
    )


def test_files_in_a_folder_without_a_run_stay(tmp_path):
    """They are the user's, or a rule's that needs no training."""
    old = ("holiday.mp4", "profile.json", "rollout.py")
    for name in old:
        (tmp_path / name).touch()
    (tmp_path / "filters").mkdir()
    state = open_state(tmp_path)
    assert names(tmp_path) == sorted([*old, "filters", "state"])
    assert state.superseded is None


@pytest.mark.parametrize("has_state", [True, False])
def test_results_that_snakemake_has_deleted_move_out_of_the_way_too(tmp_path, has_state):
    if has_state:
        save_generation(open_state(tmp_path), 1)
    outputs = ("config.yaml", "log.jsonl", "checkpoint.npz")
    for name in (*outputs, "genome.json", "result.json"):
        (tmp_path / name).write_text(f"old {name}")
    keep_result(tmp_path)
    for name in outputs:
        (tmp_path / name).unlink()  # as Snakemake does before the job starts
    open_state(tmp_path, identity={"seed": 1})
    assert names(tmp_path) == ["state", "superseded"]
    there = tmp_path / "superseded" / "1" / "result"
    assert {name: (there / name).read_text() for name in names(there)} == {
        name: f"old {name}" for name in (*outputs, "genome.json", "result.json")
    }


def test_the_newest_result_is_kept_without_a_copy(tmp_path):
    kept = tmp_path / ".result" / "checkpoint.npz"
    (tmp_path / "checkpoint.npz").write_bytes(b"first")
    keep_result(tmp_path)
    assert kept.samefile(tmp_path / "checkpoint.npz")
    (tmp_path / "checkpoint.npz").unlink()
    keep_result(tmp_path)  # before another attempt, which finds nothing
    assert kept.read_bytes() == b"first"
    (tmp_path / "checkpoint.npz").write_bytes(b"second")
    keep_result(tmp_path)
    assert kept.read_bytes() == b"second"
    assert names(tmp_path) == [".result", "checkpoint.npz"]
    keep_result(tmp_path / "of nothing")
    assert names(tmp_path) == [".result", "checkpoint.npz"]


def test_a_kept_result_survives_a_kill_while_it_moves_out_of_the_way(tmp_path, monkeypatch):
    save_generation(open_state(tmp_path), 1)
    (tmp_path / "frozen").mkdir()
    (tmp_path / "checkpoint.npz").write_bytes(b"old")
    keep_result(tmp_path)
    (tmp_path / "checkpoint.npz").unlink()  # by Snakemake, as it would again before the next start
    with monkeypatch.context() as patch:
        of_kept = lambda old: ".result" in old.parts  # noqa: E731
        patch.setattr("neurozoo.training.state.move", lambda old, new: 1 / 0 if of_kept(old) else move(old, new))
        with pytest.raises(ZeroDivisionError):
            open_state(tmp_path, identity={"seed": 1})
    open_state(tmp_path, identity={"seed": 1})
    (found,) = (tmp_path / "superseded").rglob("checkpoint.npz")
    assert found.read_bytes() == b"old"


def test_a_state_that_went_through_json_is_the_same_settings(tmp_path):
    state = open_state(tmp_path, identity={"power": 0.1 + 0.2, "none": None, "list": (1, 2)})
    save_generation(state, 1)
    assert open_state(tmp_path, identity={"power": 0.1 + 0.2, "none": None, "list": (1, 2)}).saved is not None


@pytest.mark.parametrize(
    ("saved_budget", "frames", "budget", "continues"),
    [
        (1000, 1040, 1000, True),  # done; the last generation went beyond
        (1000, 1040, 2000, True),  # a larger budget
        (1000, 1040, 1020, True),  # a larger budget that is spent already
        (1000, 500, 1000, True),
        (1000, 500, 800, True),  # a smaller one that is not spent
        (1000, 800, 800, False),  # an uninterrupted run with this budget might have stopped earlier
        (1000, 1040, 800, False),
    ],
)
def test_a_larger_budget_continues_and_one_that_is_spent_starts_anew(tmp_path, saved_budget, frames, budget, continues):
    state = open_state(tmp_path, budget=saved_budget)
    save_generation(state, 1, frames=frames)
    again = open_state(tmp_path, budget=budget)
    assert (again.saved is not None) == continues
    assert (again.superseded is None) == continues
    spent = f"The budget is now {budget:,}, but the run has spent {frames:,}, so it starts anew"
    assert again.why_superseded == ("" if continues else spent)


def test_a_budget_that_was_lowered_and_raised_again_continues(tmp_path):
    state = open_state(tmp_path, budget=1000)
    save_generation(state, 1, frames=500)
    open_state(tmp_path, budget=800)
    assert open_state(tmp_path, budget=1000).saved is not None


# ---- damage


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: "", "is damaged"),
        (lambda text: "[]", "should hold a JSON object"),
        (lambda text: '{"identity": {}}', "has format 0, but this version reads format 1"),
        (lambda text: '{"format": 1}', "lacks algorithm, arrays, budget, elapsed, identity, log_bytes, progress"),
        (lambda text: text.replace('"budget": 1000', '"budget": "much"'), "is damaged"),
        (lambda text: text.replace('"log_bytes": 30', '"log_bytes": "few"'), "is damaged"),
        (lambda text: text.replace('"log_bytes": 30', '"log_bytes": -1'), "is damaged"),
        (lambda text: text.replace('"total": 2.0', '"total": null'), "is damaged"),
        (lambda text: text.replace('"progress": 100', '"progress": null'), "is damaged"),
        (lambda text: json.dumps(json.loads(text) | {"algorithm": []}), "is damaged"),
        (lambda text: json.dumps(json.loads(text) | {"elapsed": {}}), "is damaged"),
        (lambda text: text.replace('"total": 2.0', '"total": 2.0, "processor": "x"'), "is damaged"),
        (lambda text: text.replace('"total": 2.0', '"total": 1e999'), "is damaged"),
        (lambda text: text.replace('"total": 2.0', '"total": 2.0, "now": {"waiting": 1.0}'), "is damaged"),
    ],
)
def test_a_damaged_state_is_refused_with_the_remedy_and_nothing_is_touched(tmp_path, damage, complaint):
    state = open_state(tmp_path)
    save_generation(state, 1)
    state.journal(1, "population", {1: RESULT})
    path = state.folder / "state.json"
    path.write_text(damage(path.read_text()))
    before = content(tmp_path)
    with pytest.raises(NeurozooError, match=f"{complaint}.*Delete .*state to train this run from the start"):
        open_state(tmp_path)
    assert content(tmp_path) == before


# ---- a full disk


def test_a_full_disk_is_explained_at_every_write(small_disk):
    outcome = small_disk(
        """
import numpy as np
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.training.state import RunState

ELAPSED = {"counted": 1.0, "total": 1.0}

def open_state():
    return RunState(sys.argv[1], identity={"seed": 0}, budget=1000)

def fails(act):
    try:
        for number in range(1000):
            act(number)
        return "nothing was raised"
    except NeurozooError as error:
        return str(error)

state = open_state()
state.report({"Iteration": 1})
state.save({"iteration": 1, "frames": 100}, ELAPSED, {"theta-1": np.ones(1000)})
fill(4096)  # room for the journal's first page
messages = [
    fails(lambda n: state.journal(1, "population", {n: EpisodeResult(0.1, n, 4 * n)})),
    fails(lambda n: state.report({"Iteration": 2, "text": "x" * 100})),
    fails(lambda n: state.save({"iteration": 2, "frames": 200}, ELAPSED, {"theta-1": np.ones(1000)})),
]
free()
fill(20_000)
messages += [fails(lambda n: state.save({"iteration": 2, "frames": 200}, ELAPSED, {"theta-2": np.zeros(10_000)}))]
free()
again = open_state()
kept = again.finished_episodes(1, "population")
again.journal(1, "population", {5000: EpisodeResult(0.1, 1, 4)})
found = again.finished_episodes(1, "population")
print(json.dumps([
    messages, again.saved["algorithm"], again.arrays()["theta-1"].sum(), again.log.read_text(),
    sorted(kept) == list(range(len(kept))), len(kept),
    all(kept[n] == EpisodeResult(0.1, n, 4 * n) for n in kept), sorted(set(found) - set(kept)),
]))
"""
    )
    messages, algorithm, theta, log, is_gapless, count, is_right, added = outcome
    for message, name in zip(messages, ("journal.jsonl", "log.jsonl", "state.json", "theta-2.npy"), strict=True):
        assert f"{name} could not be written: no space left on device" in message
    assert (algorithm, theta) == ({"iteration": 1, "frames": 100}, 1000)
    assert log == '{"format": 1, "Iteration": 1}\n'
    assert is_gapless
    assert 0 < count < 1000
    assert is_right
    assert added == [5000]
