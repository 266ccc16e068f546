"""Explains targets that no rule makes, with the name that was probably meant."""

import os
import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from neurozoo.errors import NeurozooError, nearest

_PATTERN = r"(\{\w+),(?:[^{}]|\{[^{}]*\})*\}"  # of a wildcard: `{run,[1-9]*}` is written as `{run}`

# Files of runs that no rule makes by themselves, and how to get them.
_BESIDE = {
    r"genome\.json": "Neuroevolution writes it beside checkpoint.npz: ask for that.",
    r"snapshots/.*": "Training keeps snapshots with snapshot_frames, and commands film them (docs/running.md).",
    r"tags/[^/]+/checkpoint\.npz": "Training keeps it with zoo.keep_tags (docs/zoo.md): ask for frozen/model.json.",
    r"population/.*": "Training keeps it with record_population (docs/comparing.md).",
    r"generations/.*": "It comes with generations.mp4: ask for that.",
    r".*frozen/(saved_model|model\.(pb|onnx))": "The configuration does not keep this form: add it to freeze.forms.",
    r".*\.poster\.png": "It comes with its movie: ask for that.",
    r".*recorded\..*": "This makes it: python -m neurozoo simple_dqn record",
    r"rollouts/streamlined\..*": "This makes it: python -m neurozoo rollout RUN_DIR --streamlined",
    r"tensorboard/.*": "Training writes it with training.tensorboard (docs/running.md).",
}


def check_targets(
    targets: Iterable[str], *, is_made: Callable[[str], bool], products: Collection[str], rules: Collection[str]
) -> None:
    """Checks that every target exists or has a rule, so that a slip is answered with the most similar name.

    `is_made` says whether a rule makes a file; `products` are the files that rules make, with wildcards.
    """
    for target in targets:
        path = target if os.path.isabs(target) else os.path.relpath(target)
        if not is_made(path) and not os.path.exists(path):
            raise NeurozooError(_unknown(path, products, rules))


def _unknown(path: str, products: Collection[str], rules: Collection[str]) -> str:
    if os.sep not in path and (rule := nearest(path, rules)):
        return f"No rule is called {path}; did you mean {rule}?"
    for pattern, how in _BESIDE.items():
        if re.fullmatch(rf".*/runs/[^/]+/[^/]+/[^/]+/[^/]+/{pattern}", path):
            return f"{path} cannot be made by its path. {how}"
    products = [re.sub(_PATTERN, r"\1}", product) for product in products]  # constraints may have slashes
    names = sorted({os.path.basename(product) for product in products if "{" not in os.path.basename(product)})
    name = nearest(os.path.basename(path), names)
    guess = ""
    if name:
        places = [product for product in products if os.path.basename(product) == name]
        fixed = [place for place in places if "{" not in place]
        near = f"{Path(path).parent / name}"
        guess = nearest(path, fixed) or (near if near != path else places[0])
    hint = f"; did you mean {guess}?" if guess else "."
    is_elsewhere = "/runs/" in path and path.partition("/runs/")[0] not in _folders(products)
    other = " Another folder of results needs the configuration that names it: --configfile." if is_elsewhere else ""
    return f"No rule makes {path}{hint}{other} All files: results/README.md."


def _folders(products: Collection[str]) -> set[str]:
    """Returns the folders of results below which runs are made."""
    return {product.partition("/runs/")[0] for product in products if "/runs/" in product}
