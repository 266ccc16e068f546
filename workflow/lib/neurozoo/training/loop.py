"""Trains one run: the loop that all algorithms share."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import yaml

from neurozoo.agents.tags import Moment, Tag, parse_tag
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.results import Result
from neurozoo.algorithms.session import Report, RunContext, Session
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.compute.interruption import Interrupted, Interruption
from neurozoo.errors import NeurozooError
from neurozoo.files import copy_file, write_text
from neurozoo.machine import provenance
from neurozoo.native.image import check_image
from neurozoo.records.format import FormatError
from neurozoo.records.kept_result import drop_kept_result
from neurozoo.records.run_config import config_of_run, read_run_settings
from neurozoo.records.run_log import progress_of
from neurozoo.training.backup import Backup, TakenOver
from neurozoo.training.clock import Clock
from neurozoo.training.heartbeat import Heartbeat, wait_for_earlier_training
from neurozoo.training.identity import continues, result_facts, run_facts, state_identity
from neurozoo.training.ranks import train_in_ranks
from neurozoo.training.reporting import RunReporter, Terminal, log_record
from neurozoo.training.snapshots import keep_best
from neurozoo.training.state import RunState
from neurozoo.training.tensorboard import EventWriter
from neurozoo.training.watch import TrainingWatch


def train(
    context: RunContext, *, terminal: Terminal = "log", keep_tags: Sequence[str] = (), tensorboard: bool = False
) -> None:
    """Trains one run up to its budget, or continues it.

    Writes `config.yaml` first, then `train.log`, and `snapshots/` and `tags/` if they are wanted. At the end it writes
    the result, `result.json` and `log.jsonl`.

    `state/` is always up to date, so the same call continues the run after any interruption. Its results then have the
    same bytes as those of an uninterrupted run, whatever the number of threads; only times in the logs differ. With a
    backup (`RunContext.backup`), this holds on any node, even after the run's folder is lost: see `training.backup`.

    If the settings ask for several processes, this one starts them with MPI (`RunContext.mpi`) and waits for them.

    If the settings differ from those of the state, the run starts anew, and all old files move to `superseded/`. A
    larger budget and other `WAYS_TO_RUN`, such as `snapshot_frames`, continue the run.

    Args:
        context: The run; see `make_context`.
        terminal: What goes to standard error: a progress `bar`, `lines` (one per report) or the whole `log`.
        keep_tags: Moments such as `human` or `2HR` at which the best so far is kept in `tags/`, unless its genome is in
            the log; see `neurozoo.agents.tags`. They do not change the run.
        tensorboard: Whether reports are written to `tensorboard/`, too.

    Raises:
        NeurozooError: Bad input, a full disk, another process that trains this run, or a signal (`Interrupted`). The
            state is saved or left as it was.
    """
    check_image()
    spec, ranks = get_algorithm(context.algo), context.settings.ranks
    if ranks > context.ranks.size:
        spec.open_session(context)  # checks the input before anything is started
        train_in_ranks(context, ranks, terminal=terminal, keep_tags=keep_tags, tensorboard=tensorboard)
        return
    tags = tuple(parse_tag(tag) for tag in keep_tags)
    backup = Backup(context.run_dir, context.backup) if context.backup else None
    with Interruption() as interruption:
        _check_folder(context)
        wait_for_earlier_training(context.state_dir, check=interruption.check)
        brought_back = backup.open() if backup else ""  # only now: it ends a training that still makes backups
        context = replace(context, continues=continues(spec, context))
        session = spec.open_session(context)
        wait_for_earlier_training(context.state_dir, check=interruption.check)  # opening may have taken long
        with Heartbeat(context.state_dir) as heartbeat:  # before the state is read: another one stops writing it now
            state = _read_state(spec, context, session)
            heartbeat.continue_from(session.progress)
            reporter = _open_reporter(spec, context, session, state, terminal)
            try:
                if brought_back:
                    reporter.say(brought_back)
                folder = context.run_dir / "tensorboard" if tensorboard else None
                with EventWriter(folder) as events, session:
                    for sentence in session.announcements:
                        reporter.say(sentence)
                    watch = TrainingWatch(state, reporter, heartbeat, interruption, backup, _clock_of(context, state))
                    training = _Training(context, session, watch, events, tags)
                    result = training.run()
                reporter.say(training.farewell)
            except Interrupted as stop:
                reporter.say(str(stop))
                raise
            finally:
                reporter.close()
            result.write(context.run_dir, context.identity, result_facts(context))
            copy_file(state.log, context.run_dir / "log.jsonl")
            drop_kept_result(context.run_dir)


def _check_folder(context: RunContext) -> None:
    """Raises `NeurozooError` if the folder holds another run, or a `config.yaml` of something else, as of a project."""
    path = config_of_run(context.run_dir)
    if not path.exists():
        return
    try:
        found = read_run_settings(path)
    except FormatError:
        raise
    except NeurozooError as error:
        if (context.state_dir / "state.json").exists():
            return  # damaged; it is written again
        raise NeurozooError(
            f"{path} is not that of a run, so {context.run_dir} is not the folder of one. Nothing was written. Give "
            "another folder (--run-dir)."
        ) from error
    if differing := [name for name, value in context.identity.items() if found[name] != value]:
        held = "/".join(str(found[name]) for name in context.identity)
        raise NeurozooError(
            f"{context.run_dir} holds the run {held}, whose {differing[0]} is {found[differing[0]]}. Nothing was "
            "written. Give another folder (--run-dir), or move the run away."
        )


def _read_state(spec: AlgorithmSpec, context: RunContext, session: Session) -> RunState:
    """Restores a session from the run's state, if there is one, and writes `config.yaml`."""
    identity = state_identity(spec, context, session.identity)
    state = RunState(context.run_dir, identity=identity, budget=context.settings.budget)
    _restore(session, state)
    facts = {**run_facts(spec, context, identity), **provenance()}
    for path in (state.folder / "config.yaml", context.run_dir / "config.yaml"):
        write_text(path, yaml.safe_dump(facts, sort_keys=False))
    return state


