"""Colours of the wide movies: a dark and a light theme, each with a colour map for activations.

Pictures of these movies have one number per pixel, red + 256 green + 65,536 blue, because copying one number is several
times as fast as copying three.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import matplotlib
import numpy as np

ThemeName = Literal["dark", "light"]

Colour = tuple[int, int, int]  # red, green and blue, 0 to 255


@dataclass(frozen=True)
class Theme:
    """The colours of a movie."""

    paper: Colour  # background
    card: Colour  # background of charts and of outputs
    line: Colour  # thin lines, and the tracks of bars
    ink: Colour  # text that matters
    quiet: Colour  # other text
    bar: Colour  # of actions that were not chosen
    chosen: Colour  # bar of the chosen action, and the score
    chosen_card: Colour  # background of the chosen action
    flow: Colour  # ribbons that lead from layer to layer
    # Name in Matplotlib of the colour map for activations that are never negative. Perceptually uniform; its lowest
    # colour is close to `paper`, so that silence is empty.
    sequential: str
    diverging: str  # the same for activations of both signs; 0 lies in the middle


THEMES: dict[ThemeName, Theme] = {
    "dark": Theme(
        paper=(15, 16, 20),
        card=(24, 26, 32),
        line=(52, 56, 66),
        ink=(240, 240, 236),
        quiet=(160, 164, 174),
        bar=(104, 112, 130),
        chosen=(255, 179, 71),
        chosen_card=(58, 46, 30),
        flow=(48, 52, 64),
        sequential="inferno",
        diverging="berlin",
    ),
    "light": Theme(
        paper=(250, 249, 246),
        card=(255, 255, 255),
        line=(218, 215, 207),
        ink=(28, 28, 30),
        quiet=(98, 98, 102),
        bar=(150, 154, 163),
        chosen=(196, 78, 0),
        chosen_card=(255, 236, 217),
        flow=(222, 218, 209),
        sequential="magma_r",
        diverging="RdBu_r",
    ),
}


def packed(colour: Colour) -> np.uint32:
    """Returns a colour as one number."""
    red, green, blue = colour
    return np.uint32(red | green << 8 | blue << 16)


def packed_picture(picture: np.ndarray) -> np.ndarray:
    """Returns a picture, uint8, shape (..., 3), with one number per pixel: uint32, shape (...)."""
    whole = np.zeros((*picture.shape[:-1], 4), np.uint8)
    whole[..., :3] = picture
    return whole.view("<u4")[..., 0]


@lru_cache
def colour_table(name: str) -> np.ndarray:
    """Returns a colour map of Matplotlib as 256 packed colours, from the lowest value to the highest: uint32."""
    return packed_picture(matplotlib.colormaps[name](np.arange(256), bytes=True)[:, :3])


@lru_cache(maxsize=256)
def shades(below: Colour, above: Colour) -> np.ndarray:
    """Returns 256 packed colours from one colour to another, by which masks of letters become pixels: uint32."""
    steps = np.linspace(0, 1, 256)[:, None]
    mixed = np.array(below) + steps * (np.array(above) - np.array(below))
    return packed_picture(np.rint(mixed).astype(np.uint8))
