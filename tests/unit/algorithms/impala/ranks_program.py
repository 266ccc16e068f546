"""Programs that tests start in several processes: `mpirun -n N python ranks_program.py NAME FOLDER`."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.compute.mpi import ALONE, Ranks
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network

SHAPE, ACTIONS, TIME, BATCH, UPDATES = (84, 84, 4), 4, 3, 4, 3


def batch(seed, unrolls):
    """Returns unrolls of noise, as the learner takes them."""
    rng = np.random.default_rng(seed)
    after, during = (TIME + 1, BATCH), (TIME, BATCH)
    arrays = {
        "observations": rng.integers(0, 256, (*after, *SHAPE)).astype(np.uint8),
        "previous_actions": rng.integers(0, ACTIONS, after).astype(np.int32),
        "previous_rewards": rng.normal(size=after).astype(np.float32),
        "is_first": np.zeros(after, bool),
        "actions": rng.integers(0, ACTIONS, during).astype(np.int32),
        "logits": rng.normal(size=(*during, ACTIONS)).astype(np.float32),
        "rewards": rng.normal(size=during).astype(np.float32),
        "is_last": rng.random(during) < 0.2,
        "after_limit": np.zeros(during, np.float32),
    }
    return {name: array[:, unrolls] for name, array in arrays.items()}


def learned(ranks, *, learners, gradients, unrolls):
    """Returns the weights after some updates."""
    settings = replace(PRESETS["impala_paper"], learners=learners, gradients=gradients, learning_rate=0.01)
    layout = get_keras_network("impala_gym_simple").layout(ACTIONS, SHAPE)
    group = ranks.group(range(learners))
    network = ActorCritic(layout, settings, random=np.random.default_rng(1), byte_scale=255.0, learners=group)
    for number in range(UPDATES):
        network.update(batch(number, unrolls), learning_rate=0.01)
    return network.theta()


def weights(ranks, folder):
    """Learns with two learners in both ways, and in rank 0 with one."""
    same = learned(ranks, learners=2, gradients="average", unrolls=slice(None))
    half = BATCH // 2
    halves = learned(ranks, learners=2, gradients="sum", unrolls=slice(ranks.index * half, (ranks.index + 1) * half))
    np.savez(folder / f"rank{ranks.index}.npz", same=same, halves=halves)
    if ranks.is_leader:
        np.savez(folder / "one.npz", one=learned(ALONE, learners=1, gradients="average", unrolls=slice(None)))


def messages(ranks, folder):
    """Sends everything that a message may hold there and back."""
    arrays = {"scalar": np.array(7), "empty": np.zeros((0, 3)), "bytes": np.arange(6, dtype=np.uint8).reshape(2, 3).T}
    facts = {"name": "\N{SNOWMAN}", "none": None}
    if ranks.is_leader:
        ranks.send(1, facts, arrays)
        ranks.order("back")
        told, came = ranks.receive(1)
        assert told == facts
        for name, array in arrays.items():
            assert came[name].dtype == array.dtype
            np.testing.assert_array_equal(came[name], array)
        own = [each for each in psutil.Process().net_connections() if each.status == psutil.CONN_LISTEN]
        assert own == []  # on one machine, processes need no network
        (folder / "done").touch()
    else:
        told = ranks.receive(0)
        assert ranks.next_order() == "back"
        ranks.send(0, *told)


def silence(ranks, folder):
    """Lets rank 1 fall silent before a sum."""
    group = ranks.group(range(ranks.size))
    if ranks.index == 1:
        time.sleep(1800)
    try:
        group.add_up(np.ones(5, np.float32))
    except NeurozooError as error:
        (folder / f"error{ranks.index}").write_text(str(error))
        ranks.abort(1)


if __name__ == "__main__":
    program = {"weights": weights, "messages": messages, "silence": silence}[sys.argv[1]]
    program(Ranks(patience=2 if sys.argv[1] == "silence" else 600), Path(sys.argv[2]))
