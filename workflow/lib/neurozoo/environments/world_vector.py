"""Several worlds in Python that step together, as learners for Atari games expect them."""

from collections.abc import Mapping

import numpy as np

from neurozoo.environments import make_world
from neurozoo.environments.observations import SCREENS, check_screens
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.environments.vector import ReplayedVectorEnvironment, SeedOf, Step, split_actions
from neurozoo.environments.world import SingleFrameWorld
from neurozoo.errors import NeurozooError


class WorldVectorEnvironment(ReplayedVectorEnvironment):
    """Plays several copies of a world that shows grey pictures. See `VectorEnvironment`.

    Observations are rounded to bytes. In the river crossing task an attempt is a life: the agent has one less after
    each attempt, whether it failed or solved the last level. Other worlds have no lives.
    The games are `river_crossing`, and those `gym.` games that show pictures.

    Raises:
        NeurozooError: The game does not show grey pictures of 84 x 84.
    """

    action_type = np.int32

    def __init__(self, game: str, protocol: Protocol, *, count: int, seed_of: SeedOf) -> None:
        check_screens(game, protocol)
        super().__init__(count, seed_of)
        self.limits_only_stop = protocol.world == "gymnasium"
        self.num_actions = len(output_names(game, protocol))
        self.lives = np.zeros(count, np.int64)
        self.stacks = np.zeros((count, *SCREENS[2:], *SCREENS[:2]), np.uint8)
        self._worlds = [_make(game, protocol) for _ in range(count)]
        self._reset(np.ones(count, bool))

    def _reset(self, mask: np.ndarray) -> None:
        self.stacks = self.stacks.copy()  # a receiver may keep the arrays
        for index in np.flatnonzero(mask).tolist():
            self._worlds[index].reset(seed=self._seed_of(index, int(self.episodes[index])))
            self._see(index)

    def _see(self, index: int) -> None:
        world = self._worlds[index]
        self.stacks[index] = np.rint(np.moveaxis(world.observation, -1, 0) * 255)
        self.lives[index] = world.attempts_left

    def send(self, actions: np.ndarray) -> None:
        """Remembers the actions of the next step, which `receive` plays."""
        self._chosen = actions.tolist()

    def receive(self) -> Step:
        """Plays the step."""
        rewards = np.zeros(self.count, np.float32)
        is_over, is_cut = np.zeros(self.count, bool), np.zeros(self.count, bool)
        before = self.lives.copy()
        self.stacks = self.stacks.copy()  # a receiver may keep the arrays
        for index, (world, action) in enumerate(zip(self._worlds, self._chosen, strict=True)):
            rewards[index] = self._step(index, action)
            is_cut[index] = world.is_done and world.is_truncated
            is_over[index] = world.is_done and not is_cut[index]
        return Step(rewards, is_over, is_cut, self.lives < before)

    def _step(self, index: int, action: int) -> float:
        self._played[index].append(action)
        _, reward, _ = self._worlds[index].act(np.eye(self.num_actions, dtype=np.float32)[action])
        self._see(index)
        return reward

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Restores the state by playing its actions again."""
        self.episodes = np.array(state["episodes"], np.int64)
        self._played = [[] for _ in range(self.count)]
        self._reset(np.ones(self.count, bool))
        for index, actions in enumerate(split_actions(state, arrays)):
            for action in actions:
                if self._worlds[index].is_done:
                    raise self._other_course()
                self._step(index, action)
        if self._checksum() != state["seen"]:
            raise self._other_course()

    def _other_course(self) -> NeurozooError:
        remedy = "Use the version in the run's config.yaml."
        if self._worlds[0].protocol.world == "gymnasium":
            remedy += " If nothing has changed, the environment draws random numbers outside of self.np_random."
        return NeurozooError(f"The worlds cannot be continued: the same actions now lead to other screens. {remedy}")

    def close(self) -> None:
        """Closes the worlds."""
        for world in self._worlds:
            world.close()


def _make(game: str, protocol: Protocol) -> SingleFrameWorld:
    world = make_world(game, protocol)
    assert isinstance(world, SingleFrameWorld)  # all but those of Atari games
    return world
