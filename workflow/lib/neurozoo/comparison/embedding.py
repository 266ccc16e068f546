"""Joint embeddings: the states of several runs of a game as points in one plane.

Source: Such et al. 2018, arXiv:1812.07069 (section 4.4), and the Atari Zoo's reduction of RAM states and
representations: principal components, t-SNE (van der Maaten & Hinton 2008), and UMAP (McInnes et al. 2018).
"""

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from neurozoo.comparison.compared_runs import SEEDS, ComparedRun, read_compared_runs, spread
from neurozoo.errors import NeurozooError, needing, unknown_name
from neurozoo.files.npz import npz_written_whole

_COMPONENTS = 50  # principal components that t-SNE and UMAP start from, as in the Atari Zoo
_PERPLEXITY, _ITERATIONS = 30, 1000
_FEWEST = 4  # states; UMAP needs as many
_NEIGHBOURS, _DISTANCE = 15, 0.1  # UMAP's own defaults


def ram_to_bits(ram: np.ndarray) -> np.ndarray:
    """Splits bytes into bits, because the bits of a byte often mean different things and their sum means nothing.

    From uint8, shape (..., bytes), it makes 0 and 1, shape (..., 8 * bytes), the most significant bit of a byte first.
    """
    return np.unpackbits(np.asarray(ram, np.uint8), axis=-1)


# How states are described: the array of the rollout, and a function from its records to numbers.
KEYS: Mapping[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "ram": ("ram", lambda ram: ram.astype(np.float32) / np.float32(255)),
    "ram_bits": ("ram", lambda ram: ram_to_bits(ram).astype(np.float32)),
    "representation": ("representation", lambda units: units.reshape(len(units), -1)),
}
METHODS = ("pca", "pca_tsne", "umap")


def embed_states(
    places: Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    keys: Sequence[str] = ("ram", "representation"),
    methods: Sequence[str] = METHODS,
    max_points: int = 6000,
    seed: int = 0,
) -> dict[str, str]:
    """Places the states of several runs of one game in one plane, similar states near each other.

    Args:
        places: The runs' folders, each with `frozen/` and `rollout.npz`.
        output: The `.npz` to write. For N points in order of runs and steps it has `run` (N,), the index into the runs
            of `about`; `step`, `episode` and `score` (N,) of the record; and `{key}_{method}` (N, 2) float32. `about`
            is JSON: `game`, `runs` with title, algorithm, network, run number, protocol and number of steps, `keys`,
            `methods`, `explained` (share of the variance on each axis of a `{key}_pca`), `left_out` (why a run or a key
            is missing), `stride` (records from one point to the next), `seed`. The same rollouts and arguments give the
            same bytes on the same machine.
        keys: What states are compared by, from `KEYS`. A key that the runs do not have in the same form is left out.
        methods: From `METHODS`: principal components; t-SNE or UMAP of the first 50 of them.
        max_points: Maximum number of points; longer rollouts are thinned with one stride for all runs.
        seed: Seed of t-SNE and UMAP.

    Returns:
        The reason for each run or key that is left out, by its name.

    Raises:
        NeurozooError: A name is unknown, a number is out of range, or nothing can be compared.
    """
    for kind, names, allowed in (("key", keys, KEYS), ("method", methods, METHODS)):
        for name in names:
            if name not in allowed:
                raise unknown_name(kind, name, allowed)
    if not keys or not methods or max_points < 10 or not 0 <= seed < SEEDS:
        raise NeurozooError(
            f"An embedding needs keys, methods, at least 10 points and a seed from 0 to {SEEDS - 1}, but got "
            f"keys {list(keys)}, methods {list(methods)}, {max_points} points and seed {seed}."
        )
    runs, left_out = read_compared_runs(places)
    chosen = spread([run.steps for run in runs], max_points)
    pairs = list(zip(runs, chosen, strict=True))
    if (points := sum(map(len, chosen))) < _FEWEST:
        raise NeurozooError(
            f"An embedding should have at least {_FEWEST} states, but the rollouts have {points}. Record more steps: "
            "rollout.min_steps in the configuration, or --min-steps of python -m neurozoo rollout."
        )
    planes, explained, usable = {}, {}, []
    for key in keys:
        try:
            states = _states(pairs, key)
        except NeurozooError as error:
            left_out[key] = str(error)
            continue
        usable.append(key)
        components, shares = _principal_components(states)
        explained[key] = [round(float(share), 4) for share in shares[:2]]
        for method in methods:
            planes[f"{key}_{method}"] = _project(components, method, seed=seed)
    if not usable:
        raise NeurozooError(" ".join(left_out.values()))
    about = {
        "game": runs[0].frozen.game,
        "runs": [
            {name: getattr(run.frozen, name) for name in ("title", "algo", "model", "run")}
            | {"protocol": run.frozen.protocol.name, "steps": run.steps}
            for run in runs
        ],
        "keys": usable,
        "methods": list(methods),
        "explained": explained,
        "left_out": left_out,
        "stride": next((int(numbers[1]) for numbers in chosen if len(numbers) > 1), 1),  # short runs have one
        "seed": seed,
    }
    arrays = {
        "run": np.repeat(np.arange(len(chosen)), [len(numbers) for numbers in chosen]).astype(np.int32),
        "step": np.concatenate(chosen).astype(np.int32),
        "episode": np.concatenate([run.episode[numbers] for run, numbers in pairs]).astype(np.int32),
        "score": np.concatenate([run.score[numbers] for run, numbers in pairs]),
        **planes,
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }
    with npz_written_whole(output) as npz:
        for name, array in arrays.items():
            npz.write(name, [array], shape=array.shape, dtype=array.dtype)
    return left_out


