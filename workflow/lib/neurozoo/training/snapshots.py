"""Writes a run's best so far while it trains: as snapshots at regular intervals, and as tags at named moments."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from neurozoo.agents.tags import Moment, Tag, snapshot_path, tag_path
from neurozoo.algorithms.results import Result
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.folders import delete_leftovers


class SnapshotWriter:
    """Writes snapshots and tags. Equal runs write the same bytes.

    Args:
        context: The run.
        snapshot_period: Interval between two snapshots, in the budget's unit; 0 for no snapshots.
        tags: Moments at which the best so far is kept, unless its genome is in the log.
        about: What every file says of the run besides its result; plain JSON.
    """

    def __init__(
        self, context: RunContext, *, snapshot_period: int, tags: Sequence[Tag], about: Mapping[str, object]
    ) -> None:
        self._context = context
        self._about = about
        self._period = snapshot_period
        self._tags = tags

    def keep(self, session: Session, *, before: Moment, now: Moment) -> None:
        """Writes the snapshot and the tags that the last generation or epoch has reached.

        Call it before the state is saved: a run that is killed in between reaches the same moments again. A snapshot is
        named after the multiple of the period that was passed, the last one if there were several.

        Args:
            session: The session, after a report.
            before: The moment of the previous report.
            now: The moment of this report.

        Raises:
            NeurozooError: The disk is full.
        """
        paths = []
        if self._period and now.frames // self._period > before.frames // self._period:
            paths.append(snapshot_path(self._context.run_dir, now.frames // self._period * self._period))
        reached = [tag_path(self._context.run_dir, tag.text) for tag in self._tags if self._is_new(tag, before, now)]
        if not paths and not reached:
            return
        result = session.result()
        if not result.is_in_log:
            paths += [path for path in reached if not path.exists()]  # a score can fall and rise again
        for path in paths:
            self._write(result, path, now)

    def _is_new(self, tag: Tag, before: Moment, now: Moment) -> bool:
        game = self._context.game
        return tag.is_reached(now, game=game) and not tag.is_reached(before, game=game)

    def _write(self, result: Result, path: Path, now: Moment) -> None:
        delete_leftovers(path)  # of a training that was killed while it wrote
        moment = {"run_frames": now.frames, "run_iteration": now.generation}
        result.keep(path, self._context.identity, {**self._about, **moment})
