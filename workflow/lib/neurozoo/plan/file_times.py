"""Times of files that mislead Snakemake: those from the future, and those in the order of copying.

Snakemake makes again what is older than its inputs. After a job it also deletes outputs that are older than an input,
even an `ancient` one, and nothing that is made now is newer than a file from the future.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from neurozoo.agents.frozen import outdated
from neurozoo.errors import NeurozooError, explained
from neurozoo.files import sha256_of
from neurozoo.files.times import set_time, time_in
from neurozoo.folders import find, walk
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.plan.products import result_file
from neurozoo.plan.snakemake_records import record_of
from neurozoo.records.run_result import FILE, FILES, read_run_result
from neurozoo.text import duration_text

_SHRINKING = 1_000_000  # of the distances between times from the future: a day becomes 86 ms


def files_from_the_future(results: Path, others: Iterable[Path]) -> dict[str, int]:
    """Finds files and folders that are newer than now: their times in nanoseconds by their paths.

    `others` are further files, which may be missing. Links in `native/build` belong to the compiler.

    Raises:
        NeurozooError: There is a link in the results, which Snakemake would follow. Jobs refuse links, too.
    """
    begin, found = time_in(results), {}
    try:
        for entry in walk(results, but="native/build"):
            with contextlib.suppress(FileNotFoundError):
                if (when := entry.stat(follow_symlinks=False).st_mtime_ns) > begin:
                    found[entry.path] = when
    except OSError as error:
        raise explained(error) from error
    for path in others:
        with contextlib.suppress(OSError):
            if (when := path.stat().st_mtime_ns) > begin:
                found[str(path)] = when
    now = time_in(results) if found else begin  # what others have written meanwhile is not from the future
    return {path: when for path, when in found.items() if when > now}


def about_the_future(found: Mapping[str, int], now: int) -> str:
    """Names files from the future, and says what becomes of them; nothing if there are none."""
    if not found:
        return ""
    newest = max(found, key=lambda path: found[path])
    lead = duration_text((found[newest] - now) / 1e9)
    what, its = f"{newest} is newer than now (by {lead})", "its time"
    if len(found) > 1:
        what, its = f"{len(found):,} files are newer than now, such as {newest} (by {lead})", "their times"
    return (
        f"{what}: another clock was ahead, or that of this machine is behind. What is made of such files would be "
        f"deleted as older. A start sets {its} to now; so does: touch {newest}"
    )


def set_to_now(found: Mapping[str, int], now: int) -> None:
    """Sets files from the future to now, or some milliseconds before: they stay in their order."""
    newest = max(found.values(), default=0)
    for path, when in found.items():
        try:
            set_time(path, now - (newest - when) // _SHRINKING)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise NeurozooError(
                f"{path} is newer than now, so what is made of it would be deleted as older, and you may not set its "
                f"time ({error.strerror}). Ask its owner to do it: touch {path}"
            ) from error


def copied_runs(results: Path, runs: Iterable[PlannedRun]) -> list[Path]:
    """Lists the folders of runs whose result Snakemake has not made here: copied ones, and those trained by hand."""
    found = []
    for run in runs:
        file = results / "runs" / run.name / result_file(run.algo)
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mtime != record_of(file).get("endtime"):  # Snakemake takes it from the file
                found.append(file.parent)
    return found


def older_than_inputs(rules: Iterable[Any], run_dirs: Iterable[Path]) -> list[str]:
    """Lists the files of runs, and those over all runs, that are older than what they are made of.

    Inputs that a function names, and those that Snakemake compares by content, are left out.
    """
    rules = list(rules)
    files = [str(file) for rule in rules for file in rule.output if not file.contains_wildcard()]
    files += [str(file) for folder in run_dirs for file in find(folder, "*", "*/*", "tags/*/*", "tags/*/*/*")]
    newer = {file: {source for source in _inputs_of(file, rules) if _is_newer(source, file)} for file in files}
    return [file for file, sources in newer.items() if sources - set(record_of(file).get("input_checksums") or ())]


def _inputs_of(file: str, rules: Iterable[Any]) -> Iterator[str]:
    for rule in rules:
        if match := next(filter(None, (output.match(file) for output in rule.output)), None):
            for source in rule.input:
                if not (callable(source) or source.is_callable() or source.is_ancient):
                    yield str(source.apply_wildcards(match.groupdict()))


def _is_newer(source: str, file: str) -> bool:
    with contextlib.suppress(OSError):
        return os.stat(source).st_mtime_ns > os.stat(file).st_mtime_ns
    return False


def about_copies(files: list[str]) -> str:
    """Says how copied files are kept that are older than what they are made of; nothing if there are none."""
    if not files:
        return ""
    count = "1 file is" if len(files) == 1 else f"{len(files):,} files are"
    return (
        f"{count} older than what they are made of, such as {files[0]}, and would be made again. Copying changes the "
        "times of files. If these belong together, keep them: give the same command once with --touch."
    )


def check_copies(run_dirs: Iterable[Path]) -> None:
    """Checks that the files of copied runs belong together, as far as their records tell.

    Raises:
        NeurozooError: A result is another one than its `result.json` describes, or than was frozen.
    """
    for folder in run_dirs:
        if not (folder / FILE).exists():
            continue
        result: dict[str, Any] = read_run_result(folder)
        for name in FILES.values():
            described = result.get("files", {}).get(name, {}).get("sha256")
            if (folder / name).exists() and sha256_of(folder / name) != described:
                raise NeurozooError(
                    f"{folder / name} is not the file that {FILE} beside it describes, so --touch would mix two runs. "
                    "Copy the folder again, or leave --touch out."
                )
        if said := outdated(folder):
            raise NeurozooError(f"{said}. With --touch, Snakemake would take both for one agent: leave it out.")
