"""The page of an embedding: an interactive plot of its points, in one HTML file that works offline."""

import base64
import importlib.metadata
import importlib.resources
import io
import itertools
import json
import os
from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image

from neurozoo.comparison.compared_runs import read_compared_runs
from neurozoo.environments.protocols import STEPS_PER_SECOND
from neurozoo.errors import NeurozooError, needing
from neurozoo.files import parse_json, write_text
from neurozoo.files.npz import DAMAGE, NpzReader, read_npz
from neurozoo.files.templates import environment

_REMEDY = "Make it again: python -m neurozoo compare embed, or the rule embed_states."
_MAX_PICTURE_BYTES = 9_000_000  # with Plotly's 5 MB and the points, the page stays below 15 MB
_GROWTH = 100  # times that an embedding may be larger than its file; numbers of runs and episodes repeat
_SAMPLES = 96  # screens from which the size of all pictures is estimated
COLUMNS, ROWS = 12, 16  # of a sheet of pictures: few enough to decode at once, enough to profit from similar screens
WIDTHS = (160, 120, 96, 80, 64, 48)  # candidates, in pixels
_QUALITY = 50  # of WebP, from 0 to 100


def write_embedding_page(
    embedding: str | os.PathLike, places: Sequence[str | os.PathLike], output: str | os.PathLike
) -> None:
    """Writes the page on which an embedding can be explored: which states are close, and what they look like.

    The page contains the points, a small picture of each, and the plotting library, so it works offline. Pointing at a
    dot shows its screen; clicking plays from there.

    The embedding is a file of `embed_states`, and `places` are the folders that it was made from. The `.html` has less
    than 15 MB.

    Raises:
        NeurozooError: A file is missing or damaged, or the rollouts are not those of the embedding.
    """
    about, arrays = read_embedding(embedding)
    compared, _ = read_compared_runs(places)
    found = ", ".join(f"{run.title} ({run.steps} steps)" for run in compared)
    expected = ", ".join(f"{run['title']} ({run['steps']} steps)" for run in about["runs"])
    if found != expected:
        raise NeurozooError(f"{embedding} was made from {expected}, but the page should show {found}. {_REMEDY}")
    count = len(arrays["run"])
    every = -(-count // _SAMPLES)
    of_runs = [arrays["run"] == number for number in range(len(compared))]
    samples = [
        screen
        for run, of_run in zip(compared, of_runs, strict=True)
        for screen in run.rows("frames", arrays["step"][of_run][::every])
    ]
    width = widest(samples, count=count, most_bytes=_MAX_PICTURE_BYTES)
    runs = []
    for run, of_run, described in zip(compared, of_runs, about["runs"], strict=True):
        steps = arrays["step"][of_run]
        names = [f"{key}_{method}" for key in about["keys"] for method in about["methods"]]
        runs.append({
            **described,
            "steps": steps.tolist(),
            "episodes": arrays["episode"][of_run].tolist(),
            "scores": arrays["score"][of_run].tolist(),
            "planes": {name: _round_axes(arrays[name][of_run]) for name in names},
            "width": width,
            "height": height_at(width, run.shape("frames")),
            "sheets": make_sheets(run.rows("frames", steps), width=width),
        })  # fmt: skip
    data = {
        **{name: about[name] for name in ("game", "keys", "methods", "explained", "left_out", "stride")},
        "runs": runs,
        "columns": COLUMNS,
        "rows": ROWS,
        "pictures_per_second": STEPS_PER_SECOND,
    }
    write_text(output, fill_template("embedding_page.html", data, title=about["game"].replace("_", " ").title()))


def read_embedding(path: str | os.PathLike) -> tuple[dict, dict[str, np.ndarray]]:
    """Reads a file of `embed_states`: `about`, and the arrays by name.

    Raises:
        NeurozooError: The file is missing, damaged, or not an embedding.
    """
    with NpzReader(path, keys=("about", "run", "step"), remedy=_REMEDY):
        pass
    try:
        arrays = read_npz(path, growth=_GROWTH)
        about = parse_json(arrays.pop("about").tobytes())
        planes = [f"{key}_{method}" for key in about["keys"] for method in about["methods"]]
        size = len(arrays["run"])
        whole = all(len(arrays[name]) == size for name in ("step", "episode", "score", *planes))
        if not whole or len(about["runs"]) <= arrays["run"].max():
            raise ValueError("its arrays differ in length")
    except (*DAMAGE, TypeError, AttributeError, OSError) as error:
        raise NeurozooError(
            f"{path} is not a complete embedding ({type(error).__name__}: {error}). {_REMEDY}"
        ) from error
    return about, arrays


def height_at(width: int, screen_shape: tuple[int, ...]) -> int:
    """Returns the height of a screen's picture of some width, in pixels."""
    return max(1, round(screen_shape[0] * width / screen_shape[1]))


def make_sheets(screens: Iterable[np.ndarray], *, width: int) -> list[str]:
    """Shrinks screens, uint8 (height, width, 3), to pictures of some width, and arranges them on sheets.

    Returns:
        Data URLs, `data:image/webp;base64,...`, each of 12 x 16 pictures row by row; the last one may have fewer rows.
    """
    sheets: list[str] = []
    left = iter(screens)
    while batch := list(itertools.islice(left, COLUMNS * ROWS)):
        height = height_at(width, batch[0].shape)
        sheet = Image.new("RGB", (COLUMNS * width, -(-len(batch) // COLUMNS) * height))
        for place, screen in enumerate(batch):
            picture = Image.fromarray(screen).resize((width, height), Image.Resampling.BOX)
            sheet.paste(picture, (place % COLUMNS * width, place // COLUMNS * height))
        data = io.BytesIO()
        sheet.save(data, "WEBP", quality=_QUALITY, method=4)
        sheets.append("data:image/webp;base64," + base64.b64encode(data.getvalue()).decode())
    return sheets


def widest(samples: Sequence[np.ndarray], *, count: int, most_bytes: int) -> int:
    """Chooses the largest picture width with which `count` screens fit into `most_bytes`; the smallest if none does.

    The `samples` are some of the screens, from all parts of the rollouts; the bytes are those of the data URLs.
    """
    for width in WIDTHS[:-1]:
        if width <= samples[0].shape[1]:
            size = sum(map(len, make_sheets(samples, width=width)))
            if size / len(samples) * count <= 0.92 * most_bytes:  # a margin: samples are only an estimate
                return width
    return WIDTHS[-1]


def _round_axes(plane: np.ndarray) -> list[list[float]]:
    """Returns the two axes with five significant digits, which is finer than any screen."""
    return [[float(f"{value:.5g}") for value in axis] for axis in plane.T]


def fill_template(name: str, data: dict, *, title: str) -> str:
    """Returns a page with its data, plain JSON, and all that it needs, so that it works offline."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    return environment().get_template(name).render(title=title, data=text, plotly=_plotly)


def _plotly() -> str:
    """Returns Plotly as a script, with its license, which must be distributed with it."""
    with needing("compare", "A page to explore"):
        library = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    found = [file for file in importlib.metadata.files("plotly") or () if file.name.startswith("LICENSE")]
    terms = found[0].read_text(encoding="utf-8").strip().replace("--", "- -") if found else "MIT License"
    return f"<!-- plotly.js\n\n{terms}\n-->\n<script>{library.read_text(encoding='utf-8')}</script>"
