import json

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.movies.generations import choose_generations, film_generations
from neurozoo.movies.grid import GAP, HEAD, TITLE
from neurozoo.movies.screens import LINE


@pytest.mark.parametrize(
    ("last", "choice", "chosen"),
    [
        (10, {}, [1, 4, 7, 10]),
        (10, {"count": 2}, [1, 10]),
        (10, {"count": 1}, [10]),
        (6, {"count": 3}, [1, 4, 6]),
        (3, {"count": 9}, [1, 2, 3]),
        (1, {}, [1]),
        (10, {"every": 4}, [1, 5, 9, 10]),
        (9, {"every": 4}, [1, 5, 9]),
        (3, {"every": 100}, [1, 3]),
    ],
)
def test_the_first_and_the_last_generation_and_some_between_are_chosen(last, choice, chosen):
    assert choose_generations(range(1, last + 1), **choice) == chosen


def test_a_run_without_generations_cannot_be_filmed():
    with pytest.raises(NeurozooError, match="no finished generation yet"):
        choose_generations([])


GENOMES = [[5], [5, [7, 0.01]], [11, [3, 0.3]]]


@pytest.fixture
def run_dir(small_noise_table, tmp_path):
    from neurozoo.agents.genome_import import import_genome

    folder = import_genome("[5]", noise=small_noise_table, game="breakout", model="small", run_dir=tmp_path / "run")
    records = [
        {"Iteration": i, "frames": i, "TruncatedPopulationEliteSeeds": genome, "TruncatedPopulationEliteTestRewMean": i}
        for i, genome in enumerate(GENOMES, 1)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.mark.long(seconds=15)
def test_generations_play_side_by_side_from_the_same_start(run_dir, core, small_noise_table, tmp_path):
    import imageio_ffmpeg

    output = tmp_path / "generations.mp4"
    movie = film_generations(
        run_dir, output, core=core, noise=small_noise_table, count=3, max_steps=12, log=tmp_path / "log"
    )
    assert movie.generations == (1, 2, 3)
    assert movie.frames == 12
    reader = imageio_ffmpeg.read_frames(str(output))
    width, height = next(reader)["size"]
    assert (width, height) == (GAP + 3 * (320 + GAP), TITLE + HEAD + 420 + 2 * LINE + GAP // 2)
    shown = [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]
    starts = []
    for place, generation in enumerate(movie.generations):
        with np.load(run_dir / "generations" / str(generation) / "rollout.npz") as rollout:
            starts.append(rollout["ram"][0])
            left = GAP + place * (320 + GAP)
            for step in (0, 11):
                screen = rollout["frames"][step].repeat(2, axis=0).repeat(2, axis=1).astype(float)
                picture = shown[step][TITLE + HEAD : TITLE + HEAD + 420, left : left + 320].astype(float)
                assert np.abs(screen - picture).mean() < 8  # of 255: video halves the resolution of colour
    np.testing.assert_array_equal(starts[0], starts[1])
    np.testing.assert_array_equal(starts[0], starts[2])
    assert (tmp_path / "log").read_text().count("generation ") == 3


def test_a_run_without_genomes_of_generations_is_refused_before_anything_is_frozen(run_dir, core, small_noise_table):
    (run_dir / "log.jsonl").write_text('{"Iteration": 1, "frames": 1}\n')
    with pytest.raises(NeurozooError, match="has no genome for generation 1"):
        film_generations(run_dir, run_dir / "x.mp4", core=core, noise=small_noise_table)
    assert not (run_dir / "generations").exists()
