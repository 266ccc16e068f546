from dataclasses import replace

import numpy as np
from neurozoo.environments.mazes.curriculum import Curriculum, Phase, draw_level
from neurozoo.environments.mazes.simulator import MazeEpisodes, reward_at
from neurozoo.environments.mazes.vector import MazeVectorEnvironment
from neurozoo.environments.protocols import protocol_of

CLOSE = Phase(1.0, 0.5, 0.75, 0.0)  # a goal that random walks find
PROTOCOL = protocol_of("maze")


def seed_of(index, episode):
    return 1000 * index + episode


def environments(count, *, limit):
    protocol = replace(PROTOCOL, max_frames=limit)
    return MazeVectorEnvironment(protocol, count=count, seed_of=seed_of, curriculum=Curriculum(1, (CLOSE,)))


def play(environment, steps, rng):
    """Walks at random, and yields what is known before each step and what follows."""
    for _ in range(steps):
        before = environment.stacks, environment.get_arrays()["cell"], environment.episodes.copy()
        actions = rng.choice(3, size=environment.count, p=[0.2, 0.2, 0.6])
        environment.send(actions)
        step = environment.receive()
        yield before, actions, step
        environment.start_episodes(step.is_over | step.is_cut)


def test_each_environment_plays_its_episodes_one_after_the_other():
    environment = environments(6, limit=60)
    known = list(play(environment, 400, np.random.default_rng(0)))
    ends = {"over": 0, "cut": 0}
    for index in range(6):
        episode, alone = -1, None
        for (stacks, cell, episodes), actions, step in known:
            if episodes[index] != episode:
                assert episodes[index] == episode + 1
                episode, seed = episodes[index], seed_of(index, int(episodes[index]))
                level = draw_level(np.random.default_rng(seed), CLOSE)
                start = (np.array([each]) for each in (level.start, level.goal, level.direction))
                alone = MazeEpisodes(level.walls[None], *start)
            np.testing.assert_array_equal(stacks[index].transpose(1, 2, 0), alone.observation[0])
            assert cell[index] == alone.cell[0]
            is_over = alone.step(actions[index : index + 1])[0]
            assert (step.is_over[index], step.is_cut[index]) == (is_over, not is_over and alone.steps == 60)
            expected = reward_at(alone.steps, time_limit=60) if is_over else 0
            assert step.rewards[index] == np.float32(expected)
            ends["over"] += is_over
            ends["cut"] += step.is_cut[index]
    assert min(ends.values()) > 5


def test_the_state_continues_the_same_episodes():
    whole = environments(4, limit=50)
    list(play(whole, 130, np.random.default_rng(1)))
    state, arrays = whole.get_state(), whole.get_arrays()
    again = environments(4, limit=50)
    again.set_state(state, arrays)
    pairs = zip(play(whole, 100, np.random.default_rng(2)), play(again, 100, np.random.default_rng(2)), strict=True)
    for (before, _, step), (same, _, same_step) in pairs:
        for here, there in zip((*before, *step), (*same, *same_step), strict=True):
            np.testing.assert_array_equal(here, there)
