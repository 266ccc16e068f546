"""The modular agent of the river crossing task in NumPy and Keras."""

import numpy as np
import pytest
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.river_agents import CYCLES, shunting_landscape
from neurozoo.environments.river_crossing import RiverRules
from neurozoo.environments.river_world import RiverCrossingWorld
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.chains import Network
from neurozoo.networks.layers import Layer
from neurozoo.networks.modular import landscape_cycles

from tests.unit.networks.modular_twin import modular_network

ENDS = ("modular", "modular_rgb_evolved_movement")  # the least and the most of three choices
MODULAR = [
    pytest.param(name, marks=[] if name in ENDS else [pytest.mark.long(seconds=1)])
    for name, network in NETWORKS.items()
    if network.is_modular
]
PROTOCOL = get_protocol("river_fixed", observation="objects")
# The evolved weights in the headers of github.com/WatchJolley/rivercrossing. Its kernel is addressed [column][row].
PUBLISHED = """
    -1.32564 0.502005 -0.713916 0.886583 -0.127856 1.09454 0.254552 -0.00668612 -1.31411 0.211547 0.108453 0.0104434
    -0.768644 -0.467826 1.2694 0.0789407 -0.210895 -0.246784 -0.590775 -0.414117 1.43094 0.205156 -1.09432 2.14164
    -1.27007 -0.590775 -1.80643 0.525009 -0.0967102 1.2694 -0.467826 -0.768644 0.0104434 0.108453 0.779014 -1.31411
    -0.00668612 0.254552 1.09454 -0.127856 0.886583 -0.713916 -0.0905274 -1.32564"""
KERNEL = "-0.00285367 -0.137879 0.150172 0.221453 -0.0406328 -0.497353 0.15804 0.0632916 0.469101"


def numbers(*texts):
    return np.array(" ".join(texts).split(), np.float32)


def steps_in_world(run, *, width, seed, step_limit=200):
    """Steps until the resource is reached from column 0, or None."""
    rules = RiverRules(min_width=width, max_width=width, attempts=1, step_limit=step_limit, start_column=0)
    world = RiverCrossingWorld("river_crossing", PROTOCOL, rules)
    observation = world.reset(seed=seed)
    while not world.is_done and not world.river.levels_solved:
        observation, _, _ = world.act(run(observation))
    return world.steps if world.river.levels_solved else None


def observations_of_random_play(count, seed=0):
    random = np.random.default_rng(seed)
    world = RiverCrossingWorld("river_crossing", PROTOCOL)
    seen = [world.reset(seed=seed).copy()]
    while len(seen) < count:
        outputs = np.eye(18, dtype=np.float32)[random.choice([2, 3, 5, 8, 12, 14, 17])]
        seen.append((world.reset(seed=len(seen)) if world.is_done else world.act(outputs)[0]).copy())
    return np.stack(seen).reshape(count, 20, 20, 6)


@pytest.mark.parametrize(("model", "weights"), [("modular", [PUBLISHED]), ("modular_evolved", [PUBLISHED, KERNEL])])
def test_the_published_agent_crosses_the_widest_river(model, weights):
    run = modular_network(get_network(model).layout(18), numbers(*weights))
    steps = [steps_in_world(run, width=3, seed=seed) for seed in range(12)]
    if model == "modular":
        assert None not in steps  # published: all of 10,000 worlds, in 45.2469 steps on average
    assert sum(each is not None for each in steps) >= 9


def test_a_fixed_landscape_is_the_shunting_model():
    desires = np.random.default_rng(1).choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=(20, 20)).astype(np.float32)
    *_, heights = landscape_cycles(desires, None, cycles=CYCLES)
    np.testing.assert_allclose(heights, shunting_landscape(desires), rtol=1e-5)
    assert heights.dtype == np.float32


@pytest.mark.parametrize("model", MODULAR)
def test_keras_acts_as_numpy(model):
    layout = get_network(model).layout(18)
    noise = np.random.default_rng(3).standard_normal(layout.parameter_count).astype(np.float32)
    theta, seen = layout.initialise(noise), observations_of_random_play(30)
    assert abs(theta.std() - 0.5) < 0.15
    expected = np.stack([modular_network(layout, theta)(each) for each in seen])
    np.testing.assert_allclose(np.array(layout.keras_model(theta)(seen)), expected, atol=1e-5)


def test_a_modular_agent_needs_objects_and_all_its_layers():
    with pytest.raises(NeurozooError, match=r"sees the objects of river_crossing, but the observation is 84 x 84 x 4"):
        get_network("modular").layout(18, (84, 84, 4))
    with pytest.raises(NeurozooError, match="should have the layers decision, landscape, climb"):
        Network("half", (), (Layer("decision", "decision"), Layer("out", "dense")))
