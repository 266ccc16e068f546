"""A generator in NumPy equals the definition of its layers; files of other networks are refused in sentences."""

from itertools import pairwise

import numpy as np
import pytest
from neurozoo.environments.platformer.generator import Generator
from neurozoo.errors import NeurozooError


def arrays_of(seed=0, first=(2, 7), channels=(6, 5, 4), rectifies=0):
    """Random weights of a small generator whose picture doubles as often as it has channels."""
    rng = np.random.default_rng(seed)
    sizes = [*channels, 17]
    arrays = {
        "rectifies": np.float32(rectifies).reshape(()),
        "kernel_0": rng.standard_normal((32, *first, channels[0])),
    }
    for layer, (before, after) in enumerate(pairwise(sizes)):
        arrays[f"scale_{layer}"] = rng.uniform(0.5, 1.5, before)
        arrays[f"shift_{layer}"] = rng.standard_normal(before)
        arrays[f"kernel_{layer + 1}"] = rng.standard_normal((4, 4, before, after))
    return {name: np.asarray(array, np.float32) for name, array in arrays.items()}


def slow_picture(arrays, solution):
    """Every output pixel by the definition: input pixel i adds entry k of the kernel to pixel 2 i - 1 + k."""
    picture = np.einsum("i,ihwc->hwc", solution, arrays["kernel_0"].astype(float))
    for layer in range(sum(name.startswith("scale") for name in arrays)):
        picture = np.maximum(picture * arrays[f"scale_{layer}"] + arrays[f"shift_{layer}"], 0)
        kernel = arrays[f"kernel_{layer + 1}"].astype(float)
        height, width, _ = picture.shape
        doubled = np.zeros((2 * height, 2 * width, kernel.shape[-1]))
        for row in range(height):
            for column in range(width):
                for i in range(4):
                    for j in range(4):
                        y, x = 2 * row - 1 + i, 2 * column - 1 + j
                        if 0 <= y < 2 * height and 0 <= x < 2 * width:
                            doubled[y, x] += picture[row, column] @ kernel[i, j]
        picture = doubled
    return np.maximum(picture, 0) if arrays["rectifies"] else picture


@pytest.mark.parametrize(("first", "channels"), [((2, 7), (6, 5, 4)), ((4, 4), (4, 3, 3, 2))])
@pytest.mark.parametrize("rectifies", [0, 1])
def test_levels_are_the_largest_channels_by_the_definition(first, channels, rectifies):
    arrays = arrays_of(3, first, channels, rectifies)
    solutions = np.random.default_rng(1).standard_normal((3, 32)).astype(np.float32)
    levels = Generator(arrays).decode(solutions)
    for solution, level in zip(solutions, levels, strict=True):
        np.testing.assert_array_equal(level, slow_picture(arrays, solution)[:16, :56].argmax(axis=-1))
    assert levels.dtype == np.uint8
    assert len(np.unique(levels)) > 5


def test_where_no_channel_is_above_zero_there_is_air_only_with_a_ramp():
    arrays = arrays_of()
    arrays["kernel_3"] = -np.abs(arrays["kernel_3"])
    solutions = np.ones((1, 32))
    assert Generator(arrays).decode(solutions).any()
    assert not Generator(arrays | {"rectifies": np.float32(1).reshape(())}).decode(solutions).any()


def test_a_level_does_not_depend_on_how_many_are_decoded():
    generator = Generator(arrays_of())
    solutions = np.random.default_rng(0).standard_normal((70, 32))
    together = generator.decode(solutions)
    assert together.shape == (70, 16, 56)
    np.testing.assert_array_equal(together[33:34], generator.decode(solutions[33]))
    np.testing.assert_array_equal(together[:40], generator.decode(solutions[:40]))
    assert generator.decode(np.zeros((0, 32))).shape == (0, 16, 56)


def test_a_file_gives_the_same_generator(tmp_path):
    generator = Generator(arrays_of())
    generator.write(tmp_path / "generator.npz")
    again = Generator.read(tmp_path / "generator.npz")
    for name, array in generator.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kernel_0": np.zeros((16, 2, 7, 6), np.float32)}, "solutions have 32 numbers"),
        ({"kernel_0": np.full((32, 2, 7, 6), np.nan, np.float32)}, "should be finite"),
        ({"shift_1": np.zeros(5)}, "shift_1 should be float32, but is float64"),
        ({"shift_1": np.zeros(6, np.float32)}, r"shift_1 should have shape \(5,\)"),
        ({"kernel_2": np.zeros((3, 3, 5, 4), np.float32)}, "kernel_2 should have shape"),
        ({"kernel_2": np.zeros((), np.float32)}, "kernel_2 should have shape"),
        ({"kernel_3": np.zeros((4, 4, 4, 10), np.float32)}, "kernel_3 should have shape"),
        ({"kernel_0": np.zeros((32, 1, 7, 6), np.float32)}, "8 x 56 tiles"),
        ({"kernel_0": np.zeros((32, 2, 7, 0), np.float32)}, r"kernel_0 should have shape .*, but has \(32, 2, 7, 0\)"),
        ({"scale_2": None}, "should have kernel_0"),
        ({"others": np.zeros(3, np.float32)}, "should have kernel_0"),
    ],
)
def test_files_of_other_networks_are_refused(tmp_path, changes, sentence):
    arrays = {name: array for name, array in (arrays_of() | changes).items() if array is not None}
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(NeurozooError, match=sentence):
        Generator.read(tmp_path / "other.npz")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(NeurozooError, match="missing"):
        Generator.read(tmp_path / "none.npz")
    np.savez(tmp_path / "pickled.npz", kernel_0=np.array([{}], object))
    with pytest.raises(NeurozooError, match="not a generator of platform levels"):
        Generator.read(tmp_path / "pickled.npz")
    Generator(arrays_of()).write(tmp_path / "whole.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:900])
    with pytest.raises(NeurozooError, match="not a generator of platform levels"):
        Generator.read(tmp_path / "cut.npz")
