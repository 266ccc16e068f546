import itertools

import numpy as np
from neurozoo.randomness import Purpose, generator, run_entropy


def draw(*arguments):
    return tuple(generator(*arguments).integers(2**63, size=2).tolist())


def test_an_address_gives_the_same_draw_every_time():
    assert draw((0, 1), Purpose.OFFSPRING, 3, 4) == draw((0, 1), Purpose.OFFSPRING, 3, 4)


def test_every_other_address_gives_another_draw():
    addresses = [
        ((seed, run), purpose, *address)
        for seed, run in itertools.product(range(3), range(1, 4))
        for purpose in Purpose
        for address in itertools.product(range(3), repeat=2)
    ]
    addresses += [((0, 1), Purpose.VALIDATION_EPISODE, *address) for address in itertools.product(range(4), repeat=3)]
    assert len({draw(*address) for address in addresses}) == len(addresses)


def test_a_large_seed_does_not_run_into_the_number_of_the_run():
    # Seeds are cut into words of 32 bits: (1 + 2 * 2^32, run 3) must not read as (1, 2, 3).
    seen = {draw((seed, run), Purpose.OFFSPRING, 0, 0) for seed in (1, 2**32 + 1, 2 * 2**32 + 1) for run in (1, 2, 3)}
    assert len(seen) == 9


NAMES = {"algo": "ga", "game": "pong", "model": "large"}


def test_runs_of_other_algorithms_games_and_networks_draw_other_numbers():
    others = [NAMES, NAMES | {"algo": "rs"}, NAMES | {"game": "breakout"}, NAMES | {"model": "small"}]
    entropies = [run_entropy(seed=seed, run=run, **names) for names in others for seed in (0, 1) for run in (1, 2)]
    assert len({draw(entropy, Purpose.OFFSPRING, 0, 0) for entropy in entropies}) == 16


def test_others_can_repeat_the_entropy_of_a_run():
    digest = bytes.fromhex("23567f5809fdc883d5fd0dbf480b06a8")  # printf ga/pong/large | sha256sum
    entropy = run_entropy(seed=3, run=7, **NAMES)
    assert entropy == (3, 7, sum(byte << 8 * place for place, byte in enumerate(digest)))


def test_the_purposes_keep_their_published_numbers():
    names = (
        "OFFSPRING POPULATION_EPISODE VALIDATION_EPISODE TEST_EPISODE ROLLOUT EVALUATION INITIAL_WEIGHTS "
        "INITIAL_EPISODE AGENT_EPISODE AGENT_CHOICE ARCHIVE_CHOICE REFERENCE WORLD_EPISODE EXPLORATION MINIBATCH "
        "TEST_EXPLORATION WAIT ACTION_NOISE OBSERVATION_STATISTICS EMITTER CANDIDATE LEVEL_EPISODE "
        "LEVEL_EPISODE_AGAIN"
    )
    published = zip(names.split(), (*range(17), *range(20, 26)), strict=True)
    assert [(purpose.name, purpose.value) for purpose in Purpose] == list(published)


def test_a_draw_comes_from_the_seed_sequence_of_its_address():
    # Others need this to repeat a published run without this library.
    sequence = np.random.SeedSequence((0, 1), spawn_key=(0, 2, 3))
    expected = np.random.Generator(np.random.PCG64(sequence)).integers(2**63, size=2)
    assert draw((0, 1), Purpose.OFFSPRING, 2, 3) == tuple(expected.tolist())
