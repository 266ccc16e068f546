"""Puts links in the place of files and folders of results, runs commands on them, and watches what lies outside.

    python tests/fuzz/links.py --cases 2000 --seed 1
    python tests/fuzz/links.py --commands site --entries results/site/posters --kinds folder      some cases again

A folder of results has an example of everything. In each case one entry of it, or one that a command will write, is
exchanged for a link to

- `twin`: a copy of the entry outside, so that whoever follows the link finds what they look for,
- `folder`: a folder outside with somebody's files,
- `missing`: a file outside that does not exist, but would be made by whoever writes through the link,
- `itself`, `device` (`/dev/zero`, which never ends) and `pipe` (a named pipe, at which readers and writers wait);
- `fifo` is no link, but such a pipe in the entry's place.

A case passes if the command ends in time, with success or one sentence, and everything outside has the same names,
bytes, modes and times; nothing there was opened (the kernel tells: inotify), and no name or text of it appears in
the results, in what the command wrote elsewhere, or in what it said. Paths outside of runs that a command names itself
are the user's own choice (docs/security.md), so these cases are left out.

The parent imports everything once; each case is a fork of it, in a copy of the folder.
"""

import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
if __name__ == "__main__":
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    sys.path[:0] = [str(HERE), str(Path(os.environ.get("NEUROZOO_LIBRARY") or PROJECT / "workflow" / "lib"))]

from formats import RUN, UNFINISHED, make_project  # noqa: E402, found by the line before
from fuzzer import table  # noqa: E402

TRAINED = "results/runs/ga/hard_maze/simple/3"  # what commands really trained, froze and filmed
PICTURES, RIVER = "results/runs/imported/pong/small/1", "results/runs/imported/river_crossing/cells/1"
OPS = PROJECT / "results" / "native" / "libneurozoo_core.so"
ENGINE = f"--core {OPS} --noise noise.f32"
SMALL = (
    "--set population_size=4 --set selection_threshold=2 --set validation_threshold=1 --set num_validation_episodes=1 "
    "--set num_test_episodes=1 --set record_population=true --set snapshot_frames=2000"
)
TRAIN = f"train --game hard_maze --model simple --threads 1 {SMALL} {ENGINE}"
LINKS = ("twin", "folder", "missing", "itself", "device", "pipe")
KINDS = (*LINKS, "fifo")
NUMBERS = (3, 4)  # of runs that `train` has in the commands
SECRET = "xyzzy-of-somebody"  # in names and texts outside
SECONDS = 20  # of processor time for one case
PATIENCE = 600  # seconds for one case, on a machine that has much else to do
ADDRESSES = 2**33  # bytes of address space that a case may take besides
LARGEST = 2**28  # bytes of a file that a case may write
PASSED = ("done", "refused")
FAR = 0.05  # share of cases that are tried although the command has nothing to do with the entry

