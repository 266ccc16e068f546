"""Fake runs without trained networks: a `model.json` and a rollout each.

The check that a rollout belongs to its frozen model is switched off.
"""

import json
from dataclasses import asdict

import numpy as np
import pytest
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import protocol_of
from neurozoo.records.format import FORMAT

RIVER = "river_crossing"


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """Writes a run: `run_folder(algo, number, episodes=(30,), ...)`. Its states depend on `shift`."""

    monkeypatch.setattr("neurozoo.comparison.compared_runs.recognise", lambda rollout, frozen: None)

    def make(
        algo="ga",
        number=1,
        *,
        game="pong",
        episodes=(30,),
        units=16,
        shift=0.0,
        observation=None,
        pictures=None,
        **changes,
    ):
        protocol = protocol_of(game, None, observation=observation)
        shape = observation_shape(game, protocol).observation
        steps = sum(episodes)
        random = np.random.default_rng([number, len(algo), ord(algo[0])])
        layer = {
            "name": "fc", "kind": "dense", "shape": [units], "activation": "relu", "cycles": 1, "keras_layer": "fc",
            "node": "fc", "weight_node": "fc/w",
        }  # fmt: skip
        record = {
            "format": FORMAT, "game": game, "model": "small", "algo": algo, "run": number,
            "protocol": asdict(protocol), "actions": ["NOOP", "UP"],
            "layers": [layer, {**layer, "name": "out", "shape": [2]}],
        }  # fmt: skip
        folder = tmp_path / algo / game / "small" / str(number)
        (folder / "frozen").mkdir(parents=True)
        (folder / "frozen" / "model.json").write_text(json.dumps(record))
        walk = np.cumsum(random.normal(size=(steps, units)), axis=0)
        frames = np.zeros((steps, 40, 32, 3), np.uint8)
        frames[..., 0] = np.linspace(0, 255, steps).astype(np.uint8)[:, None, None]  # redder from step to step
        frames[..., 2] = 50 * number
        arrays = {
            "format": np.array(FORMAT),
            "actions": np.zeros(steps, np.int16),
            "observations": np.zeros((steps, *shape), np.float32) if pictures is None else pictures,
            "frames": frames,
            "ram": random.integers(0, 20, (steps, 0 if game == RIVER else 128), dtype=np.uint8) + np.uint8(shift),
            "representation": (walk + shift).astype(np.float32),
            "score": np.concatenate([np.arange(length, dtype=float) for length in episodes]),
            "ep_rewards": np.array(episodes, float),
            "starts": np.array([[first, 1, 0] for first in np.cumsum([0, *episodes[:-1]])]),
            **changes,
        }
        np.savez_compressed(folder / "rollout.npz", **{k: v for k, v in arrays.items() if v is not None})
        return folder

    return make
