import base64
import io
import json
import re

import numpy as np
import pytest
from neurozoo.comparison import embed_states, write_embedding_page
from neurozoo.comparison.page import COLUMNS, ROWS, make_sheets, widest
from neurozoo.errors import NeurozooError
from PIL import Image
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait


@pytest.fixture
def runs(run_folder):
    return [run_folder("ga", episodes=(40, 20)), run_folder("es", 2, episodes=(30,), shift=100)]


@pytest.fixture
def page(runs, tmp_path):
    """A page of two runs, with two keys and two methods."""
    embed_states(runs, tmp_path / "e.npz", keys=["ram", "representation"], methods=["pca", "pca_tsne"])
    write_embedding_page(tmp_path / "e.npz", runs, tmp_path / "page.html")
    return tmp_path / "page.html"


def pictures(sheets):
    return [Image.open(io.BytesIO(base64.b64decode(sheet.partition(",")[2]))).convert("RGB") for sheet in sheets]


def test_sheets_hold_the_screens_by_rows():
    shades = np.linspace(0, 255, COLUMNS * ROWS + 5).astype(np.uint8)
    made = make_sheets((np.full((20, 40, 3), shade) for shade in shades), width=8)
    first, second = pictures(made)
    assert first.size == (8 * COLUMNS, 4 * ROWS)
    assert second.size == (8 * COLUMNS, 4)
    for number in (0, 1, COLUMNS, COLUMNS * ROWS - 1):
        place = (number % COLUMNS * 8 + 4, number // COLUMNS * 4 + 2)
        assert first.getpixel(place) == pytest.approx([int(shades[number])] * 3, abs=12)  # WebP loses something
    assert second.getpixel((4 * 8 + 4, 2)) == pytest.approx([255] * 3, abs=12)


def test_pictures_are_as_wide_as_the_page_allows():
    noise = [np.random.default_rng(n).integers(0, 255, (210, 160, 3), dtype=np.uint8) for n in range(4)]
    widths = [widest(noise, count=1000, most_bytes=size) for size in (10**9, 10**7, 10**6, 10)]
    assert widths[0] == 160
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 48
    assert widest([np.zeros((84, 84, 3), np.uint8)], count=1, most_bytes=10**9) == 80  # never wider than the screen


def test_the_page_contains_everything_it_needs(page):
    text = page.read_text()
    own = text.replace(re.search(r"<script>(/\*\*.*?)</script>", text, re.DOTALL)[1], "")
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", own)
    assert "http" not in own.replace("https://", "", own.split("<style>")[0].count("https://"))  # except in the license
    assert "plotly.js v" in text
    assert "Permission is hereby granted" in own  # its license
    assert "{{" not in own.split("<script")[0]
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
    assert [len(run["steps"]) for run in data["runs"]] == [60, 30]
    assert data["runs"][0]["scores"][39:42] == [39, 0, 1]
    assert page.stat().st_size < 6_000_000


def test_other_runs_and_damaged_embeddings_are_named(page, runs, tmp_path):
    with pytest.raises(
        NeurozooError, match=r"was made from ga/pong/small/1 \(60 steps\), es.*should show es/pong/small/2"
    ):
        write_embedding_page(tmp_path / "e.npz", runs[1:], tmp_path / "x.html")
    with pytest.raises(NeurozooError, match="lacks about"):
        write_embedding_page(runs[0] / "rollout.npz", runs, tmp_path / "x.html")
    with pytest.raises(NeurozooError, match="missing"):
        write_embedding_page(tmp_path / "none.npz", runs, tmp_path / "x.html")
    with np.load(tmp_path / "e.npz") as file:
        np.savez(tmp_path / "short.npz", **{**file, "score": file["score"][:5]})
    with pytest.raises(NeurozooError, match="not a complete embedding"):
        write_embedding_page(tmp_path / "short.npz", runs, tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_pointing_shows_the_screen_clicking_plays_and_colours_change(browser, page):
    browser.get(page.as_uri())

    def be_drawn():
        browser.execute_async_script("embeddingPage.ready.then(() => arguments[0]())")

    def state(name):
        return browser.execute_script(f"return embeddingPage.state.{name}")

    def colours():
        return browser.execute_script(
            "return [...document.querySelectorAll('.swatch')].map(swatch => swatch.style.background)"
        )

    def shade():
        """The red and blue in the middle of the picture."""
        return browser.execute_script(
            "const screen = document.getElementById('screen');"
            "const at = [screen.width / 2, screen.height / 2];"
            "const [red, , blue] = screen.getContext('2d').getImageData(...at, 1, 1).data;"
            "return [red, blue]"
        )

    be_drawn()
    wait = WebDriverWait(browser, 20)
    assert "90 states of 2 runs; protocol: uber2018" in browser.find_element(By.ID, "summary").text
    Select(browser.find_element(By.ID, "method")).select_by_value("pca_tsne")
    Select(browser.find_element(By.ID, "key")).select_by_value("representation")
    assert "Units of different networks have nothing in common" in browser.find_element(By.ID, "note").text
    assert len(set(colours())) == 1  # by score
    Select(browser.find_element(By.ID, "colour")).select_by_value("algo")
    assert len(set(colours())) == 2
    Select(browser.find_element(By.ID, "method")).select_by_value("pca")
    be_drawn()
    # A dot of the second run with no other near it.
    x, y, index = browser.execute_script(
        "const dots = run => [...Array(run ? 30 : 60).keys()].map(i => [...embeddingPage.pixelOf(run, i), i, run]);"
        "const at = [...dots(0), ...dots(1)];"
        "const apart = at.filter(a => a[3] && a[2] < 20).map(a => [Math.min(...at.filter(b => b !== a).map(b => "
        "Math.hypot(a[0] - b[0], a[1] - b[1]))), a]); return apart.sort((a, b) => b[0] - a[0])[0][1].slice(0, 3)"
    )
    area = browser.find_element(By.ID, "area")
    offsets = round(x - area.size["width"] / 2), round(y - area.size["height"] / 2)
    ActionChains(browser).move_to_element_with_offset(area, *offsets).perform()
    wait.until(lambda _: (state("run"), state("index")) == (1, index))
    assert f"step {index}, score {index}" in browser.find_element(By.ID, "caption").text
    red = np.linspace(0, 255, 30).astype(int)[index]
    wait.until(lambda _: shade() == pytest.approx([red, 100], abs=12))
    ActionChains(browser).click().perform()
    wait.until(lambda _: state("isPlaying") and state("index") > index)
    wait.until(lambda _: not state("isPlaying") and state("index") == 29)  # to the end, and no further
    browser.find_element(By.TAG_NAME, "body").send_keys("arrow")  # nothing happens
    browser.find_element(By.ID, "back").click()
    assert state("index") == 28
    browser.find_element(By.CSS_SELECTOR, "#runs input").click()
    assert browser.execute_script("return document.getElementById('plot').data.map(trace => trace.visible)") == [
        False,
        True,
    ]
    assert browser.complaints() == []
