"""The domains of levels by name, and checks of what users choose for them."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neurozoo.environments.levels import Evaluations, LevelDomain, Measure, Play
from neurozoo.environments.mazes.domain import MazeDomain
from neurozoo.environments.platformer.domain import PlatformerDomain
from neurozoo.environments.platformer.generator import Generator
from neurozoo.environments.platformer.grammar import decode as decode_by_grammar
from neurozoo.environments.rivers.domain import RiverDomain
from neurozoo.errors import NeurozooError, unknown_name

__all__ = ["Evaluations", "LevelDomain", "Measure", "Play"]

GRAMMAR = "grammar"  # the decoder that has not learned anything
_LIFT = 1e-6  # added to measures before they are put into cells


def _mario(decoder: str) -> LevelDomain:
    return PlatformerDomain("mario", decode_by_grammar if decoder == GRAMMAR else Generator.read(decoder).decode)


LEVEL_DOMAINS: Mapping[str, Callable[[str], LevelDomain]] = {
    "maze": lambda decoder: MazeDomain(),
    "mario": _mario,
    "river_crossing": lambda decoder: RiverDomain(),
}


def get_level_domain(name: str, *, decoder: str = GRAMMAR) -> LevelDomain:
    """Finds a domain by its name.

    The decoder is `grammar`, or the path of a trained generator (.npz). Domains that have none ignore it;
    `check_decoder` says so to the user.

    Raises:
        NeurozooError: The domain is unknown, and the message suggests the most similar name; or the generator is
            missing, damaged or of other levels.
    """
    if name not in LEVEL_DOMAINS:
        raise unknown_name("domain of levels", name, LEVEL_DOMAINS)
    return LEVEL_DOMAINS[name](decoder)


def check_level_domain(name: str) -> str:
    """Returns the name of a domain, or raises what `get_level_domain` raises."""
    return get_level_domain(name).name


def check_decoder(domain: LevelDomain, decoder: str) -> None:
    """Checks that a domain has decoders, if one is chosen.

    Raises:
        NeurozooError: It has none.
    """
    if decoder != GRAMMAR and not domain.reads_generators:
        raise NeurozooError(
            f"Solutions of {domain.name!r} are levels, which no generator decodes. Leave decoder: {decoder} out."
        )


def check_agent(domain: LevelDomain, agent: str) -> None:
    """Checks that an agent can be sent into the levels of a domain.

    Raises:
        NeurozooError: It cannot.
    """
    is_file = domain.read_agent is not None and agent.endswith(".npz")
    if agent not in domain.agents and not is_file:
        files = ", or the file of an agent, such as RUN_DIR/checkpoint.npz" if domain.read_agent else ""
        raise NeurozooError(
            f"The agent {agent!r} cannot be sent into levels of {domain.name!r}. Set agent to "
            f"{' or '.join(domain.agents)}{files}, or choose a preset for {domain.name!r}."
        )


def places_on_grid(measures: np.ndarray, *, dims: np.ndarray | Sequence[int], ranges: np.ndarray) -> np.ndarray:
    """Returns in which cell of an archive's grid each level lies: int64, shape (levels, measures).

    What is outside of a range lies in the cell at its border. The published small number lifts rounded measures, such
    as a share of 0.39, over the border of their cell. Measures have shape (levels, measures), `dims` are the cells
    along each of them, and ranges its lower and upper bound, shape (measures, 2).

    Source: section 3.1 of the description of DSAGE.
    """
    low, high = np.asarray(ranges, float).T
    shares = (np.asarray(measures, float) + _LIFT - low) / (high - low)
    return np.clip(np.floor(shares * dims), 0, np.asarray(dims) - 1).astype(np.int64)


def measure_title(game: str, measure: str) -> str:
    """Returns the title of a measure for an axis; an unknown one keeps its name."""
    if game in LEVEL_DOMAINS and measure in (measures := get_level_domain(game).measures):
        return measures[measure].title
    return measure.replace("_", " ").capitalize()
