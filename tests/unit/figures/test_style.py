import pandas as pd
import pytest
from neurozoo.figures.style import (
    categorical_colours,
    curve_labels,
    figure_theme,
    number_labels,
    panels_per_row,
    save_figure,
    si_label,
    whole_breaks,
    without_words,
    wrapped,
)
from neurozoo.records.comparability import with_names
from neurozoo.text import number_label


def reports(*, game="pong", model="large", algo="ga", protocol="uber2018", frame_skip="4"):
    names = {"algo": algo, "game": game, "model": model, "protocol": protocol}
    return pd.DataFrame(names | {"settings": "5e77", "protocol_frame_skip": frame_skip}, index=[0])


@pytest.mark.parametrize(
    ("value", "label"),
    [(0, "0"), (250, "250"), (1_000, "1k"), (250_000, "250k"), (1_500_000, "1.5M"), (4e9, "4B"), (2.5e8, "250M")],
)
def test_frames_have_labels_with_si_letters(value, label):
    assert si_label(value) == label


@pytest.mark.parametrize(
    ("value", "label"),
    [(0.38888, "0.389"), (17.84, "17.8"), (-0.5, "-0.5"), (871.6, "872"), (4535.7, "4,536"), (0, "0")],
)
def test_scores_have_three_digits_or_are_whole(value, label):
    assert number_label(value) == label


@pytest.mark.parametrize(
    ("ticks", "labels"),
    [
        ([499.25, 499.5, 499.75, 500.0], ["499.25", "499.50", "499.75", "500.00"]),
        ([0.0, 2.5, 5.0], ["0.0", "2.5", "5.0"]),
        ([-20, -10, -0.0, 10], ["-20", "-10", "0", "10"]),
        ([0.0, 1000.0, 2000.0], ["0", "1,000", "2,000"]),
        ([0.1, 0.2, 0.30000000000000004], ["0.1", "0.2", "0.3"]),
        ([1e-9, 2e-9], ["1e-09", "2e-09"]),
        ([7.25], ["7.25"]),
    ],
)
def test_ticks_of_an_axis_have_equally_many_decimals_and_all_differ(ticks, labels):
    assert number_labels(ticks) == labels


@pytest.mark.parametrize(
    ("limits", "breaks"),
    [((0.6, 2.4), [1, 2]), ((0.5, 1.5), [1]), ((-1.2, 41.3), [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40])],
)
def test_counts_have_whole_numbers_as_breaks(limits, breaks):
    assert whole_breaks(limits) == breaks


@pytest.mark.parametrize(("panels", "in_a_row"), [(1, 1), (4, 4), (5, 3), (6, 3), (7, 4), (9, 3), (57, 4)])
def test_rows_of_panels_are_even(panels, in_a_row):
    assert panels_per_row(panels, most=4) == in_a_row


def test_curves_are_kept_apart_by_everything_that_differs():
    table = pd.concat([reports(), reports(algo="nsra_es", model="recurrent_large")], ignore_index=True)
    table = with_names(table)
    assert curve_labels(table, "model").tolist() == ["large, GA", "recurrent large, NSRA-ES"]
    assert curve_labels(table, "algo_model").tolist() == ["GA, large", "NSRA-ES, recurrent large"]
    assert curve_labels(table[:1], "model").tolist() == ["large"]
    assert curve_labels(table[:1], "algo").tolist() == ["GA"]


def test_protocols_are_named_where_a_game_was_played_under_two_of_them():
    two = pd.concat([reports(), reports(protocol="machado2018", frame_skip="5")], ignore_index=True)
    assert curve_labels(with_names(two), "model").tolist() == ["large, uber2018", "large, machado2018"]
    other_game = two.assign(game=["pong", "hard_maze"])
    assert curve_labels(with_names(other_game), "model").tolist() == ["large", "large"]


@pytest.mark.parametrize("label", ["power $10^{-3$", "$5 to $10"])
def test_a_dollar_in_a_label_is_a_dollar(label, tmp_path):
    import plotnine as p9

    table = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "label": label})
    figure = p9.ggplot(table, p9.aes("x", "y", colour="label")) + p9.geom_line() + p9.labs(title=label)
    save_figure(figure, [tmp_path / "figure.svg", tmp_path / "figure.png"])
    assert (tmp_path / "figure.svg").read_text().count(f"<!-- {label} -->") == 2


def explained_figure():
    import plotnine as p9

    table = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    words = p9.labs(title="Curves", subtitle="Line: median\nover runs.", caption="Protocol: uber2018.")
    return p9.ggplot(table, p9.aes("x", "y")) + p9.geom_line() + words + figure_theme((4, 3), has_legend=False)


def test_words_beside_a_figure_leave_its_pictures(tmp_path):
    inside, beside, words = (tmp_path / name for name in ("inside.svg", "beside.svg", "beside.txt"))
    save_figure(explained_figure(), [inside])
    save_figure(explained_figure(), [beside, words])
    assert words.read_text() == "Curves\n\nLine: median over runs.\n\nProtocol: uber2018.\n"
    for text in ("Curves", "over runs.", "Protocol: uber2018."):
        assert f"<!-- {text} -->" in inside.read_text()
        assert text not in beside.read_text()
    assert "<!-- x -->" in beside.read_text()


@pytest.mark.parametrize("letters", range(8, 30))
def test_words_beside_a_figure_have_no_spaces_at_hyphens(letters):
    text = "NSRA-ES and CMA-ME have no-op starts; runs are pooled."
    assert wrapped(text, letters).replace("\n", " ") == text


def test_panels_keep_their_height_without_the_words():
    def heights(figure):
        drawn = figure.draw()
        drawn.draw_without_rendering()  # places the panels
        whole = drawn.get_size_inches()[1]
        return whole, whole * drawn.axes[0].get_position().height

    (whole, panel), (lower, same) = heights(explained_figure()), heights(without_words(explained_figure())[0])
    assert lower < whole - 0.5
    assert same == pytest.approx(panel, abs=0.08)


def test_more_curves_than_named_colours_still_differ():
    for count in (1, 7, 8, 20):
        assert len(set(categorical_colours(count))) == count
