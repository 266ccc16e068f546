"""Makes several environments of any game that step together, for learners."""

from pathlib import Path

from neurozoo.environments.mazes.curriculum import Curriculum
from neurozoo.environments.mazes.vector import MazeVectorEnvironment
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import AtariVectorEnvironment, SeedOf, VectorEnvironment
from neurozoo.environments.world_vector import WorldVectorEnvironment


def make_vector_environment(
    game: str,
    protocol: Protocol,
    *,
    count: int,
    threads: int,
    seed_of: SeedOf,
    core: Path | None = None,
    curriculum: Curriculum | None = None,
) -> VectorEnvironment:
    """Makes several environments of a game.

    `seed_of` gives the seed of an episode, from the index of its environment and its number there. The native core
    plays Atari games faster, but is not needed. Without a curriculum, mazes are those of tests.

    Raises:
        NeurozooError: Learners cannot play the game under the protocol.
    """
    if protocol.world in ("river_crossing", "gymnasium"):
        return WorldVectorEnvironment(game, protocol, count=count, seed_of=seed_of)
    if protocol.world == "maze":
        return MazeVectorEnvironment(protocol, count=count, seed_of=seed_of, curriculum=curriculum)
    return AtariVectorEnvironment(game, protocol, count=count, threads=threads, seed_of=seed_of, core=core)
