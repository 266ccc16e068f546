"""A resource of the op library is freed whenever its last reference goes."""

import os

import psutil
import pytest
from neurozoo.environments.protocols import protocol_of
from neurozoo.evaluation.world_pool import WorldPool

tf = pytest.importorskip("tensorflow")
THREADS = 3


@pytest.fixture
def pools(ops):
    """A list with a pool; the threads of this process are `THREADS` fewer without it."""
    how = {"protocol": protocol_of("river_crossing"), "worlds": 1, "threads": THREADS, "behaviour": "none"}
    return [WorldPool(ops, game="river_crossing", **how)]


@pytest.mark.parametrize("compiles", [False, True])
def test_a_last_reference_may_go_while_tensorflow_traces_a_function(pools, compiles):
    process = psutil.Process()

    @tf.function(jit_compile=compiles)
    def increase(number):
        nonlocal before
        before = process.num_threads()
        pools.clear()
        return number + 1

    before = 0
    traced = increase.get_concrete_function(tf.constant(1.0))
    assert process.num_threads() == before - THREADS
    assert not [each for each in traced.graph.get_operations() if each.type == "DestroyResourceOp"]
    assert increase(tf.constant(1.0)) == 2


def test_a_forked_child_leaves_the_resources_of_its_parent_alone(pools):
    child = os.fork()
    if child == 0:
        pools.clear()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    pools[0].outcomes([])  # is still open
