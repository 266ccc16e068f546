"""Frozen models of any architecture that exist only in memory."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def make_frozen():
    """Makes a frozen model of any architecture: `make_frozen(network, shape, change=...)`.

    Its weights are random; `change` may alter them by name, see `Layout.split`.
    """
    from neurozoo.agents.frozen import FrozenModel
    from neurozoo.agents.graph import layer_record
    from neurozoo.environments.protocols import get_protocol

    def make(network, shape, *, actions=3, seed=1, change=None):
        layout = network.layout(actions, shape.observation)
        random = np.random.default_rng(seed)
        noise = random.standard_normal(layout.parameter_count).astype(np.float32)
        theta = layout.initialise(noise) + np.float32(0.05) * noise
        arrays = layout.split(theta)
        if change:
            change(arrays)
        reference = random.random((16, *layout.observation_shape), np.float32) if layout.needs_reference else None

        class InMemoryModel(FrozenModel):
            weights = arrays

            @property
            def shape(self):
                return shape

            def load_keras(self):
                return layout.keras_model(theta, reference)

        return InMemoryModel(
            folder=Path("nowhere"),
            game="frostbite",
            model=network.name,
            algo="ga",
            run=1,
            protocol=get_protocol("uber2018"),
            actions=tuple(f"ACTION_{i}" for i in range(actions)),
            layers=tuple(layer_record(placed, "ga") for placed in layout.layers),
        )

    return make


@pytest.fixture(scope="session")
def tiny():
    """Two convolutions and an output for pictures of 9 x 8 pixels: small enough for loops in Python."""
    from neurozoo.networks.chains import Network
    from neurozoo.networks.layers import Layer

    return Network(
        "tiny",
        (),
        (
            Layer("conv1", "conv", 4, kernel=3, stride=2),
            Layer("conv2", "conv", 3, kernel=2),
            Layer("out", "dense", activation="linear"),
        ),
    )


@pytest.fixture(scope="session")
def tiny_shape():
    from neurozoo.environments.observations import ObservationShape

    return ObservationShape(9, 8, 1, 4)
