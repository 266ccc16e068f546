"""Makes the book: updates the records of claims from the results that are there, and writes the pages."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from neurozoo.agents.scoring import write_evaluation_table
from neurozoo.book.caveats import differences_of, planned_budgets
from neurozoo.book.claim_runs import ClaimRun, digest, find_runs, number
from neurozoo.book.claims import FOLDER, Claim, read_claims, read_configuration
from neurozoo.book.pages import write_pages
from neurozoo.book.record import FIGURE, HOURS_FIGURE, RECORD, STATES, Record, RecordedRun, read_record
from neurozoo.book.record_files import LostRunsError, make_files
from neurozoo.book.reports import REPORTS
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.figures.style import number_range
from neurozoo.files import copy_file, read_json, sha256_of, write_json, written_whole
from neurozoo.folders import delete, find, guard
from neurozoo.plan.named_files import check_workdir
from neurozoo.plan.planned_runs import imported_runs
from neurozoo.records.comparability import facts_of
from neurozoo.records.run_config import read_run_settings

STATE_FILES = ("state.json", "log.jsonl")  # of `training.state`
TABLES = (
    "scores.csv", "scores_at_equal_frames.csv", "scores_at_equal_hours.csv", "comparison.csv", "archives.csv",
    "imported_scores.csv",
)  # fmt: skip


def make_book(
    names: Sequence[str] = (),
    *,
    project: str | os.PathLike = ".",
    workdir: str | os.PathLike = ".",
    replaces: bool = False,
    say: Callable[[str], object] = print,
) -> None:
    """Takes the results that are there, and writes the pages. Nothing is trained.

    Without names, the results of all claims are taken. Of a named claim without results, tables and figures of learning
    curves are made from the record again. `project` has claims, configurations and pages; in `workdir`, Snakemake was
    started, so that results are there. With `replaces`, runs count as they are in the results, also if a record has
    come further. `say` gets a sentence for each claim that has results, and for each page that has changed.

    Raises:
        NeurozooError: The folder is missing, a claim is unknown, a file is damaged, or the record of a named claim
            would lose runs.
    """
    check_workdir(workdir)
    claims = read_claims(project)
    for name in names:
        if name not in claims:
            raise unknown_name("claim", name, claims)
    places = {"project": Path(project), "workdir": Path(workdir)}
    for name in names or claims:
        try:
            update = update_record(name, claims[name], **places, replaces=replaces, draws_again=bool(names))
        except LostRunsError as error:
            if names:
                raise
            say(str(error))
            continue
        if update is not None:
            say(f"{name}: {update.as_sentence()}")
        elif names:
            wanted = claims[name].configuration
            say(f"{name}: no results of {wanted} are there" if wanted else f"{name}: is computed, nothing is taken")
    for page in write_pages(project):
        say(f"{page}: written")


@dataclass(frozen=True)
class RecordUpdate:
    """What has become of the runs of a claim, by name."""

    taken: Sequence[str]  # that come from the results
    kept: Sequence[str]  # that only the previous record has
    left_out: Sequence[str]  # that are in the results, but count as they are in the record
    forgotten: Sequence[str]  # what the previous record had, a sentence per run

    def as_sentence(self) -> str:
        """Says it in one sentence."""
        has_results = self.taken or self.left_out
        parts = [f"took {number_range([len(self.taken)], 'run')}" if has_results else "made from the record again"]
        if self.kept:
            parts.append(f"kept {number_range([len(self.kept)], 'run')} that only the record has")
        if self.left_out:
            parts.append(f"left as the record has it, where it is further or as planned: {', '.join(self.left_out)}")
        if self.forgotten:
            parts.append(f"forgot: {', '.join(self.forgotten)}")
        return "; ".join(parts)


def update_record(
    name: str, claim: Claim, *, project: Path, workdir: Path, replaces: bool, draws_again: bool
) -> RecordUpdate | None:
    """Takes the results of a claim, as far as there are any, and replaces its record.

    Runs that only the record has stay in it, with their reports, if they are planned as they were made. So the results
    of a claim can come from several nights and several machines. Archives and imported genomes are not in reports: such
    claims need all results at once.

    With `replaces`, runs count as they are in the results, also if they have come less far than in the record, and the
    record may lose runs that are no longer planned as they were made. With `draws_again`, tables and figures are made
    from the record alone where there are no results; otherwise the function then returns None.

    Raises:
        LostRunsError: The record would lose runs, or have runs that have come less far.
        NeurozooError: A file is damaged.
    """
    if not claim.configuration:
        return None
    config = read_configuration(project / claim.configuration)
    results, folder = workdir / config["pathvars"]["results"], project / FOLDER / name
    guard(results)
    before = read_record(folder)
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as extra:
        made = Path(temporary)
        runs: list[ClaimRun] = []
        frames: dict[str, int] = {}
        hours: dict[str, float] = {}
        if "imports" in claim.shows:
            recorded, facts = _imported_runs(config, results, made)
            here = [run.name for run in recorded]
        else:
            old = None if "archives" in claim.shows else before
            tables = Path(extra)
            runs = find_runs(config, results, old, folder, fields=claim.fields_, tables=tables, replaces=replaces)
            recorded = [run.recorded for run in runs]
            facts = {run.recorded.facts: dict(run.facts) for run in runs}
            here = [run.recorded.name for run in runs if run.folder is not None]
        left_out = [run.recorded.name for run in runs if run.folder is None and run.is_in_results]
        if not here and not left_out and not (draws_again and runs):
            return None
        if runs:
            frames, hours = make_files(runs, claim, config, made, project=project)
        record = Record(
            claim=name,
            configuration=claim.configuration,
            runs=recorded,
            facts=facts,
            hours=hours,
            frames=frames,
            machines={str(run.recorded.machine): dict(run.machine) for run in runs if run.machine},
            files={path.name: sha256_of(path) for path in sorted(made.iterdir())},
        )
        lost = _lost_runs(record, before, config) if before is not None else []
        if lost and not replaces:
            raise LostRunsError(
                f"{name}: the record stays as it is, because it would lose runs: {'; '.join(lost)}. --replace takes "
                "the results all the same, and keeps the other runs of the record."
            )
        if claim.keeps_state:
            _keep_states(runs, folder)
        _replace(folder, made, record)
    kept = [run.recorded.name for run in runs if run.folder is None and not run.is_in_results]
    return RecordUpdate(here, kept, left_out, lost)


def _imported_runs(config: Mapping, results: Path, made: Path) -> tuple[list[RecordedRun], dict[str, dict[str, str]]]:
    """Returns the imported genomes that have been tested, and the facts of their tests; writes their table."""
    found, files = [], []
    facts: dict[str, dict[str, str]] = {}
    for run in imported_runs(config):
        folder = results / "runs" / run.name
        path = folder / "evaluation.json"
        if not path.exists():
            continue
        record = read_json(path, "Make it again: the rule evaluate.")
        own = read_run_settings(folder / "config.yaml")
        played = facts_of({"protocol_record": record.get("protocol")})
        facts[digest(played)] = played
        episodes = record.get("episodes")
        if not isinstance(episodes, list) or not isinstance(record.get("summary"), dict):
            raise NeurozooError(
                f"{path} is damaged: it has no episodes or no summary. Make it again: the rule evaluate."
            )
        found.append(
            RecordedRun(
                **asdict(run),
                protocol=own["protocol"],
                unit="episodes",
                progress=len(episodes),
                budget=config["evaluation"]["episodes"],
                test_score=number(record["summary"].get("mean")),
                test_episodes=len(episodes),
                facts=digest(played),
                neurozoo=own.get("neurozoo"),
                commit=own.get("commit"),
            )
        )
        files.append(path)
    if files:
        write_evaluation_table(files, made / "imported_scores.csv", **config["statistics"])
    return found, facts


def _keep_states(runs: Sequence[ClaimRun], folder: Path) -> None:
    """Copies the states of the runs in the results; those of runs that only the record has stay.

    Raises:
        NeurozooError: A state is missing, or has arrays: it is too large for a record.
    """
    for run in runs:
        if run.folder is None:
            continue
        state = run.folder / "state"
        if find(state, "arrays/*.npy"):
            raise NeurozooError(f"{state} has arrays, too large for a record. Remove keeps_state from the claim.")
        # The log comes after the state, which says how much of it counts: a training may write meanwhile.
        for name in STATE_FILES:
            copy_file(state / name, folder / STATES / run.recorded.name / "state" / name)


def _lost_runs(record: Record, before: Record, config: Mapping) -> list[str]:
    """Says which runs of the previous record the new one lacks, or has less far, and why."""
    now = {run.name: run for run in record.runs}
    budgets = planned_budgets(config)
    lost = []
    for old in before.runs:
        new, budget = now.get(old.name), budgets.get(old.name, old.budget)
        had = f"{old.progress:,} {old.unit}"
        if new is not None:
            has_other_settings = new.facts != old.facts and bool(differences_of(old, before.facts[old.facts], config))
            is_enough = new.progress >= budget or old.progress < old.budget
            if not (is_enough if has_other_settings else min(new.progress, budget) >= min(old.progress, budget)):
                lost.append(f"{old.name} has come to {new.progress:,} {new.unit}, but the record has {had}")
        elif old.name not in budgets:
            lost.append(f"{old.name} ({had}) is no longer planned")
        elif different := differences_of(old, before.facts[old.facts], config):
            lost.append(f"{old.name} ({had}) was made with other settings: {different[0]}")
        else:
            lost.append(f"{old.name} ({had}) is not in the results, and its reports are not in the record")
    return lost


def _replace(folder: Path, made: Path, record: Record) -> None:
    """Writes the new files, then puts all in place, and then removes what only the old record had.

    Raises:
        NeurozooError: There is no room, or the folder cannot be written. What stood there before is unchanged.
    """
    with contextlib.ExitStack() as files:  # each is renamed on leaving, the record last
        temporary = files.enter_context(written_whole(folder / RECORD))
        write_json(temporary, record.model_dump(mode="json", by_alias=True, exclude_defaults=True))
        for name in record.files:
            shutil.copyfile(made / name, files.enter_context(written_whole(folder / name)))
    for name in {*TABLES, REPORTS, FIGURE, HOURS_FIGURE} - record.files.keys():
        delete(folder / name)
