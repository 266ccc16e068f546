import re

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.causal_effects import NUMBERS, TEXTS
from neurozoo.feature_visualization.causal_page import write_causal_page
from neurozoo.files.csv import write_csv_rows


def write_table(path, *rows):
    """Writes rows of (kind, name, numbers)."""
    common = {"starts": 20, "episodes": 20, "sticky_probability": 0.25, "steps_change": -3.0}
    cells = [
        [kind, name, "zero", *({**common, **numbers}.get(column, "") for column in NUMBERS)]
        for kind, name, numbers in rows
    ]
    write_csv_rows(path, [*TEXTS, *NUMBERS], cells)


def effect(change, p_corrected, **more):
    ends = {"low": change - 20, "high": change + 20}
    return {"score": 500 + change, "change": change, **ends, "p_value": p_corrected, "p_corrected": p_corrected, **more}


NONE = ("none", "none", {"score": 500.0, "low": 450.0, "high": 550.0})


@pytest.fixture
def page_of(frozen_folder, rollout_file, tmp_path):
    def write(*rows):
        write_table(tmp_path / "causal.csv", *rows)
        output = tmp_path / "causal.html"
        shown = write_causal_page(tmp_path / "causal.csv", frozen_folder("small"), rollout_file("small"), output)
        return shown, output.read_text()

    return write


def test_the_page_names_what_matters_and_shows_what_excites_it(page_of, frozen_folder, rollout_file, tmp_path):
    (tmp_path / "filters").mkdir()
    (tmp_path / "filters" / "synthetic_conv1.png").touch()
    again = {"again": -390.0, "again_low": -420.0, "again_high": -350.0}
    shown, page = page_of(
        NONE,
        ("channel", "conv1 7", effect(-400.0, 0.001, changed_actions=0.25, **again)),
        ("group", "fc 8-15", effect(-100.0, 0.01, again=-50.0, again_low=-80.0, again_high=-20.0, silent=0)),
        ("input", "observation 0", effect(-90.0, 0.04)),
        ("channel", "conv1 2", effect(-80.0, 0.3, starts=10)),
        ("channel", "conv1 3", {"score": 500.0, "change": 0.0, "low": 0.0, "high": 0.0, "silent": 1}),
        ("layer", "conv1, all", effect(-500.0, 0.001)),
        ("named", "<no> ball", effect(10.0, 0.9, starts=10)),
        ("pair", "conv1 7 + conv1 9", effect(-30.0, 0.01, excess=390.0, excess_low=350.0, excess_high=420.0)),
        ("channel", "conv1 9", effect(-20.0, 0.9, again=-90.0, again_low=-95.0, again_high=-80.0)),
        ("pair", "conv1 7 + fc 8-15", effect(-500.0, 0.03, excess=-60.0, excess_low=-90.0, excess_high=-20.0)),
    )
    assert [one.row["name"] for one in shown] == ["conv1 7", "fc 8-15", "observation 0"]
    observations = np.load(rollout_file("small"))["observations"]
    conv1 = open_frozen(frozen_folder("small")).load_keras().get_layer("conv1")
    conv1.activation = None
    values = np.asarray(conv1(observations))[..., 7]
    assert shown[0].excitation.step == values.max((1, 2)).argmax()
    assert shown[0].excitation.value == pytest.approx(values.max(), rel=1e-5)
    assert shown[1].excitation is shown[2].excitation is None
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    for sentence in (
        "conv1 7 has the largest effect in these games: without it the mean score goes from 500 to 100.",
        "Of 6 parts of the network, 3 make a difference",
        "set to zero in turn, while the agent plays 20 games with sticky actions (0.25)",
        "from other starts: -390 [-420, -350] other actions: 25 %; episodes: -3 steps",
        "3. frame 3 before the newest -90",
        "Silent parts 1 never active",
        "Blind agent 0 all of conv1 ablated",
        "conv1 7 + conv1 9 -30 +390 [+350, +420] 0.01 balance each other",
        "conv1 7 + fc 8-15 -500 -60 [-90, -20] 0.03 replace each other",
        "&lt;no&gt; ball zero (10 games) 510",
        "in pairs, from 20 other starts.",
    ):
        assert sentence in text
    assert re.search(r'title="conv1 2: [^"]*, 10 games"', page)
    assert page.count("games)") == page.count(' games"') == 1  # all others played 20
    assert "filters/synthetic_conv1.png" in page
    assert "filters/patches_conv1.png" not in page
    assert "http" not in page  # all in one file


@pytest.mark.parametrize(
    ("singles", "change", "excess", "relation"),
    [
        ((-100, -50), -200, -50, "replace each other"),
        ((-100, -50), -110, 40, "depend on each other"),
        ((-100, -90), -20, 170, "balance each other"),
        ((100, 50), 20, -130, "do not add up"),  # nothing is lost that one could stand in for
        ((100, -50), -20, -70, "do not add up"),
        ((100, 50), 250, 100, "do not add up"),
    ],
)
def test_two_parts_replace_or_need_each_other_only_if_each_is_missed_alone(page_of, singles, change, excess, relation):
    parts = [
        ("channel", f"conv1 {n}", effect(again, 0.3, again=again, again_low=again - 5, again_high=again + 5))
        for n, again in enumerate(singles)
    ]
    ends = {"excess_low": excess - 5, "excess_high": excess + 5}
    _, page = page_of(NONE, *parts, ("pair", "conv1 0 + conv1 1", effect(change, 0.01, excess=excess, **ends)))
    assert f"<td>{relation}</td>" in page
    assert "Silent parts" not in page  # not measured
    assert "Hatched" not in page


def test_the_page_says_that_chance_explains_everything_or_that_games_are_too_few(page_of):
    _, page = page_of(NONE, ("channel", "conv1 1", effect(-10.0, 1.0)))
    assert "None of 1 parts makes a difference" in page
    few = {"starts": 4, "score": 480.0, "change": -20.0}
    _, page = page_of(("none", "none", {"starts": 4, "score": 500.0}), ("channel", "conv1 1", few))
    assert "The 20 starts are only 4 different games, too few for intervals and tests." in page


def test_the_theme_of_the_gallery_holds_here(page_of, tmp_path, browser):
    page_of(NONE, ("channel", "conv1 1", effect(-10.0, 1.0)))
    browser.show_as("light")
    with browser.in_dark_gallery():
        browser.get((tmp_path / "causal.html").as_uri())
        paper = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(18, 19, 20)"


def test_a_table_of_something_else_is_refused(page_of):
    with pytest.raises(NeurozooError, match="should begin with the agent without interventions"):
        page_of(("channel", "conv1 1", effect(-10.0, 1.0)))
