"""The native engine: the same results with any number of threads, errors as exceptions, a quick end."""

import ctypes
import dataclasses
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from neurozoo.environments.games import action_codes, rom_path
from neurozoo.environments.protocols import get_protocol, start_actions
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, play
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.reading import read_genome
from neurozoo.native import load_core
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.native_plan import native_plan, plan_scales

UBER, MACHADO = get_protocol("uber2018"), get_protocol("machado2018")


@pytest.fixture(scope="session")
def published(data_dir):
    return read_genome(data_dir / "uber_frostbite_genome.json").genome


def timeless(results):
    return {number: dataclasses.replace(result, seconds=0.0) for number, result in results.items()}


def families():
    """Episodes of pinned genomes, of their children and of fresh genomes, with various lengths."""
    parents = [Genome(1000 * i, (Mutation(i, 0.01),)) for i in range(4)]
    children = [parent.mutated(77 + i, 0.02) for i, parent in enumerate(parents)]
    players = [*parents, *children, Genome(5), Genome(6)]
    return parents, {
        100 + i: Episode(players[i % len(players)], 1 + i % 30, i, 120 + 7 * i) for i in range(2 * len(players))
    }


@pytest.fixture
def fresh(core, noise_table):
    """Makes an evaluator that no other test has: `fresh(threads=...)`."""

    def make(*, model="small", game="frostbite", protocol=UBER, layout=None, **more):
        layout = layout or get_network(model).layout(len(action_codes(game, protocol.action_set)))
        return NativeEvaluator(core=core, noise=noise_table, layout=layout, game=game, protocol=protocol, **more)

    return make


# ---- episodes


def test_the_published_genome_scores_exactly_1610_in_969_steps(evaluators, published):
    evaluator = evaluators(model="large", threads=2)
    evaluator.pin([published])
    (result,) = play(evaluator, {0: Episode(published, 1, 0, UBER.max_frames)}).values()
    # An episode's last step may be cut short by the end of the game: 968 whole steps and 1 to 4 frames.
    assert (result.score, result.steps) == (1610.0, 969)
    assert 968 * 4 < result.frames <= 969 * 4


@pytest.mark.long(seconds=6)
def test_the_published_genome_knows_four_games_by_the_number_of_no_ops_modulo_4(evaluators, published):
    evaluator = evaluators(model="large", threads=2)
    evaluator.pin([published])
    results = play(evaluator, {noops: Episode(published, noops, 0, UBER.max_frames) for noops in range(1, 9)})
    # With four more no-ops, the same game takes one step less.
    games = {noops: (result.score, noops + result.frames) for noops, result in results.items()}
    assert all(games[noops] == games[noops - 4] for noops in range(5, 9))
    assert len(set(games.values())) == 4
    assert max(score for score, _ in games.values()) > 2000


