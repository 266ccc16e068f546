"""The page on which a modular agent plays, in a real browser, on a desktop and on a phone."""

import re
import shutil
import time

import pytest
from neurozoo.__main__ import main
from neurozoo.agents.checkpoint import Checkpoint, write_checkpoint
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.play.page import write_play_page

from tests.unit.networks.modular_twin import crossing_weights

DESKTOP, PHONE = (1280, 900), (390, 844)
STONE, TRAP, AGENT = 2, 4, 5
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("play")
    protocol = get_protocol("river_fixed", observation="objects")
    agent = Checkpoint(crossing_weights(), "ga", "river_crossing", "modular", 1, protocol, 18)
    write_checkpoint(folder / "checkpoint.npz", agent)
    write_play_page(folder / "checkpoint.npz", folder / "play.html")
    return folder / "play.html"


@pytest.fixture
def visit(browser, page):
    """Opens the page at a size and waits for the agent: `visit(size, hash)`."""

    def go(size=DESKTOP, view="seed=3&width=2&play=0"):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get("about:blank")  # a change of the hash alone loads nothing
        browser.get(f"{page.as_uri()}#{view}")
        wait(browser, "globalThis.page && page.scene.isPlanned")
        return browser

    browser.show_as("light")
    browser.complaints()
    yield go
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.complaints() == []


def wait(browser, condition, *, seconds=600):
    end = time.monotonic() + seconds
    while not (value := browser.execute_script(f"return {condition}")):
        assert time.monotonic() < end, f"not true in {seconds} s: {condition}"
        time.sleep(0.05)
    return value


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def click(browser, what):
    browser.execute_script("arguments[0].click()", browser.find_element("css selector", what))


def facts(browser):
    return browser.execute_script("return page.scene.facts")


def click_cell(browser, view, column, row):
    """Clicks on a cell where it is drawn."""
    from selenium.webdriver import ActionChains

    canvas = browser.find_element("id", view)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    x, y = browser.execute_script(
        """
        const [view, column, row] = arguments, canvas = page[view], size = canvas.width / 20;
        if (view === "map") return [(column + 0.5) * size - canvas.width / 2, (row + 0.5) * size - canvas.height / 2];
        const [x, y] = canvas.tops.find((top) => top[2] === column && top[3] === row);
        return [x - canvas.width / 2, y - canvas.height / 2];
        """,
        view,
        column,
        row,
    )
    ActionChains(browser).move_to_element_with_offset(canvas, round(x), round(y)).click().perform()


@SIZES
def test_the_page_loads_nothing_and_fits_the_width(visit, page, size):
    browser = visit(size)
    width, scrolled = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
    assert width == size[0] >= scrolled
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert not re.search(r"(src|href)=\"?(?!#|data:,)\w", page.read_text())
    assert page.stat().st_size < 120_000


@SIZES
def test_the_agent_crosses_the_river_and_then_a_wider_one(visit, size):
    browser = visit(size, "seed=3&width=2")
    browser.execute_script("document.getElementById('speed').value = 20")
    assert browser.execute_script("return page.isPlaying")
    said = wait(browser, "!document.getElementById('banner').hidden && document.getElementById('banner').textContent")
    assert re.fullmatch(r"Across in \d+ steps", said)
    ends = wait(browser, "page.scene.ends.size > 1 && [...page.scene.ends]")
    assert ends[:2] == [["3/2", True], ["3/3", True]]


@SIZES
def test_buttons_pause_step_and_go_back(visit, size):
    browser = visit(size)
    assert (facts(browser)["age"], facts(browser)["column"]) == (0, 1)
    click(browser, "[data-do=step]")
    click(browser, "[data-do=step]")
    assert facts(browser)["age"] == 2
    click(browser, "[data-do=back]")
    assert facts(browser)["age"] == 1
    click(browser, "[data-do=play]")
    wait(browser, "page.scene.facts.age > 3")
    click(browser, "[data-do=play]")
    age = facts(browser)["age"]
    time.sleep(0.5)
    assert facts(browser)["age"] == age
    click(browser, "[data-do=new]")
    assert facts(browser)["age"] == 0


