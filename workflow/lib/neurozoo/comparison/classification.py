"""Who made this state? A small network learns to tell from a single observation which algorithm or run it is from.

If it can, these agents go where others do not. Neighbouring records of a rollout are almost the same picture, so that
a shuffled split would only test the network's memory: whole episodes, or stretches of them, are kept apart instead.

Source: the Atari Zoo's example of state classification (Such et al. 2018, arXiv:1812.07069): convolutions of 16 and 32
filters, 128 dense units, a fifth of the data for testing. There, records were split at random.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotnine as p9

from neurozoo.comparing.recordings import SEEDS, Recording, read_recordings
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import write_json, written_whole
from neurozoo.inspection.frozen import use_one_thread
from neurozoo.plots import check_formats, figure_theme, save_figure
from neurozoo.statistics import bootstrap_intervals, mean_over_games

BY = {
    "algo": lambda recording: recording.frozen.algo,
    "model": lambda recording: recording.frozen.model,
    "run": lambda recording: recording.title,
}
SOURCES = ("observations", "frames")
_TEST_SHARE = 0.2
_ENOUGH_EPISODES = 5  # of each class, to split by whole episodes
_STRETCH = 25  # records of an episode that stay together otherwise
_GAP = 5  # records beside a stretch for testing that nobody sees: an observation holds four screens
_MOST_RECORDS = 2_000  # of a class
_EPOCHS, _BATCH = 3, 32


@dataclass(frozen=True)
class Classification:
    """How well states can be told apart.

    Attributes:
        accuracy: Mean over classes of the share of their test records that were recognised.
        interval: Of the accuracy, by a bootstrap over test stretches; NaN where a class has a single one.
        chance: What guessing would reach: 1 over the number of classes.
        classes: Their names.
        confusion: Test records by true and guessed class, shape (classes, classes).
    """

    accuracy: float
    interval: tuple[float, float]
    chance: float
    classes: tuple[str, ...]
    confusion: np.ndarray


def classify_states(
    places: Sequence[str | os.PathLike],
    *,
    facts: str | os.PathLike,
    csv: str | os.PathLike,
    figures: Sequence[str | os.PathLike] = (),
    by: str = "algo",
    source: str = "observations",
    epochs: int = _EPOCHS,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Classification:
    """Trains a classifier of states, and tests it on episodes, or stretches of episodes, that it has not seen.

    Args:
        places: The runs' folders, each with `frozen/` and `rollout.npz`.
        facts: The `.json` to write: accuracy with interval, chance, and how all was split.
        csv: The confusion matrix to write: a row per true class and guess, with the number of records and their share.
        figures: Files for the matrix as a picture; the suffix says the format.
        by: What is to be recognised: `algo`, `model` (network) or `run`.
        source: What is seen: `observations`, as the agents saw them, or the `frames` of the screen in grey, 84 x 84.
        epochs: How often the training records are gone through.
        replications: Bootstrap resamples.
        confidence: Of the interval.
        seed: Of split, training and bootstrap. The same rollouts, arguments and number of threads give the same files.

    Raises:
        NeurozooError: A name is unknown, there are fewer than two classes, one has too few records, or observations
            are of different kinds.
    """
    for kind, name, allowed in (("class", by, BY), ("source of states", source, SOURCES)):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    if epochs < 1 or replications < 1 or not 0 < confidence < 1:
        raise NeurozooError("There should be epochs and replications, and a confidence between 0 and 1.")
    if not 0 <= seed < SEEDS:
        raise NeurozooError(f"A classification has a seed from 0 to {SEEDS - 1}, but {seed} came.")
    check_formats(figures)
    recordings, left_out = read_recordings(places)
    _check_kinds(recordings, source)
    classes = tuple(dict.fromkeys(BY[by](recording) for recording in recordings))
    if len(classes) < 2:
        raise NeurozooError(
            f"There should be at least two classes to tell apart by {by!r}, but all runs are of {classes[0]}. "
            f"Others: {', '.join(sorted(BY))}."
        )
    random = np.random.default_rng(seed)
    labels = [classes.index(BY[by](recording)) for recording in recordings]
    unit, stretches = _stretches(recordings, labels)
    roles = split_stretches(stretches, random)
    pictures, records = _load(recordings, labels, roles, source)
    guesses = _trained(pictures, records, classes=len(classes), epochs=epochs, seed=seed)
    result = _judged(records[records["is_test"]].assign(guess=guesses), classes, replications, confidence, seed)
    low, high = (None if np.isnan(end) else float(end) for end in result.interval)
    record = {
        "game": recordings[0].frozen.game,
        "by": by,
        "source": source,
        "protocol": sorted({recording.frozen.protocol.name for recording in recordings}),
        "classes": list(classes),
        "runs": [recording.title for recording in recordings],
        "left_out": left_out,
        "split_by": unit,
        "training_records": int((~records["is_test"]).sum()),
        "test_records": int(records["is_test"].sum()),
        "test_stretches": int(records.loc[records["is_test"], "stretch"].nunique()),
        "accuracy": result.accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "confidence": confidence,
        "chance": result.chance,
        "epochs": epochs,
        "seed": seed,
    }
    table = _table(result)
    with written_whole(csv) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n", float_format="%.6g")
    if figures:
        save_figure(_figure(table, result, record), figures)
    write_json(facts, record)
    return result


def _check_kinds(recordings: Sequence[Recording], source: str) -> None:
    """Raises if records could be told apart by how they were made, or cannot be put into one array."""
    kinds = {}
    for recording in recordings:
        protocol = recording.frozen.protocol
        kind = f"{' x '.join(map(str, recording.shape(source)))}"
        if source == "observations":
            kind += f", {protocol.observation or protocol.preprocessing}"
        kinds.setdefault(kind, recording.title)
    if len(kinds) > 1:
        shown = "; ".join(f"{title} has {kind}" for kind, title in kinds.items())
        remedy = "" if source == "frames" else " Classify the screens instead: source frames."
        raise NeurozooError(f"{source} should be of one kind to be told apart by what they show, but {shown}.{remedy}")


def _stretches(recordings: Sequence[Recording], labels: Sequence[int]) -> tuple[str, pd.DataFrame]:
    """Cuts the rollouts into what stays together: episodes if every class has enough of them, else parts of them.

    Returns:
        `episode` or the length of a stretch in words, and rows with `recording`, `label`, `first`, `last` (exclusive).
    """
    rows = []
    for number, (recording, label) in enumerate(zip(recordings, labels, strict=True)):
        ends = np.flatnonzero(np.diff(recording.episode)) + 1
        for first, last in zip([0, *ends], [*ends, recording.steps], strict=True):
            rows.append((number, label, int(first), int(last)))
    episodes = pd.DataFrame(rows, columns=["recording", "label", "first", "last"])
    if episodes.groupby("label").size().min() >= _ENOUGH_EPISODES:
        return "episode", episodes
    parts = [
        (row.recording, row.label, first, min(first + _STRETCH, row.last))
        for row in episodes.itertuples()
        for first in range(row.first, row.last, _STRETCH)
    ]
    return f"stretch of {_STRETCH} records", pd.DataFrame(parts, columns=episodes.columns)


def split_stretches(stretches: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame:
    """Chooses a fifth of each class's stretches for testing.

    Args:
        stretches: Rows with `recording`, `label`, `first`, `last`.
        random: Decides which.

    Returns:
        The rows with `is_test`.

    Raises:
        NeurozooError: A class has fewer than two stretches.
    """
    is_test = np.zeros(len(stretches), bool)
    for _, group in stretches.groupby("label"):
        if len(group) < 2:
            raise NeurozooError(
                f"Each class should have at least {2 * _STRETCH} records in its rollouts, but one has "
                f"{int((group['last'] - group['first']).sum())}. Record more: rollout, with more episodes or steps."
            )
        count = max(1, round(_TEST_SHARE * len(group)))
        is_test[random.choice(group.index.to_numpy(), count, replace=False)] = True
    return stretches.assign(is_test=is_test)


def _load(
    recordings: Sequence[Recording], labels: Sequence[int], roles: pd.DataFrame, source: str
) -> tuple[np.ndarray, pd.DataFrame]:
    """Reads the records that are used.

    Returns:
        Pictures, float32 (records, height, width, channels) in [0, 1], and rows with `label`, `stretch`, `is_test`.
    """
    totals = pd.Series([recording.steps for recording in recordings]).groupby(labels).sum()
    pictures, rows = [], []
    for number, recording in enumerate(recordings):
        of_run = roles[roles["recording"] == number]
        stretch = np.repeat(of_run.index.to_numpy(), of_run["last"] - of_run["first"])
        is_test = np.repeat(of_run["is_test"].to_numpy(), of_run["last"] - of_run["first"])
        wanted = is_test | ~_near_tests(is_test, recording.episode)
        stride = -(-int(totals[labels[number]]) // _MOST_RECORDS)
        wanted &= np.arange(recording.steps) % stride == 0
        chosen = np.flatnonzero(wanted)
        pictures += [_picture(row, source) for row in recording.rows(source, chosen)]
        rows.append(pd.DataFrame({"label": labels[number], "stretch": stretch[chosen], "is_test": is_test[chosen]}))
    records = pd.concat(rows, ignore_index=True)
    if records[~records["is_test"]]["label"].nunique() < len(totals):
        raise NeurozooError(
            "A class has too few records to learn from. Record more: rollout, with more episodes or steps."
        )
    return np.stack(pictures), records


def _near_tests(is_test: np.ndarray, episode: np.ndarray) -> np.ndarray:
    """Marks records less than `_GAP` from one for testing in the same episode."""
    near = is_test.copy()
    for shift in range(1, _GAP + 1):
        same = episode[shift:] == episode[:-shift]
        near[shift:] |= is_test[:-shift] & same
        near[:-shift] |= is_test[shift:] & same
    return near


def _picture(record: np.ndarray, source: str) -> np.ndarray:
    if source == "observations":
        return record.reshape(record.shape if record.ndim == 3 else (1, record.size, 1))
    from PIL import Image

    grey = Image.fromarray(record).convert("L").resize((84, 84), Image.Resampling.BOX)
    return np.asarray(grey, np.float32)[..., np.newaxis] / np.float32(255)


def _trained(pictures: np.ndarray, records: pd.DataFrame, *, classes: int, epochs: int, seed: int) -> np.ndarray:
    """Trains the classifier, and returns what it takes the test records for."""
    use_one_thread()
    import keras

    keras.utils.set_random_seed(seed)
    is_test = records["is_test"].to_numpy()
    labels = records["label"].to_numpy()
    layers = [keras.Input(pictures.shape[1:])]
    for filters in (16, 32):
        layers.append(keras.layers.Conv2D(filters, 3, activation="relu", padding="same"))
        layers.append(keras.layers.MaxPooling2D(2, padding="same"))
    layers += [keras.layers.Flatten(), keras.layers.Dense(128, activation="relu")]
    network = keras.Sequential([*layers, keras.layers.Dense(classes, activation="softmax")])
    network.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    counts = np.bincount(labels[~is_test], minlength=classes)
    weights = {label: len(labels[~is_test]) / classes / count for label, count in enumerate(counts)}
    network.fit(pictures[~is_test], labels[~is_test], batch_size=_BATCH, epochs=epochs, class_weight=weights, verbose=0)
    return network.predict(pictures[is_test], batch_size=_BATCH, verbose=0).argmax(axis=-1)


def _judged(
    tests: pd.DataFrame, classes: Sequence[str], replications: int, confidence: float, seed: int
) -> Classification:
    """Counts what was recognised; `tests` has `label`, `guess` and `stretch`."""
    confusion = np.zeros((len(classes), len(classes)), int)
    np.add.at(confusion, (tests["label"], tests["guess"]), 1)
    # A class's accuracy is that of its records; the bootstrap draws whole stretches, each with its hits and size.
    groups = []
    for _, group in tests.assign(hit=tests["label"] == tests["guess"]).groupby("label"):
        of_stretch = group.groupby("stretch")["hit"].agg(["sum", "size"])
        groups.append(of_stretch.to_numpy(float).T)

    def accuracy(resampled: Sequence[np.ndarray]) -> np.ndarray:
        return mean_over_games(
            [np.atleast_1d(hits.sum(-1) / sizes.sum(-1))[..., np.newaxis] for hits, sizes in resampled]
        )

    interval = bootstrap_intervals(groups, {"": accuracy}, replications=replications, confidence=confidence, seed=seed)[
        ""
    ]
    low, high = (float(np.ravel(end)[0]) for end in interval)
    shares = confusion.diagonal() / confusion.sum(axis=1)
    return Classification(float(shares.mean()), (low, high), 1 / len(classes), tuple(classes), confusion)


def _table(result: Classification) -> pd.DataFrame:
    rows = [
        (true, guess, int(result.confusion[i, j]), result.confusion[i, j] / result.confusion[i].sum())
        for i, true in enumerate(result.classes)
        for j, guess in enumerate(result.classes)
    ]
    return pd.DataFrame(rows, columns=["true", "guess", "records", "share"])


def _figure(table: pd.DataFrame, result: Classification, record: dict) -> p9.ggplot:
    names = list(result.classes)
    table = table.assign(
        true=pd.Categorical(table["true"], names[::-1]),
        guess=pd.Categorical(table["guess"], names),
        words=[f"{share:.0%}\n({records:,})" for share, records in zip(table["share"], table["records"], strict=True)],
        ink=np.where(table["share"] > 0.5, "#FFFFFF", "#222222"),
    )
    low, high = result.interval
    interval = "a single test stretch of a class: no interval" if np.isnan(low) else f"{low:.0%} to {high:.0%}"
    what = {"algo": "algorithm", "model": "network", "run": "run"}[record["by"]]
    longest = max(map(len, names))
    size = (max(6.0, 2.4 + 0.09 * longest + 1.1 * len(names)), 2.6 + 0.75 * len(names))
    return (
        p9.ggplot(table, p9.aes("guess", "true", fill="share"))
        + p9.geom_tile(colour="#FFFFFF")
        + p9.geom_text(p9.aes(label="words", colour="ink"), size=8)
        + p9.scale_colour_identity()
        + p9.scale_fill_gradient(low="#EFF3F8", high="#0B4F8A", limits=(0, 1), guide=None)
        + p9.labs(
            title=f"Which {what} made this state?",
            subtitle=(
                f"Accuracy {result.accuracy:.0%} ({100 * record['confidence']:g} % interval: {interval});\n"
                f"guessing would reach {result.chance:.0%}. All classes weigh the same."
            ),
            x="Taken for",
            y="Truly of",
            caption=(
                f"{record['game'].replace('_', ' ').title()}; protocol: {', '.join(record['protocol'])}; "
                f"{len(record['runs'])} runs;\n{record['test_records']:,} test records in {record['test_stretches']} "
                f"units (split by {record['split_by']}), {record['training_records']:,} for training"
            ),
        )
        + figure_theme(size, has_legend=False)
        + p9.theme(panel_grid_major=p9.element_blank())
        + (p9.theme(axis_text_x=p9.element_text(rotation=30, ha="right")) if longest > 12 else p9.theme())
    )
