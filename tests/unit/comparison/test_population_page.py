"""The page of populations in behaviour space: its numbers by hand, and in a browser."""

import json
import re

import numpy as np
import pytest
from neurozoo.comparison.population_page import as_sentence, write_population_page
from neurozoo.errors import NeurozooError
from neurozoo.records.population_files import EvaluatedAgent, Population, read_population, write_population
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


def population(generation, points, scores, *, parents=None, **changes):
    count = len(scores)
    return Population(
        **{
            "generation": generation,
            "behaviour": "final_position",
            "game": "hard_maze",
            "algo": "ga",
            "points": np.array(points, np.float32),
            "score": np.array(scores, float),
            "steps": np.arange(count) + 100,
            "index": np.arange(count) * 1000,
            "power": np.full(count, 0.5),
            "parent": np.array(parents or [0] * count, np.int32),
            **changes,
        }
    )


@pytest.fixture
def run(tmp_path):
    """Two generations of three in the hard maze; the second one has two parents."""
    write_population(
        tmp_path,
        population(
            1,
            [(10, 20), (30, 40), (50, 60)],
            [1, 3, 2],
            parents=[-1] * 3,
            power=np.zeros(3),
            tested=EvaluatedAgent([30, 40], 9),
        ),
    )
    write_population(
        tmp_path,
        population(
            2, [(11, 21), (90, 90), (51, 61)], [5, 5, 5], parents=[1, 0, 1], tested=EvaluatedAgent([11, 21], 5.5)
        ),
    )
    # generation, individual, parent's generation and individual, power, fitness, validation, is parent, is elite
    rows = [[1, 2, None, None, None, 2.0, None, True, False], [1, 1, None, None, None, 3.0, 3.0, True, True]]
    later = [[2, 0, 1, 1, 0.5, 5.0, 5.0, True, True]]
    records = [
        {"format": 1, "Iteration": n, "frames": n, "score": 1, "test_score": 1, "Lineage": lineage}
        for n, lineage in ((1, rows), (2, later))
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())[1])


def written(run, **choices):
    page = run / "population.html"
    counts = write_population_page(run, page, **choices)
    return page, counts, data_of(page)


# ---- numbers


def test_each_generation_has_its_cloud_its_parents_by_the_lineage_and_its_tested_agent(run):
    page, counts, data = written(run)
    assert counts == {"generations": 2, "individuals": 6, "every": 1}
    assert as_sentence("p.html", counts) == "p.html: 6 individuals of 2 generations; open it in a browser"
    assert [plane["name"] for plane in data["planes"]] == ["x, y"]
    first, second = data["generations"]
    assert (first["number"], first["planes"]) == (1, [[[10, 30, 50], [20, 40, 60]]])
    assert (first["known"], first["parents"]) == ([], [-1, -1, -1])
    assert first["tested"] == {"planes": [[[30], [40]]], "score": 9}
    # The order of the parents is that of the lineage's rows: first individual 2, then individual 1.
    assert [parent["name"] for parent in second["known"]] == [
        "generation 1, individual 2",
        "generation 1, individual 1",
    ]
    assert [(parent["score"], parent["planes"]) for parent in second["known"]] == [
        (2.0, [[[50], [60]]]),
        (3.0, [[[30], [40]]]),
    ]
    assert second["parents"] == [1, 0, 1]
    assert (second["indices"], second["powers"], second["steps"]) == ([0, 1000, 2000], [0.5] * 3, [100, 101, 102])
    assert len(data["landmarks"]["lines"]) > 4  # the walls of the maze
    assert "http" not in page.read_text().split("<style>")[1].split("<script>")[0]


def test_the_agent_that_is_perturbed_is_the_parent_in_evolution_strategies(tmp_path):
    start = EvaluatedAgent([5, 6], -1.25)
    write_population(tmp_path, population(1, [(1, 2)] * 2, [1, 2], begins_with=start, tested=EvaluatedAgent([7, 8], 3)))
    write_population(tmp_path, population(2, [(1, 2)] * 2, [1, 2], tested=EvaluatedAgent([9, 9], 4)))
    _, _, data = written(tmp_path)
    parents = [generation["known"] for generation in data["generations"]]
    assert [(p["name"], p["score"], p["planes"]) for (p,) in parents] == [
        ("the initial agent", -1.25, [[[5], [6]]]),
        ("the agent after generation 1", 3, [[[7], [8]]]),
    ]


def test_a_parent_whose_generation_is_not_kept_is_named_without_a_place(run):
    (run / "population" / "00001.npz").unlink()
    _, _, data = written(run)
    assert [(parent["name"], parent["planes"]) for parent in data["generations"][0]["known"]] == [
        ("generation 1, individual 2", None),
        ("generation 1, individual 1", None),
    ]


