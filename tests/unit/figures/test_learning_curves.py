import itertools
import xml.etree.ElementTree
from unittest import mock

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from matplotlib.text import Text
from neurozoo.errors import NeurozooError
from neurozoo.figures import learning_curves as plots
from neurozoo.figures.learning_curves import plot_learning_curves
from neurozoo.records.curves import median_curves


def run_of(frames, scores, *, game="pong", model="large", run=1, algo="ga", protocol="uber2018", settings="5e77"):
    facts = {"settings": settings, "protocol_frame_skip": "4", "evaluation_action_rule": "greedy"}
    identity = {"algo": algo, "game": game, "model": model, "run": run, "protocol": protocol}
    return pd.DataFrame({**facts, **identity, "frames": frames, "score": scores})


def small():
    return pd.concat([run_of([1e6, 2e6, 4e6], [1 + run, 5, 3 * run], run=run) for run in (1, 2)], ignore_index=True)


def test_test_scores_and_own_scores_share_no_curve():
    tested = run_of([1e6, 2e6, 3e6], [20.0, 21.0, 21.0]).assign(test_score=[5.0, 6.0, 7.0])
    other = run_of([1e6, 2e6, 3e6], [20.0, 21.0, 21.0], run=2).assign(test_score=[None, None, 6.0])
    reports, _ = plots._labelled(pd.concat([tested, other], ignore_index=True), "model")
    curves = median_curves(reports, interval="none", confidence=0.95, seed=0)
    assert curves.groupby("curve")["median"].last().to_dict() == {"large": 7.0, "large, own score": 21.0}


def test_every_format_has_the_same_bytes_each_time(tmp_path):
    names = [f"learning_curves.{format}" for format in ("pdf", "svg", "png")]
    for folder in ("a", "b"):
        plot_learning_curves(small(), [tmp_path / folder / name for name in names])
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / names[0]).read_bytes().startswith(b"%PDF")
    assert b"CreationDate" not in (tmp_path / "a" / names[0]).read_bytes()  # whose resolution is a second
    assert (tmp_path / "a" / names[2]).read_bytes().startswith(b"\x89PNG")
    xml.etree.ElementTree.parse(tmp_path / "a" / names[1])


def drawn(table, tmp_path, **settings):
    """Plots and returns the figure that was saved."""
    with mock.patch.object(plots.style, "save_figure", wraps=plots.style.save_figure) as save:
        plot_learning_curves(table, [tmp_path / "figure.png"], **settings)
    assert (tmp_path / "figure.png").stat().st_size > 5_000
    return save.call_args.args[0]


LEVELS = ("geom_hline", "geom_text")  # of random play and a human


def layers(figure):
    names = [type(layer.geom).__name__ for layer in figure.layers]
    return [name for name in names if name not in ("geom_blank", *LEVELS)]


def test_the_figure_has_dashed_best_and_median(tmp_path):
    figure = drawn(small(), tmp_path)
    assert layers(figure) == ["geom_path", "geom_line"]
    assert "median over 2 runs" in figure.labels.subtitle
    caption = " ".join(figure.labels.caption.split())
    own = "Protocol: uber2018. Each report's own score is the mean of an unknown number of episodes."
    assert caption.startswith(own)
    assert "GA: the elite was selected by this score, so it is too high" in caption
    assert layers(drawn(small(), tmp_path, interval="none", best=False)) == ["geom_line"]