def test_the_number_of_frames_ends_an_episode_exactly(evaluators):
    evaluator = evaluators()
    evaluator.pin([Genome(5)])
    limits = [1, 3, 4, 5, 8, 101, 400]
    results = play(evaluator, {limit: Episode(Genome(5), 1, 0, limit) for limit in limits})
    assert {limit: (r.frames, r.steps) for limit, r in results.items()} == {
        limit: (limit, -(-limit // 4)) for limit in limits
    }


def test_a_recorded_episode_is_the_one_that_workers_play(evaluators):
    evaluator = evaluators(threads=2)
    _, episodes = families()
    evaluator.pin([episode.genome for episode in episodes.values()])
    results = play(evaluator, episodes)
    for number, episode in episodes.items():
        trace = evaluator.trace(episode)
        assert (results[number].score, results[number].steps) == (trace.rewards.sum(), len(trace.actions))
        assert trace.planes.shape == (len(trace.actions), 84, 84, 1)
        assert trace.logits.shape == (len(trace.actions), 18)


# ---- order, threads, history


def test_any_number_of_threads_gives_the_same_results(evaluators):
    parents, episodes = families()
    outcomes = []
    for threads in (1, 2, 7):
        evaluator = evaluators(threads=threads)
        evaluator.pin(parents)
        outcomes.append(timeless(play(evaluator, episodes)))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert set(outcomes[0]) == set(episodes)


@pytest.mark.parametrize("protocol", [UBER, MACHADO], ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("game", ["frostbite", "qbert", "double_dunk"])
def test_an_episode_does_not_depend_on_those_before_it(fresh, evaluators, game, protocol):
    evaluator = evaluators(game=game, protocol=protocol)
    genome = Genome(1000, (Mutation(5, 0.02),))
    probe = Episode(genome, 3, 7, 600)
    others = {i: Episode(Genome(50 + i), 5 + i, i, 100 + 301 * i) for i in range(4)}
    evaluator.pin([genome])
    seen = []
    for number, other in others.items():
        play(evaluator, {number: other})
        seen += timeless(play(evaluator, {0: probe})).values()
    with fresh(game=game, protocol=protocol) as other:
        other.pin([genome])
        seen += timeless(play(other, {0: probe})).values()
    assert len(set(seen)) == 1


def test_two_evaluators_at_once_do_not_disturb_each_other(evaluators):
    parents, episodes = families()
    first, second = evaluators(threads=1), evaluators(threads=2)
    first.pin(parents)
    second.pin(parents)
    expected = timeless(play(first, episodes))
    first.submit(episodes)
    second.submit(episodes)
    results = [{}, {}]
    while any(len(found) < len(episodes) for found in results):
        for found, evaluator in zip(results, (first, second), strict=True):
            found |= timeless(evaluator.receive(timeout=0.05))
    assert results == [expected, expected]


def test_pinning_other_genomes_does_not_change_running_episodes(evaluators):
    parents, episodes = families()
    evaluator = evaluators()
    evaluator.pin(parents)
    expected = timeless(play(evaluator, episodes))
    evaluator.submit(episodes)
    evaluator.pin([Genome(31)])
    results = {}
    while len(results) < len(episodes):
        results |= timeless(evaluator.receive(timeout=1.0))
    assert results == expected


# ---- receiving


def test_receive_waits_until_its_timeout_and_no_longer(evaluators):
    evaluator = evaluators()
    begin = time.monotonic()
    assert evaluator.receive(timeout=0.3) == {}
    assert time.monotonic() - begin > 0.25


def test_receive_returns_at_once_when_an_episode_has_finished(evaluators):
    evaluator = evaluators()
    begin = time.monotonic()
    evaluator.submit({9: Episode(Genome(5), 1, 0, 8)})
    ((number, result),) = evaluator.receive(timeout=600).items()
    took = time.monotonic() - begin
    assert took < 900  # and not what it was told at most
    assert number == 9
    assert isinstance(result, EpisodeResult)
    assert (result.steps, result.frames) == (2, 8)
    assert 0 < result.seconds < took
    assert [type(value) for value in (number, result.score, result.steps, result.frames)] == [int, float, int, int]


# ---- errors


@pytest.fixture(scope="module")
def refusal(core, noise_table):
    """Makes an evaluator of the core with some inputs changed; returns the error message."""
    native = load_core(core)
    layout = get_network("recurrent_large").layout(18)
    world = {
        "rom": rom_path("frostbite"),
        "actions": action_codes("frostbite", "minimal"),
        "start_actions": start_actions("frostbite", UBER),
        "start_ram": [],
        "sticky_probability": 0.0,
        "frame_skip": 4,
        "least_frame_skip": 4,
        "preprocessing": "area",
    }
    given = {
        "behaviour": "none",
        "plan": native_plan(layout),
        "plan_scales": plan_scales(layout),
        "noise_path": noise_table,
        "num_threads": 1,
    }

    def make(**changes):
        ours = {name: changes.get(name, value) for name, value in world.items()}
        with pytest.raises(NeurozooError) as caught:
            native.make_evaluator(
                world=native.make_atari_world(**ours),
                **{name: changes.get(name, value) for name, value in given.items()},
            )
        return str(caught.value)

    return make


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"actions": [0, 1, 2]}, "The network has 18 outputs, but the game has 3 actions"),
        ({"num_threads": 0}, "An evaluator needs at least 1 thread"),
        ({"plan": [], "plan_scales": []}, "20 numbers for each layer, but 0 came"),
        ({"plan_scales": [0.1]}, "scales"),
        ({"least_frame_skip": 1}, "A step should have at least 2 frames"),
        ({"frame_skip": 3}, "A step should have at least 2 frames"),  # fewer than least_frame_skip
        ({"start_ram": [128, 1]}, "The console's memory has the bytes 0 to 127, but 128 came"),
        ({"behaviour": "final_position"}, "The game does not give this behaviour"),
        ({"behaviour": "smell"}, "Behaviour 'smell' is unknown; known: none, ram, final_position"),
        (
            {"preprocessing": "cubic"},
            "Preprocessing 'cubic' is unknown; known: published_bilinear, area, pil_bilinear, rgb",
        ),
        ({"rom": "/nowhere/pong.bin"}, "The ROM /nowhere/pong.bin is missing"),
        ({"rom": __file__}, "is not a game that the emulator knows"),
        ({"noise_path": "/nowhere/table.f32"}, "The noise table /nowhere/table.f32 cannot be opened: No such file"),
        ({"noise_path": "/dev/null"}, "The noise table /dev/null cannot be mapped: it is empty"),
        ({"noise_path": __file__}, "lies outside the table"),
    ],
)
def test_what_does_not_fit_together_is_refused(refusal, changes, complaint):
    assert complaint in refusal(**changes)


