"""Trains one run."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import yaml

from neurozoo.algorithms.base import Algorithm, Learner
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import PROTOCOL_CHOICES
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.clusters.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.evaluation import DEFAULT_SLOTS
from neurozoo.evaluation.reference import collect_reference
from neurozoo.files import write_text
from neurozoo.games import check_engine, layout_of, protocol_of
from neurozoo.noise import open_noise_table
from neurozoo.provenance import provenance
from neurozoo.tags import Moment, parse_tag
from neurozoo.training.clock import Clock
from neurozoo.training.evolution import EvolutionSession
from neurozoo.training.heartbeat import Heartbeat
from neurozoo.training.interruption import Interrupted, Interruption
from neurozoo.training.learning import LearningSession
from neurozoo.training.ownership import wait_for_earlier_training
from neurozoo.training.reporting import RunReporter, Terminal, publish
from neurozoo.training.results import RunResults
from neurozoo.training.state import RunState
from neurozoo.training.watched import Watched


def train(
    *,
    algo: str,
    game: str,
    model: str,
    run: int,
    settings: Mapping[str, object],
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    run_dir: str | os.PathLike,
    threads: int = 1,
    slots: int = DEFAULT_SLOTS,
    terminal: Terminal = "log",
    distributed: str | Mapping[str, object] | None = None,
    keep_tags: Sequence[str] = (),
) -> None:
    """Trains one run, or continues it, up to its budget.

    Writes `config.yaml` first, `train.log` while it goes on, `snapshots/` and `tags/` on the way if wanted, and
    `log.jsonl`, `checkpoint.npz` and `genome.json` at the end. `state/` is kept current, so that the same call
    continues after any interruption, and the other files are the same to the byte (in `log.jsonl`: but for the fields
    about time), whatever the number of threads. If the settings differ from the state's, the old state moves to
    `superseded/` and the run starts anew; a larger budget of frames continues, and so does another distance of
    snapshots.

    Args:
        algo: Algorithm such as `ga`.
        game: Game id such as `frostbite`.
        model: Network such as `large`.
        run: Number of the run; part of the seed.
        settings: All settings of the algorithm by name.
        ops: The op library.
        noise: The noise table.
        run_dir: Folder of the run.
        threads: Episodes at once, or threads of the batched engine's worlds.
        slots: Episodes at once of the batched engine.
        terminal: What standard error gets: a progress `bar`, `lines` (one per generation) or the whole `log`.
        distributed: The Dask cluster that plays the episodes, as `ClusterSettings.of` reads it; none for this process.
        keep_tags: Moments such as `human` or `2HR` at which the best so far is kept in `tags/`, unless the log has its
            genome; see `neurozoo.tags`. They change nothing of a run.

    Raises:
        NeurozooError: Bad input, a full disk, another process that trains this run, or a signal (`Interrupted`); the
            state is saved or left intact.
    """
    if algo not in ALGORITHMS:
        raise unknown_name("algorithm", algo, ALGORITHMS)
    run_dir = Path(run_dir)
    cluster = ClusterSettings.of(distributed)
    tags = tuple(parse_tag(tag) for tag in keep_tags)
    checked = resolve_settings(algo, preset="demo", overrides=settings)
    protocol = protocol_of(game, **{name: getattr(checked, setting) for name, setting in PROTOCOL_CHOICES.items()})
    check_engine(game, protocol, checked.engine)
    layout = layout_of(game, model, protocol)
    table = open_noise_table(noise)
    if len(table) < layout.parameter_count:
        raise NeurozooError(
            f"{model!r} needs a noise table of at least {layout.parameter_count:,} values, "
            f"but {noise} has {len(table):,}."
        )
    with Interruption() as interruption:
        wait_for_earlier_training(run_dir / "state", check=interruption.check)
        # Drawn again whenever a run continues; equal draws are equal observations.
        reference = collect_reference(game, protocol, seed=checked.seed, run=run) if layout.needs_reference else None
        identity = {"algo": algo, "game": game, "model": model, "run": run, **asdict(checked)}
        identity |= {"noise_values": len(table), "protocol": protocol.name}
        if checked.engine == "native":
            del identity["engine"]  # as in states from when there was no other
        budget = identity.pop("frames")
        for name in checked.WAYS_TO_RUN:
            del identity[name]
        results = RunResults(
            run_dir=run_dir,
            identity={"algo": algo, "game": game, "model": model, "run": run},
            protocol=protocol,
            layout=layout,
            noise=table,
            reference=reference,
            num_test_episodes=checked.num_test_episodes,
            snapshot_frames=checked.snapshot_frames or 0,
            keep_tags=tags,
        )
        state = RunState(run_dir, identity=identity, budget=budget)
        algorithm = ALGORITHMS[algo](checked, run=run, layout=layout, noise=table, protocol=protocol)
        algorithm.threads = threads
        if state.saved:
            try:
                algorithm.set_state(state.saved["algorithm"], state.arrays())
            except (LookupError, TypeError, ValueError, AttributeError, NeurozooError) as error:
                raise NeurozooError(f"The state in {state.folder} is damaged ({error!r}). {state.remedy}") from error
        facts = {
            **identity,
            "engine": checked.engine,
            "frames": budget,
            **{name: getattr(checked, name) for name in checked.WAYS_TO_RUN},
            "protocol_record": asdict(protocol),
            **provenance(),
        }
        write_text(run_dir / "config.yaml", yaml.safe_dump(facts, sort_keys=False))
        reporter = RunReporter(
            kept=state.text_log,
            shown=run_dir / "train.log",
            budget=budget,
            frames=algorithm.frames,
            title=f"{algo}/{game}/{model}/{run}",
            fields=algorithm.fields,
            terminal=terminal,
        )
        try:
            if state.superseded_by_settings:
                reporter.say(f"The settings have changed: the old state is now in {state.superseded_by_settings}")
            if state.saved:
                reporter.say(f"Loaded iteration {algorithm.iteration} from {state.folder}")
            else:
                reporter.say(f"Number of parameters: {layout.parameter_count}")
            with Heartbeat(state.folder, frames=algorithm.frames) as heartbeat:
                watched = Watched(state, reporter, heartbeat, interruption)
                with (
                    LearningSession(algorithm, watched, game=game)
                    if isinstance(algorithm, Learner)
                    else EvolutionSession(
                        algorithm,
                        watched,
                        reference=reference,
                        ops=ops,
                        noise=noise,
                        layout=layout,
                        game=game,
                        protocol=protocol,
                        threads=threads,
                        engine=checked.engine,
                        slots=slots,
                        cluster=cluster,
                        cluster_dir=run_dir / "dask",
                    )
                ) as session:
                    clock = Clock.from_state(state.saved["elapsed"] if state.saved else None)
                    while not algorithm.is_done:
                        _train_iteration(algorithm, session, clock, results, watched)
            reporter.say(f"Training terminated after {algorithm.steps} timesteps")
        except Interrupted as stop:
            reporter.say(str(stop))
            raise
        finally:
            reporter.close()

        results.write(algorithm.best)
        publish(state.log, run_dir / "log.jsonl")


def _train_iteration(
    algorithm: Algorithm | Learner,
    session: EvolutionSession | LearningSession,
    clock: Clock,
    results: RunResults,
    watched: Watched,
) -> None:
    """Trains one generation or epoch, reports it and saves the state."""
    state, reporter = watched.state, watched.reporter
    before = _moment(algorithm, clock)
    fields = None
    while fields is None:
        begin = time.monotonic()
        fields, uncounted, playing = session.advance(clock)
        clock.add(time.monotonic() - begin, uncounted=uncounted, playing=playing)
        if fields is None and isinstance(session, LearningSession):
            session.save(clock)
    now = clock.end_iteration()
    record = fields | {
        "TimestepsPerSecondThisIter": fields["TimestepsThisIter"] / max(now.total, 1e-9),
        "TimeElapsedThisIter": now.counted,
        "TimeElapsedThisIterTotal": now.total,
        "TimeElapsed": clock.counted,
        "TimeElapsedTotal": clock.total,
        "OverheadThisIter": now.total - now.playing,
    }
    watched.heartbeat.check_owner()
    state.report(record)
    reporter.report(record)
    remaining = max(algorithm.settings.frames - algorithm.frames, 0) / max(algorithm.frames, 1) * clock.total
    reporter.say(
        f"Timesteps Per Second: {record['TimestepsPerSecondThisIter']:.0f}. "
        f"Elapsed: {clock.total / 3600:.2f}h ETA {remaining / 3600:.2f}h"
    )
    results.keep_snapshot(algorithm, before.frames)
    results.keep_tagged(algorithm, before, _moment(algorithm, clock))
    state.save(algorithm.get_state(), clock.to_state(), algorithm.get_arrays())


def _moment(algorithm: Algorithm | Learner, clock: Clock) -> Moment:
    test_score = algorithm.best.test_score if algorithm.best else None
    return Moment(algorithm.iteration, algorithm.frames, clock.total, test_score)
