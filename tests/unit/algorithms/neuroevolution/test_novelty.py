import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution import novelty as module
from neurozoo.algorithms.neuroevolution.novelty import Archive, choose_behaviour, distances, mean_behaviour, novelty
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError


def ram(*rows):
    """Memory of 4 bytes."""
    return np.array(rows, np.uint8)


def places(*rows):
    return np.array(rows, np.float32)


def slow_distance(a, b):
    """Section 1.7 of the specification: common prefix, then the longer one's tail to the shorter one's last row."""
    short, long = sorted((a.astype(float), b.astype(float)), key=len)
    prefix = np.sqrt(((long[: len(short)] - short) ** 2).sum())
    tail = np.sqrt(((long[len(short) :] - short[-1]) ** 2).sum())
    return np.sqrt(prefix**2 + tail**2)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("width", [128, 3])
def test_all_pairs_equal_the_slow_way(dtype, width):
    random = np.random.default_rng(0)
    lengths = [1, 7, 8, 9, 400, 16, 401, 23, 342, 341, 1]
    sequences = [random.integers(256, size=(length, width)).astype(dtype) for length in lengths]
    expected = [[slow_distance(a, b) for b in sequences[4:]] for a in sequences]
    np.testing.assert_allclose(distances(sequences, sequences[4:]), expected, rtol=1e-12)


def test_the_largest_distance_of_bytes_is_exact():
    # 9 steps of 128 bytes; a sum of products that is no longer exact in float32 would show.
    low, high = np.zeros((9, 128), np.uint8), np.full((9, 128), 255, np.uint8)
    odd = high.copy()
    odd[8, 127] = 254
    assert (distances([low], [high, odd, low]) ** 2).round(3).tolist() == [
        [9 * 128 * 255**2, 9 * 128 * 255**2 - 255**2 + 254**2, 0.0]
    ]


def test_parts_of_a_large_table_are_put_together(monkeypatch):
    random = np.random.default_rng(0)
    sequences = [random.normal(size=(length, 2)) for length in (1, 2, 3, 4, 5)]
    whole = distances(sequences, sequences), novelty(sequences, [], nearest=2, among_themselves=True)
    monkeypatch.setattr(module, "DIFFERENCES_AT_ONCE", 1)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)
    np.testing.assert_array_equal(distances(sequences, sequences), whole[0])
    np.testing.assert_array_equal(novelty(sequences, [], nearest=2, among_themselves=True), whole[1])


def test_novelty_is_the_mean_distance_to_the_nearest():
    archive = [places((0, 0)), places((3, 4)), places((6, 8)), places((0, 100))]
    # Distances of (0, 0): 0, 5, 10, 100; of (3, 0): 3, 4, sqrt(73).
    found = novelty([places((0, 0)), places((3, 0))], archive, nearest=3)
    np.testing.assert_allclose(found, [5.0, (3 + 4 + np.sqrt(73)) / 3])
    assert novelty([places((0, 0))], archive, nearest=1).tolist() == [0.0]
    # With few neighbours, all count.
    assert novelty([places((0, 0))], archive[1:3], nearest=10).tolist() == [7.5]
    assert novelty([places((0, 0))], [], nearest=10).tolist() == [0.0]


def test_members_of_a_population_can_be_neighbours_but_not_of_themselves():
    population = [places((0, 0)), places((0, 0)), places((3, 4))]
    assert novelty(population, [places((0, 1))], nearest=1, among_themselves=True).tolist() == [0, 0, np.sqrt(18)]
    # The others of the first: 0 and 5, and the archive 1.
    assert novelty(population, [places((0, 1))], nearest=9, among_themselves=True)[0] == 2.0
    assert novelty(population[:1], [], nearest=9, among_themselves=True).tolist() == [0.0]


@pytest.mark.parametrize("among_themselves", [True, False])
@pytest.mark.parametrize("nearest", [1, 25, 1000])
def test_the_neighbours_of_points_are_the_same_from_a_tree_and_from_all_distances(
    nearest, among_themselves, monkeypatch
):
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 200, (700, 2)).astype(np.float32)
    points[:200] = points[0]  # robots that never moved
    points[200:400] = np.round(points[200:400] / 20) * 20  # many equal distances
    others = list(rng.uniform(0, 200, (100, 1, 2)).astype(np.float32))
    population = list(points[:, None])
    found = []
    for axes in (module.MOST_AXES, 0):  # 0: no tree
        monkeypatch.setattr(module, "MOST_AXES", axes)
        found.append(novelty(population, others, nearest=nearest, among_themselves=among_themselves))
    assert np.array_equal(*found)
    assert len(np.unique(found[0])) > 100


def test_a_mean_continues_shorter_episodes_by_their_last_row():
    mean = mean_behaviour([places((1, 2), (3, 4)), places((5, 6), (7, 8), (9, 12))])
    assert mean.dtype == np.float32
    assert mean.tolist() == [[3, 4], [5, 6], [6, 8]]
    assert not mean.flags.writeable
    mean = mean_behaviour([ram((0, 1, 250, 3)), ram((1, 1, 255, 5)), ram((1, 2, 255, 5))])
    assert mean.dtype == np.uint8
    assert mean.tolist() == [[1, 1, 253, 4]]


def test_the_world_decides_what_an_episode_is_described_by():
    assert choose_behaviour(None, protocol=get_protocol("uber2018")) == "ram"
    assert choose_behaviour("ram", protocol=get_protocol("uber2018")) == "ram"
    assert choose_behaviour(None, protocol=get_protocol("hard_maze")) == "final_position"
    with pytest.raises(NeurozooError, match="'river_fixed' do not give the behaviour 'ram', but: final_position"):
        choose_behaviour("ram", protocol=get_protocol("river_fixed"))
    with pytest.raises(NeurozooError, match="'gymnasium' give none"):
        choose_behaviour(None, protocol=get_protocol("gymnasium"))


def test_an_archive_keeps_copies_in_order_and_survives_being_saved():
    archive = Archive()
    first = places((1, 2), (3, 4))
    archive.add([first, places((5, 6))])
    archive.add([])
    archive.add([places((7, 8))])
    first[:] = 0
    arrays = archive.get_arrays()
    assert [*arrays] == ["archive-00000", "archive-00001"]
    again = Archive()
    again.set_state(archive.get_state(), arrays)
    assert len(again) == len(archive) == 3
    assert [b.tolist() for b in again.behaviours] == [[[1, 2], [3, 4]], [[5, 6]], [[7, 8]]]
    assert not any(behaviour.flags.writeable for behaviour in (*archive.behaviours, *again.behaviours))
    again.add([places((9, 9))])
    assert [*again.get_arrays()] == ["archive-00000", "archive-00001", "archive-00002"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(again.get_arrays()[name], array)


def test_an_archive_that_lacks_rows_is_refused():
    archive = Archive()
    archive.add([places((1, 2), (3, 4))])
    with pytest.raises(ValueError, match="archive-00000 should have 2 rows, but has 1"):
        Archive().set_state(archive.get_state(), {"archive-00000": places((1, 2))})