def test_a_network_for_other_observations_is_refused(fresh):
    with pytest.raises(
        NeurozooError, match=r"^The network should take observations of 84 x 84 x 4, but takes 20 x 20 x 12\.$"
    ):
        fresh(layout=get_network("small").layout(18, (20, 20, 12)))


def test_an_episode_of_a_genome_that_is_not_pinned_is_refused(evaluators):
    evaluator = evaluators()
    evaluator.pin([Genome(1)])
    stranger = Genome(2, (Mutation(3, 0.1),))
    with pytest.raises(NeurozooError, match="genome or its parent must be pinned first"):
        evaluator.submit({0: Episode(stranger, 1, 0, 100)})
    with pytest.raises(KeyError):
        evaluator.trace(Episode(stranger, 1, 0, 100))


@pytest.mark.parametrize("genome", [Genome(249_000_000), Genome(1, (Mutation(249_000_000, 0.1),))])
def test_an_episode_that_reaches_beyond_the_table_is_refused_and_none_of_its_batch_is_queued(evaluators, genome):
    evaluator = evaluators()
    evaluator.pin([Genome(1)])
    with pytest.raises(NeurozooError, match=r"^Noise index 249000000 lies outside the table"):
        evaluator.submit({0: Episode(Genome(5), 1, 0, 8), 1: Episode(genome, 1, 0, 8)})
    assert evaluator.receive(timeout=0.3) == {}


def test_an_episode_without_frames_is_refused(evaluators):
    evaluator = evaluators()
    evaluator.pin([Genome(1)])
    for act in (lambda episode: evaluator.submit({0: episode}), evaluator.trace):
        with pytest.raises(NeurozooError, match=r"^An episode needs at least 1 frame\.$"):
            act(Episode(Genome(1), 1, 0, 0))


def test_an_exception_in_a_worker_reaches_python(fresh, tmp_path, monkeypatch):
    # With sticky actions the ROM is loaded for every episode. Here it is gone by then.
    rom = tmp_path / "double_dunk.bin"
    shutil.copyfile(rom_path("double_dunk"), rom)
    monkeypatch.setattr("neurozoo.evaluation.native.rom_path", lambda game: rom)
    with fresh(game="double_dunk", protocol=MACHADO) as evaluator:
        play(evaluator, {0: Episode(Genome(1), 0, 0, 8)})
        evaluator.pin([Genome(1)])
        evaluator.trace(Episode(Genome(1), 0, 0, 8))
        rom.unlink()
        evaluator.submit({1: Episode(Genome(1), 0, 0, 8)})
        for _ in range(2):  # and it stays broken
            with pytest.raises(NeurozooError, match=r"^The ROM .*double_dunk\.bin is missing\.$"):
                evaluator.receive(timeout=600)
        shutil.copyfile(rom_path("double_dunk"), rom)
        with pytest.raises(NeurozooError, match=r"double_dunk\.bin is missing\.$"):  # instead of a part of the episode
            evaluator.trace(Episode(Genome(1), 0, 0, 8))


LIMITED_MEMORY = """
import resource, sys
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.environments.protocols import get_protocol
from neurozoo.genomes.genome import Genome
from neurozoo.networks.catalogue import get_network

def limit(spare):
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + spare, resource.RLIM_INFINITY))

def make(threads):
    return NativeEvaluator(
        core=sys.argv[1], noise=sys.argv[2], layout=get_network("large").layout(18), game="frostbite",
        protocol=get_protocol("uber2018"), threads=threads,
    )
"""


@pytest.mark.long(seconds=8)
def test_too_little_memory_and_too_many_threads_are_sentences(python, core, noise_table):
    code = (
        LIMITED_MEMORY
        + """
def complaint(act):
    try:
        act()
    except NeurozooError as error:
        return str(error)

evaluator = make(1)
limit(8_000_000)  # the weights of an episode need 16 MB
evaluator.submit({0: Episode(Genome(1), 1, 0, 8)})
print(complaint(lambda: evaluator.receive(timeout=600)))
limit(400_000_000)  # each thread has a stack of 8 MB
print(complaint(lambda: make(5000)))
"""
    )
    no_memory, no_threads = python(code, core, noise_table).stdout.splitlines()
    assert no_memory == "There is not enough memory; ask for fewer threads, fewer environments or a smaller network."
    assert re.fullmatch(r"Only \d+ of 5000 threads could be started \(.*\); ask for fewer\.", no_threads)


