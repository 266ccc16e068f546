"""Gives damaged files of every format to the code that reads it, and counts what becomes of them.

    python tests/fuzz/fuzzer.py --inputs 2000 --seed 1
    python tests/fuzz/fuzzer.py --formats "graph to import" --inputs 1 --start 17      one input again

A damaged file passes if it is read, or refused with a `NeurozooError` whose sentence names the file, within time and
memory. Everything else is a failure: another exception, a death, too much time, too much memory.

A child process reads one file after another. If it dies or hangs, the next child goes on behind that input.
"""

import argparse
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(Path(os.environ.get("NEUROZOO_LIBRARY") or HERE.parents[1] / "workflow" / "lib"))]

from formats import FORMATS, Format, make_project  # noqa: E402, found by the line before
from mutations import damage  # noqa: E402

CPU_SECONDS = 10  # for one input
WALL_SECONDS = 600  # for one input, on a machine that has much else to do
GROWTH = 2**29  # bytes that one input may add to the peak of memory: 512 MiB
ADDRESSES = 2**32  # bytes that all inputs together may add to the address space: 4 GiB
PASSED = ("accepted", "refused")
LONGEST = 4_000  # characters of a sentence


class TooLongError(BaseException):
    """An input took too much time. No `except Exception` of a reader catches it."""


def read_damaged(form: Format, number: int, *, seed: int, project: Path) -> dict:
    """Damages one example and reads it.

    Args:
        form: The format.
        number: Number of the input.
        seed: With `number`, decides on the damage.
        project: What `make_project` made; it is afterwards as it was before.

    Returns:
        `verdict`, `reason`, and `damage` in words.
    """
    path, out = project / form.path, project / "out"
    kept = {each: each.read_bytes() for each in project.rglob("*") if each.is_file()}
    out.mkdir()
    done = damage(path, Random(f"{seed} {form.path} {number}"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        verdict, reason = _verdict(form, project, path)
    except TooLongError:
        verdict, reason = "hung", f"took more than {CPU_SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if verdict in PASSED and grown > GROWTH:
        verdict, reason = "memory", f"took {grown / 2**20:,.0f} MiB"
    _restore(path, kept)
    for folder in (out, project / "results/site", path.parent / "superseded"):
        shutil.rmtree(folder, ignore_errors=True)
    return {"damage": done, "verdict": verdict, "reason": reason, "seconds": time.perf_counter() - start}


def _verdict(form: Format, project: Path, path: Path) -> tuple[str, str]:
    from neurozoo.errors import NeurozooError, explained

    try:
        try:
            form.read(project, path)
        except OSError as error:
            raise explained(error) from error  # as `plain_errors` does for every command
        return "accepted", ""
    except NeurozooError as error:
        sentence = str(error)
        is_named = path.name in sentence or path.parent.name in sentence
        if not is_named or len(sentence) > LONGEST:
            return "unclear", f"{sentence[:300]} ({len(sentence)} characters)"
        return "refused", sentence[:300]
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "neurozoo" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return "traceback", f"{type(error).__name__}: {error}"[:200] + f" at {place}"


def _restore(path: Path, kept: dict[Path, bytes]) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    for each, data in kept.items():
        each.parent.mkdir(parents=True, exist_ok=True)
        if not each.is_file() or each.is_symlink() or each.read_bytes() != data:
            each.write_bytes(data)


# ---- the child


def work(project: Path, names: Sequence[str], *, inputs: int, seed: int, start: tuple[int, int]) -> None:
    """Reads all inputs from `start` on, and prints a line before and after each."""
    os.chdir(project)
    signal.signal(signal.SIGPROF, _end)
    forms = [form for form in FORMATS if form.name in names]
    for number, form in enumerate(forms):
        if number < start[0]:
            continue
        (project / "out").mkdir()
        form.read(project, project / form.path)  # imports what it needs; the example itself is in order
        for folder in ("out", "results/site"):
            shutil.rmtree(project / folder, ignore_errors=True)
        _limit_memory()
        first = start[1] if number == start[0] else 0
        for each in range(first, form.share(inputs)):
            print(json.dumps([number, each]), flush=True)
            print(json.dumps(read_damaged(form, each, seed=seed, project=project)), flush=True)


def _end(signal_number, frame):
    raise TooLongError


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, resource.RLIM_INFINITY))


# ---- the parent


