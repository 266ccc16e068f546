import xml.etree.ElementTree
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from neurozoo.environments.games import reference_scores
from neurozoo.errors import NeurozooError
from neurozoo.figures import style
from neurozoo.figures.aggregates import plot_aggregates, plot_improvement, plot_performance_profile
from neurozoo.records.improvement import comparison_table
from neurozoo.records.tables import score_table


def runs_of(normalised, *, game="pong", algo="ga", model="large", protocol="uber2018", episodes=30):
    random, human = reference_scores().get(game, (0, 1))
    return pd.DataFrame(
        [
            {"settings": "5e77", "protocol_frame_skip": "5" if protocol == "machado2018" else "4",
             "algo": algo, "game": game, "model": model, "run": run, "protocol": protocol, "frames": 1000, "score": 0.0,
             "test_score": random + value * (human - random), "test_episodes": episodes}
            for run, value in enumerate(normalised, start=1)
        ]
    )  # fmt: skip


def two_agents():
    return pd.concat([runs_of([0.101, 0.301]), runs_of([0.2, 0.5, 0.9], algo="es", episodes=10)], ignore_index=True)


def two_agents_with_enough_runs():
    return pd.concat([runs_of([0.1, 0.2, 0.3, 0.4, 0.6]), runs_of([0.3, 0.4, 0.5, 0.6, 0.9], algo="es")])


def drawn(tmp_path, plot, source, **settings):
    """Plots and returns the figure that was saved."""
    with mock.patch.object(style, "save_figure", wraps=style.save_figure) as save:
        plot(source, [tmp_path / "figure.svg"], **settings)
    xml.etree.ElementTree.parse(tmp_path / "figure.svg")
    return save.call_args.args[0]


def layers(figure):
    names = [type(layer.geom).__name__ for layer in figure.layers]
    return [name for name in names if name != "geom_blank"]


def scores_of(tmp_path, metrics):
    score_table(metrics, tmp_path / "scores.csv", replications=100)
    return tmp_path / "scores.csv"


def comparison_of(tmp_path, metrics):
    comparison_table(metrics, tmp_path / "comparison.csv", replications=100)
    return tmp_path / "comparison.csv"


def test_the_profile_falls_from_all_runs_to_none_at_their_scores(tmp_path):
    figure = drawn(tmp_path, plot_performance_profile, two_agents(), replications=50)
    curve = figure.data[figure.data["agent"].str.startswith("GA")]
    expected = [1.0 if score < 0.101 else 0.5 if score < 0.301 else 0.0 for score in curve["score"]]
    assert curve["share"].tolist() == expected
    assert list(dict.fromkeys(figure.data["agent"])) == ["GA, large (2 runs, 1 game)", "ES, large (3 runs, 1 game)"]
    assert "geom_ribbon" not in layers(figure)
    assert "geom_ribbon" in layers(drawn(tmp_path, plot_performance_profile, two_agents_with_enough_runs()))
    assert "Protocol: uber2018." in figure.labels.caption
    assert "mean of 10 to 30 episodes" in " ".join(figure.labels.caption.split())


def test_names_that_pandas_takes_for_missing_values_are_names(tmp_path):
    metrics = pd.concat(
        [runs_of([0.1, 0.2], model="null").assign(label="None"), runs_of([0.3, 0.4], algo="es").assign(label="NA")],
        ignore_index=True,
    )
    figure = drawn(tmp_path, plot_aggregates, scores_of(tmp_path, metrics))
    assert set(figure.data["agent"]) == {
        "GA, null\nNone\n(2 runs, 1 game)", "ES, large\nNA\n(2 runs, 1 game)"
    }  # fmt: skip


def test_a_single_run_has_no_band_and_the_profile_says_so(tmp_path):
    figure = drawn(tmp_path, plot_performance_profile, runs_of([0.4], episodes=None))
    assert "geom_ribbon" not in layers(figure)
    assert "No band if a game has fewer than five runs" in " ".join(figure.labels.subtitle.split())
    assert "an unknown number of episodes" in " ".join(figure.labels.caption.split())


def test_agents_with_other_games_and_protocols_are_told_apart(tmp_path):
    table = pd.concat([two_agents(), runs_of([1.2], game="breakout", protocol="machado2018")], ignore_index=True)
    figure = drawn(tmp_path, plot_performance_profile, table, replications=50)
    assert "GA, large, machado2018 (1 run, 1 game)" in set(figure.data["agent"])
    assert "Not all agents played the same games" in " ".join(figure.labels.subtitle.split())


def test_games_without_human_scores_stay_out_of_the_profile(tmp_path):
    table = pd.concat([runs_of([0.1, 0.3]), runs_of([5, 6], game="hard_maze", episodes=1)], ignore_index=True)
    figure = drawn(tmp_path, plot_performance_profile, table, replications=50)
    assert set(figure.data["agent"]) == {"GA, large (2 runs, 1 game)"}
    assert "mean of 30 episodes" in " ".join(figure.labels.caption.split())


