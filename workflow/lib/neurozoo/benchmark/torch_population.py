"""A population of policies as one network in PyTorch, for comparison; run by a Python that has PyTorch.

Convolutions are grouped, a group for each policy, and dense layers are products of batches of matrices, over ale-py's
vector environment. Without layers, random actions are played, there or in EnvPool (Weng et al. 2022, arXiv:2206.10558).
It imports nothing from this project, and answers with a line of JSON:

    python torch_population.py '{"emulator": "ale-py", "game": "pong", "slots": 64, "seconds": 5, "layers": [...]}'
"""

import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

FRAME_SKIP, SCREENS, SIZE = 4, 4, 84


def make_environments(emulator: str, game: str, slots: int):
    """Makes environments with one thread; returns them, what they show first, and the number of actions."""
    if emulator == "EnvPool":
        import envpool

        name = "".join(word.capitalize() for word in game.split("_"))
        environments = envpool.make(f"{name}-v5", env_type="gymnasium", num_envs=slots, num_threads=1)
        return environments, environments.reset()[0], environments.action_space.n
    from ale_py.vector_env import AtariVectorEnv

    environments = AtariVectorEnv(game, slots, num_threads=1)
    buttons: Any = environments.single_action_space
    return environments, environments.reset(seed=0)[0], buttons.n


def make_population(slots: int, layers):
    """Makes a function from bytes, (slots, screens, size, size), to the actions of as many policies as slots.

    A layer is `[outputs, inputs]` or, of a convolution, `[outputs, inputs, kernel, stride, before, after]` with the
    zeros before the first and after the last row and column.
    """
    import torch
    from torch.nn import functional

    def drawn(*shape):
        return torch.randn(*shape) / np.sqrt(np.prod(shape[1:]))

    weights = [
        drawn(slots * outputs, inputs, rest[0], rest[0]) if rest else drawn(slots, inputs, outputs)
        for outputs, inputs, *rest in layers
    ]

    def act(observations):
        values = torch.from_numpy(np.ascontiguousarray(observations)).reshape(1, -1, SIZE, SIZE).float() / 255
        for number, ((_, inputs, *convolution), weight) in enumerate(zip(layers, weights, strict=True)):
            if convolution:
                _, stride, *padding = convolution
                padded = functional.pad(values, padding * 2) if any(padding) else values
                values = functional.conv2d(padded, weight, stride=stride, groups=slots)
            else:
                values = torch.bmm(values.reshape(slots, 1, inputs), weight)
            if number + 1 < len(layers):
                values = values.relu()
        return values[:, 0].argmax(dim=1).numpy()

    return act


def main() -> None:
    """Plays for a time, and prints frames per second of processor time."""
    s = SimpleNamespace(**json.loads(sys.argv[1]))
    environments, observations, num_actions = make_environments(s.emulator, s.game, s.slots)
    random = np.random.default_rng(0)
    if s.layers:
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        act = make_population(s.slots, s.layers)
    else:

        def act(_):
            return random.integers(num_actions, size=s.slots)

    for _ in range(2):  # the first steps are slower
        observations, *_ = environments.step(act(observations))
    steps, begin, processor = 0, time.perf_counter(), time.process_time()
    while not steps or time.perf_counter() - begin < s.seconds:
        observations, *_ = environments.step(act(observations))
        steps += 1
    frames = FRAME_SKIP * s.slots * steps
    print(json.dumps({"frames_per_processor_second": frames / (time.process_time() - processor)}))


if __name__ == "__main__":
    main()
