"""Some damaged files of every format in each run of the suite; `make fuzz` reads thousands."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

FUZZER = Path(__file__).with_name("fuzzer.py")
DOCS = Path(__file__).parents[2] / "docs" / "security.md"
NAMES = subprocess.run(
    [sys.executable, FUZZER, "--names"], capture_output=True, text=True, check=True
).stdout.splitlines()
INPUTS = 2  # of each format


@pytest.fixture(scope="module")
def verdicts():
    """What became of the inputs, by format."""
    found = defaultdict(list)
    command = [sys.executable, FUZZER, "--json", "--inputs", str(INPUTS), "--seed", "0"]
    run = subprocess.run(command, capture_output=True, text=True)
    for line in run.stdout.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            found[entry["format"]].append(entry)
    assert "Traceback" not in run.stderr, run.stderr[-2000:]  # the fuzzer itself failed, and no input after it was read
    assert found, run.stderr[-2000:]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused_in_a_sentence(verdicts, name):
    assert len(verdicts[name]) == (-(-INPUTS // 7) if name.startswith("gallery: ") else INPUTS)
    failures = [entry for entry in verdicts[name] if entry["verdict"] not in ("accepted", "refused")]
    assert failures == []


@pytest.mark.parametrize("name", NAMES)
def test_every_format_has_a_row_in_the_documentation(name):
    assert f"`{name.removeprefix('gallery: ')}`" in DOCS.read_text()


def test_a_failure_is_told_from_a_refusal(monkeypatch, tmp_path):
    from neurozoo.errors import NeurozooError

    monkeypatch.syspath_prepend(str(FUZZER.parent))
    import fuzzer

    def refuse(project, path):
        raise NeurozooError(f"{path} is damaged.")

    def refuse_in_general(project, path):
        raise NeurozooError("Something is damaged.")

    def fail(project, path):
        raise KeyError("theta")

    def work_for_ever(project, path):
        while True:
            pass

    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(fuzzer, "CPU_SECONDS", 0.2)
    before = fuzzer.signal.signal(fuzzer.signal.SIGPROF, fuzzer._end)
    try:
        for read, verdict in (
            (refuse, "refused"), (refuse_in_general, "unclear"), (fail, "traceback"), (work_for_ever, "hung"),
        ):  # fmt: skip
            (tmp_path / "folder" / "file.json").write_text('{"key": 1}')
            form = fuzzer.Format("a", "folder/file.json", read)
            found = fuzzer.read_damaged(form, 1, seed=0, project=tmp_path)
            assert found["verdict"] == verdict
            assert (tmp_path / "folder" / "file.json").read_text() == '{"key": 1}'  # it is as it was
    finally:
        fuzzer.signal.signal(fuzzer.signal.SIGPROF, before)


def test_the_same_seed_makes_the_same_damage(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FUZZER.parent))
    from random import Random

    import mutations

    found = []
    for _ in range(2):
        (tmp_path / "a.json").write_text('{"key": [1, 2, 3], "other": {"x": "y"}}')
        done = mutations.damage(tmp_path / "a.json", Random("7 a 5"))
        path = tmp_path / "a.json"
        found.append((done, path.read_bytes() if path.is_file() else None))
    assert found[0] == found[1]