# The commands of docs/ that read or write results. Those with `play` see no terminal and say so.
COMMANDS = {
    "site": "site",
    "bundle": "site --bundle public",
    "zip": "site --bundle public.zip",
    "show": "show",
    "provenance": "provenance",
    "status": "status --configfile maze.yaml",
    "book": "book",
    "zoo list": "zoo list",
    "zoo show": "zoo show ga/hard_maze/simple/3",
    "zoo export": "zoo export rlzoo",
    "zoo import": "zoo import BreakoutNoFrameskip-v4/model1_final.pb",
    "zoo play": f"zoo --index agents/index.yaml play maze --terminal {ENGINE}",
    "zoo movie": f"zoo --index agents/index.yaml movie maze {ENGINE}",
    "zoo unpack": f"zoo --index agents/index.yaml unpack maze --results results {ENGINE}",
    "play": f"play {TRAINED} --terminal",
    "import": "import genome.json --run-dir results/runs/imported/hard_maze/simple/1 --noise noise.f32",
    "export": f"export {TRAINED} weights.npz --noise noise.f32",
    "evaluate": f"evaluate --genome {TRAINED} --episodes 1 --threads 1 {ENGINE}",
    "freeze": f"freeze {TRAINED} {ENGINE}",
    "freeze tag": f"freeze {TRAINED} --tag initial {ENGINE}",
    "freeze snapshot": f"freeze {TRAINED} --snapshot 2000 {ENGINE}",
    "freeze generation": f"freeze {TRAINED} --generation 1 {ENGINE}",
    "rollout": f"rollout {TRAINED} --max-steps 5",
    "rollout seeds": f"rollout {TRAINED} --max-steps 5 --seeds 0 1 --streamlined",
    "test": f"test {TRAINED} --episodes 1 {ENGINE}",
    "movie": f"movie {TRAINED} --max-steps 3",
    "movie layer": f"movie {TRAINED} --layer fc1 --max-steps 3",
    "movie game": f"movie {TRAINED} --game --max-steps 3",
    "movie loop": f"movie {TRAINED} --loop",
    "movie grid": f"movie --grid {TRAINED} {RUN} --max-steps 3",
    "generations": f"generations {TRAINED} --count 2 --max-steps 3 {ENGINE}",
    "train": f"{TRAIN} --run 4 --set frames=1000 --tensorboard",
    "train on": f"{TRAIN} --run 3 --set frames=5000 --tensorboard",
    "train anew": f"{TRAIN} --run 3 --set frames=1000 --set seed=1",
    "resume": f"resume {TRAINED} --budget 5000 --threads 1 {ENGINE}",
    "parse": f"parse published.txt {RUN}/metrics.csv --game hard_maze --model simple --run 1",
    "parse log": f"parse {TRAINED}/log.jsonl {TRAINED}/metrics.csv --game hard_maze --model simple --run 3",
    "phases": f"phases {RUN}",
    "panels": f"panels {RUN}",
    "filters weights": f"filters weights {PICTURES} --layer conv1",
    "filters patches": f"filters patches {PICTURES} --layer conv1",
    "filters synthetic": f"filters synthetic {PICTURES} --layer conv1 --steps 1",
    "filters inversion": f"filters inversion {PICTURES} --layer conv1 --steps 1",
    "filters guided": f"filters guided {PICTURES} --layer conv1",
    "filters guided-page": f"filters guided-page {PICTURES}",
    "filters attribution": f"filters attribution {PICTURES} --points 2",
    "filters saliency": f"filters saliency {PICTURES} --moments 2",
    "filters lean": f"filters lean {PICTURES}",
    "filters plot-lean": f"filters plot-lean {RUN} --output lean.png",
    "statistics": "compare statistics results/tables/metrics.parquet --output results/statistics --replications 10",
    "embed": f"compare embed {TRAINED} {RUN} --methods pca --keys representation",
    "classify": f"compare classify {TRAINED} {RUN} --by run",
    "population": f"compare population {TRAINED}",
    "robustness": f"robustness {RIVER} --worlds 1 --widths 0 --step-limit 3",
    "simple_dqn record": f"simple_dqn record {PICTURES}",
}  # fmt: skip

# Entries that are not there yet: commands, or jobs of the workflow, write them.
TO_COME = (
    *(f"results/{name}" for name in (
        "figures", "movies", "movies/hard_maze.mp4", "comparisons", "comparisons/hard_maze", "provenance.html",
        "provenance.json", "site/games", "site/games/hard_maze.html", "statistics", "statistics/scores.csv", "zoo",
        "zoo/runs", "runs/imported", "runs/imported/hard_maze", "runs/imported/hard_maze/simple/1",
        "runs/imported/breakout", "logs", "runs/ga/hard_maze/simple/4", "runs/ga/hard_maze/simple/4/state",
        "runs/ga/hard_maze/simple/4/train.log", "runs/es",
    )),
    *(f"{TRAINED}/{name}" for name in (
        "test.json", "robustness.json", "rollouts", "rollouts/streamlined.npz", "rollouts/seed_0.npz",
        "rollout.parquet",
        "generations", "generations/1", "generations/1/frozen", "generations.mp4", "generations.poster.png", "filters",
        "game.mp4", "layer_fc1.mp4", "loop.webp",
        "population.html", "tags", "tags/initial", "tags/initial/frozen", "tags/initial.npz", "snapshots/2000",
        "snapshots/2000/frozen", "superseded/2", "superseded/2/result", ".result.begun", "tensorboard",
        "state/arrays", "state/arrays/theta.npy", "state/journal.jsonl", "state/requeued", "evaluation.json",
        "episodes.csv", "archive.npz", "log.jsonl.begun",
    )),
    *(f"{PICTURES}/{name}" for name in ("filters", "filters/weights_conv1.png", "filters/patches_conv1.png",
                                        "filters/guided.html", "filters/lean.csv", "recorded.mp4")),
    *(f"{RIVER}/{name}" for name in ("robustness.json", "robustness.csv")),
    *(f"{UNFINISHED}/{name}" for name in ("frozen", "checkpoint.npz", "config.yaml", "snapshots", "superseded", "tags",
                                          "train.log", "population", "result.json", "genome.json", "log.jsonl")),
    *(f"{RUN}/{name}" for name in ("train.log", "state", "tags", "tags/human", "tags/human/activation.mp4", "loop.webp",
                                   "heatmap.png", "phases.png", "filters/a.png", "activation.screen.png")),
)  # fmt: skip