# ---- close


def test_closing_while_50_long_episodes_run_waits_for_none_of_them(fresh):
    evaluator = fresh(model="large", game="freeway", threads=4)
    episodes = {i: Episode(Genome(i), 1, 0, UBER.max_frames) for i in range(50)}
    begin = time.process_time()
    evaluator.submit({0: episodes[0]})
    assert evaluator.receive(timeout=600)
    one = time.process_time() - begin  # a game of freeway always takes two minutes of the console's time
    evaluator.submit(episodes)
    time.sleep(0.1)
    threads = psutil.Process().num_threads()
    begin = time.process_time()
    evaluator.close()
    assert time.process_time() - begin < one / 2
    assert psutil.Process().num_threads() <= threads - 4


def test_closing_twice_is_no_error_and_leaving_a_with_block_closes(fresh):
    with fresh() as evaluator:
        evaluator.submit({0: Episode(Genome(1), 1, 0, UBER.max_frames)})
    evaluator.close()
    with pytest.raises(NeurozooError, match=r"^The evaluator is closed\.$"):
        evaluator.submit({1: Episode(Genome(1), 1, 0, 8)})


def test_a_forgotten_evaluator_ends_its_threads(fresh):
    process = psutil.Process()

    def forget():
        evaluator = fresh(threads=3)
        evaluator.submit({0: Episode(Genome(1), 1, 0, UBER.max_frames)})
        return process.num_threads()

    forget()  # starts those of TensorFlow, too
    threads = forget()
    assert process.num_threads() <= threads - 3


def test_python_ends_at_once_and_without_a_word_while_a_forgotten_evaluator_plays(core, noise_table):
    code = """
import builtins, sys
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.genomes.genome import Genome
from neurozoo.networks.catalogue import get_network

game = {"game": "freeway", "protocol": get_protocol("uber2018"), "layout": get_network("large").layout(3)}
builtins.kept = NativeEvaluator(core=sys.argv[1], noise=sys.argv[2], **game)
builtins.kept.submit({n: Episode(Genome(n), 1, 0, 108_000) for n in range(20_000)})  # hours
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, core, noise_table], capture_output=True, text=True, check=True, timeout=600
    )
    assert not [line for line in ended.stderr.splitlines() if "Error" in line or "Exception" in line]


def test_evaluators_leave_no_threads_and_no_memory_behind(fresh):
    process = psutil.Process()

    def use():
        with fresh(model="large", threads=2) as evaluator:
            evaluator.pin([Genome(i) for i in range(4)])  # 65 MB
            play(evaluator, {i: Episode(Genome(i), 1, 0, 8) for i in range(4)})

    use()
    threads, memory = process.num_threads(), private_memory(process)
    for _ in range(4):
        use()
    assert process.num_threads() <= threads
    assert private_memory(process) - memory < 30e6


def test_parents_take_memory_only_while_they_are_played(fresh):
    process = psutil.Process()
    with fresh(model="large", threads=2) as evaluator:

        def generation(parents):
            evaluator.pin(parents)
            children = [parent.mutated(i, 0.01) for i in range(2) for parent in parents]
            play(evaluator, {i: Episode(child, 1, 0, 8) for i, child in enumerate(children)})
            return private_memory(process)

        few = generation([Genome(0), Genome(1)])
        assert generation([Genome(i) for i in range(20)]) - few < 50e6  # 18 more of 16 MB each would be 292 MB


def test_weights_stay_those_of_the_genome_over_generations_that_share_ancestors(evaluators, noise):
    evaluator = evaluators(model="small", threads=2)
    layout = get_network("small").layout(18)
    random = np.random.default_rng(0)
    parents = [Genome(i) for i in range(4)]
    kept = None
    for number in range(40):
        evaluator.pin([*parents, *([kept] if kept else [])])
        if number % 8 == 7:
            for genome in (parents[number % 4], kept):
                expected = decode(genome, noise=noise, layout=layout)
                np.testing.assert_array_equal(evaluator.parameters(genome), expected, strict=True)
        if number == 3:
            kept = parents[0]  # an elite that stays over the generations
        chosen = random.integers(4, size=4)
        parents = [parents[i].mutated(int(random.integers(10**6)), 0.002) for i in chosen]


def private_memory(process):
    """Bytes that this process uses itself, without the mapped noise table and the allocator's free memory."""
    ctypes.CDLL(None).malloc_trim(0)
    facts = process.memory_info()
    return facts.rss - facts.shared
