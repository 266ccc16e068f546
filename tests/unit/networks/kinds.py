"""Networks for tests of something that all of them have."""

import pytest
from neurozoo.networks.catalogue import NETWORKS


def of_each_kind():
    """All networks; a network whose kinds of layers others have, too, is a long test."""
    seen = set()
    for name, network in NETWORKS.items():
        facts = ("kind", "normalisation", "skip", "activation", "padding", "has_bias")
        kinds = {tuple(getattr(layer, fact) for fact in facts) for layer in network.layers}
        kinds.add((network.observation_clip is None,))
        yield pytest.param(name, marks=[pytest.mark.long(seconds=1)] if kinds <= seen else [])
        seen |= kinds