def _restore(session: Session, state: RunState) -> None:
    if state.saved:
        try:
            session.restore(state.saved["algorithm"], state.arrays())
        except NeurozooError as error:
            remedy = "" if state.remedy in str(error) else f" {state.remedy}"
            raise NeurozooError(f"The state in {state.folder} cannot be used: {error}{remedy}") from error
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise NeurozooError(f"The state in {state.folder} is damaged ({error!r}). {state.remedy}") from error


def _open_reporter(
    spec: AlgorithmSpec, context: RunContext, session: Session, state: RunState, terminal: Terminal
) -> RunReporter:
    reporter = RunReporter(
        kept=state.text_log,
        shown=context.run_dir / "train.log",
        budget=context.settings.budget,
        unit=spec.budget_unit,
        progress=session.progress,
        title="/".join(map(str, context.identity.values())),
        report_name=spec.report_name,
        fields=tuple(session.table),
        terminal=terminal,
    )
    if state.superseded:
        reporter.warn(f"{state.why_superseded}: what was there is now in {state.superseded}")
    if state.saved:
        reporter.say(f"Loaded iteration {session.iteration} from {state.folder}")
    return reporter


def _clock_of(context: RunContext, state: RunState) -> Clock:
    clock = Clock.from_state(state.elapsed)
    if context.cluster is not None or context.ranks.size > 1:
        clock.processor = None  # this process sees its own time only
    return clock


class _Training:
    """The iterations of one training."""

    def __init__(
        self, context: RunContext, session: Session, watch: TrainingWatch, events: EventWriter, tags: Sequence[Tag]
    ) -> None:
        self._context, self._session, self._watch, self._events, self._tags = context, session, watch, events, tags
        self._unit: Any = context.settings.unit()
        last = watch.state.last_report() or {}
        # Of the last report, not of the state: a moment that was passed since then still has to be kept.
        progress = progress_of(last)[1] or 0
        self._moment = Moment(last.get("Iteration", 0), progress, watch.clock.total, last.get("test_score"))
        self._steps: object = last.get("TimestepsSoFar")

    def run(self) -> Result:
        """Trains until the budget is spent."""
        try:
            while not self._session.is_done:
                self._run_iteration()
        except TakenOver:
            raise
        except NeurozooError:  # a signal, or what a longer run or more memory may mend
            self._watch.back_up()
            raise
        result = self._session.result()
        self._watch.back_up()
        return result

    @property
    def farewell(self) -> str:
        """The last line of the log."""
        if self._steps is None:
            return f"Training terminated after {self._session.progress} {self._unit}"
        return f"Training terminated after {self._steps} timesteps"

    def _run_iteration(self) -> None:
        """Trains until the next report, reports it, and saves the state."""
        report = None
        while report is None:
            self._watch.begin()
            try:
                report = self._session.advance(self._watch)
            except Interrupted:
                self._watch.count()
                self._save()
                raise
            self._watch.count()
            if report is None:
                self._save()
        self._watch.flush()
        self._finish(report)

    def _finish(self, report: Report) -> None:
        watch, clock = self._watch, self._watch.clock
        spent = clock.end_iteration()
        record = log_record(report, unit=self._unit, spent=spent, clock=clock)
        watch.heartbeat.check_owner()
        watch.state.report(record)
        watch.reporter.report(record, report)
        self._events.report(record, progress=report.progress)
        left = max(self._context.settings.budget - report.progress, 0) / max(report.progress, 1) * clock.total
        watch.reporter.say_speed(record, clock=clock, progress=report.progress, left=left)
        now = Moment(report.iteration, report.progress, clock.total, report.test_score)
        keep_best(self._session, self._context, tags=self._tags, before=self._moment, now=now)
        self._moment, self._steps = now, record.get("TimestepsSoFar")
        self._save()

    def _save(self) -> None:
        """Saves the state if the session can be saved now; if not, the time at least."""
        self._watch.heartbeat.check_owner()
        saved = self._session.state()
        if saved is None:
            self._watch.state.keep_elapsed(self._watch.clock.to_state())
        else:
            state, arrays = saved
            self._watch.state.save(state, self._watch.clock.to_state(), arrays, progress=self._session.progress)
