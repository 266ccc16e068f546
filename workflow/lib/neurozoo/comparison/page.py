"""The page of an embedding: points to look at, in one file that needs no network."""

import html
import importlib.resources
import json
import os
from collections.abc import Sequence

import numpy as np

from neurozoo.comparing.recordings import Recording, read_recordings
from neurozoo.comparing.sprites import COLUMNS, ROWS, make_sheets, widest
from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.inspection.streams import NpzReader

_REMEDY = "Make it again: python -m neurozoo compare embed, or the rule embed_states."
_MOST_PICTURE_BYTES = 9_000_000  # beside Plotly's 5 MB and the points, a page of less than 15 MB
_SAMPLES = 96
_STEPS_PER_SECOND = 15  # the Atari's 60 frames in decisions of 4


def write_embedding_page(
    embedding: str | os.PathLike, places: Sequence[str | os.PathLike], output: str | os.PathLike
) -> None:
    """Makes the page on which an embedding can be explored: what is near what, and what it looks like.

    The page holds the points, small pictures of all of them, and the library that draws them, so that it works from a
    file, without a network. Pointing at a dot shows its screen, clicking plays from there.

    Args:
        embedding: What `embed_states` wrote.
        places: The folders that it was made of.
        output: The `.html` to write, of less than 15 MB.

    Raises:
        NeurozooError: A file is missing or damaged, or the rollouts are not those of the embedding.
    """
    about, arrays = read_embedding(embedding)
    recordings, _ = read_recordings(places)
    _check(recordings, about, embedding)
    screens = [
        (recording, arrays["step"][arrays["run"] == number]) for number, recording in enumerate(recordings)
    ]  # fmt: skip
    count = len(arrays["run"])
    every = -(-count // _SAMPLES)
    samples = [
        screen for recording, steps in screens for screen in recording.rows("frames", steps[:: every])
    ]  # fmt: skip
    width = widest(samples, count=count, most_bytes=_MOST_PICTURE_BYTES)
    pictures = [make_sheets(recording.rows("frames", steps), width=width) for recording, steps in screens]
    runs = []
    for number, run in enumerate(about["runs"]):
        of_run = arrays["run"] == number
        planes = {
            f"{key}_{method}": _rounded(arrays[f"{key}_{method}"][of_run])
            for key in about["keys"]
            for method in about["methods"]
        }
        runs.append(
            {
                **run,
                "steps": arrays["step"][of_run].tolist(),
                "episodes": arrays["episode"][of_run].tolist(),
                "scores": arrays["score"][of_run].tolist(),
                "planes": planes,
                "width": pictures[number].width,
                "height": pictures[number].height,
                "sheets": pictures[number].sheets,
            }
        )
    data = {
        **{name: about[name] for name in ("game", "keys", "methods", "explained", "left_out", "stride")},
        "runs": runs,
        "columns": COLUMNS,
        "rows": ROWS,
        "pictures_per_second": _STEPS_PER_SECOND,
    }
    write_text(output, _filled(data, title=about["game"].replace("_", " ").title()))


def read_embedding(path: str | os.PathLike) -> tuple[dict, dict[str, np.ndarray]]:
    """Reads what `embed_states` wrote.

    Returns:
        `about`, and the arrays by name.

    Raises:
        NeurozooError: The file is missing, damaged, or no embedding.
    """
    with NpzReader(path, keys=("about", "run", "step"), remedy=_REMEDY):
        pass
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(arrays.pop("about").tobytes())
        planes = [f"{key}_{method}" for key in about["keys"] for method in about["methods"]]
        size = len(arrays["run"])
        whole = all(len(arrays[name]) == size for name in ("step", "episode", "score", *planes))
        if not whole or len(about["runs"]) <= arrays["run"].max():
            raise ValueError("its arrays differ in length")
    except (ValueError, KeyError, TypeError, OSError, EOFError) as error:
        raise NeurozooError(f"{path} is no whole embedding ({type(error).__name__}: {error}). {_REMEDY}") from error
    return about, arrays


def _check(recordings: Sequence[Recording], about: dict, embedding: str | os.PathLike) -> None:
    found = [(recording.title, recording.steps) for recording in recordings]
    expected = [(run["title"], run["steps"]) for run in about["runs"]]
    if found != expected:
        raise NeurozooError(
            f"{embedding} was made of {_listed(expected)}, but the page is to show {_listed(found)}. {_REMEDY}"
        )


def _listed(runs: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{title} ({steps} steps)" for title, steps in runs)


def _rounded(plane: np.ndarray) -> list[list[float]]:
    """Returns the two axes with four digits, which is finer than any screen."""
    return [[float(f"{value:.5g}") for value in axis] for axis in plane.T]


def _filled(data: dict, *, title: str) -> str:
    own = importlib.resources.files("neurozoo") / "data" / "embedding_page.html"
    library = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    page = own.read_text(encoding="utf-8").replace("{{title}}", html.escape(title))
    for mark, content in (
        ("{{license}}", _license()),
        ("{{data}}", text),
        ("{{plotly}}", library.read_text(encoding="utf-8")),
    ):
        page = page.replace(mark, content, 1)
    return page


def _license() -> str:
    """Returns the license of the library that draws, which has to go with it."""
    from importlib.metadata import files

    found = [file for file in files("plotly") or () if file.name.startswith("LICENSE")]
    return found[0].read_text(encoding="utf-8").strip().replace("--", "- -") if found else "MIT License"
