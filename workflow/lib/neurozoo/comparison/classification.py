"""Who made this state? A small network learns to tell from one observation which algorithm or run it comes from.

If it succeeds, the agents visit different states. Neighbouring records of a rollout are almost the same picture, so a
shuffled split would only test the network's memory. Whole episodes, or stretches of them, are therefore kept for
testing. Where nothing is random, episodes repeat each other: of equal ones a class has the first only, and no picture
of a class is for training if it is for testing, too.

Source: the Atari Zoo's example of state classification (Such et al. 2018, arXiv:1812.07069): convolutions of 16 and 32
filters, 128 dense units, a fifth of the data for testing. There, records were split at random.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotnine as p9
from PIL import Image

from neurozoo.agents.frozen import use_one_thread
from neurozoo.comparison.compared_runs import SEEDS, ComparedRun, algorithms, read_compared_runs, variants
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.figures.style import figure_theme, save_figure
from neurozoo.files import write_json
from neurozoo.files.csv import write_csv_table
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games

BY = ("algo", "model", "run")
SOURCES = ("observations", "frames")
_TEST_SHARE = 0.2
_ENOUGH_EPISODES = 5  # per class; with fewer, episodes are cut into stretches
_STRETCH = 25  # records
_GAP = 5  # records on either side of a test stretch that are left out: an observation holds four screens
_MAX_RECORDS = 2_000  # per class
_EPOCHS, _BATCH = 3, 32
_RECORD_MORE = (
    "Record more episodes or steps: rollout.episodes or rollout.min_steps in the configuration, or --episodes or "
    "--min-steps of python -m neurozoo rollout."
)


@dataclass(frozen=True)
class Classification:
    """How well states can be told apart."""

    accuracy: float  # mean over classes of the share of their test records that were recognised
    # Bootstrap interval of the accuracy over test stretches; NaN where a class has only one stretch.
    interval: tuple[float, float]
    chance: float  # accuracy of guessing: 1 over the number of classes
    classes: tuple[str, ...]
    confusion: np.ndarray  # number of test records by true and predicted class, shape (classes, classes)


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
        facts: The `.json` to write: accuracy with interval, chance, and how the records were split.
        csv: The confusion matrix to write: a row per true and predicted class, with the number of records and their
            share.
        figures: Files for a picture of the matrix; the suffix selects the format.
        by: The class to recognise: `algo`, `model` (network) or `run`. Runs of one algorithm or network with different
            settings are different classes.
        source: What the network sees: `observations`, as the agents saw them, or `frames`, the screens
            in grey, 84 x 84 pixels.
        epochs: Passes over the training records.
        replications: Number of bootstrap resamples.
        confidence: Level of the interval.
        seed: Seed of split, training and bootstrap. The same rollouts, arguments and number of threads give the same
            files.

    Raises:
        NeurozooError: A name is unknown, there are fewer than two classes, a class has too few records, or
            observations are of different kinds.
    """
    for kind, name, allowed in (("class", by, BY), ("source of states", source, SOURCES)):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    if not 0 <= seed < SEEDS:
        raise NeurozooError(f"The seed of a classification should be from 0 to {SEEDS - 1}, but is {seed}.")
    runs, left_out = read_compared_runs(places)
    _check_kinds(runs, source)
    names = _class_names(runs, by)
    classes = tuple(dict.fromkeys(names))
    if len(classes) < 2:
        raise NeurozooError(
            f"There should be at least two classes to tell apart by {by!r}, but all runs are of {classes[0]!r}. "
            f"Choose another class: {', '.join(sorted(set(BY) - {by}))}."
        )
    random = np.random.default_rng(seed)
    labels = [classes.index(name) for name in names]
    whole, repeated = read_records(runs, labels, source)
    split, unit = split_records(whole, random)
    records, seen = choose_records(split)
    steps = [records["step"][records["run"] == number].to_numpy() for number in range(len(runs))]
    pictures = np.stack([
        _picture(row, source) for run, chosen in zip(runs, steps, strict=True) for row in run.rows(source, chosen)
    ])  # fmt: skip
    predictions = _train_and_predict(pictures, records, classes=len(classes), epochs=epochs, seed=seed)
    result = _evaluate(records[records["is_test"]].assign(guess=predictions), classes, replications, confidence, seed)
    low, high = (None if np.isnan(end) else float(end) for end in result.interval)
    record = {
        "game": runs[0].frozen.game,
        "by": by,
        "source": source,
        "protocol": sorted({run.frozen.protocol.name for run in runs}),
        "classes": list(classes),
        "runs": [run.title for run in runs],
        "left_out": left_out,
        "split_by": unit,
        "repeated_episodes_left_out": repeated,
        "training_records_equal_to_a_test_left_out": seen,
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
    table = _confusion_table(result)
    write_csv_table(csv, table, digits=6)
    if figures:
        save_figure(_draw_confusion(table, result, record), figures)
    write_json(facts, record)
    return result


def _class_names(runs: Sequence[ComparedRun], by: str) -> list[str]:
    """Returns the class of each run. Runs of different settings are of different classes, named by what differs."""
    if by == "algo":
        return algorithms(runs)
    if by == "run":
        return [run.title for run in runs]
    models = [run.frozen.model for run in runs]
    return [", ".join(filter(None, pair)) for pair in zip(models, variants(runs), strict=True)]


def _check_kinds(runs: Sequence[ComparedRun], source: str) -> None:
    """Raises if records could be told apart by how they were made, or do not fit into one array."""
    kinds: dict[str, str] = {}
    for run in runs:
        protocol = run.frozen.protocol
        made = f", {protocol.observation or protocol.preprocessing}" if source == "observations" else ""
        kinds.setdefault(" x ".join(map(str, run.shape(source))) + made, run.title)
    if len(kinds) > 1:
        shown = "; ".join(f"{title} has {kind}" for kind, title in kinds.items())
        remedy = "" if source == "frames" else " Classify the screens instead: set source to frames."
        raise NeurozooError(
            f"All {source} should be of one kind, or the network would recognise the kind and not the agent. But "
            f"{shown}.{remedy}"
        )


def read_records(runs: Sequence[ComparedRun], labels: Sequence[int], source: str) -> tuple[pd.DataFrame, int]:
    """Returns a row per record: its `run`, `label`, `step`, `episode`, and `seen`, a hash of what the network sees.

    Of equal episodes of a class only the first is used. The second value is the number of those that are left out.
    """
    tables = []
    for number, (run, label) in enumerate(zip(runs, labels, strict=True)):
        rows = run.rows(source, np.arange(run.steps))
        seen = [hashlib.blake2b(_picture(row, source).tobytes(), digest_size=16).hexdigest() for row in rows]
        about = {"run": number, "label": label, "step": range(run.steps), "episode": run.episode, "seen": seen}
        tables.append(pd.DataFrame(about))
    records = pd.concat(tables, ignore_index=True)
    records["episode"] = records.groupby(["run", "episode"]).ngroup()
    is_repeated = records.groupby("episode").agg({"label": "first", "seen": "".join}).duplicated()
    return records[~records["episode"].map(is_repeated)], int(is_repeated.sum())


def split_records(records: pd.DataFrame, random: np.random.Generator) -> tuple[pd.DataFrame, str]:
    """Chooses a fifth of each class's episodes for testing, or of stretches of episodes if a class has few of them.

    Returns:
        The records with the columns `stretch`, the number of the part that stays together, and `is_test`; and in words
        what such a part is.

    Raises:
        NeurozooError: A class has fewer than two stretches.
    """
    unit, part = "episode", pd.Series(0, records.index)
    if records.groupby("label")["episode"].nunique().min() < _ENOUGH_EPISODES:
        unit, part = f"stretch of {_STRETCH} records", records.groupby("episode").cumcount() // _STRETCH
    records = records.assign(stretch=records.groupby(["episode", part]).ngroup())
    tests = []
    for _, of_class in records.groupby("label"):
        stretches = of_class["stretch"].unique()
        if len(stretches) < 2:
            raise NeurozooError(
                f"Each class should have at least {2 * _STRETCH} different records in its rollouts, but one has "
                f"{len(of_class)}. {_RECORD_MORE}"
            )
        tests.append(random.choice(stretches, max(1, round(_TEST_SHARE * len(stretches))), replace=False))
    return records.assign(is_test=records["stretch"].isin(np.concatenate(tests))), unit


def choose_records(records: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Leaves out what could give away a test: records near one of its episode, and those that equal one of its class.

    Of a class with more than `_MAX_RECORDS`, every second, every third and so on is taken, and at least one of each
    stretch. The second value is the number of training records that are left out because they equal a test.
    """
    is_test, stretch = records["is_test"], records["stretch"]
    in_episode = records.groupby("episode")["is_test"]
    is_near = np.any([in_episode.shift(by, fill_value=False) for by in range(-_GAP, _GAP + 1)], axis=0)
    looks = pd.MultiIndex.from_frame(records[["label", "seen"]])
    is_seen = looks.isin(looks[is_test]) & ~is_test
    is_wanted = is_test | ~is_near
    stride = -(-records.groupby("label")["step"].transform("size") // _MAX_RECORDS)
    is_regular = records["step"] % stride == 0
    left_out = int((is_wanted & is_seen & is_regular).sum())
    is_wanted &= ~is_seen
    is_chosen = is_wanted & is_regular
    lost = records[is_wanted & ~stretch.isin(stretch[is_chosen])]
    is_chosen[lost.groupby("stretch").head(1).index] = True
    chosen = records[is_chosen]
    for part, what in ((~is_test, "training that differ from its tests"), (is_test, "testing")):
        if chosen["label"][part].nunique() < records["label"].nunique():
            raise NeurozooError(f"A class has no records left for {what}. {_RECORD_MORE}")
    return chosen, left_out


def _picture(record: np.ndarray, source: str) -> np.ndarray:
    if source == "observations":
        return record
    grey = Image.fromarray(record).convert("L").resize((84, 84), Image.Resampling.BOX)
    return np.asarray(grey, np.float32)[..., np.newaxis] / np.float32(255)


def _train_and_predict(
    pictures: np.ndarray, records: pd.DataFrame, *, classes: int, epochs: int, seed: int
) -> np.ndarray:
    """Trains the classifier, and returns the classes that it predicts for the test records."""
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


def _evaluate(
    tests: pd.DataFrame, classes: Sequence[str], replications: int, confidence: float, seed: int
) -> Classification:
    """Compares predictions with the truth; `tests` has `label`, `guess` and `stretch`."""
    confusion = np.zeros((len(classes), len(classes)), int)
    np.add.at(confusion, (tests["label"], tests["guess"]), 1)
    # A class's accuracy counts its records; the bootstrap draws whole stretches, each with its hits and size.
    by_class = tests.assign(hit=tests["label"] == tests["guess"]).groupby("label")
    groups = [group.groupby("stretch")["hit"].agg(["sum", "size"]).to_numpy(float).T for _, group in by_class]

    def accuracy(resampled: Sequence[np.ndarray]) -> np.ndarray:
        return mean_over_games(
            [np.atleast_1d(hits.sum(-1) / sizes.sum(-1))[..., np.newaxis] for hits, sizes in resampled]
        )

    intervals = bootstrap_intervals(groups, {"": accuracy}, replications=replications, confidence=confidence, seed=seed)
    low, high = (float(np.ravel(end)[0]) for end in intervals[""])
    shares = confusion.diagonal() / confusion.sum(axis=1)
    return Classification(float(shares.mean()), (low, high), 1 / len(classes), tuple(classes), confusion)


def _confusion_table(result: Classification) -> pd.DataFrame:
    rows = [
        (true, guess, int(result.confusion[i, j]), result.confusion[i, j] / result.confusion[i].sum())
        for i, true in enumerate(result.classes)
        for j, guess in enumerate(result.classes)
    ]
    return pd.DataFrame(rows, columns=["true", "guess", "records", "share"])


def _draw_confusion(table: pd.DataFrame, result: Classification, record: dict) -> p9.ggplot:
    names = list(result.classes)
    table = table.assign(
        true=pd.Categorical(table["true"], names[::-1]),
        guess=pd.Categorical(table["guess"], names),
        words=[f"{share:.0%}\n({records:,})" for share, records in zip(table["share"], table["records"], strict=True)],
        ink=np.where(table["share"] > 0.5, "#FFFFFF", "#222222"),
    )
    low, high = result.interval
    interval = "none, a class has a single test stretch" if np.isnan(low) else f"{low:.0%} to {high:.0%}"
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
                f"guessing would reach {result.chance:.0%}. All classes have the same weight."
            ),
            x="Predicted",
            y="True",
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