# ---- what lies outside


@dataclass(frozen=True)
class Outside:
    """A folder outside of the results, which nothing may touch.

    Attributes:
        folder: Where it is.
        watch: Descriptor by which the kernel tells what is opened there.
    """

    folder: Path
    watch: int

    def state(self) -> dict[str, tuple]:
        """Returns names, kinds, modes, times and contents of everything in it."""
        found = {}
        for path in (self.folder, *sorted(self.folder.rglob("*"))):
            facts = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
            name = path.relative_to(self.folder).as_posix()
            found[name] = (facts.st_mode, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_nlink, content)
        return found

    def opened(self) -> list[str]:
        """Returns what the kernel has told since the last call, such as `opened chapter1.tex`."""
        names = {0x2: "written", 0x20: "opened", 0x4: "changed", 0x100: "made", 0x200: "deleted", 0x40: "moved"}
        found = []
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.watch, 2**16):
                while data:
                    _, mask, _, size = struct.unpack("iIII", data[:16])
                    name = data[16 : 16 + size].rstrip(b"\0").decode() or "the folder"
                    found.append(f"{' '.join(word for bit, word in names.items() if mask & bit)} {name}")
                    data = data[16 + size :]
        return found


def make_outside(folder: Path, twin: Path | None) -> Outside:
    """Makes a folder with somebody's files, a pipe, and a copy of `twin` if it is there, and watches it."""
    folder.mkdir(mode=0o750)
    (folder / "thesis" / SECRET).mkdir(parents=True)
    (folder / "thesis" / "chapter1.tex").write_text(f"{SECRET}\n" * 9)
    (folder / "thesis" / SECRET / f"{SECRET}.npz").write_text(SECRET)
    for name in (f"{SECRET}.html", f"{SECRET}.png", f"{SECRET}.mp4", "style.css", "log.jsonl", "1.npz", "events.out"):
        (folder / "thesis" / name).write_text(SECRET)
    (folder / "thesis" / "1").mkdir()  # could be a run, a generation or a state before
    (folder / "secret.txt").write_text(f"{SECRET}\n")
    os.mkfifo(folder / "pipe")
    if twin is not None and twin.is_dir():
        shutil.copytree(twin, folder / "twin")
        (folder / "twin" / f"{SECRET}.png").write_text(SECRET)
    elif twin is not None and twin.is_file():
        shutil.copy2(twin, folder / "twin")
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    outside = Outside(folder, watch)
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        if libc.inotify_add_watch(watch, os.fsencode(path), 0x2 | 0x4 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", str(path))
    return outside


def put_link(entry: Path, kind: str, outside: Path) -> None:
    """Exchanges an entry, which need not exist, for a link of a kind; see the top of this file."""
    if entry.is_dir():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)
    entry.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(entry)
        return
    twin = outside / "twin"
    entry.symlink_to({
        "twin": twin if twin.exists() else outside / "secret.txt", "folder": outside / "thesis",
        "missing": outside / "missing" / "file", "itself": entry, "device": "/dev/zero", "pipe": outside / "pipe",
    }[kind])  # fmt: skip
    if kind == "missing" and not entry.suffix:  # a folder, whose parent exists
        entry.unlink()
        entry.symlink_to(outside / "missing")


# ---- the example


def make_example(folder: Path) -> None:
    """Makes a project whose results hold an example of everything. Needs the native core."""
    make_project(folder)
    experiment = "{algo: ga, preset: demo, games: [hard_maze], models: [simple], runs: 3}"
    (folder / "maze.yaml").write_text(f"experiments:\n  maze: {experiment}\n")
    with contextlib.chdir(folder):
        _train_and_look(folder)


