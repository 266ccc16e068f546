"""The core's observations, step by step, equal those of two slower engines: our Python environment, and ale-py's.

The core reuses an emulator over many episodes; the Python environment loads the ROM for each. If they agree, an episode
does not affect later ones.
"""

import dataclasses

import numpy as np
import pytest
from neurozoo.agents.frozen_check import stacked
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.environments.games import action_codes, action_names
from neurozoo.environments.observations import ObservationShape
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.networks.catalogue import get_network

UBER, MACHADO, UBER_2017 = (get_protocol(name) for name in ("uber2018", "machado2018", "uber2017"))


def play(evaluator, genome, *, noops=0, seed=0, max_frames=400_000):
    evaluator.pin([genome])
    return evaluator.trace(Episode(genome, noops, seed, max_frames))


def assert_twin_sees_the_same(environment, trace, *, levels, noops=0, seed=0):
    """Plays the recorded actions in Python; compares planes (in grey levels of 255), rewards and the end."""
    environment.reset(noops=noops, seed=seed)
    for step, action in enumerate(trace.actions.tolist()):
        difference = np.abs(environment.plane.reshape(84, 84, 1) - trace.planes[step]).max() * 255
        assert difference <= levels, (environment.game, environment.protocol.name, step, difference)
        assert not environment.is_done, (environment.game, step)
        _, reward, _ = environment.step(action)
        assert reward == trace.rewards[step], (environment.game, step)
    return environment


@pytest.mark.parametrize("protocol", [UBER, MACHADO, UBER_2017], ids=lambda protocol: protocol.name)
@pytest.mark.parametrize(
    "every", [pytest.param(12, id="5 games"), pytest.param(1, id="60 games", marks=pytest.mark.long(seconds=60))]
)
def test_a_used_evaluator_plays_each_game_as_a_console_just_switched_on(
    core, noise_table, published_games, protocol, every
):
    # A resize to bytes may round a half the other way: 1 level, plus a little for the float form.
    levels = 1.0001 if protocol is MACHADO else 0
    for number, game in list(enumerate(published_games))[::every]:
        layout = get_network("small").layout(len(action_codes(game, protocol.action_set)))
        noops, seed = (0, number) if protocol is MACHADO else (1 + number % 30, 0)
        with NativeEvaluator(core=core, noise=noise_table, layout=layout, game=game, protocol=protocol) as evaluator:
            play(evaluator, Genome(number), noops=17 - noops // 2, seed=99, max_frames=333)
            trace = play(evaluator, Genome(7 * number, (Mutation(5, 0.02),)), noops=noops, seed=seed, max_frames=120)
        assert len(trace.actions) == 30
        environment = AtariEnvironment(game, dataclasses.replace(protocol, max_frames=120))
        assert_twin_sees_the_same(environment, trace, levels=levels, noops=noops, seed=seed)
        assert environment.is_done


@pytest.mark.parametrize(
    ("game", "genome", "noops", "starts_with_fire", "height"),
    [
        ("frostbite", 7000, 3, True, 210),
        ("ms_pacman", 5000, 11, False, 210),
        ("pooyan", 1000, 30, True, 220),
        ("air_raid", 7000, 3, True, 250),  # a PAL game, whose colours turn grey in some frames
    ],
)
def test_the_twin_sees_the_same_to_the_last_bit_until_the_game_is_over(
    evaluators, game, genome, noops, starts_with_fire, height
):
    evaluator = evaluators(game=game)
    trace = play(evaluator, Genome(genome), noops=noops)
    environment = AtariEnvironment(game, UBER)
    assert environment.screen_shape == (height, 160, 3)
    assert (action_names(game, "minimal")[1] == "FIRE") == starts_with_fire
    assert_twin_sees_the_same(environment, trace, levels=0, noops=noops)
    assert environment.is_done
    assert 100 < environment.frames < UBER.max_frames  # the game was over before the frame limit


@pytest.mark.parametrize(("name", "repeats_first"), [("uber2017", True), ("uber2018", False)])
def test_the_first_plane_is_repeated_in_2017_and_follows_black_ones_later(evaluators, name, repeats_first, noise_table):
    evaluator = evaluators(game="frostbite", protocol=get_protocol(name))
    trace = play(evaluator, Genome(7000), noops=3, max_frames=24)
    layout = get_network("small").layout(18)
    model = layout.keras_model(evaluator.parameters(Genome(7000)))
    shape = ObservationShape(84, 84, 1, 4, repeats_first=repeats_first)
    for other, fits in ((shape, True), (dataclasses.replace(shape, repeats_first=not repeats_first), False)):
        (observations,) = stacked(trace.planes, 6, other)
        logits = model(observations, training=False).numpy()
        assert np.allclose(logits[0], trace.logits[0], atol=1e-4) == fits
        assert np.allclose(logits[3:], trace.logits[3:], atol=1e-4)


@pytest.mark.parametrize("noops", [0, 641, 642, 700])
def test_a_game_that_ends_before_the_first_observation_begins_anew(evaluators, noops):
    # Without a move, Assault ends after 642 frames. By noops: later, during FIRE, with the last no-op, before it.
    trace = play(evaluators(game="assault"), Genome(5), noops=noops, max_frames=80)
    assert_twin_sees_the_same(AtariEnvironment("assault", UBER), trace, levels=0, noops=noops)


def test_with_the_full_action_set_a_game_starts_in_the_same_way(evaluators):
    full = get_protocol("uber2018", action_set="full")
    trace = play(evaluators(game="breakout", protocol=full), Genome(5), noops=4, max_frames=400)
    assert trace.logits.shape == (100, 18)
    assert_twin_sees_the_same(AtariEnvironment("breakout", full), trace, levels=0, noops=4)


@pytest.mark.parametrize(
    ("game", "action_set"),
    [
        ("frostbite", "minimal"),
        ("double_dunk", "full"),
        *(
            pytest.param(game, action_set, marks=pytest.mark.long)
            for game in ("breakout", "frostbite", "qbert", "carnival", "double_dunk", "berzerk")
            for action_set in ("minimal", "full")
            if (game, action_set) not in (("frostbite", "minimal"), ("double_dunk", "full"))
        ),
    ],
)
def test_machado2018_equals_ale_pys_vector_environment(evaluators, game, action_set):
    from ale_py.vector_env import AtariVectorEnv

    evaluator = evaluators(game=game, protocol=get_protocol("machado2018", action_set=action_set))
    theirs = AtariVectorEnv(
        game, 1, noop_max=0, use_fire_reset=False, reward_clipping=False, repeat_action_probability=0.25,
        full_action_space=action_set == "full", num_threads=1,
    )  # fmt: skip
    differing = []
    for seed in (3, 10):
        trace = play(evaluator, Genome(1000 * seed, (Mutation(5, 0.02),)), seed=seed, max_frames=1600)
        expected, _ = theirs.reset(seed=seed)
        is_over = False
        for step, action in enumerate(trace.actions.tolist()):
            assert not is_over
            levels = np.rint(trace.planes[step, ..., 0] * 255).astype(int)
            difference = np.abs(levels - expected[0, -1])
            assert difference.max() <= 1, (game, seed, step)
            differing.append(difference.mean())
            expected, rewards, terminated, truncated, _ = theirs.step(np.array([action]))
            assert rewards[0] == trace.rewards[step], (game, seed, step)
            is_over = bool(terminated[0] or truncated[0])
        assert is_over or len(trace.actions) == 400
    # Only means close to a half are rounded the other way, because ale-py sums in float32 and in another order.
    assert np.mean(differing) < 0.002
