"""The core tells its functions, takes arrays by name, and frees what it has made."""

import gc
import os
import threading
import weakref

import numpy as np
import psutil
import pytest
from neurozoo.environments.games import rom_path
from neurozoo.errors import NeurozooError
from neurozoo.native import load_core

THREADS = 3


@pytest.fixture
def native(core):
    return load_core(core)


@pytest.fixture
def make(native):
    """Makes an object, with whose end this process has `THREADS` threads less."""
    how = {"sticky_probability": 0.0, "frame_skip": 4, "most_noops": 0, "max_frames": 100, "num_environments": 1}
    return lambda: native.make_atari_vector(rom=rom_path("pong"), actions=[0], num_threads=THREADS, **how)


def test_the_core_is_loaded_without_tensorflow(python, core):
    code = f"import sys; from neurozoo.native import load_core; load_core({str(core)!r})"
    assert python(f"{code}; print('tensorflow' in sys.modules)").stdout == "False\n"


def thread_ids():
    return {thread.id for thread in psutil.Process().threads()}


@pytest.mark.parametrize("end", [lambda objects: objects[0].close(), lambda objects: objects.clear()])
def test_an_object_ends_when_it_is_closed_and_with_its_last_reference(make, end):
    before = thread_ids()
    objects = [make()]
    started = thread_ids() - before  # others, of tests before, may end meanwhile
    assert len(started) == THREADS
    end(objects)
    assert not started & thread_ids()


def test_an_object_that_is_closed_says_so(native, make):
    environments = make()
    environments.close()
    environments.close()
    with pytest.raises(NeurozooError, match=r"^The vector environment is closed\.$"):
        native.receive_steps(vector_environment=environments)


def test_a_forked_child_leaves_the_objects_of_its_parent_alone(native, make):
    objects = [make()]
    child = os.fork()
    if child == 0:
        objects.clear()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    native.receive_steps(vector_environment=objects[0])  # is still there


def test_arrays_that_are_written_to_stay_as_long_as_the_object(native, make):
    environments = make()
    arrays = {"stacks": np.zeros((1, 4, 84, 84), np.uint8), "facts": np.zeros((1, 5), np.int32)}
    stacks = weakref.ref(arrays["stacks"])
    native.reset_atari_vector(vector_environment=environments, seeds=[1], is_chosen=[True], **arrays)
    native.send_actions(vector_environment=environments, actions=[0], **arrays)
    arrays.clear()
    gc.collect()
    assert stacks() is not None
    environments.close()
    del environments
    gc.collect()
    assert stacks() is None


def test_arrays_of_another_size_or_type_are_refused(native, make):
    arrays = {"stacks": np.zeros((1, 4, 84, 84), np.uint8), "facts": np.zeros((1, 5), np.int32)}
    with pytest.raises(NeurozooError, match=r"^Input actions should have 1 values, but has 2\.$"):
        native.send_actions(vector_environment=make(), actions=[0, 0], **arrays)
    with pytest.raises(TypeError, match=r"contiguous arrays of int32, but got float64"):
        native.send_actions(vector_environment=make(), actions=[0], **arrays | {"facts": np.zeros((1, 5))})
    with pytest.raises(ValueError, match="same size"):
        native.find_maze_endpoints(walls=np.zeros((1, 1, 1, 16, 16)))
    with pytest.raises(TypeError, match="takes vector_environment, actions, stacks, facts, but got actions"):
        native.send_actions(actions=[0])


def test_other_threads_run_while_the_core_computes(native):
    steps, is_done = 0, threading.Event()

    def count():
        nonlocal steps
        while not is_done.is_set():
            steps += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = steps
    native.measure_peak(seconds=0.2)
    during = steps - before
    is_done.set()
    thread.join()
    assert during > 100  # with the GIL held, none
