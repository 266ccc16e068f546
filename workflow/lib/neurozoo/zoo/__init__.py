"""The zoo: every frozen agent of a folder of results, by algorithm, game, network, run and tag."""

from neurozoo.zoo.models import ZooModel, find_models

__all__ = ["ZooModel", "find_models"]