def test_one_can_see_the_plan_form_cycle_by_cycle(visit):
    browser = visit()
    length = []
    for cycle in (1, 2, 50):
        browser.execute_script("page.showCycle(arguments[0])", cycle)
        length.append(len(browser.execute_script("return page.scene.path")))
    assert length[0] <= length[1] <= length[2]
    assert browser.find_element("id", "cycle-count").text == "cycle 50 of 50"
    click(browser, "[data-do=cycle-back]")
    assert browser.find_element("id", "cycle-count").text == "cycle 49 of 50"
    heights = browser.execute_script("return [...page.scene.heights].filter((height) => height > 0).length")
    browser.execute_script("page.showCycle(1)")
    assert browser.execute_script("return [...page.scene.heights].filter((height) => height > 0).length") < heights


@SIZES
@pytest.mark.parametrize("view", ["map", "relief"])
def test_a_click_changes_the_world_and_the_agent_plans_anew(visit, size, view):
    browser = visit(size)
    column, row = 6, 16
    cell = f"page.scene.cells[{row * 20 + column}]"
    assert browser.execute_script(f"return {cell}") == 0
    before = browser.execute_script("return [...page.scene.heights]")
    click_cell(browser, view, column, row)
    assert browser.execute_script(f"return {cell}") == TRAP
    wait(browser, "page.scene.isPlanned")
    after = browser.execute_script("return [...page.scene.heights]")
    assert after != before
    assert after[row * 20 + column] == -1
    click(browser, f"[data-kind='{AGENT}']")
    click_cell(browser, "map", 3, 17)
    assert (facts(browser)["column"], facts(browser)["row"]) == (3, 17)
    click(browser, "[data-do=back]")
    click(browser, "[data-do=back]")
    assert browser.execute_script(f"return {cell}") == 0


def test_a_world_that_is_over_goes_on_after_a_change(visit):
    browser = visit()
    browser.execute_script("while (!page.scene.facts.isOver) page.step()")
    click_cell(browser, "map", 6, 16)
    assert not facts(browser)["isOver"]
    assert not browser.find_element("id", "banner").is_displayed()


def test_every_step_counts_and_a_change_does_only_until_it_is_taken_back(visit):
    browser = visit()

    def said(name):
        return browser.find_element("id", name).text

    end = "let steps = 0; while (!page.scene.facts.isOver) { page.step(); steps += 1; } return steps"
    length = browser.execute_script(end)
    visit()
    browser.execute_script("for (let i = 0; i < 20; ++i) page.step(); page.edit(0, 0, 2)")
    assert (said("step-count"), facts(browser)["age"]) == ("step 20", 0)
    click(browser, "[data-do=back]")
    assert said("step-count") == "step 20"
    browser.execute_script("page.edit(0, 0, 2)")
    rest = browser.execute_script(end)
    assert (rest, facts(browser)["age"]) == (length - 20, length - 20)
    assert (said("banner"), said("crossed")) == (f"Across in {length} steps", "")
    browser.execute_script("page.edit(0, 0, 0)")  # takes the last step back
    assert said("step-count") == f"step {length - 1}"
    for _ in range(rest):
        click(browser, "[data-do=back]")
    assert said("step-count") == "step 20"
    assert browser.execute_script("return page.scene.cells[0]") == STONE
    click(browser, "[data-do=back]")
    assert browser.execute_script("return page.scene.cells[0]") == 0
    assert browser.execute_script(end) == rest
    assert (said("banner"), said("crossed")) == (f"Across in {length} steps", "1 of 1 worlds crossed")


def test_the_world_after_the_last_seed_is_the_first(visit):
    browser = visit(view="seed=2147483647&width=4&play=0")
    browser.execute_script("while (!page.scene.facts.isOver) page.step(); page.step()")
    address, width = browser.current_url, browser.execute_script("return page.scene.width")
    assert address.endswith(f"#seed=0&width={width}")
    assert (
        browser.find_element("css selector", "[data-width='1']").get_attribute("title") == "A river of 1 column ( 1 )"
    )