def _states(pairs: Sequence[tuple[ComparedRun, np.ndarray]], key: str) -> np.ndarray:
    """Returns one row of numbers per point. Raises if the runs' states cannot be compared."""
    array, describe = KEYS[key]
    sizes = {run.title: int(np.prod(run.shape(array))) for run, _ in pairs}
    if without := [title for title, size in sizes.items() if size == 0]:
        raise NeurozooError(f"{key} cannot be compared: {', '.join(without)} played an environment without RAM.")
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{title} has {size}" for title, size in sizes.items())
        raise NeurozooError(f"{key} cannot be compared, because the runs have different numbers of values: {shown}.")
    return describe(np.concatenate([np.stack(list(run.rows(array, numbers))) for run, numbers in pairs]))


def _principal_components(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns each state's first 50 components (or all, if there are fewer), and their shares of the variance."""
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # identical states have no variance
        pca = PCA(min(_COMPONENTS, *states.shape), svd_solver="covariance_eigh")
        components = pca.fit_transform(states.astype(np.float64))
    if components.shape[1] < 2:
        components = np.pad(components, ((0, 0), (0, 1)))
    return components, np.nan_to_num(pca.explained_variance_ratio_)


def _project(components: np.ndarray, method: str, *, seed: int) -> np.ndarray:
    """Returns the points' places in the plane: shape (points, 2), float32."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums over several threads depend on the number of threads
        if method == "pca":
            plane = components[:, :2]
        elif method == "pca_tsne":
            from sklearn.manifold import TSNE

            perplexity = min(_PERPLEXITY, (len(components) - 1) / 3)
            tsne = TSNE(perplexity=perplexity, max_iter=_ITERATIONS, init="pca", random_state=seed, n_jobs=1)
            plane = tsne.fit_transform(components.astype(np.float32))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # UMAP warns about n_jobs=1 and isolated points
                neighbours = min(_NEIGHBOURS, len(components) - 1)
                umap = _umap_class()(n_neighbors=neighbours, min_dist=_DISTANCE, random_state=seed, n_jobs=1)
                plane = umap.fit_transform(components.astype(np.float32))
    return np.ascontiguousarray(plane, np.float32)


def _umap_class() -> type:
    """Imports UMAP without TensorFlow, which one of UMAP's variants would import."""
    hides = "tensorflow" not in sys.modules
    if hides:
        sys.modules["tensorflow"] = None  # type: ignore[assignment]  # typeshed lacks None, which forbids an import
    try:
        with warnings.catch_warnings(), needing("compare", "The method umap"):
            warnings.simplefilter("ignore", ImportWarning)
            from umap import UMAP
    finally:
        if hides:
            with contextlib.suppress(KeyError):
                del sys.modules["tensorflow"]
    return UMAP