def test_each_run_can_be_a_thin_line(tmp_path):
    alone = run_of([1e6, 2e6], [7, 8], model="small")
    longer = run_of([1e6, 8e6], [0, 14], run=3)
    figure = drawn(pd.concat([small(), longer, alone], ignore_index=True), tmp_path, runs=True, best=False)
    assert layers(figure) == ["geom_line", "geom_line"]
    lines = tables(figure)[0]
    assert set(lines["curve"]) == {"large"}  # a single run is its own median
    ends = lines.groupby("one_run")[["frames", "score"]].last()
    assert ends.to_numpy().tolist() == [[4e6, 3], [4e6, 6], [8e6, 14]]  # each to its own end
    assert lines.groupby("one_run")["score"].first().tolist() == [2, 3, 0]
    assert "thin: single runs" in " ".join(figure.labels.subtitle.split())
    dot = run_of([2e6], [5], run=4)
    figure = drawn(pd.concat([small(), dot], ignore_index=True), tmp_path, runs=True, interval="none", best=False)
    assert layers(figure) == ["geom_line", "geom_point", "geom_point", "geom_line"]
    assert tables(figure)[1]["score"].tolist() == [5]  # a run with one report has no line
    figure = drawn(alone, tmp_path, runs=True, best=False)
    assert layers(figure) == ["geom_line"]
    assert "thin" not in figure.labels.subtitle


@pytest.mark.parametrize(
    ("models", "colour_by", "title"),
    [
        (["large"], "model", "Learning curves: GA, large"),
        (["large"], "algo_model", "Learning curves: GA, large"),
        (["large", "small"], "model", "Learning curves: GA"),
        (["large", "small"], "algo_model", "Learning curves"),
    ],
)
def test_the_title_names_what_all_curves_have_in_common(models, colour_by, title):
    table = pd.concat([run_of([1, 2], [1, 2], model=model) for model in models], ignore_index=True)
    reports, kinds = plots._labelled(table, colour_by)
    assert plots._title(kinds, list(dict.fromkeys(reports["curve"]))) == title


def tables(figure):
    """Returns what is drawn in layers with data of their own."""
    named = [layer for layer in figure.layers if type(layer.geom).__name__ not in ("geom_blank", *LEVELS)]
    return [layer.geom.data for layer in named if isinstance(layer.geom.data, pd.DataFrame)]


def references():
    frames = [1e6, 2e6, 3e6, 8e6]
    pong = pd.DataFrame({"game": "pong", "curve": "simple_dqn (train)", "frames": frames, "score": [-99.0, 99, 0, 1]})
    return pd.concat([pong, pong.assign(game="breakout")], ignore_index=True)


def test_published_curves_are_drawn_beside_ours_and_change_none_of_them(tmp_path):
    alone = drawn(small(), tmp_path)
    figure = drawn(small(), tmp_path, references=references())
    assert layers(figure) == ["geom_line", "geom_path", "geom_line"]
    shown, *ours = tables(figure)
    assert shown["panel"].unique().tolist() == ["Pong"]
    assert shown["score"].tolist() == pytest.approx([-99, 99, 0, 0.2])  # to the end of our runs, a fifth of the way
    assert shown["frames"].iloc[-1] == 4e6
    for table, before in zip((*ours, figure.data), (*tables(alone), alone.data), strict=True):
        pd.testing.assert_frame_equal(table, before, check_categorical=False)
    colours = next(scale for scale in figure.scales if "colour" in scale.aesthetics or "color" in scale.aesthetics)
    assert colours.limits == ["large", "simple_dqn (train)"]
    assert "grey: one published run" in " ".join(figure.labels.subtitle.split())
    other = drawn(small(), tmp_path, references=references().query("game == 'breakout'"))
    assert layers(other) == layers(alone)
    assert "grey" not in other.labels.subtitle
    further = drawn(small(), tmp_path, references=references(), reference_frames=1e7)
    assert tables(further)[0]["frames"].max() == 8e6


def test_frames_can_be_drawn_on_a_logarithmic_axis(tmp_path):
    assert not any(isinstance(scale, p9.scale_x_log10) for scale in drawn(small(), tmp_path).scales)
    figure = drawn(small(), tmp_path, frames_axis="log")
    assert any(isinstance(scale, p9.scale_x_log10) for scale in figure.scales)
    assert "geom_blank" not in [type(layer.geom).__name__ for layer in figure.layers]  # that would ask for frame 0


