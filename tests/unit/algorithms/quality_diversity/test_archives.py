import numpy as np
import pytest
from neurozoo.algorithms.quality_diversity.archives import MapElitesEmitter, make_archive, one_per_region
from neurozoo.algorithms.quality_diversity.settings import DsageSettings, MapElitesSettings
from neurozoo.environments.level_domains import get_level_domain

MAZE = get_level_domain("maze")
DIMS, COARSE = (256, 162), (32, 27)


def archive_with(*measures):
    archive = make_archive(MAZE, MapElitesSettings())
    count = len(measures)
    solutions = np.arange(count * 256).reshape(count, 256) % 2
    archive.add(solutions, np.ones(count), np.asarray(measures, float), evaluation=np.arange(count))
    return archive


def cells(*measures):
    archive = archive_with((0, 0))
    return [tuple(cell) for cell in archive.int_to_grid_index(archive.index_of(np.asarray(measures, float)))]


def test_an_integer_lies_in_the_cell_of_its_number_and_what_is_outside_at_the_border():
    assert cells((0, 0), (17, 8), (255, 647.9)) == [(0, 0), (17, 2), (255, 161)]
    assert cells((256, 648), (-3, -70), (400, 1e6)) == [(255, 161), (0, 0), (255, 161)]
    assert cells(*((walls, 0) for walls in range(256))) == [(walls, 0) for walls in range(256)]
    assert cells(*((0, length) for length in range(648))) == [(0, length // 4) for length in range(648)]


def test_a_share_lies_in_the_cell_of_its_percent_and_a_huge_prediction_at_the_border():
    shares = [(top, bottom) for bottom in range(1, 257) for top in range(bottom + 1)]
    archive = make_archive(MAZE, MapElitesSettings(measures=("walls", "explored")))
    measures = np.array([(0, top / bottom) for top, bottom in shares], np.float32)
    expected = [min(top * 100 // bottom, 99) for top, bottom in shares]  # exact, in whole numbers
    assert archive.index_of(measures).tolist() == expected
    assert cells((1e10, -1e12), (-1e30, 1e30)) == [(255, 0), (0, 161)]


@pytest.mark.parametrize("count", [3000, 256 * 162])
def test_every_region_with_elites_gives_one_of_its_own(count):
    rng = np.random.default_rng(0)
    occupied = np.sort(rng.choice(256 * 162, size=count, replace=False))
    chosen = one_per_region(occupied, DIMS, COARSE, rng)
    row, column = np.divmod(occupied, 162)
    regions = row // 8 * 27 + column // 6
    assert regions[chosen].tolist() == sorted(set(regions))


def test_all_elites_of_a_region_have_the_same_chance():
    occupied = np.array([0, 1, 162, 500])  # three in the first region
    draws = [one_per_region(occupied, DIMS, COARSE, np.random.default_rng(seed)) for seed in range(600)]
    counts = np.bincount([draw[0] for draw in draws], minlength=4)
    assert {len(draw) for draw in draws} == {2}
    assert counts[3] == 0
    assert counts[:3] == pytest.approx([200] * 3, abs=4 * np.sqrt(600 * 2 / 9))


def test_the_published_measure_pairs_have_their_cells():
    pairs = {
        ("repeated_visits", "explored"): ((162, 100), (27, 25)),
        ("walls", "explored"): ((256, 100), (32, 25)),
        ("walls", "repeated_visits"): ((256, 162), (32, 27)),
    }
    for measures, (dims, coarse) in pairs.items():
        settings = DsageSettings(measures=measures)
        assert (settings.dims(MAZE), settings.coarse_dims(MAZE)) == (dims, coarse)


def emitter_of(archive, **changes):
    return MapElitesEmitter(archive, MapElitesSettings(**changes), MAZE)


def test_an_emitter_begins_with_four_batches_of_random_solutions():
    archive = archive_with((1, 1))
    emitter = emitter_of(archive)
    first = [emitter.ask() for _ in range(5)]
    elite = archive.data("solution")[0]
    distances = [(batch != elite).sum(axis=1) for batch in first]
    assert min(distance.min() for distance in distances[:4]) > 80  # of 256, about 128 differ by chance
    assert distances[4].max() <= 10
    assert {batch.dtype for batch in first} == {np.dtype(np.int8)}
    assert set(np.unique(first)) == {0, 1}


def test_children_differ_in_five_of_ten_drawn_entries_on_average():
    archive = archive_with((1, 1))
    emitter = emitter_of(archive, batch_size=2000, initial_population=1)
    emitter.ask()
    changed = (emitter.ask() != archive.data("solution")[0]).sum(axis=1)
    assert changed.max() <= 10
    assert changed.mean() == pytest.approx(5, abs=4 * np.sqrt(2.5 / 2000))