def test_aggregates_have_a_panel_each_with_the_tables_numbers(tmp_path):
    figure = drawn(tmp_path, plot_aggregates, scores_of(tmp_path, two_agents()))
    points = figure.data.set_index(["panel", "agent"])
    assert len(points) == 8
    row = points.loc["Interquartile mean", "ES, large\n(3 runs, 1 game)"]
    # Of three entries none is dropped: int(3 / 4) = 0.
    assert row["value"] == pytest.approx((0.2 + 0.5 + 0.9) / 3)
    gap = points.loc["Optimality gap (lower is better)", "GA, large\n(2 runs, 1 game)"]
    assert gap["value"] == pytest.approx(0.799)
    assert layers(figure) == ["geom_point"]
    figure = drawn(tmp_path, plot_aggregates, scores_of(tmp_path, two_agents_with_enough_runs()))
    table = pd.read_csv(tmp_path / "scores.csv").set_index(["game", "algo"]).loc["all"]
    row = figure.data.set_index(["panel", "agent"]).loc["Interquartile mean", "ES, large\n(5 runs, 1 game)"]
    ends = table.loc["es", ["human_normalised_iqm_low", "human_normalised_iqm_high"]]
    assert [row["low"], row["high"]] == ends.tolist()
    assert layers(figure) == ["geom_segment", "geom_point"]


def test_improvement_has_a_line_per_pair(tmp_path):
    figure = drawn(tmp_path, plot_improvement, comparison_of(tmp_path, two_agents()))
    (row,) = figure.data.itertuples()
    # 0.101 beats no score, 0.301 beats 0.2: one of six pairs.
    assert row.value == pytest.approx(1 / 6)
    assert row.agent == "GA, large over ES, large\n(2 against 3 runs, 1 game)"
    assert "mean of 10 to 30 episodes" in " ".join(figure.labels.caption.split())


def caption(figure):
    return " ".join(figure.labels.caption.split())


def test_what_could_not_be_compared_is_said_in_the_caption(tmp_path):
    other = runs_of([0.4, 0.5], algo="rs", protocol="machado2018")
    figure = drawn(tmp_path, plot_improvement, comparison_of(tmp_path, pd.concat([two_agents(), other])))
    assert figure.data["agent"].tolist() == ["GA, large over ES, large\n(2 against 3 runs, 1 game)"]
    differently = "Left out in pong: episodes were played differently (frame skip)"
    assert f"{differently}: GA, large and RS, large; ES, large and RS, large." in caption(figure)
    assert "Left out" not in caption(drawn(tmp_path, plot_improvement, comparison_of(tmp_path, two_agents())))


@pytest.mark.parametrize("plot", [plot_performance_profile, plot_aggregates])
def test_settings_and_ways_to_play_are_named_and_the_caption_warns(tmp_path, plot):
    strong = runs_of([0.4, 0.5]).assign(settings="b", settings_power="0.5")
    other = runs_of([0.4, 0.5], algo="rs", protocol="machado2018")
    weak = two_agents().assign(settings_power="0.1")
    metrics = pd.concat([weak, strong.assign(run=strong["run"] + 2), other], ignore_index=True)
    source = metrics if plot is plot_performance_profile else scores_of(tmp_path, metrics)
    figure = drawn(tmp_path, plot, source)
    names = {name.replace("\n", ", ").partition(", (")[0].partition(" (")[0] for name in figure.data["agent"]}
    assert names == {
        "GA, large, power 0.1, uber2018", "GA, large, power 0.5, uber2018", "ES, large, uber2018",
        "RS, large, machado2018",
    }  # fmt: skip
    assert "here episodes were played differently (frame skip)" in caption(figure)


@pytest.mark.parametrize(
    ("plot", "made", "message"),
    [
        (plot_performance_profile, lambda _, metrics: metrics, "human score"),
        (plot_aggregates, scores_of, "human score"),
        (plot_improvement, comparison_of, "the same game"),
    ],
)
def test_where_there_is_nothing_to_draw_the_figure_says_why(tmp_path, plot, made, message):
    figure = drawn(tmp_path, plot, made(tmp_path, runs_of([1, 2], game="hard_maze")))
    assert message in figure.data["message"].item()


@pytest.mark.parametrize("fewest", [2, 5])
@pytest.mark.parametrize(("plot", "made"), [(plot_aggregates, scores_of), (plot_improvement, comparison_of)])
def test_few_runs_of_one_game_are_not_hidden_by_many_of_another(tmp_path, plot, made, fewest):
    agents = [
        runs_of(np.linspace(0.1, 0.2, count), game=game, algo=algo)
        for algo in ("ga", "es")
        for game, count in (("pong", fewest), ("frostbite", 8))
    ]
    figure = drawn(tmp_path, plot, made(tmp_path, pd.concat(agents, ignore_index=True)))
    assert ("fewer than five runs" in " ".join(figure.labels.subtitle.split())) == (fewest < 5)


def test_other_tables_and_formats_are_refused(tmp_path):
    with pytest.raises(NeurozooError, match="is missing"):
        plot_aggregates(tmp_path / "scores.csv", [tmp_path / "a.png"])
    (tmp_path / "scores.csv").write_text("game\nall\n")
    with pytest.raises(NeurozooError, match="it lacks algo, model, human_normalised_iqm"):
        plot_aggregates(tmp_path / "scores.csv", [tmp_path / "a.png"])
    with pytest.raises(NeurozooError, match="No run has a test_score"):
        plot_performance_profile(runs_of([np.nan]), [tmp_path / "a.png"])


def test_the_axes_of_aggregates_contain_zero(tmp_path):
    figure = drawn(tmp_path, plot_aggregates, scores_of(tmp_path, two_agents()))
    (blank,) = [layer for layer in figure.layers if type(layer.geom).__name__ == "geom_blank"]
    assert blank.geom.data["x"].tolist() == [0]
