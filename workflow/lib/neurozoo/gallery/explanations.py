"""Words for the codes on the pages: what an algorithm, a network or a protocol is, and what a score is worth."""

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.tags import FINAL
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.games import reference_scores
from neurozoo.environments.protocols import PROTOCOLS
from neurozoo.gallery.manifest import Run
from neurozoo.networks.catalogue import ARCHITECTURES
from neurozoo.plan.catalogue_pages import layer_text


def explain_algorithm(algo: str) -> str:
    """Returns the full name of an algorithm, such as "Genetic algorithm"; empty if it is unknown."""
    if algo == IMPORTED:
        return "Published weights, not trained here"
    return ALGORITHMS[algo].title if algo in ALGORITHMS else ""


def explain_network(model: str) -> str:
    """Returns the layers of a network in words; empty if it is unknown."""
    return ", ".join(map(layer_text, ARCHITECTURES[model].layers)) if model in ARCHITECTURES else ""


def explain_protocol(name: str) -> str:
    """Returns how a protocol plays episodes, in words; empty if it is unknown."""
    protocol = PROTOCOLS.get(name)
    if protocol is None or protocol.world != "atari":
        return ""
    parts = [f"{protocol.frame_skip} frames per step"]
    if protocol.sticky_probability:
        parts.append(f"sticky actions with probability {protocol.sticky_probability:g}")
    if protocol.max_noops:
        parts.append(f"up to {protocol.max_noops} no-ops at the start")
    if protocol.presses_fire:
        parts.append("starts games with fire")
    return f"How episodes are played: {', '.join(parts)}, at most {protocol.max_frames:,} frames"


def share_of_human(run: Run) -> float | None:
    """Returns a run's human-normalised score: 0 for random play, 1 for a human; None if that is unknown."""
    if run.score is None or run.game not in reference_scores():
        return None
    random, human = reference_scores()[run.game]
    return (run.score.mean - random) / (human - random)


def best_run(runs: "tuple[Run, ...]") -> Run | None:
    """Returns the run that the page opens with: the best of those whose result has a movie, by human-normalised score.

    Without any such score, it is the best by its score if all play one game, and else the first. Archives are no
    agents, and a movie of an earlier tag does not show what the score is about.
    """
    agents = [run for run in runs if run.unit == "frames" and any(movie.tag == FINAL for movie in run.movies)]
    filmed = [run for run in agents if run.score is not None]
    compared = [run for run in filmed if share_of_human(run) is not None]
    if compared:
        return max(compared, key=lambda run: share_of_human(run) or 0.0)
    if len({run.game for run in filmed}) == 1:
        return max(filmed, key=lambda run: run.score.mean if run.score else 0.0)
    return next(iter([*filmed, *agents]), None)
