"""Finds the agent of a run at a tag such as `400M` or `human`.

The log says in which generation the run reached the tag. The weights come from that generation's genome in the log, or
from a checkpoint that training kept: the tag's own, a snapshot, or the result.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint, read_facts
from neurozoo.agents.frozen import RECORD_FILE
from neurozoo.agents.generation_reports import HAS_GENOME, GenerationElite, read_reports, reports_of
from neurozoo.agents.tags import FINAL, PUBLISHED, SNAPSHOTS, TAGS, Moment, Tag, parse_tag, tag_path
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import reference_scores
from neurozoo.errors import NeurozooError
from neurozoo.folders import find
from neurozoo.genomes.genome import KEEPS_BEST_ELITE, Genome, Weights, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.records.run_config import read_run_settings
from neurozoo.records.run_log import current_log, read_last_record
from neurozoo.records.run_result import read_run_result

REMEDY = "Copy all files of the run, or train it again."


def tag_folder(run_dir: str | os.PathLike, tag: str) -> Path:
    """Returns the folder for everything that is made from a tag's agent; for `final`, the run's own folder.

    Raises:
        NeurozooError: The tag is unknown.
    """
    return Path(run_dir) if tag == FINAL else Path(run_dir, TAGS, parse_tag(tag).text)


def frozen_tag_folder(run_dir: str | os.PathLike, tag: str) -> Path:
    """Returns the folder of a tag after checking that its agent is frozen, as rollouts and movies need it.

    Raises:
        NeurozooError: The tag is unknown or has not been frozen yet.
    """
    folder = tag_folder(run_dir, tag)
    if tag != FINAL and not (folder / "frozen" / RECORD_FILE).exists():
        raise NeurozooError(
            f"{folder}/frozen should hold the frozen agent, but the tag {tag} of this run has not been frozen yet. "
            f"Freeze it: python -m neurozoo freeze {shlex.quote(str(run_dir))} --tag {tag}"
        )
    return folder


def _moments(run_dir: str | os.PathLike, reports: Mapping[int, dict]) -> list[Moment]:
    try:
        return [
            Moment(generation, record["frames"], record["TimeElapsedTotal"], record["test_score"])
            for generation, record in sorted(reports.items())
        ]
    except KeyError as error:
        raise NeurozooError(f"The log of {run_dir} lacks {error} in a report. {REMEDY}") from error


def find_moment(moments: Sequence[Moment], tag: Tag, *, game: str, run: str) -> Moment:
    """Returns the first moment at which a run had reached a tag.

    `moments` are at least one, in order; `run` is the name of the run in error messages.

    Raises:
        NeurozooError: The run never reached the tag. The message says how far it came.
    """
    found = next((moment for moment in moments if tag.is_reached(moment, game=game)), None)
    if found is not None:
        return found
    last = moments[-1]
    tag.check_game(game, run=run)
    reached = {
        "frames": f"it has {last.frames:,} frames",
        "seconds": f"it was trained for {last.seconds / 3600:.2f} hours",
    }
    if tag.kind == "human":
        best = max((moment.test_score for moment in moments if moment.test_score is not None), default=float("nan"))
        reached["human"] = f"its best test score was {best:,.0f}, the human score is {reference_scores()[game][1]:,.0f}"
    raise NeurozooError(f"{run} never reached {tag.text}: {reached[tag.kind]}, up to generation {last.generation}.")


def reached_tags(run_dir: str | os.PathLike, *, game: str) -> dict[str, Moment]:
    """Returns the published tags that a run has reached, with the moment of each.

    Raises:
        NeurozooError: The log is missing or damaged.
    """
    moments = _moments(run_dir, read_reports(run_dir))
    tags = {text: parse_tag(text) for text in PUBLISHED}
    firsts = {text: next((m for m in moments if tag.is_reached(m, game=game)), None) for text, tag in tags.items()}
    return {text: moment for text, moment in firsts.items() if moment is not None}


def tagged_agent(
    run_dir: str | os.PathLike, tag: str, *, noise: str | os.PathLike
) -> tuple[Checkpoint, Genome, dict[str, float]]:
    """Returns the best agent that a run had when it reached a tag. Its folder has `config.yaml` and a log.

    These are the weights, the genome, and the facts that `genome.json` has for a result.

    Raises:
        NeurozooError: The tag is unknown, the run never reached it, or no weights of that generation were kept.
    """
    run_dir, wanted = Path(run_dir), parse_tag(tag)
    settings = read_run_settings(run_dir / "config.yaml")
    reports = read_reports(run_dir)
    moments = _moments(run_dir, reports)
    moment = find_moment(moments, wanted, game=str(settings["game"]), run=str(run_dir))
    if reports[moment.generation][HAS_GENOME]:
        report = _best_until(run_dir, reports, moment.generation, str(settings.get("elite_rule")))
        checkpoint = read_checkpoint(run_dir / "checkpoint.npz")
        layout = layout_of(checkpoint.game, checkpoint.model, checkpoint.protocol)
        theta = decode(report.genome, noise=open_noise_table(noise, verify=False), layout=layout)
        return replace(checkpoint, theta=theta), report.genome, report.scores
    for path, facts in _kept(run_dir, wanted, is_last=moment == moments[-1]):
        if facts.get("run_iteration", moment.generation) == moment.generation:
            checkpoint = read_checkpoint(path)
            return checkpoint, Genome(Weights.of(checkpoint.theta)), facts
    raise NeurozooError(
        f"{run_dir} reached {tag} in generation {moment.generation}, but its weights at that point were not kept. List "
        "the tag under zoo.keep_tags in the configuration (python -m neurozoo train: --keep-tags) before training."
    )


def _best_until(run_dir: Path, reports: Mapping[int, dict], generation: int, elite_rule: str) -> GenerationElite:
    """Returns the elite that was the run's result at a generation: by `elite_rule` the best so far or the latest.

    Of equally good elites the earliest one counts.
    """
    if elite_rule in KEEPS_BEST_ELITE:
        generation = max(
            (number for number in sorted(reports) if number <= generation), key=lambda n: reports[n]["score"]
        )
    return reports_of(run_dir, [generation])[0]


def _has_ended(run_dir: Path) -> bool:
    """Says whether the result is of the last report: while a larger budget continues a run, it is of an earlier one."""
    log = current_log(run_dir)
    return log is not None and read_last_record(log) == read_last_record(run_dir / "log.jsonl")


def _kept(run_dir: Path, tag: Tag, *, is_last: bool) -> Iterator[tuple[Path, dict]]:
    """Yields the checkpoints that may be from a tag's generation, each with its facts."""
    if is_last and (run_dir / "checkpoint.npz").exists() and _has_ended(run_dir):
        yield run_dir / "checkpoint.npz", read_run_result(run_dir)
    own = tag_path(run_dir, tag.text)
    for path in dict.fromkeys([own, *find(run_dir, f"{TAGS}/*/{own.name}"), *find(run_dir, f"{SNAPSHOTS}/*.npz")]):
        if path.exists():
            yield path, read_facts(path)
