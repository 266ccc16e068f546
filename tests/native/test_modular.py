"""The modular agent of the river crossing task in the core: the bits of NumPy."""

import numpy as np
import pytest
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.networks.catalogue import NETWORKS, get_network

from tests.unit.networks.modular_twin import modular_network

PROTOCOL = get_protocol("river_fixed", observation="objects")

PLAIN, MOST = "modular", "modular_rgb_evolved_movement"  # the least and the most of the three choices
BETWEEN = [name for name, network in NETWORKS.items() if network.is_modular and name not in (PLAIN, MOST)]


@pytest.mark.parametrize(
    ("model", "deviation"),
    [
        *((PLAIN, 0.7), (MOST, 0.7), ("modular_evolved", 1e30)),
        *(pytest.param(model, 0.7, marks=pytest.mark.long(seconds=1)) for model in BETWEEN),
    ],
)
def test_outputs_are_those_of_numpy_to_the_bit(core, small_noise_table, model, deviation):
    layout = get_network(model).layout(18)
    random, steps = np.random.default_rng(0), 0
    agents = [Genome(Weights.of(random.normal(0, deviation, layout.parameter_count))) for _ in range(4)]
    with NativeEvaluator(
        core=core, noise=small_noise_table, layout=layout, game="river_crossing", protocol=PROTOCOL
    ) as evaluator:
        evaluator.pin(agents)
        for seed, agent in enumerate(agents):
            run, trace = modular_network(layout, agent.initial.theta), evaluator.trace(Episode(agent, 0, seed, 60))
            outputs = np.stack([run(plane.reshape(20, 20, 6)) for plane in trace.planes])
            np.testing.assert_array_equal(outputs.view(np.int32), trace.logits.view(np.int32))
            steps += len(outputs)
    assert steps > 100