def _train_and_look(folder: Path) -> None:
    from neurozoo.__main__ import main
    from neurozoo.files import sha256_of
    from neurozoo.records.kept_result import keep_result

    def run(words: str) -> None:
        main(words.split())

    run(f"{TRAIN} --run 3 --set frames=1000 --tensorboard")
    run(f"{TRAIN} --run 3 --set frames=3000 --set seed=2 --tensorboard")  # moves the first to superseded/1
    run(f"{TRAIN} --run 3 --set frames=3000 --tensorboard")
    whole = f"--noise {PROJECT / 'results' / 'noise' / 'table.f32'}"
    run(f"import (7,) --game pong --model small {whole}")
    run(f"import (7,) --game river_crossing --model cells --observation objects {whole}")
    for agent in (PICTURES, RIVER):
        run(f"freeze {agent} --core {OPS} {whole} --forms")
    run(f"rollout {PICTURES} --max-steps 5")
    run(f"freeze {TRAINED} {ENGINE}")
    run(f"rollout {TRAINED} --max-steps 5")
    run(f"movie {TRAINED} --max-steps 3")
    run("site")
    shutil.copy(f"{TRAINED}/genome.json", "genome.json")
    checkpoint = folder / "agents" / "a.npz"
    shutil.copy(f"{TRAINED}/checkpoint.npz", checkpoint)
    keep_result(folder / TRAINED)
    shutil.copytree(f"{TRAINED}/frozen", f"{RUN}/tags/initial/frozen")
    shutil.copy(f"{TRAINED}/activation.mp4", f"{RUN}/tags/initial/activation.mp4")
    index = (folder / "agents" / "index.yaml").read_text().replace(64 * "0", sha256_of(checkpoint))
    index = index.replace('"run": 1', '"run": 3')
    (folder / "agents" / "index.yaml").write_text(index)


def entries_of(folder: Path) -> list[str]:
    """Returns what can be exchanged for a link: all that is there, and what will be."""
    there = [path.relative_to(folder).as_posix() for path in sorted((folder / "results").rglob("*"))]
    return [*there, *(path for path in TO_COME if path not in there)]


def is_users_own(command: str, entry: str) -> bool:
    """Says whether a command itself names an entry that is no part of a run, whose links are followed."""
    words = COMMANDS[command].split()
    return not entry.startswith("results/runs/") and any(f"{word}/".startswith(f"{entry}/") for word in words)


def is_near(command: str, entry: str) -> bool:
    """Says whether a command may have to do with an entry: those that name runs, with all in them and above them."""
    runs = [word for word in COMMANDS[command].split() if word.startswith("results/runs/")]
    runs += [
        f"results/runs/ga/hard_maze/simple/{number}" for number in NUMBERS if f"--run {number}" in COMMANDS[command]
    ]
    return not runs or any(f"{entry}/".startswith(f"{run}/") or f"{run}/".startswith(f"{entry}/") for run in runs)


# ---- cases


