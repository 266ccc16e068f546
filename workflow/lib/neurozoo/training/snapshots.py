"""Writes a run's best so far while it trains: as snapshots at regular intervals, and as tags at named moments."""

from collections.abc import Sequence

from neurozoo.agents.tags import Moment, Tag, snapshot_path, tag_path
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.folders import delete_leftovers
from neurozoo.training.identity import result_facts


def keep_best(session: Session, context: RunContext, *, tags: Sequence[Tag], before: Moment, now: Moment) -> None:
    """Writes the snapshot and the tags that the last generation or epoch has reached. Equal runs write the same bytes.

    Call it before the state is saved: a run that is killed in between reaches the same moments again. A snapshot is
    named after the multiple of the period that was passed, the last one if there were several. `tags` are moments at
    which the best so far is kept, unless its genome is in the log. `before` is the moment of the previous report, and
    `now` that of this one.
    """

    def is_new(tag: Tag) -> bool:
        return tag.is_reached(now, game=context.game) and not tag.is_reached(before, game=context.game)

    period, paths = context.settings.snapshot_period, []
    if period and now.frames // period > before.frames // period:
        paths.append(snapshot_path(context.run_dir, now.frames // period * period))
    reached = [tag_path(context.run_dir, tag.text) for tag in tags if is_new(tag)]
    if not paths and not reached:
        return
    result = session.result()
    if not result.is_in_log:
        paths += [path for path in reached if not path.exists()]  # a score can fall and rise again
    about = result_facts(context) | {"run_frames": now.frames, "run_iteration": now.generation}
    for path in paths:
        delete_leftovers(path)  # of a training that was killed while it wrote
        result.keep(path, context.identity, about)