def test_many_numbers_are_shown_by_their_principal_components(tmp_path):
    # Points on a line of slope (3, 4) in two of 128 bytes: the first component is the distance along it.
    along = np.array([-10.0, 0.0, 10.0])
    points = np.full((3, 128), 7.0)
    points[:, 3] += 3 * along
    points[:, 90] += 4 * along
    write_population(tmp_path, population(1, points, [1, 2, 3], behaviour="ram", game="pong", parents=[-1] * 3))
    _, _, data = written(tmp_path)
    assert [plane["name"] for plane in data["planes"]] == ["principal components"]
    assert data["planes"][0]["x"] == "component 1 (100.0% of the variance)"
    ((x, y),) = data["generations"][0]["planes"]
    assert x == pytest.approx([-50, 0, 50], abs=1e-3)
    assert y == pytest.approx([0, 0, 0], abs=1e-3)
    assert data["landmarks"] == {"lines": [], "goal": None}


def test_positions_of_three_numbers_have_a_plane_for_each_pair(tmp_path):
    points = [(1, 2, 0), (3, 4, 1), (5, 7, 3)]
    write_population(tmp_path, population(1, points, [1, 2, 3], game="river_crossing", parents=[-1] * 3))
    _, _, data = written(tmp_path)
    assert [plane["name"] for plane in data["planes"]] == [
        "column, row", "column, level", "row, level", "principal components",
    ]  # fmt: skip
    assert data["generations"][0]["planes"][1] == [[1, 3, 5], [0, 1, 3]]


def test_equal_points_have_no_components_and_do_no_harm(tmp_path):
    write_population(tmp_path, population(1, [(1, 2, 0)] * 3, [4, 4, 4], game="river_crossing", parents=[-1] * 3))
    _, _, data = written(tmp_path)
    assert data["generations"][0]["planes"][3] == [[0, 0, 0], [0, 0, 0]]


def test_generations_are_chosen_and_thinned(run):
    for number in range(3, 8):
        write_population(run, population(number, [(1, 1)] * 3, [1, 2, 3]))
    _, counts, data = written(run, generations=(2, 5))
    assert [generation["number"] for generation in data["generations"]] == [2, 3, 4, 5]
    _, counts, data = written(run, most_points=9)  # of 21
    assert [generation["number"] for generation in data["generations"]] == [1, 4, 7]
    assert counts["every"] == 3
    assert "one generation of 3" in as_sentence("p.html", counts)


def test_what_cannot_be_shown_is_refused(run, tmp_path):
    with pytest.raises(NeurozooError, match="Train a run with record_population: true"):
        write_population_page(tmp_path / "nowhere", tmp_path / "p.html")
    with pytest.raises(NeurozooError, match="has the generations 1 to 2, but 5 to 6 were asked for"):
        write_population_page(run, tmp_path / "p.html", generations=(5, 6))
    write_population(run, population(3, [(1, 1)] * 3, [1, 2, 3], algo="es"))
    with pytest.raises(NeurozooError, match="files of different runs"):
        write_population_page(run, tmp_path / "p.html")
    (run / "population" / "00003.npz").write_bytes(b"PK")
    with pytest.raises(NeurozooError, match=r"00003\.npz is damaged"):
        read_population(run / "population" / "00003.npz")


def test_names_cannot_become_markup(run):
    write_population(run, population(3, [(1, 1)] * 3, [1, 2, 3], algo="</script><b>", game="<i>"))
    page, _, _ = written(run, generations=(3, 3))
    assert "</script><b>" not in page.read_text()
    assert "<i>" not in page.read_text().split("<style>")[0]


# ---- in a browser


def test_the_slider_goes_through_generations_and_a_click_shows_an_individual(browser, run):
    page, _, _ = written(run)
    browser.get(page.as_uri())
    wait = WebDriverWait(browser, 20)

    def be_drawn():
        browser.execute_async_script("populationPage.ready.then(() => arguments[0]())")

    def details():
        return browser.find_element(By.ID, "details").text

    be_drawn()
    assert "6 individuals of 2 generations" in browser.find_element(By.ID, "summary").text
    assert details().startswith("Generation 2\n")  # the last one; all of its scores are equal
    browser.find_element(By.ID, "back").click()
    be_drawn()
    assert details().startswith("Generation 1\n")
    assert "best score\n3" in details()
    browser.find_element(By.ID, "forth").click()
    be_drawn()
    x, y = browser.execute_script("return populationPage.pixelOf(1)")
    cloud = browser.find_element(By.ID, "cloud")
    offsets = round(x - cloud.size["width"] / 2), round(y - cloud.size["height"] / 2)
    ActionChains(browser).move_to_element_with_offset(cloud, *offsets).click().perform()
    wait.until(lambda _: "individual 1" in details())
    text = details()
    assert "Generation 2, individual 1" in text
    assert "score\n5, rank 2 of 3" in text  # of equals, the earlier one is the better
    assert "ended at\nx 90, y 90" in text
    assert "parent\ngeneration 1, individual 2, score 2" in text
    assert "mutation\nnoise 1,000, power 0.5" in text
    for box in ("before", "lines", "scale"):
        browser.find_element(By.ID, box).click()
        be_drawn()
    lines = browser.execute_script(
        "return document.getElementById('cloud').data.find(trace => trace.name === 'lines').x.filter(x => x !== null)"
    )
    assert lines == [30, 11, 50, 90, 30, 51]  # from each parent to its child
    browser.show_as("dark")
    be_drawn()
    browser.show_as("light")
    assert browser.complaints() == []