def try_case(example: Path, command: str, entry: str, kind: str) -> dict:
    """Runs one command on a copy of the example in which an entry is a link.

    Returns:
        `verdict` (`done`, `refused`, or what went wrong), `reason`, and `seconds`.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="links-") as folder:
        work, said = Path(folder, "work"), Path(folder, "said")
        shutil.copytree(example, work, symlinks=True)
        outside = make_outside(Path(folder, "home"), example / entry if (example / entry).exists() else None)
        try:
            put_link(work / entry, kind, outside.folder)
            before = outside.state()
            outside.opened()
            status = _forked(work, COMMANDS[command].split(), said)
            opened = outside.opened()
            text = said.read_text(errors="replace")
            verdict, reason = _verdict(status, text)
            if opened:
                verdict, reason = "reached", "; ".join(dict.fromkeys(opened))
            if outside.state() != before:
                verdict, reason = "CHANGED", f"{reason}; {_difference(before, outside.state())}"
            elif (place := _place_of_secret(work, text)) and verdict != "reached":
                verdict, reason = "leaked", place
        finally:
            os.close(outside.watch)
    return {"verdict": verdict, "reason": reason, "seconds": time.perf_counter() - begin}


def _forked(work: Path, words: Sequence[str], said: Path) -> int | None:
    """Runs a command in a fork of this process; returns its exit status, negative for a signal, None if it hangs."""
    if child := os.fork():
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)  # what it has started
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(work)
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, resource.RLIM_INFINITY))
        from neurozoo.__main__ import main

        try:
            main(words)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 71
        except BaseException:
            traceback.print_exc()
            code = 72
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _verdict(status: int | None, text: str) -> tuple[str, str]:
    lines = text.strip().splitlines() or [""]
    if status is None or status == -signal.SIGXCPU or "Stopped by SIGXCPU" in text:
        return "hung", lines[-1][:200]
    if status < 0:
        return "died", f"signal {-status}: {lines[-1][:200]}"
    if "Traceback (most recent call last)" in text:
        places = [line.strip() for line in lines if line.startswith("  File ") and "neurozoo" in line]
        place = places[-1].rpartition("neurozoo/")[2] if places else "?"
        return "traceback", f"{lines[-1][:160]} at {place}"
    if status == 0:
        return "done", ""
    sentences = [line for line in lines if line.startswith("neurozoo: ")]
    return ("refused", sentences[-1][:300]) if sentences else ("unclear", f"status {status}: {lines[-1][:200]}")


def _difference(before: dict, after: dict) -> str:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    words = {name: "new" if name not in before else "gone" if name not in after else "changed" for name in names}
    return ", ".join(f"{name} is {word}" for name, word in words.items())[:300]


def _place_of_secret(work: Path, text: str) -> str:
    """Returns where a name or a text of what lies outside has come to; empty if nowhere."""
    if SECRET in text:
        return f"said: {text[: text.index(SECRET) + 40][-120:]}"
    for path in sorted(work.rglob("*")):
        if SECRET in path.name:
            return f"{path.relative_to(work)}"
        if path.is_symlink() or not path.is_file():
            continue
        if SECRET.encode() in path.read_bytes():
            return f"in {path.relative_to(work)}"
    return ""


def import_all() -> None:
    """Imports what commands need, so that forks need not."""
    import keras  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import tensorflow  # noqa: F401
    from neurozoo import __main__  # noqa: F401
    from neurozoo.agents import freeze, tagged_agents, zoo_listing  # noqa: F401
    from neurozoo.book import update  # noqa: F401
    from neurozoo.gallery import pages  # noqa: F401
    from neurozoo.movies import activation_movie, game_movie, generations, grid  # noqa: F401
    from neurozoo.status import overview  # noqa: F401
    from neurozoo.training import loop  # noqa: F401


def chosen_cases(example: Path, options: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Returns the cases to try, in an order that the seed decides on."""
    if options.list:
        return [tuple(line.split(" | ")) for line in options.list.read_text().splitlines()]
    entries = options.entries or entries_of(example)
    cases = [
        (command, entry, kind)
        for command in options.commands
        for entry in entries
        for kind in options.kinds
        if not is_users_own(command, entry)
    ]
    random = Random(options.seed)
    cases = [case for case in cases if options.entries or is_near(*case[:2]) or random.random() < FAR]
    random.shuffle(cases)
    return cases if options.cases is None else cases[: options.cases]


def try_links(options: argparse.Namespace) -> Iterator[dict]:
    """Makes the example, and yields what became of each case."""
    with tempfile.TemporaryDirectory(prefix="links-") as folder:
        example = options.example or Path(folder, "example")
        if not example.exists():
            subprocess.run([sys.executable, str(HERE / "links.py"), "--make", str(example)], check=True)
        import_all()
        for command, entry, kind in chosen_cases(example, options):
            yield {"command": command, "entry": entry, "kind": kind, **try_case(example, command, entry, kind)}


def repeat(names: Sequence[str], count: int) -> int:
    """Runs commands again and again in the current folder; returns 1 if one ends without success or a sentence."""
    for number in range(count):
        for name in names:
            # With another seed, a training begins anew, and sets the one before aside.
            words = [*COMMANDS[name].split(), *(["--set", f"seed={number}"] if name.startswith("train") else [])]
            status = _forked(Path.cwd(), words, Path("said"))
            verdict, reason = _verdict(status, Path("said").read_text(errors="replace"))
            if verdict not in PASSED:
                print(verdict, name, reason)
                return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs commands on results with links in them.")
    parser.add_argument("--cases", type=int, help="how many, by chance (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("--entries", nargs="+", metavar="PATH", help="such as results/site/posters (default: all)")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--example", type=Path, help="folder to keep the example in, so that it is made once")
    parser.add_argument("--list", type=Path, help="file with cases to try, a line `command | entry | kind` for each")
    parser.add_argument("--repeat", type=int, help="run the commands so often in this folder, which has the example")
    parser.add_argument("names", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_example(options.make)
        return 0
    if options.repeat:
        import_all()
        return repeat(options.names, options.repeat)
    found, shown = [], Counter[tuple]()
    for case in try_links(options):
        found.append(case)
        if case["verdict"] not in PASSED:
            shown[case["command"], case["verdict"], case["reason"][:40]] += 1
            if shown[case["command"], case["verdict"], case["reason"][:40]] <= 3:
                print(*(case[key] for key in ("verdict", "command", "entry", "kind", "reason")), sep=" | ", flush=True)
    failures = sum(case["verdict"] not in PASSED for case in found)
    for key in ("command", "kind"):
        print(f"\n{table(found, key, PASSED)}")
    print(f"\n{len(found)} cases, {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