def test_scores_can_be_drawn_over_hours(tmp_path):
    metrics = small().assign(ProcessorTimeTotal=[1800, 3600, 7200] * 2)
    with mock.patch.object(plots, "median_curves", wraps=median_curves) as drawn:
        plot_learning_curves(metrics, [tmp_path / "curves.svg"], over="hours")
    assert drawn.call_args.args[0]["frames"].tolist() == [0.5, 1, 2] * 2
    assert "Processor hours of training and tests" in (tmp_path / "curves.svg").read_text()
    assert "Emulator frames" not in (tmp_path / "curves.svg").read_text()


def test_games_without_an_emulator_have_no_emulator_frames(tmp_path):
    assert drawn(small().assign(game="gym.CartPole-v1"), tmp_path).labels.x == "Frames, one per step"
    games = ({"pong"}, {"river_crossing"}, {"pong", "river_crossing"})
    titles = [plots._axis_title("frames", each) for each in games]
    assert titles == ["Emulator frames", "Frames, one per step", "Frames"]


def test_the_figure_names_the_episodes_behind_its_scores(tmp_path):
    table = small().assign(algo="es", score_episodes=[10] * 3 + [30] * 3)
    caption = " ".join(drawn(table, tmp_path).labels.caption.split())
    # No elite was selected by it.
    assert caption == "Protocol: uber2018. Each report's own score is the mean of 10 to 30 episodes."
    table.loc[0, "score_episodes"] = pd.NA
    assert "10 to 30 episodes, for some an unknown number." in " ".join(drawn(table, tmp_path).labels.caption.split())


def test_one_run_with_one_report_is_a_dot(tmp_path):
    figure = drawn(run_of([1e6], [5.0]), tmp_path, best=False)
    assert layers(figure) == ["geom_point", "geom_line"]
    assert "the only run; no interval is known" in " ".join(figure.labels.subtitle.split())


def curves_of(count):
    names = [f"a name for the settings of number {number}" for number in range(count)]
    return pd.concat([small().assign(settings=name, label=name) for name in names], ignore_index=True)


@pytest.mark.parametrize(("count", "width", "height"), [(1, 3.0, 3.0), (3, 1.65, 1.8), (12, 3.0, 3.0)])
def test_words_and_legend_take_nothing_from_the_panels(count, width, height, tmp_path):
    table = pd.concat([curves_of(count).assign(game=game) for game in ("pong", "skiing")], ignore_index=True)
    page = drawn(table, tmp_path, columns=2, panel_width=width, panel_height=height).draw()
    page.draw_without_rendering()
    panels = [axes.get_position() for axes in page.axes]
    assert len(panels) == 2
    for panel in panels:
        assert height - 0.95 < panel.height * page.get_size_inches()[1] < height  # without its title and its numbers
        assert panel.width * page.get_size_inches()[0] > width - 0.7


def test_more_curves_than_colours_differ_in_their_lines(tmp_path):
    page = drawn(curves_of(12), tmp_path, best=False).draw()
    lines = [line for line in page.axes[0].get_lines() if line.get_color() != "none"]  # but the edges of ribbons
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}
    assert len(looks) == 12
    assert len({colour for colour, _ in looks}) == 7


def test_labels_of_narrow_panels_do_not_touch(tmp_path):
    table = run_of([0.0, 1e6], [1.0, 2.0])
    for axis, shift in (("linear", 0), ("log", 1e4)):
        shifted = table.assign(frames=table["frames"] + shift)
        page = drawn(shifted, tmp_path, panel_width=1.65, panel_height=1.8, frames_axis=axis).draw()
        page.draw_without_rendering()
        boxes = [label.get_window_extent() for label in page.axes[0].get_xticklabels() if label.get_text()]
        assert len(boxes) >= 2
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def words(figure):
    return " ".join(f"{figure.labels.subtitle} {figure.labels.caption}".split())


