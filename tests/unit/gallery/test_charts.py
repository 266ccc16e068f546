import numpy as np
import pytest
from neurozoo.gallery.charts import Series, Strip, draw_chart, draw_strip, median_of, thinned


def series(frames, scores, role="run"):
    return Series("run 1", 0, role, np.array(frames, float), np.array(scores, float))


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.points.split()]


def test_a_curve_fills_its_chart_from_zero_frames_to_the_last():
    chart = draw_chart([series([50, 100], [0, 10])], points=60, summary="up")
    # Scores from 0 to 10 with 6 % of room on either side: 0 lies at 0.6 of 11.2 from below.
    (start, low), (end, high) = points(chart.lines[0])
    assert (start, end) == (50, 100)
    assert (100 - low, high) == pytest.approx((100 * 0.6 / 11.2, 100 * 0.6 / 11.2), abs=0.01)
    assert [label for _, label in chart.x_ticks] == ["0", "20", "40", "60", "80", "100"]
    assert [place for place, _ in chart.x_ticks] == pytest.approx([0, 20, 40, 60, 80, 100])
    assert [label for _, label in chart.y_ticks] == ["0", "5", "10"]
    assert chart.summary == "up"


def test_a_single_report_is_a_dot():
    (line,) = draw_chart([series([100], [3])], points=60, summary="").lines
    assert line.is_point
    assert points(line) == [(100, 50), (100, 50)]


def test_a_single_report_after_no_frames_is_a_dot_at_the_start():
    chart = draw_chart([series([0, 0], [5, 5], "level"), series([0], [3])], points=60, summary="")
    assert [point[0] for line in chart.lines for point in points(line)] == [0, 0, 0, 0]
    assert chart.x_ticks == ((0, "0"),)
    assert chart.values()["last"] == 1  # which pages divide by


def test_a_chart_has_the_numbers_behind_its_lines_but_for_faint_ones():
    lines = [series([100], [7], "level"), series([100, 200], [3, 3], "other"), series([50, 100], [1 / 3, 1e9])]
    chart = draw_chart(lines, points=60, summary="")
    assert chart.values()["lines"] == [
        {"label": "run 1", "colour": 0, "role": "run", "frames": [50, 100], "scores": [0.3333333, 1_000_000_000]},
        {"label": "run 1", "colour": 0, "role": "level", "frames": [100], "scores": [7]},
    ]
    assert chart.values()["last"] == 200  # the axis goes to the end of the longest line
    assert chart.values()["limits"] == pytest.approx([1 / 3 - 0.06e9, 1.06e9], rel=1e-6)


def test_the_median_ends_with_the_shortest_run():
    runs = [(np.array([0.0, 100.0]), np.array([0.0, 10.0])), (np.array([0.0, 50.0]), np.array([2.0, 2.0]))]
    frames, scores = median_of(runs, points=3)
    assert frames.tolist() == [0, 25, 50]
    assert scores.tolist() == [1, 2.25, 3.5]


def test_the_median_is_exact_at_reports():
    runs = [(np.array([1.0, 2.0, 10.0]), np.array([0.0, 10.0, 0.0])), (np.array([1.0, 10.0]), np.array([4.0, 4.0]))]
    frames, scores = median_of(runs, points=4)
    assert frames.tolist() == [1, 2, 4, 7, 10]
    assert scores[1] == 7


def test_a_strip_places_scores_between_the_limits():
    strip = draw_strip(Strip(None, None, 50, 100, (0, 100)), (0, 100))
    assert strip == Strip(low=None, high=None, mean=50, own=97, others=(3, 97))
    assert draw_strip(Strip(7, 7, 7, None, (7,)), (7, 7)).mean == 3


@pytest.mark.parametrize("length", [401, 1000, 12_345])
def test_a_long_curve_keeps_its_ends_and_every_peak_and_valley_that_a_drawing_shows(length):
    frames, scores = np.arange(float(length)), np.random.default_rng(0).normal(size=length).cumsum()
    kept_frames, kept = thinned(frames, scores, 400)
    assert len(kept) <= 400
    assert (kept_frames[0], kept_frames[-1]) == (0, length - 1)
    assert (np.diff(kept_frames) > 0).all()
    assert (scores[kept_frames.astype(int)] == kept).all()
    assert (kept.min(), kept.max()) == (scores.min(), scores.max())
