"""Speed without this project: other emulators, and populations in PyTorch."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.native_plan import LearnerPlan, learner_plan, learns_natively

ENVIRONMENTS_ONLY = "environments only"
EMULATORS = ("ale-py", "EnvPool")
ENVIRONMENTS = 8
SLOTS = (16, 64)  # policies at once: more gained nothing


def measure_rivals(
    games: Sequence[str], networks: Sequence[str], *, torch_python: str | os.PathLike, seconds: float
) -> list[dict]:
    """Plays games for `seconds` each with random actions, and with a policy for each environment in PyTorch.

    The fastest number of policies counts. Networks that PyTorch has no layers for are left out.

    Args:
        games: Atari games.
        networks: Networks.
        torch_python: A Python with torch, ale-py and EnvPool.
        seconds: Seconds of each measurement.

    Returns:
        For each, plain JSON: `game`, `network` (or `environments only`), `way`, and `frames_per_processor_second`.

    Raises:
        NeurozooError: The program in PyTorch failed.
    """
    found = []
    for game in games:
        for emulator in EMULATORS:
            record = {"game": game, "network": ENVIRONMENTS_ONLY, "way": emulator}
            found.append(record | _measure(torch_python, emulator, game, ENVIRONMENTS, [], seconds=seconds))
        for network in networks:
            if not learns_natively(get_network(network)):
                continue
            layers = list(map(_layer, learner_plan(layout_of(game, network, protocol_of(game)))))
            ways = [
                {"game": game, "network": network, "way": f"PyTorch, {slots} policies"}
                | _measure(torch_python, "ale-py", game, slots, layers, seconds=seconds)
                for slots in SLOTS
            ]
            found.append(max(ways, key=lambda measured: measured["frames_per_processor_second"]))
    return found


def _layer(row: Sequence[int]) -> list[int]:
    """Returns a layer as `torch_population.py` takes it."""
    plan = LearnerPlan(*map(int, row))
    if plan.is_dense:
        return [plan.out_channels, plan.in_height * plan.in_width * plan.in_channels]
    padded = (plan.out_height - 1) * plan.stride + plan.kernel - plan.in_height
    padding = (plan.pad_top, padded - plan.pad_top) if padded > 0 else (0, 0)
    return [plan.out_channels, plan.in_channels, plan.kernel, plan.stride, *padding]


def _measure(python: str | os.PathLike, emulator: str, game: str, slots: int, layers: list, *, seconds: float) -> dict:
    words = {"emulator": emulator, "game": game, "slots": slots, "layers": layers, "seconds": seconds}
    program = Path(__file__).with_name("torch_population.py")
    done = subprocess.run([str(python), str(program), json.dumps(words)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise NeurozooError(f"{emulator} or PyTorch ended with status {done.returncode}. Its output above says why.")
    return json.loads(done.stdout.splitlines()[-1])