def test_keys_do_what_the_buttons_do(visit):
    browser = visit()
    press(browser, "..")
    assert facts(browser)["age"] == 2
    press(browser, ",")
    assert facts(browser)["age"] == 1
    press(browser, "[[[")
    assert browser.execute_script("return page.scene.cycle") == 47
    press(browser, "4")
    assert (facts(browser)["width"], facts(browser)["age"]) == (4, 0)
    press(browser, "s")
    assert browser.execute_script("return page.kind") == STONE
    press(browser, " ")
    assert browser.execute_script("return page.isPlaying")
    press(browser, "k")
    assert not browser.execute_script("return page.isPlaying")
    browser.execute_script("document.getElementById('map').focus()")
    column, row = facts(browser)["column"], facts(browser)["row"]
    press(browser, "\ue014\ue014\ue007")  # right, right, return
    assert browser.execute_script("return page.scene.cells[arguments[0]]", row * 20 + column + 2) == STONE


def test_the_theme_of_the_gallery_holds_here(visit):
    browser = visit()
    paper = "return getComputedStyle(document.documentElement).backgroundColor"
    assert browser.execute_script(paper) == "rgb(245, 244, 240)"
    with browser.in_dark_gallery():
        visit()
        assert browser.execute_script(paper) == "rgb(18, 19, 20)"
        click(browser, "#theme")
        assert browser.execute_script("return localStorage.getItem('neurozoo-theme')") == "light"


@pytest.mark.parametrize("place", [".", "frozen"])
def test_the_command_writes_the_page_beside_the_checkpoint(page, tmp_path, capsys, place):
    shutil.copy(page.with_name("checkpoint.npz"), tmp_path)
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").touch()
    main(["play", str(tmp_path / place), "--browser"])
    assert (tmp_path / "play.html").read_bytes() == page.read_bytes()
    assert capsys.readouterr().out == f"{tmp_path / 'play.html'}: open it in a browser\n"


def test_a_frozen_agent_without_its_checkpoint_has_no_page(tmp_path, capsys):
    (tmp_path / "model.json").touch()
    with pytest.raises(SystemExit):
        main(["play", str(tmp_path), "--browser"])
    said = capsys.readouterr().err
    assert said.endswith("checkpoint.npz is missing, and --browser needs it. Give the folder of a run.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--browser", "--epsilon", "0.5"], "--epsilon cannot be used with --browser, which writes a page and plays"),
        (["--browser", "--sticky-probability", "0"], "--sticky-probability cannot be used with --browser"),
        (["--browser", "--manual"], "--manual cannot be used with --browser"),
        (["--browser", "--games", "3"], "--games cannot be used with --browser"),
        (["--browser", "--seed", "3"], "--seed cannot be used with --browser"),
        (["--browser", "--no-sound"], "--no-sound cannot be used with --browser"),
        (["--cell", "3", "--browser"], "--browser cannot be used with a level, which you play yourself. Leave"),
        (["--cell", "3", "--seed", "3"], "--seed cannot be used with a level"),
    ],
)
def test_options_that_would_change_nothing_are_refused(page, capsys, words, sentence):
    before = page.stat().st_mtime_ns
    with pytest.raises(SystemExit):
        main(["play", str(page.parent), *words])
    assert sentence in capsys.readouterr().err
    assert page.stat().st_mtime_ns == before


def test_agents_that_choose_actions_are_refused(tmp_path, agent):
    write_checkpoint(tmp_path / "checkpoint.npz", agent("small"))
    with pytest.raises(NeurozooError, match=r"breakout/small/1 cannot play in a browser: play\.html is for modular"):
        write_play_page(tmp_path / "checkpoint.npz", tmp_path / "play.html")
    assert not (tmp_path / "play.html").exists()


def test_a_finger_that_scrolls_over_the_landscape_changes_nothing_and_one_that_taps_does(visit):
    browser = visit(PHONE)
    x, y = browser.execute_script(
        """
        const box = document.getElementById("relief").getBoundingClientRect();
        const [x, y] = page.relief.tops.find((top) => top[2] === 6 && top[3] === 16);
        return [box.left + x, box.top + y];
        """
    )

    def touch(kind, *places):
        points = [{"x": x, "y": y} for x, y in places]
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for moved in range(0, 100, 10):
        touch("touchMove", (x, y - moved))
    touch("touchEnd")
    assert not browser.execute_script("return page.scene.isEdited")
    visit(PHONE)
    touch("touchStart", (x, y))
    touch("touchEnd")
    wait(browser, "page.scene.isEdited")
    assert browser.execute_script(f"return page.scene.cells[{16 * 20 + 6}]") == TRAP
