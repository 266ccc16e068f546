"""Joint embeddings: the states that some runs of a game were in, as points of one plane.

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

from neurozoo.comparing.recordings import SEEDS, Recording, read_recordings, spread
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.inspection.streams import npz_written_whole

_COMPONENTS = 50  # that t-SNE and UMAP start from, as in the Atari Zoo
_PERPLEXITY, _ITERATIONS = 30, 1000
_NEIGHBOURS, _DISTANCE = 15, 0.1  # UMAP's own defaults


def ram_to_bits(ram: np.ndarray) -> np.ndarray:
    """Takes bytes apart, since the bits of one often mean different things and their sum means nothing.

    Args:
        ram: Shape (..., bytes), uint8.

    Returns:
        Shape (..., 8 * bytes), uint8 of 0 and 1: the bits of the first byte, the most significant one first, and so on.
    """
    return np.unpackbits(np.asarray(ram, np.uint8), axis=-1)


# What a state is described by: the member of the rollout, and the numbers that are made of its records.
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
    """Puts the states of several runs of one game into one plane, near each other where they are alike.

    Args:
        places: The runs' folders, each with `frozen/` and `rollout.npz`.
        output: The `.npz` to write. Of N points in order of runs and steps it has `run` (N,), the place in `titles`;
            `step`, `episode` and `score` (N,), which record it is, and `{key}_{method}` (N, 2) float32. `about` is
            JSON: `game`, `runs` with title, algorithm, network, protocol, number and rollout, `keys`, `methods`,
            `explained` (share of the variance on each axis of a `{key}_pca`), `left_out` (why a run or a key is
            missing), `stride` (records from one point to the next), `seed`. The same rollouts and arguments give the
            same bytes on the same machine.
        keys: What states are compared by, of `KEYS`. One that not all runs have in the same form is left out.
        methods: Of `METHODS`: principal components; t-SNE or UMAP of the first 50 of them.
        max_points: Of longer rollouts, every so many-th record is taken.
        seed: Of t-SNE and UMAP.

    Returns:
        Why a run or a key is missing, by its name.

    Raises:
        NeurozooError: A name is unknown, or nothing can be compared.
    """
    for kind, names, allowed in (("key", keys, KEYS), ("method", methods, METHODS)):
        for name in names:
            if name not in allowed:
                raise unknown_name(f"{kind} of an embedding", name, allowed)
    if not keys or not methods or max_points < 10 or not 0 <= seed < SEEDS:
        raise NeurozooError(
            f"An embedding has keys, methods, at least 10 points and a seed from 0 to {SEEDS - 1}, but "
            f"keys {list(keys)}, methods {list(methods)}, {max_points} points and seed {seed} came."
        )
    recordings, left_out = read_recordings(places)
    chosen = spread([recording.steps for recording in recordings], max_points)
    planes, explained, usable = {}, {}, []
    for key in keys:
        try:
            states = _states(recordings, chosen, key)
        except NeurozooError as error:
            left_out[key] = str(error)
            continue
        usable.append(key)
        components, shares = _principal_components(states)
        explained[key] = [round(float(share), 4) for share in shares[:2]]
        for method in methods:
            planes[f"{key}_{method}"] = _plane(components, method, seed=seed)
    if not usable:
        raise NeurozooError(" ".join(left_out.values()))
    about = {
        "game": recordings[0].frozen.game,
        "runs": [_description(recording) for recording in recordings],
        "keys": usable,
        "methods": list(methods),
        "explained": explained,
        "left_out": left_out,
        "stride": int(chosen[0][1]) if len(chosen[0]) > 1 else 1,
        "seed": seed,
    }
    arrays = {
        "run": np.repeat(np.arange(len(chosen)), [len(numbers) for numbers in chosen]).astype(np.int32),
        "step": np.concatenate(chosen).astype(np.int32),
        "episode": _gathered(recordings, chosen, "episode").astype(np.int32),
        "score": _gathered(recordings, chosen, "score"),
        **planes,
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }
    with npz_written_whole(output) as npz:
        for name, array in arrays.items():
            npz.write(name, [array], shape=array.shape, dtype=array.dtype)
    return left_out


def _description(recording: Recording) -> dict[str, object]:
    frozen = recording.frozen
    return {
        "title": recording.title,
        "algo": frozen.algo,
        "model": frozen.model,
        "run": frozen.run,
        "protocol": frozen.protocol.name,
        "steps": recording.steps,
    }


def _gathered(recordings: Sequence[Recording], chosen: Sequence[np.ndarray], name: str) -> np.ndarray:
    return np.concatenate(
        [getattr(recording, name)[numbers] for recording, numbers in zip(recordings, chosen, strict=True)]
    )


def _states(recordings: Sequence[Recording], chosen: Sequence[np.ndarray], key: str) -> np.ndarray:
    """Returns one row of numbers per point, or says why these runs have none in common."""
    member, described = KEYS[key]
    sizes = {recording.title: int(np.prod(recording.shape(member))) for recording in recordings}
    if without := [title for title, size in sizes.items() if size == 0]:
        raise NeurozooError(f"{key} cannot be compared: {', '.join(without)} played in a world without RAM.")
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{title} has {size}" for title, size in sizes.items())
        raise NeurozooError(f"{key} cannot be compared, because the numbers of values differ: {shown}.")
    rows = [
        np.stack(list(recording.rows(member, numbers)))
        for recording, numbers in zip(recordings, chosen, strict=True)
    ]  # fmt: skip
    return described(np.concatenate(rows))


def _principal_components(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first 50 components of each state, or as many as there are, and their shares of the variance."""
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # states that never differ have no variance to share out
        pca = PCA(min(_COMPONENTS, *states.shape), svd_solver="covariance_eigh")
        components = pca.fit_transform(states.astype(np.float64))
    if components.shape[1] < 2:
        components = np.pad(components, ((0, 0), (0, 1)))
    return components, np.nan_to_num(pca.explained_variance_ratio_)


def _plane(components: np.ndarray, method: str, *, seed: int) -> np.ndarray:
    """Returns shape (points, 2), float32."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # sums of several threads depend on their number
        if method == "pca":
            plane = components[:, :2]
        elif method == "pca_tsne":
            from sklearn.manifold import TSNE

            perplexity = min(_PERPLEXITY, (len(components) - 1) / 3)
            tsne = TSNE(perplexity=perplexity, max_iter=_ITERATIONS, init="pca", random_state=seed, n_jobs=1)
            plane = tsne.fit_transform(components.astype(np.float32))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about its one thread, and points without neighbours
                neighbours = min(_NEIGHBOURS, len(components) - 1)
                umap = _umap_class()(n_neighbors=neighbours, min_dist=_DISTANCE, random_state=seed, n_jobs=1)
                plane = umap.fit_transform(components.astype(np.float32))
    return np.ascontiguousarray(plane, np.float32)


def _umap_class() -> type:
    """Imports UMAP without the TensorFlow that one of its variants would start."""
    hides = "tensorflow" not in sys.modules
    if hides:
        sys.modules["tensorflow"] = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImportWarning)
            from umap import UMAP
    finally:
        if hides:
            with contextlib.suppress(KeyError):
                del sys.modules["tensorflow"]
    return UMAP
