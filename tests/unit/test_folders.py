import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from neurozoo import folders
from neurozoo.errors import NeurozooError
from neurozoo.files import copy_file, folder_written_whole, open_file, open_to_append, write_text, written_whole

RUN = "results/runs/ga/pong/large/1"


@pytest.fixture
def outside(tmp_path):
    """A folder whose files nobody may read, change or delete."""
    folder = tmp_path / "home"
    (folder / "thesis").mkdir(parents=True)
    (folder / "thesis" / "chapter.tex").write_text("secret")
    (folder / "x.txt").write_text("secret")
    yield folder
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert files == {"thesis/chapter.tex": "secret", "x.txt": "secret"}


@pytest.fixture(autouse=True, params=["at once", "part by part"])
def way(request, monkeypatch):
    """How folders are opened: with `openat2`, or without, as before Linux 5.6 and in some containers."""
    if request.param == "part by part":
        monkeypatch.setattr(folders, "_syscall", None)


def link(path: Path, target: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def _move_in(path):
    own = path.parents[2] / "own"
    own.write_text("own")
    folders.move(own, path)


def _write_folder(path):
    with folder_written_whole(path, parts=("*",)) as new:
        (new / "a").write_text("a")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: write_text(path, "mine"),
        lambda path: open_to_append(path).close(),
        lambda path: open_file(path).close(),
        lambda path: copy_file(path, path.parents[2] / "copy"),
        folders.delete,
        folders.delete_folder,
        folders.delete_empty_folder,
        folders.strangers,
        folders.make_folder,
        _move_in,
        _write_folder,
    ],
)
@pytest.mark.parametrize("place", [f"{RUN}/frozen", "results/site/posters", RUN, "results/runs/ga"])
def test_nothing_is_reached_through_a_link_below_the_root(tmp_path, outside, place, change):
    folders.guard(tmp_path / "results")
    link(tmp_path / place, outside)
    with pytest.raises((OSError, NeurozooError)) as caught:
        change(tmp_path / place / "thesis" / "chapter.tex")
    assert str(tmp_path / place) in str(caught.value)  # names the link
    assert not list(outside.glob(".*"))


@pytest.mark.parametrize("kind", ["read", "append"])
def test_a_file_that_is_a_link_is_refused_with_its_name(tmp_path, outside, kind):
    path = link(tmp_path / RUN / "train.log", outside / "x.txt")
    with pytest.raises(OSError, match="symbolic links") as caught:
        open_file(path) if kind == "read" else open_to_append(path)
    assert caught.value.filename == str(path)
    assert folders.is_reached_by_link(path)


def test_a_written_file_takes_the_place_of_a_link_and_leaves_its_target(tmp_path, outside):
    path = link(tmp_path / RUN / "result.json", outside / "x.txt")
    write_text(path, "mine")
    assert path.read_text() == "mine"
    assert not path.is_symlink()


def test_a_deleted_link_leaves_its_target(tmp_path, outside):
    folders.delete(link(tmp_path / RUN / "a", outside / "x.txt"))
    folders.delete_folder(link(tmp_path / RUN / "b", outside))
    (tmp_path / RUN / "c").mkdir()
    link(tmp_path / RUN / "c" / "home", outside)
    folders.delete_folder(tmp_path / RUN / "c")
    assert not list((tmp_path / RUN).iterdir())


def test_links_in_what_the_user_names_are_followed(tmp_path, outside, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    link(tmp_path / "results", scratch)
    link(tmp_path / "level.txt", outside / "x.txt")
    folders.guard(tmp_path / "results", tmp_path / "level.txt")
    write_text(tmp_path / RUN / "result.json", "mine")
    assert (scratch / "runs/ga/pong/large/1/result.json").read_text() == "mine"
    assert open_file(tmp_path / "level.txt").read() == b"secret"
    monkeypatch.chdir(tmp_path)
    write_text(Path(RUN, "a.json"), "mine")  # without a notice, the folder of `runs` is the root


def test_what_lies_beside_a_named_file_is_not_followed(tmp_path, outside):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "checkpoint.npz").write_text("x")
    folders.guard(tmp_path / "agent" / "checkpoint.npz")
    with pytest.raises(OSError, match="symbolic links"):
        open_file(link(tmp_path / "agent" / "config.yaml", outside / "x.txt"))


