"""Finds what a run had come to at a moment that has a name, such as `400M` or `human`.

The log says which generation it was. The weights come from the genome that the log has of it, or from what training
kept: of that tag, as a snapshot, or as the result.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neurozoo.algorithms.elites import ELITE_RULES
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json
from neurozoo.games import reference_scores
from neurozoo.genomes import Genome, Weights, decode
from neurozoo.inspection.frozen import RECORD_FILE
from neurozoo.inspection.reports import ELITE, Report, read_reports, report_of
from neurozoo.logs import read_run_settings
from neurozoo.tags import FINAL, PUBLISHED, TAGS, Moment, Tag, parse_tag

if TYPE_CHECKING:
    from neurozoo.training.checkpoint import Checkpoint

REMEDY = "Copy all files of the run, or train it again."


def tag_folder(run_dir: str | os.PathLike, tag: str) -> Path:
    """Returns the folder of what is made of one moment; `final`, which is the run's result, is the run's own.

    Raises:
        NeurozooError: No such tag.
    """
    return Path(run_dir) if tag == FINAL else Path(run_dir, TAGS, parse_tag(tag).text)


def frozen_tag_folder(run_dir: str | os.PathLike, tag: str) -> Path:
    """Returns the folder of a moment that has been frozen, of which rollouts and movies can be made.

    Raises:
        NeurozooError: No such tag, or it has not been frozen yet.
    """
    folder = tag_folder(run_dir, tag)
    if tag != FINAL and not (folder / "frozen" / RECORD_FILE).exists():
        raise NeurozooError(
            f"{folder}/frozen should hold the frozen agent, but {tag} of this run has not been frozen yet: "
            f"python -m neurozoo freeze {run_dir} --tag {tag}"
        )
    return folder


def moments_of(run_dir: str | os.PathLike) -> list[Moment]:
    """Reads the moments of a run's generations from its log, in order; of a run that still goes on, too.

    Raises:
        NeurozooError: There is no log, or it is damaged.
    """
    return _moments(run_dir, read_reports(run_dir))


def _moments(run_dir: str | os.PathLike, reports: Mapping[int, dict]) -> list[Moment]:
    try:
        return [
            Moment(generation, record["frames"], record["TimeElapsedTotal"], record["test_score"])
            for generation, record in sorted(reports.items())
        ]
    except KeyError as error:
        raise NeurozooError(f"The log of {run_dir} lacks {error} in a report. {REMEDY}") from error


def find_moment(moments: Sequence[Moment], tag: Tag, *, game: str, run: str) -> Moment:
    """Returns the first moment at which a run had come as far as a tag says.

    Args:
        moments: Of the run, in order.
        tag: Which one.
        game: Game id.
        run: What to call the run in an error.

    Raises:
        NeurozooError: The run never came so far; the message says how far it came.
    """
    found = next((moment for moment in moments if tag.is_reached(moment, game=game)), None)
    if found is not None:
        return found
    if not moments:
        raise NeurozooError(f"{run} has no finished generation yet, so that it has no {tag.text}.")
    last = moments[-1]
    if tag.kind == "human" and game not in reference_scores():
        raise NeurozooError(f"No human score is known for {game!r}, so that {run} has no {tag.text}.")
    reached = {
        "frames": f"it has {last.frames:,} frames",
        "seconds": f"it was trained for {last.seconds / 3600:.2f} hours",
    }
    if tag.kind == "human":
        best = max((moment.test_score for moment in moments if moment.test_score is not None), default=float("nan"))
        reached["human"] = f"its best test score was {best:,.0f}, that of humans is {reference_scores()[game][1]:,.0f}"
    raise NeurozooError(f"{run} never reached {tag.text}: {reached[tag.kind]}, in {last.generation} generations.")


def reached_tags(run_dir: str | os.PathLike, *, game: str) -> dict[str, Moment]:
    """Returns the published tags that a run has reached, and when.

    Raises:
        NeurozooError: There is no log, or it is damaged.
    """
    moments = moments_of(run_dir)
    tags = {text: parse_tag(text) for text in PUBLISHED}
    firsts = {text: next((m for m in moments if tag.is_reached(m, game=game)), None) for text, tag in tags.items()}
    return {text: moment for text, moment in firsts.items() if moment is not None}


def tagged_agent(
    run_dir: str | os.PathLike, tag: str, *, noise: str | os.PathLike
) -> tuple["Checkpoint", Genome, dict[str, float]]:
    """Returns who a run's best was at a moment.

    Args:
        run_dir: The run's folder, with `config.yaml` and a log.
        tag: The moment.
        noise: The noise table; opened only if a genome has to be decoded.

    Returns:
        Weights, genome, and the facts that `genome.json` has of a result.

    Raises:
        NeurozooError: No such tag, the run never came so far, or its weights of then are not kept.
    """
    from neurozoo.noise import open_noise_table
    from neurozoo.training.checkpoint import read_checkpoint

    run_dir, wanted = Path(run_dir), parse_tag(tag)
    settings = read_run_settings(run_dir / "config.yaml")
    reports = read_reports(run_dir)
    moments = _moments(run_dir, reports)
    moment = find_moment(moments, wanted, game=str(settings["game"]), run=str(run_dir))
    if reports[moment.generation].get(ELITE) is not None:
        report = _best_until(run_dir, reports, moment.generation, str(settings.get("elite_rule")))
        checkpoint = read_checkpoint(run_dir / "checkpoint.npz")
        theta = decode(report.genome, noise=open_noise_table(noise, verify=False), layout=checkpoint.layout)
        return replace(checkpoint, theta=theta), report.genome, report.scores
    for path, facts in _kept(run_dir, wanted, is_last=moment == moments[-1]):
        if facts.get("run_iteration", moment.generation) == moment.generation:
            checkpoint = read_checkpoint(path)
            return checkpoint, Genome(Weights.of(checkpoint.theta)), facts
    raise NeurozooError(
        f"{run_dir} reached {tag} in generation {moment.generation}, but its weights of then were not kept. Name the "
        "tag under zoo.keep_tags in the configuration (python -m neurozoo train: --keep-tags) before a run is trained."
    )


def _best_until(run_dir: Path, reports: Mapping[int, dict], generation: int, elite_rule: str) -> Report:
    """Returns the elite that was the run's result so far: the best of all, the earliest of equals, or the latest."""
    if elite_rule in ELITE_RULES and ELITE_RULES[elite_rule].remembers_best:
        generation = max(
            (number for number in sorted(reports) if number <= generation), key=lambda n: reports[n]["score"]
        )
    return report_of(run_dir, generation, reports=reports)


def _kept(run_dir: Path, tag: Tag, *, is_last: bool) -> Iterator[tuple[Path, dict]]:
    """Yields the checkpoints that may be of a moment, and what is known of each."""
    from neurozoo.training.checkpoint import read_facts
    from neurozoo.training.results import tag_path
    from neurozoo.training.state import SNAPSHOTS

    if is_last and (run_dir / "checkpoint.npz").exists():
        yield run_dir / "checkpoint.npz", read_json(run_dir / "genome.json", REMEDY)
    own = tag_path(run_dir, tag.text)
    for path in dict.fromkeys([own, *run_dir.glob(f"{TAGS}/*/{own.name}"), *run_dir.glob(f"{SNAPSHOTS}/*.npz")]):
        if path.exists():
            yield path, read_facts(path)
