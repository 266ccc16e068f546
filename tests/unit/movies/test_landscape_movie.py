import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.movies.landscape_movie import FRAMES_PER_STEP, LOWEST, _shares, render_landscape_movie
from neurozoo.rollouts.rollout import record_rollout

STEPS = 3


@pytest.fixture(scope="module")
def frozen(frozen_folder):
    return frozen_folder("modular_evolved", game="river_crossing", observation="objects")


def test_a_new_landscape_has_a_frame_for_each_cycle_and_each_step_some(frozen, tmp_path, decode):
    record_rollout(frozen, tmp_path / "rollout.npz", max_steps=STEPS)
    movie = render_landscape_movie(frozen, tmp_path / "rollout.npz", tmp_path / "landscape.mp4")
    frames, _ = decode(tmp_path / "landscape.mp4")
    landscapes, rest = divmod(len(frames) - STEPS * FRAMES_PER_STEP, 50)
    assert (movie.frames, rest) == (len(frames), 0)
    assert 1 <= landscapes <= STEPS
    with np.load(tmp_path / "rollout.npz") as rollout:
        screen = rollout["frames"][0].astype(float)
    shown = frames[0, 64:464, 24:424].astype(float).reshape(20, 20, 20, 20, 3)
    cells = screen.reshape(20, 8, 20, 8, 3).mean(axis=(1, 3))
    assert np.abs(shown.mean(axis=(1, 3)) - cells).mean() < 8  # of 255: video halves the resolution of colour


def test_heights_are_drawn_by_their_logarithm():
    shares = _shares(np.array([-1, 0, LOWEST, np.sqrt(15 * LOWEST), 15]))
    np.testing.assert_allclose(shares, [0, 0, 0, 0.5, 1], atol=1e-6)


def test_an_agent_without_a_landscape_is_refused(frozen_folder, tmp_path):
    with pytest.raises(NeurozooError, match="has no landscape"):
        render_landscape_movie(frozen_folder("small"), tmp_path / "rollout.npz", tmp_path / "x.mp4")