def test_test_scores_are_drawn_where_there_are_some_and_the_figure_says_which(tmp_path):
    tested = small().assign(test_score=[7.0] * 6, score_episodes=30, test_episodes=200)
    figure = drawn(tested, tmp_path)
    assert figure.data["median"].unique().tolist() == [7]
    assert figure.labels.y == "Test score"
    assert "Each report's test score is the mean of 200 episodes." in words(figure)
    assert "too high" not in words(figure)
    assert drawn(small(), tmp_path).labels.y == "The run's own score"
    untested = small().assign(algo="es", score_episodes=30)
    figure = drawn(pd.concat([tested, untested], ignore_index=True), tmp_path)
    assert figure.labels.y == "Score"
    assert "Each report's own score (large, ES: no curve of tests) is the mean of 30 episodes." in words(figure)


def test_one_test_at_the_end_is_no_curve(tmp_path):
    once = small().assign(test_score=[np.nan, np.nan, 7.0] * 2)
    figure = drawn(once, tmp_path)
    assert figure.labels.y == "The run's own score"
    assert 7 not in figure.data["median"].tolist()
    only = small().groupby("run", as_index=False).last().assign(test_score=7.0)
    assert drawn(only, tmp_path).labels.y == "Test score"


def test_a_report_without_test_leaves_a_gap_in_a_tested_run(tmp_path):
    table = small().astype({"score": "Float64"}).assign(test_score=[np.nan, 2, 2, np.nan, 2, 2])
    assert drawn(table, tmp_path).data["median"].unique().tolist() == [2]


def test_the_end_of_a_long_name_is_seen_and_a_long_legend_makes_the_figure_higher(tmp_path):
    def swept(count):
        powers = [f"0.00{number}" for number in range(1, count + 1)]
        tables = [
            small().assign(settings=power, settings_mutation_power=power, settings_population_size=power[-1] * 3)
            for power in powers
        ]
        return drawn(pd.concat(tables, ignore_index=True), tmp_path, best=False)

    figure = swept(2)
    page = figure.draw()
    names = {text.get_text() for text in page.findobj(Text) if "large, " in text.get_text()}
    assert {" ".join(name.split()) for name in names} == {
        f"large, mutation_power 0.00{number}, population_size {number}{number}{number}" for number in (1, 2)
    }
    assert max(len(line) for name in names for line in name.splitlines()) <= 32  # of 1/15 inch, in 3 inches with a key
    heights = [each.theme.getp("figure_size")[1] for each in (figure, swept(8))]
    assert heights[1] - heights[0] > 6 * 2 * 0.15  # inches, for six more names of two lines


def test_a_band_needs_five_runs(tmp_path):
    def runs(count):
        return pd.concat([run_of([0.0, 1.0], [run, run], run=run) for run in range(count)], ignore_index=True)

    for count, interval, has_band in ((4, "median", False), (5, "median", True), (5, "none", False)):
        figure = drawn(runs(count), tmp_path, interval=interval)
        assert ("geom_ribbon" in layers(figure)) is has_band
        assert ("band: 95 %" in words(figure)) is has_band


def test_curves_that_were_played_differently_are_named_and_the_caption_warns(tmp_path):
    table = pd.concat([small(), small().assign(algo="dqn", evaluation_action_rule="sampled")], ignore_index=True)
    figure = drawn(table, tmp_path)
    names = {"large, GA, uber2018, test action rule greedy", "large, DQN, uber2018, test action rule sampled"}
    assert set(figure.data["curve"]) == names
    assert "here episodes were played differently (test action rule)" in words(figure)


def test_missing_scores_are_left_out(tmp_path):
    table = small().astype({"score": "Float64"})
    table.loc[0, "score"] = pd.NA
    drawn(table, tmp_path)
    table["score"] = pd.NA
    with pytest.raises(NeurozooError, match="contain no score to draw"):
        drawn(table, tmp_path)
