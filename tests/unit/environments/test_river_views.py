import numpy as np
import pytest
from neurozoo.environments.river_crossing import EMPTY, RESOURCE, STONE, TRAP, WATER, RiverCrossing, RiverRules
from neurozoo.environments.river_world import picture, text, view

CELLS = {(3, 4): RESOURCE, (5, 6): STONE, (7, 8): WATER, (9, 10): TRAP}  # by (column, row)


def river_with(*, is_faithful, at=(2, 7), carries=False, cells=CELLS):
    river = RiverCrossing(RiverRules(is_faithful=is_faithful))
    river.reset(seed=0)
    river.grid[:] = EMPTY
    for place, cell in cells.items():
        river.grid[place] = cell
    river.column, river.row = at
    river.carries = carries
    return river


@pytest.mark.parametrize("is_faithful", [False, True])
@pytest.mark.parametrize(("carries", "agent"), [(False, 0.3445), (True, 0.2336)])
def test_the_greys_are_those_of_the_table(is_faithful, carries, agent):
    greys = view(river_with(is_faithful=is_faithful, carries=carries), "greyscale")
    assert (greys.shape, greys.dtype) == ((20, 20, 1), np.float32)
    expected = np.zeros((20, 20))  # [row, column]
    expected[4, 3], expected[6, 5], expected[8, 7], expected[10, 9], expected[7, 2] = (
        0.8859,
        0.5019,
        0.4087,
        0.2989,
        agent,
    )
    np.testing.assert_allclose(greys[..., 0], expected.T if is_faithful else expected, atol=1e-4)


def test_rgb_has_the_colours_of_the_table_with_rows_first():
    for carries, agent in ((False, (255, 0, 102)), (True, (102, 0, 255))):
        seen = view(river_with(is_faithful=False, carries=carries), "rgb")
        assert (seen.shape, seen.dtype) == ((20, 20, 3), np.float32)
        colours = {
            (4, 3): (255, 255, 0),
            (6, 5): (128,) * 3,
            (8, 7): (0, 128, 255),
            (10, 9): (255, 0, 0),
            (7, 2): agent,
        }
        for place, colour in colours.items():
            np.testing.assert_allclose(seen[place] * 255, colour, rtol=1e-6)
        assert np.count_nonzero(seen.any(axis=-1)) == 5


def test_faithful_rgb_puts_the_agent_where_the_published_code_does():
    # Agent at (2, 7): flat offsets 3 * 20 * 2 + 7 = 127 to 129, red 1, green 0, blue 0.4; the cells stand column first.
    seen = view(river_with(is_faithful=True), "rgb")
    np.testing.assert_allclose(seen.reshape(-1)[126:131], [0, 1, 0, 0.4, 0], rtol=1e-6)
    np.testing.assert_allclose(seen[3, 4], [1, 1, 0])
    assert not seen[2, 7].any()
    covered = view(river_with(is_faithful=True, cells={(2, 2): RESOURCE}), "rgb")  # offsets 126 to 128
    np.testing.assert_allclose(covered.reshape(-1)[126:131], [1, 1, 0, 0.4, 0], rtol=1e-6)


@pytest.mark.parametrize("carries", [False, True])
def test_objects_are_one_plane_each_and_permuted_under_faithful_rules(carries):
    planes = {0: (3, 4), 1: (5, 6), 2: (7, 8), 3: (9, 10), 4 if carries else 5: (2, 7)}
    seen = view(river_with(is_faithful=False, carries=carries), "objects")
    assert (seen.shape, seen.dtype) == ((20, 20, 6), np.float32)
    assert {tuple(index) for index in np.argwhere(seen)} == {(row, column, i) for i, (column, row) in planes.items()}
    permuted = view(river_with(is_faithful=True, carries=carries), "objects")
    assert permuted.shape == (20, 20, 6)
    expected = sorted(400 * i + 20 * column + row for i, (column, row) in planes.items())
    assert np.flatnonzero(permuted).tolist() == expected
    assert set(np.unique(seen)) == set(np.unique(permuted)) == {0, 1}


@pytest.mark.parametrize("is_faithful", [False, True])
def test_pixels_are_the_grey_picture_enlarged_by_4_with_a_border_of_2(is_faithful):
    river = river_with(is_faithful=is_faithful)
    pixels, greys = view(river, "pixels"), view(river, "greyscale")
    assert (pixels.shape, pixels.dtype) == ((84, 84, 1), np.float32)
    assert not pixels[:2].any()
    assert not pixels[-2:].any()
    assert not pixels[:, :2].any()
    assert not pixels[:, -2:].any()
    blocks = pixels[2:-2, 2:-2, 0].reshape(20, 4, 20, 4)
    assert (blocks == greys.reshape(20, 1, 20, 1)).all()


def test_the_vector_is_the_cell_under_the_agent_and_whether_it_carries():
    river = river_with(is_faithful=False, at=(5, 6), carries=True)
    assert view(river, "vector").tolist() == [0, 0, 1, 0, 0, 1]
    assert view(river_with(is_faithful=False), "vector").tolist() == [1, 0, 0, 0, 0, 0]


def test_people_see_rows_as_rows_and_what_lies_under_the_agent():
    for is_faithful in (False, True):
        river = river_with(is_faithful=is_faithful, at=(5, 6))
        seen = picture(river)
        assert (seen.shape, seen.dtype) == ((160, 160, 3), np.uint8)
        assert seen[4 * 8 + 3, 3 * 8 + 3].tolist() == [255, 255, 0]
        assert seen[6 * 8 + 4, 5 * 8 + 4].tolist() == [255, 0, 102]
        assert seen[6 * 8, 5 * 8].tolist() == [128, 128, 128]
        lines = text(river).splitlines()
        assert (lines[4][3], lines[6][5], lines[8][7], lines[10][9], lines[0][0]) == ("R", "A", "~", "x", ".")
        assert [len(line) for line in lines] == [20] * 20
    assert text(river_with(is_faithful=False, carries=True)).splitlines()[7][2] == "C"