def fuzz(names: Sequence[str], *, inputs: int, seed: int, start: int = 0) -> Iterator[dict]:
    """Reads `inputs` damaged files of each format.

    Args:
        names: Names of formats.
        inputs: Number of the last input of each, and one.
        seed: Decides on the damages.
        start: Number of the first input of each.

    Yields:
        For each input `format`, `number`, `damage`, `verdict`, `reason` and `seconds`.
    """
    forms = [form for form in FORMATS if form.name in names]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        subprocess.run([*_command(folder), "--make"], check=True, stdout=sys.stderr)
        place = (0, start)
        while place[0] < len(forms):
            if place[1] >= forms[place[0]].share(inputs):
                place = (place[0] + 1, start)
                continue
            with tempfile.TemporaryDirectory(prefix="fuzz-") as copy:
                shutil.copytree(folder, copy, dirs_exist_ok=True)
                for found in _child(copy, names, inputs=inputs, seed=seed, place=place):
                    place = (found["place"], found["number"] + 1)
                    yield {"format": forms[found.pop("place")].name, **found}


def _command(folder: str) -> list[str]:
    return ["nice", sys.executable, str(HERE / "fuzzer.py"), "--project", folder]


def _child(folder: str, names: Sequence[str], *, inputs: int, seed: int, place: tuple[int, int]) -> Iterator[dict]:
    command = [
        *(*_command(folder), "--formats", *names, "--inputs", str(inputs), "--seed", str(seed)),
        *("--place", *map(str, place)),
    ]
    with tempfile.TemporaryFile() as errors:
        environment = {
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "PYTHONWARNINGS": "ignore",
            "CUDA_VISIBLE_DEVICES": "",
        }
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
        assert child.stdout is not None
        try:
            while line := child.stdout.readline():
                number, each = json.loads(line)
                began = time.perf_counter()
                is_ready = select.select([child.stdout], [], [], WALL_SECONDS)[0]
                answer = child.stdout.readline() if is_ready else b""
                if answer:
                    yield {"place": number, "number": each, **json.loads(answer)}
                    continue
                child.kill()
                errors.seek(0)
                said = errors.read()[-300:].decode(errors="replace").strip().replace("\n", " | ")
                reason = f"{'died' if is_ready else 'hung'}: {said}"
                yield {
                    **{"place": number, "number": each, "damage": "?", "reason": reason},
                    **{"verdict": "died" if is_ready else "hung", "seconds": time.perf_counter() - began},
                }
                return
        finally:
            child.kill()
            child.wait()
        if child.returncode not in (0, -signal.SIGKILL):
            errors.seek(0)
            raise RuntimeError(f"the fuzzer itself failed: {errors.read()[-2000:].decode(errors='replace')}")


def table(found: Sequence[dict], by: str, passed: Sequence[str]) -> str:
    """Counts the verdicts by format, or by another key."""
    kinds = (*passed, *sorted({entry["verdict"] for entry in found} - {*passed}))
    width = max(len(by), *(len(entry[by]) for entry in found), 0) + 2
    lines = [f"{by:{width}}{'cases':>7}" + "".join(f"{kind:>11}" for kind in kinds) + f"{'slowest':>11}"]
    for name in dict.fromkeys(entry[by] for entry in found):
        own = [entry for entry in found if entry[by] == name]
        counts = Counter(entry["verdict"] for entry in own)
        slowest = max(entry["seconds"] for entry in own)
        lines.append(
            f"{name:{width}}{len(own):>7}" + "".join(f"{counts[kind]:>11}" for kind in kinds) + f"{slowest:>9.1f} s"
        )
    return "\n".join(lines)


def main() -> int:
    names = [form.name for form in FORMATS]
    parser = argparse.ArgumentParser(description="Fuzzes the readers of all formats.")
    parser.add_argument("--inputs", type=int, default=20, help="damaged files of each format")
    parser.add_argument("--start", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", nargs="+", default=names, choices=names, metavar="FORMAT")
    parser.add_argument("--json", action="store_true", help="print a line for each input")
    parser.add_argument("--names", action="store_true", help="print the names of the formats")
    parser.add_argument("--project", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--place", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.names:
        print("\n".join(names))
        return 0
    if options.make:
        make_project(options.project)
        return 0
    if options.project:
        work(options.project, options.formats, inputs=options.inputs, seed=options.seed, start=tuple(options.place))
        return 0
    found, failures, shown = [], 0, Counter[tuple]()
    inputs = options.start + options.inputs
    for entry in fuzz(options.formats, inputs=inputs, seed=options.seed, start=options.start):
        found.append(entry)
        if options.json:
            print(json.dumps(entry), flush=True)
        elif entry["verdict"] not in PASSED:
            failures += 1
            alike = (entry["format"], entry["verdict"], entry["reason"].rpartition(" at ")[2])
            shown[alike] += 1
            if shown[alike] == 1:  # of failures at the same place, one
                print(f"{entry['format']} {entry['number']} ({entry['damage']}): {entry['reason']}", flush=True)
    if not options.json:
        print(f"\n{table(found, 'format', PASSED)}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
