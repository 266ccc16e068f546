import math

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes import cshenton
from neurozoo.genomes.cshenton import decode_seeds, game_of_id, initial_weights, weight_shapes
from neurozoo.genomes.genome import check_seeds

SEEDS = [4070460811, 2393459932]  # the first two published ones for Frostbite


def parts(theta, num_actions):
    """Cuts weights into layers, the obvious way."""
    sizes = [math.prod(shape) for shape in weight_shapes(num_actions)]
    return np.split(theta, np.cumsum(sizes)[:-1])


@pytest.fixture(scope="module")
def mutated():
    return decode_seeds(SEEDS, 18)


# Section 7.2 of the specification, printed with eight decimals or more: half of the last one.


def test_all_layers_begin_with_the_same_numbers_but_for_their_scale():
    sigmas = [0.116368667, 0.100778222, 0.0122663345, 0.100778222]
    for weights, sigma in zip(parts(initial_weights(18), 18), sigmas, strict=True):
        np.testing.assert_allclose(
            weights[:4] / sigma, [0.51340485, -0.25581396, 0.65199131, 1.3923638], rtol=2e-7, atol=0
        )
        assert abs(weights).max() <= 2 * sigma * (1 + 1e-6)  # cut at two standard deviations


def test_initial_weights_do_not_depend_on_what_ran_before():
    import tensorflow as tf

    before = initial_weights(6)
    initial_weights.cache_clear()
    tf.random.set_seed(7)
    tf.random.truncated_normal((10,), seed=1234)
    tf.raw_ops.TruncatedNormal(shape=[10], dtype=tf.float32, **cshenton.TENSORFLOW_SEEDS)
    np.testing.assert_array_equal(initial_weights(6), before)


# Section 7.3.


def test_two_seeds_give_the_published_weights(mutated):
    expected = [
        [0.05155855, -0.03473807, 0.07415217, 0.16518833],
        [0.04883898, -0.02038246, 0.06539755, 0.1344804],
        [0.00598553, -0.00477594, 0.01005551, 0.00711186],
        [0.06078874, -0.02745624, 0.07057092, 0.13657659],
    ]
    assert mutated.dtype == np.float32
    for weights, first in zip(parts(mutated, 18), expected, strict=True):
        np.testing.assert_allclose(weights[:4], first, rtol=0, atol=5.1e-9)


def test_every_seed_has_one_stream_that_goes_on_from_layer_to_layer(mutated):
    # The original's own order: layer by layer, and within a layer seed by seed.
    streams = [np.random.RandomState(seed) for seed in SEEDS]
    for shape, initial, weights in zip(
        weight_shapes(18), parts(initial_weights(18), 18), parts(mutated, 18), strict=True
    ):
        layer = initial.reshape(shape).copy()
        for stream in streams:
            layer += stream.normal(0, 0.005, shape)
        np.testing.assert_array_equal(weights, layer.ravel())


def test_the_frostbite_genome_has_the_published_sums_and_deviations(config_dir):
    import json

    record = json.loads((config_dir / "genomes" / "cshenton_frostbite.json").read_text())
    assert len(record["seeds"]) == 51
    layers = parts(decode_seeds(record["seeds"], 18), 18)
    # Section 11 of the specification.
    for weights, total in zip(layers, [0.463906, -3.366558, -67.059424, -1.229521], strict=True):
        assert weights.astype(float).sum() == pytest.approx(total, abs=5.1e-7)
    for weights, deviation in zip(layers, [0.109489916, 0.096712582, 0.037299256, 0.095438660], strict=True):
        assert weights.astype(float).std() == pytest.approx(deviation, abs=5.1e-9)


@pytest.mark.parametrize("seeds", [[], "12", None, 7, [1.0], [True], [-1], [2**32], ["1"], [1, None], [[1]]])
def test_anything_but_seeds_is_refused(seeds):
    with pytest.raises(NeurozooError, match=r"^Seeds look like|^A seed should be .* from 0 to 4,294,967,295, but"):
        check_seeds(seeds)


def test_the_smallest_and_the_largest_seed_are_seeds():
    assert check_seeds([0, np.uint32(2**32 - 1)]) == (0, 4294967295)


def test_a_list_that_would_take_hours_is_refused():
    with pytest.raises(NeurozooError, match="at most 100,000 seeds, but has 100,001"):
        check_seeds([1] * 100_001)


# ---- games


@pytest.mark.parametrize(
    ("name", "game"),
    [("Frostbite-v4", "frostbite"), ("IceHockey-v4", "ice_hockey"), ("UpNDown-v4", "up_n_down"), ("pong", "pong")],
)
def test_a_game_goes_by_its_gym_id_or_its_name(name, game):
    assert game_of_id(name) == game


@pytest.mark.parametrize("name", ["Frostbite-v0", "FrostbiteNoFrameskip-v4", "Frostbyte-v4", "Frostbite", "", None])
def test_another_id_is_refused(name):
    with pytest.raises(NeurozooError, match=r"is unknown.*(Frostbite-v4|did you mean 'frostbite')"):
        game_of_id(name)


# ---- evaluate_policy


def test_evaluate_policy_plays_the_decoded_weights_and_returns_their_mean(monkeypatch):
    import neurozoo
    from neurozoo.agents.scoring import ScoredEpisode

    asked = {}

    def score(agent, **words):
        asked.update(words, agent=agent)
        words["progress"](1, 10.0)
        return [ScoredEpisode(0, 0, score, 1, 4) for score in (10.0, 40.0)]

    monkeypatch.setattr("neurozoo.agents.scoring.score_agent", score)
    heard = []
    mean = neurozoo.evaluate_policy("IceHockey-v4", [5], runs=2, progress=lambda *news: heard.append(news))
    assert mean == 25.0
    assert heard == [(1, 10.0)]
    agent = asked["agent"]
    assert (agent.game, agent.model, asked["episodes"]) == ("ice_hockey", "cshenton", 2)
    assert agent.protocol.name == "gym_v4"
    np.testing.assert_array_equal(agent.genome.initial.theta, decode_seeds([5], 18))
    assert agent.genome.mutations == ()
