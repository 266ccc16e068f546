from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from neurozoo.environments import games
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import linear_probes
from neurozoo.feature_visualization.erased_actions import ErasedActions
from neurozoo.feature_visualization.linear_probes import Erasures, Folds
from neurozoo.feature_visualization.probes import COLUMNS, measure_probes
from neurozoo.figures.probes import draw_probes


def test_without_a_variable_exactly_the_actions_that_it_decides_change():
    import keras

    # Units: the variable z and another, u, in all combinations. If u is 1, action 2 is chosen, whatever z is; if it is
    # -1, z decides between 0 and 1, and at z = 0, its mean, the action is 0.
    seen = np.tile(np.array([(z, u) for z in (-1, 1) for u in (-1, 1)], np.float32), (10, 1))
    entry = keras.Input((2,))
    hidden = keras.layers.Dense(2, name="fc")(entry)
    out = keras.layers.Dense(3, name="out")(hidden)
    model = keras.Model([entry], [out])
    model.get_layer("fc").set_weights([np.eye(2), np.zeros(2)])
    model.get_layer("out").set_weights([np.array([(0, 1, 0), (0, 0, 10)]), np.array([0, -0.5, -0.1])])
    layers = [SimpleNamespace(name=name, keras_layer=name) for name in ("fc", "out")]
    frozen = SimpleNamespace(layers=layers, step_model=lambda names: model)
    folds = Folds(np.arange(40), np.repeat(np.arange(10), 4), np.repeat(np.arange(10), 4) % 5)
    erasures = Erasures(seen, seen.astype(float), np.array([1e-3, 1e-3]))
    actions = ErasedActions(frozen, "fc", [seen], folds.groups)
    nothing = tuple(np.zeros(2, np.float32) for _ in range(3))
    z, none = actions.changed(erasures.of(0), [nothing] * 10)
    assert z.tolist() == [0.25] * 10  # z = 1 and u = -1
    assert none.tolist() == [0] * 10
    u, _ = actions.changed(erasures.of(1), [nothing] * 10)
    assert u.tolist() == [0.5] * 10  # u = 1
    among = [np.array([False, False, True, False])] * 3 + [np.full(4, False)] * 7
    z, _ = actions.changed(erasures.of(0), [nothing] * 10, among)
    assert z.tolist() == [1] * 3


@pytest.fixture
def measured(frozen_folder, rollout_file, rewritten, tmp_path, monkeypatch):
    """Measures 40 steps of Breakout: as the column of the ball, its memory holds a unit of `fc`; as the row, chance."""
    monkeypatch.setattr(linear_probes, "GAP", 0)  # blocks have two steps
    with np.load(rollout_file("small")) as file:
        units, ram = file["representation"], file["ram"].copy()
    usual = units[4:]  # before, the agent sees black frames
    unit = usual.std(axis=0).argmax()
    ram[:, 99] = np.interp(units[:, unit], (usual[:, unit].min(), usual[:, unit].max()), (0, 255))
    ram[:, 101] = np.random.default_rng(0).integers(0, 256, len(ram))
    rollout = rewritten(rollout_file("small"), tmp_path / "planted.npz", ram=ram)
    options = {"starts": 5, "steps": 3, "replications": 500}
    measure_probes(frozen_folder("small"), rollout, tmp_path / "probes.csv", **options)
    return tmp_path / "probes.csv"


def test_a_table_and_its_picture_say_what_is_known_and_used(measured, tmp_path):
    table = pd.read_csv(measured)
    assert tuple(table) == COLUMNS
    of = table.set_index(["variable", "layer"])
    assert {*table["layer"]} == {"observation", "conv1", "conv2", "fc", "out"}
    assert of.loc[("ball_x", "fc"), "r2"] > 0.5
    assert of.loc[("ball_y", "fc"), "r2"] < 0.3
    assert of.loc[("ball_x", "fc"), "byte"] == 99
    known = of.loc["ball_x"]
    assert known["actions"].between(0, 1).sum() == 3  # of the hidden layers
    assert known["score"].notna().sum() == 1  # of the best of them
    assert known["starts"].max() == 5
    assert known["beaten"].drop("observation").isin(np.arange(6) / 5).all()
    draw_probes(measured, [tmp_path / "probes.png"], agent="ga/breakout/small/1")
    assert (tmp_path / "probes.png").stat().st_size > 10_000


def test_a_game_without_known_variables_is_refused(frozen_folder, rollout_file, tmp_path, monkeypatch):
    monkeypatch.setattr(games, "ram_variables", lambda game: {"ball_x": 99} if game == "pong" else {})
    with pytest.raises(NeurozooError, match=r"No variables of breakout are known .* Known games: pong\."):
        measure_probes(frozen_folder("small"), rollout_file("small"), tmp_path / "probes.csv")


def test_a_damaged_table_is_refused(tmp_path):
    (tmp_path / "probes.csv").write_text("variable\nball_x\n")
    with pytest.raises(NeurozooError, match="is no table of probes"):
        draw_probes(tmp_path / "probes.csv", [tmp_path / "probes.png"], agent="a")
