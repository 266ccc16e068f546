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

    Args:
        game: Game id such as `pong`.
        protocol: How episodes are played.
        count: Number of environments.
        threads: Threads of emulators.
        seed_of: Function from the index of an environment and the number of its episode to the episode's seed.
        core: The native core, which plays Atari games faster; None to do without.
        curriculum: What mazes of the training are like; None for those of tests.

    Raises:
        NeurozooError: Learners cannot play the game under the protocol.
    """
    if protocol.world in ("river_crossing", "gymnasium"):
        return WorldVectorEnvironment(game, protocol, count=count, seed_of=seed_of)
    if protocol.world == "maze":
        return MazeVectorEnvironment(protocol, count=count, seed_of=seed_of, curriculum=curriculum)
    return AtariVectorEnvironment(game, protocol, count=count, threads=threads, seed_of=seed_of, core=core)
