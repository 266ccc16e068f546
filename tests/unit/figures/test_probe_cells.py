"""The words of the cells in the table of probes."""

import numpy as np
import pandas as pd
import pytest
from neurozoo.figures.probes import _cells

NAN = float("nan")
# As measured: better than the control, a quarter of the actions change without it, and points are lost.
ROW = {
    "variable": "ball", "layer": "conv", "r2": 0.93, "shuffled_weights": 0.51, "gain_low": 0.3, "gain_high": 0.5,
    "beaten": 1.0, "before": 0.9, "after": 0.01, "actions": 0.25, "actions_noise": 0.04, "actions_excess_low": 0.1,
    "score": -3.5, "score_noise": -0.25, "score_excess_high": -1.0,
}  # fmt: skip


@pytest.fixture
def cells():
    """The cells of a row in the middle layer: `cells(r2=0.2)` returns the label of each panel by its first word."""

    def label(**changes):
        ends = [ROW | {"layer": layer, "score": NAN} for layer in ("observation", "out")]
        table = _cells(pd.DataFrame([ends[0], ROW | changes, ends[1]]))
        own = table[table["layer"].isin(["conv", "score"])]
        return dict(zip([str(panel).split()[0].strip(":") for panel in own["panel"]], own["label"], strict=True))

    return label


def test_what_was_measured_stands_beside_its_control(cells):
    assert cells() == {"Decoded": "0.93*", "Control": "0.51", "Erased": "25 % (4)*", "Score": "−3.5 (−0.25)*"}


@pytest.mark.parametrize(
    ("changes", "star"),
    [
        ({"gain_low": -0.1}, ""),  # the interval has 0
        ({"beaten": 0.8}, ""),  # one of the five is as good
        ({"gain_low": -0.5, "gain_high": -0.3, "beaten": 0.0}, "*"),  # worse than all five
        ({"gain_low": -0.5, "gain_high": -0.3, "beaten": 0.2}, ""),
        ({"gain_low": NAN, "gain_high": NAN, "beaten": NAN}, ""),
    ],
)
def test_a_star_says_that_the_interval_and_all_five_controls_agree(cells, changes, star):
    assert cells(**changes)["Decoded"] == f"0.93{star}"


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({"actions_excess_low": 0.0}, ""),
        ({"after": 0.46}, "*?"),  # a new probe finds more than half of it
        ({"before": 0.05}, "*?"),  # there was nothing to find
        ({"after": NAN}, "*?"),
        ({"actions_excess_low": NAN, "after": NAN}, "?"),
    ],
)
def test_a_question_mark_says_that_it_is_not_shown_to_be_gone(cells, changes, mark):
    assert cells(**changes)["Erased"] == f"25 % (4){mark}"


def test_what_was_not_measured_is_a_dash_and_has_no_colour(cells):
    said = cells(r2=NAN, actions=NAN, score=NAN)
    assert (said["Decoded"], said["Erased"]) == ("–", "–")
    assert "Score" not in said
    table = _cells(pd.DataFrame([ROW | {"layer": "observation", "r2": NAN}, ROW | {"layer": "out"}]))
    assert np.array(table["colour"])[0] == "#f7f7f7"
