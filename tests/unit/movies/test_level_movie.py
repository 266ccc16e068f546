"""A movie of the agent in a level has a frame per tick, and says how the game ended."""

import imageio.v3 as iio
import numpy as np
import pytest
from neurozoo.environments.platformer.tiles import from_text
from neurozoo.errors import NeurozooError
from neurozoo.movies.level_movie import film_level


def flat() -> np.ndarray:
    return from_text("\n".join(["-" * 56] * 14 + ["X" * 56] * 2))


def test_a_movie_shows_the_run_to_its_end(tmp_path, ops):
    facts = film_level(flat(), tmp_path / "run.mp4", ops=ops)
    assert facts == {"status": 1, "completion": 1.0, "jumps": 0, "kills": 0, "ticks": 89}
    frames = iio.imread(tmp_path / "run.mp4")
    assert frames.shape == (90, 256, 896, 3)
    dark = [np.flatnonzero((frame[211:224].astype(int).sum(axis=2) < 200).any(axis=0)) for frame in frames[[0, 45, 89]]]
    assert [bool(columns.max() < 20) for columns in dark] == [True, False, False]  # the runner's outlines
    assert dark[2].max() > 870 > dark[1].max() > 300


def test_a_movie_of_a_hopeless_level_ends(tmp_path, ops):
    level = flat()
    level[:14, 3] = 11
    facts = film_level(level, tmp_path / "run.mp4", budget=5, most_frames=10, ops=ops)
    assert (facts["status"], facts["ticks"]) == (3, 666)
    assert len(iio.imread(tmp_path / "run.mp4")) == 10


def test_a_frame_rate_of_nothing_is_refused(tmp_path, ops):
    with pytest.raises(NeurozooError, match="should be >= 1"):
        film_level(flat(), tmp_path / "run.mp4", fps=0, ops=ops)