def test_a_null_character_does_not_end_a_name(tmp_path):
    write_text(tmp_path / RUN / "x.txt", "mine")
    with pytest.raises(ValueError, match="null"):
        open_file(f"{tmp_path / RUN}\0/x.txt")


def test_dots_lead_where_the_system_would_lead(tmp_path):
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    link(tmp_path / "here", tmp_path / "disk" / "deep")
    write_text(tmp_path / "here" / ".." / "a.txt", "mine")
    assert (tmp_path / "disk" / "a.txt").read_text() == "mine"


def test_temporary_names_cannot_be_guessed_or_taken(tmp_path, outside):
    names = set()
    for _ in range(3):
        with written_whole(tmp_path / "style.css") as temporary:
            names.add(temporary.name)
            temporary.write_text("mine")
            assert temporary.resolve().parent == tmp_path
    assert len(names) == 3
    assert os.listdir(tmp_path).count("style.css") == 1


def test_find_leaves_out_links(tmp_path, outside):
    folders.guard(tmp_path / "results")
    write_text(tmp_path / RUN / "a.txt", "mine")
    link(tmp_path / RUN / "b.txt", outside / "x.txt")
    link(tmp_path / "results/runs/ga/pong/large/2", outside)
    assert folders.find(tmp_path / "results", "runs/*/*/*/*/*.txt") == [tmp_path / RUN / "a.txt"]


def test_a_folder_is_replaced_only_if_all_in_it_is_known(tmp_path):
    folder = tmp_path / "frozen"
    for text in ("old", "new"):
        with folder_written_whole(folder, parts=("a", "b", "b/*")) as new:
            (new / "b").mkdir()
            (new / "b" / "c").write_text(text)
    assert (folder / "b" / "c").read_text() == "new"
    (folder / "b" / "d").mkdir()
    (folder / "b" / "d" / "notes.txt").write_text("precious")
    with (
        pytest.raises(NeurozooError, match=r"holds other files \(b/d/notes.txt\)"),
        folder_written_whole(folder, parts=("a", "b", "b/*")),
    ):
        pass
    assert sorted(os.listdir(tmp_path)) == ["frozen"]


def test_leftovers_of_killed_processes_are_deleted_and_nothing_else(tmp_path):
    left = f".8.{2**22 + 1}-0123456789abcdef.npz"  # no process has this number
    others = {folders.temporary_name("8.npz"), ".8.npz", ".8.backup.npz", left.replace(".8.", ".88."), "8.npz"}
    for name in (left, *others):
        (tmp_path / name).write_text("x")
    folders.delete_leftovers(tmp_path / "8.npz")
    assert set(os.listdir(tmp_path)) == others


SWAPPER = """
import os, sys
folder, home = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(folder, folder + ".away")
    os.symlink(home, folder)
    os.unlink(folder)
    os.rename(folder + ".away", folder)
"""


@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.long(seconds=60))])
def test_a_folder_that_is_exchanged_for_a_link_meanwhile_changes_nothing_outside(tmp_path, outside, times):
    folders.guard(tmp_path / "results")
    folder = tmp_path / "results/site/runs"
    write_text(folder / "x.txt", "0")
    with subprocess.Popen([sys.executable, "-c", SWAPPER, folder, outside], stdout=subprocess.PIPE) as swapper:
        try:
            swapper.stdout.readline()
            outcomes, tries, deadline = set(), 0, time.monotonic() + 60
            while tries < times or (len(outcomes) < 2 and time.monotonic() < deadline):  # a busy machine swaps late
                tries += 1
                for change in (lambda path: write_text(path, "mine"), folders.delete, lambda path: open_file(path)):
                    try:
                        with change(folder / "x.txt") or open(os.devnull) as file:
                            assert b"secret" not in (file.read() or b"" if file.name != os.devnull else b"")
                        outcomes.add("done")
                    except (OSError, NeurozooError):
                        outcomes.add("refused")
        finally:
            swapper.kill()
    assert outcomes == {"done", "refused"}


