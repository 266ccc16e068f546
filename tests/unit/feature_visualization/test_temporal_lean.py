import numpy as np
import pandas as pd
import pytest
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import temporal_lean as leans
from neurozoo.feature_visualization.temporal_lean import COLUMNS, read_leans, temporal_lean, write_lean
from neurozoo.figures.temporal_lean import ALL_GAMES, mean_leans, plot_temporal_lean
from neurozoo.networks.catalogue import get_network


@pytest.mark.parametrize(("network", "layer"), [("small", "conv1"), ("linear", "out")])
def test_lean_is_the_mean_square_of_each_frame_s_weights_over_the_newest_s(make_frozen, monkeypatch, network, layer):
    def change(arrays):
        weights = arrays[f"{layer}/w"].reshape(-1, 4, arrays[f"{layer}/w"].shape[-1])
        weights[:] = np.array([0, 1, -3, 2])[:, None]

    frozen = make_frozen(get_network(network), ObservationShape(84, 84, 1, 4), change=change)
    monkeypatch.setattr(leans, "open_frozen", lambda folder: frozen)
    table = temporal_lean("nowhere")
    assert table["frame"].tolist() == ["T-3", "T-2", "T-1", "Now"]
    assert table["mean_squared_weight"].tolist() == pytest.approx([0, 1, 9, 4])
    assert table["lean"].tolist() == pytest.approx([0, 0.25, 2.25, 1])
    assert table["layer"].unique() == [layer]


def test_a_network_that_sees_one_frame_has_no_lean_and_spoils_no_figure(make_frozen, monkeypatch, tmp_path):
    single = make_frozen(get_network("small"), ObservationShape(20, 20, 3))
    monkeypatch.setattr(leans, "open_frozen", lambda folder: single)
    assert write_lean("nowhere", tmp_path / "none.csv").empty
    several = make_frozen(get_network("small"), ObservationShape(84, 84, 1, 4))
    monkeypatch.setattr(leans, "open_frozen", lambda folder: several)
    written = write_lean("nowhere", tmp_path / "some.csv")
    both = read_leans([tmp_path / "none.csv", tmp_path / "some.csv"])
    assert both["lean"].tolist() == pytest.approx(written["lean"].tolist())
    with pytest.raises(NeurozooError, match="no temporal lean to draw"):
        plot_temporal_lean(read_leans([tmp_path / "none.csv"]), [tmp_path / "x.png"])


def of_runs(algo, game, values):
    return [
        dict(zip(COLUMNS, (algo, game, "small", run, "uber2018", "conv1", f"T-{back}", back, 1.0, lean), strict=True))
        for run, leans_of_run in enumerate(values, 1)
        for back, lean in zip((1, 0), leans_of_run, strict=True)
    ]


def test_leans_are_averaged_over_runs_with_an_interval(tmp_path):
    table = pd.DataFrame(of_runs("ga", "pong", [(0.1 * n, 1) for n in range(4, 9)]) + of_runs("es", "pong", [(0.9, 1)]))
    means = mean_leans(table.assign(curve=table["algo"]), confidence=0.95, seed=0)
    rows = {(row.curve, row.frame): row for row in means.itertuples()}
    assert rows["ga", "T-1"].lean == pytest.approx(0.6)
    assert 0.4 < rows["ga", "T-1"].low < 0.55
    assert 0.65 < rows["ga", "T-1"].high < 0.8
    assert rows["ga", "Now"].lean == 1
    assert np.isnan(rows["es", "T-1"].low)
    assert len(means) == 4
    plot_temporal_lean(table, [tmp_path / "lean.svg"])
    assert "Temporal lean" in (tmp_path / "lean.svg").read_text()


def test_every_game_weighs_the_same_in_the_mean_over_games():
    runs = [(0.5, 1)] * 3 + [(0.75, 1)] * 2
    table = pd.DataFrame(of_runs("ga", "pong", runs) + of_runs("ga", "boxing", [(1.0, 1)] * 6))
    means = mean_leans(table.assign(curve="ga"), confidence=0.95, seed=0)
    over_games = means[means["game"] == ALL_GAMES]
    assert over_games["lean"].tolist() == pytest.approx([(0.6 + 1) / 2, 1])
    assert over_games["runs"].tolist() == [11, 11]
    low = over_games["low"].tolist()
    assert (0.5 + 1) / 2 <= low[0] < (0.6 + 1) / 2
    assert low[1] == 1


def test_a_file_that_is_not_a_lean_table_is_refused(tmp_path):
    (tmp_path / "lean.csv").write_text("a,b\n1,2\n")
    with pytest.raises(NeurozooError, match=r"lean\.csv is damaged or not such a table"):
        read_leans([tmp_path / "lean.csv"])
    with pytest.raises(NeurozooError, match="is missing"):
        read_leans([tmp_path / "nothing.csv"])
