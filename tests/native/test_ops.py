"""TensorFlow's ops are the functions of the core."""

import numpy as np
import psutil
import pytest
from neurozoo.environments.games import action_codes, rom_path
from neurozoo.environments.protocols import protocol_of, start_actions
from neurozoo.evaluation import Episode
from neurozoo.evaluation import play as play_all
from neurozoo.genomes.genome import Genome
from neurozoo.native import load_core, load_ops
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.native_plan import native_plan, plan_scales

tf = pytest.importorskip("tensorflow")
UBER = protocol_of("frostbite", "uber2018")
CODES = action_codes("frostbite", UBER.action_set)
LAYOUT = get_network("small").layout(len(CODES))
THREADS = 3


@pytest.fixture(scope="module")
def library(core):
    return load_ops(core)


def test_each_function_that_writes_to_no_input_has_an_op(core, library):
    functions = {name for name, function in vars(load_core(core)).items() if "*" not in str(function.inputs)}
    assert {"make_evaluator", "play_mazes"} <= functions
    assert {name for name in functions if not hasattr(library, f"neurozoo_{name}")} == set()


def test_an_op_returns_what_the_function_returns_and_describes_itself(core, library):
    walls = (np.random.default_rng(1).random((20, 16, 16)) < 0.4).astype(np.uint8)
    found = library.neurozoo_find_maze_endpoints(walls=walls)
    np.testing.assert_array_equal(found, load_core(core).find_maze_endpoints(walls=walls))
    assert "longest shortest path" in library.neurozoo_find_maze_endpoints.__doc__


@pytest.fixture
def evaluator(library, noise_table):
    """A list with the handle of an evaluator."""
    world = library.neurozoo_make_atari_world(
        rom=str(rom_path("frostbite")),
        actions=CODES,
        start_actions=list(start_actions("frostbite", UBER)),
        start_ram=[],
        sticky_probability=UBER.sticky_probability,
        frame_skip=UBER.frame_skip,
        least_frame_skip=UBER.frame_skip,
        preprocessing=UBER.preprocessing,
    )
    return [
        library.neurozoo_make_evaluator(
            world=world,
            behaviour="none",
            plan=native_plan(LAYOUT),
            plan_scales=plan_scales(LAYOUT),
            noise_path=str(noise_table),
            num_threads=THREADS,
        )
    ]


@pytest.mark.parametrize("compiles", [False, True], ids=["eagerly", "in a graph"])
def test_an_evaluator_plays_in_a_graph_what_it_plays_in_python(library, evaluator, evaluators, compiles):
    def play():
        library.neurozoo_submit_episodes(
            evaluator[0], ids=[7], parents=[-1], noise_indices=[5], powers=[0.0], noops=[3], seeds=[0], max_frames=[400]
        )
        return library.neurozoo_receive_episodes(evaluator[0], timeout=60.0)

    played = (tf.function(play) if compiles else play)()
    twin = evaluators(game="frostbite", model="small", protocol=UBER)
    expected = play_all(twin, {7: Episode(Genome(5), noops=3, seed=0, max_frames=400)})[7]
    assert (played.ids.numpy().tolist(), played.steps.numpy().tolist()) == ([7], [expected.steps])
    assert played.scores.numpy().tolist() == [expected.score]


def test_an_evaluator_ends_with_its_last_handle(evaluator):
    process = psutil.Process()
    before = process.num_threads()
    evaluator.clear()
    assert process.num_threads() <= before - THREADS


def test_what_the_core_refuses_is_an_error_of_tensorflow(library, evaluator):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Input goal should have 1 values, but has 2\."):
        library.neurozoo_compute_maze_preferences(
            walls=np.zeros((16, 16), np.uint8), goal=np.zeros(2, np.int64), cells=[], directions=[], parameters=[]
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="The world is something else"):
        library.neurozoo_make_world_pool(world=evaluator[0], behaviour="none", num_worlds=1, num_threads=1)