PATTERNS = ("*", "**/*", "a/*", "*/b.txt", "a/b.txt", "*.[tm]*", "**/*.txt", ".*", "a", "missing/x")


def test_search_finds_what_glob_finds(tmp_path):
    for name in ("a/b.txt", "a/c/d.txt", ".hidden/b.txt", "e.txt", "f.mp4", "a[1]/b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    for pattern in PATTERNS:
        assert folders.search(tmp_path, pattern) == (sorted(tmp_path.glob(pattern)), []), pattern
    assert folders.find(tmp_path, *PATTERNS) == sorted({path for each in PATTERNS for path in tmp_path.glob(each)})
    assert folders.find(tmp_path / "missing", "*") == folders.find(tmp_path / "e.txt", "*") == []


def test_search_names_links_and_nothing_behind_them(tmp_path, outside):
    results = tmp_path / "results"
    folders.guard(results)
    link(results / "movies", outside)
    link(results / "runs/ga", outside)
    link(results / "runs/x.txt", outside / "x.txt")
    links = [results / "movies", results / "runs/ga", results / "runs/x.txt"]
    assert folders.search(results, "**/*") == ([results / "runs"], links)
    assert folders.search(results, "runs/*/thesis", "movies/*.txt") == ([], links)
    assert folders.search(results / "movies", "*") == ([], [])


def test_a_folder_with_links_is_refused_as_a_whole(tmp_path, outside):
    results = tmp_path / "results"
    link(results / "native/build/ale/current", outside)
    assert {entry.path for entry in folders.walk(results, but="native/build")} == {
        str(results / "native"), str(results / "native/build")
    }  # fmt: skip
    assert list(folders.walk(tmp_path / "missing")) == []
    link(tmp_path / "other", results)
    assert len(list(folders.walk(tmp_path / "other", but="native/build"))) == 2  # the folder itself may be one
    found = link(results / "runs/ga", outside)
    with pytest.raises(OSError, match="symbolic links") as caught:
        list(folders.walk(results, but="native/build"))
    assert caught.value.filename == str(found)


def test_jobs_of_snakemake_know_the_folder_of_results(tmp_path, outside):
    found = link(tmp_path / "results/tables", outside)
    write = f"from neurozoo.files import write_text; write_text({str(found / 'x.txt')!r}, 'mine')"
    environment = {**os.environ, "NEUROZOO_RESULTS": str(tmp_path / "results")}
    run = subprocess.run([sys.executable, "-c", write], env=environment, capture_output=True, text=True)
    assert "tables is a link" in run.stderr


# They work in temporary folders, in the project's own, or in that of the compiler.
OWN_FOLDERS = {
    "agents/freeze.py", "book/reports.py", "book/update.py", "cloud/stack.py", "compute/gpus.py", "files/__init__.py",
    "folders.py", "native/build.py", "native/image.py", "native/make_image.py", "native/patches.py",
    "plan/reference_pages.py",
}  # fmt: skip
CHANGES = re.compile(
    r"\.unlink\(|rmtree\(|shutil\.(move|copy)|os\.(remove|rename|replace|unlink|rmdir)\(|\.rmdir\(|mkdir\(|makedirs\("
    r"|\.write_(text|bytes)\((?<!temporary\.write_text\()(?<!temporary\.write_bytes\()"
)


def test_no_other_module_changes_files_and_folders_by_itself():
    library = Path(folders.__file__).parent
    found = {
        path.relative_to(library).as_posix(): match[0]
        for path in library.rglob("*.py")
        if (match := CHANGES.search(path.read_text(encoding="utf-8")))
    }
    assert set(found) - OWN_FOLDERS == set(), found
