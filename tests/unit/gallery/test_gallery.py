"""The pages in a real browser."""

import contextlib
import functools
import http.server
import re
import shutil
import threading
import time
from collections import Counter
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.gallery.manifest import Collection
from neurozoo.gallery.pages import build_site, write_index
from neurozoo.movies.video import video_written_whole
from neurozoo.movies.wide_frame import SceneLayout

MOVIE = "runs/ga/frostbite/small/1/activation.mp4"
PAGES = ("index.html", "runs/ga/frostbite/small/1.html", "runs/es/pong/small/1.html", "games/frostbite.html")


@pytest.fixture
def visit(browser, site):
    """Opens a page from its file: `visit(path, hash)`; complains about complaints on its console."""

    def go(path="index.html", hash="", *, base=None):
        browser.get("about:blank")  # a change of the hash alone loads nothing
        browser.get(f"{base or site.folder.as_uri()}/{path}{hash}")
        # On a busy machine, Chromium says that it is done while the empty page still stands.
        wait(browser, "location.protocol !== 'about:' && document.readyState === 'complete'")
        return browser

    browser.show_as("light")
    browser.set_window_size(1280, 900)
    browser.complaints()
    yield go
    assert browser.complaints() == []


@pytest.fixture(scope="module")
def server(site):
    """A web server of the results: only there a page may look at the pixels of its movies."""
    with served(site.results) as address:
        yield address


@pytest.fixture(scope="module")
def slow_server(site):
    """A web server behind a slow line: its pages come block by block, and a browser shows what it has so far."""
    with served(site.results, pause=0.1) as address:
        yield address


@contextlib.contextmanager
def served(results, pause=0.0):
    """Serves a folder; with a pause, in seconds, after each of a page's first blocks."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_): ...

        def end_headers(self):
            self.send_header("Cache-Control", "no-store")
            super().end_headers()

        def copyfile(self, source, outputfile):
            if not (pause and self.path.endswith(".html")):
                return super().copyfile(source, outputfile)
            for block in re.split(rb"(?<=</div>)", source.read(), maxsplit=20):
                outputfile.write(block)
                time.sleep(pause)

    handler = functools.partial(Quiet, directory=results)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/site"
        serving.shutdown()


def wait(browser, condition, *, seconds=600):
    """Waits until a JavaScript expression is true."""
    end = time.monotonic() + seconds
    while not (value := browser.execute_script(f"return {condition}")):
        assert time.monotonic() < end, f"not true in {seconds} s: {condition}"
        time.sleep(0.03)
    return value


def shown(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('.card')].filter((c) => c.offsetParent).map((c) => c.dataset.id)"
    )


def press(browser, key, times=1):
    from selenium.webdriver import ActionChains

    actions = ActionChains(browser)
    for _ in range(times):
        actions.send_keys(key)
    actions.perform()


def step_on_screen(browser):
    """Reads the step's number, from 1, off the picture itself, once the player has found it."""
    wait(
        browser, "(() => { const v = document.querySelector('dialog video'); return !v.seeking && v.readyState > 1 })()"
    )
    bits = browser.execute_async_script("""
        const done = arguments[0];
        const video = document.querySelector("dialog video");
        requestAnimationFrame(() => requestAnimationFrame(() => {
          const canvas = Object.assign(document.createElement("canvas"), {width: 550, height: 1000});
          const context = canvas.getContext("2d");
          context.drawImage(video, 0, 0);
          done([0, 1, 2, 3, 4, 5, 6, 7].map((i) => context.getImageData(50 + 16 * i + 8, 588, 1, 1).data[0] > 128));
        }));""")
    return 1 + sum(bit << place for place, bit in enumerate(bits))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_loads_whole_and_stays_where_it_is(browser, visit, slow_server, path, width):
    screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        visit(path, base=slow_server)
        browser.execute_script("for (const image of document.images) image.loading = 'eager'")
        wait(browser, "[...document.images].every((image) => image.complete && image.naturalWidth)")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        shifts = """
            const done = arguments[0], found = [];
            const place = (rect) => [rect.x, rect.y, rect.width, rect.height].map(Math.round).join(" ");
            const told = (entry) => [entry.value, ...entry.sources.map((s) =>
              `${s.node?.className || s.node?.nodeName}: ${place(s.previousRect)} -> ${place(s.currentRect)}`)];
            new PerformanceObserver((list) => found.push(...list.getEntries().map(told)))
              .observe({type: "layout-shift", buffered: true});
            setTimeout(() => done(found), 50);"""
        moved = browser.execute_async_script(shifts)
        assert sum(value for value, *_ in moved) < 0.02, moved
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_filters_show_what_fits_and_can_be_handed_on(visit):
    browser = visit()
    assert len(shown(browser)) == 5
    for name, value in (("game", "frostbite"), ("algo", "ga")):
        browser.find_element("css selector", f"[name={name}][value={value}]").click()
    assert shown(browser) == ["ga/frostbite/small/1", "ga/frostbite/small/2"]
    assert browser.find_element("id", "shown").text == "2 of 5 runs"
    link = browser.current_url
    assert link.endswith("#game=frostbite&algo=ga")
    browser.find_element("css selector", "#filters [type=reset]").click()
    wait(browser, "location.hash === ''")
    assert len(shown(browser)) == 5
    visit(hash=link[link.index("#") :])
    assert shown(browser) == ["ga/frostbite/small/1", "ga/frostbite/small/2"]
    assert browser.execute_script("return document.querySelector('[name=algo][value=ga]').checked")


def test_search_and_order(visit):
    browser = visit(hash="#sort=score")
    assert shown(browser)[:2] == ["ga/frostbite/small/2", "ga/frostbite/small/1"]
    assert shown(browser)[-1] == "es/pong/small/1"  # without a score
    browser.find_element("name", "q").send_keys("pong ES")
    assert shown(browser) == ["es/pong/small/1"]
    browser.find_element("name", "q").send_keys(" no such thing")
    assert browser.find_element("id", "nothing").is_displayed()


def test_a_movie_plays_from_its_card(visit):
    browser = visit()
    browser.find_element("css selector", f"[data-open='{MOVIE}']").click()
    wait(browser, "document.querySelector('dialog').open")  # and plays without another click
    wait(browser, "document.querySelector('dialog video').currentTime > 0.2")
    wait(browser, "Number(document.querySelector('dialog [data-do=step]').value) > 8")
    assert browser.execute_script("return document.querySelector('dialog video').videoWidth") == 550
    browser.find_element("css selector", "dialog [data-do=close]").click()
    wait(browser, "!location.hash.includes('movie')")


def test_a_permalink_restores_filters_movie_step_and_panel(visit, server):
    wanted = f"#game=frostbite&movie={quote(MOVIE, safe='')}&step=42&panel=conv1"
    browser = visit(hash=wanted, base=server)
    assert browser.execute_script("return document.querySelector('dialog').open")
    assert browser.execute_script("return document.querySelector('[name=game][value=frostbite]').checked")
    assert browser.find_element("css selector", "dialog h2").text == "Frostbite, GA, small, run 1"
    pressed = browser.find_element("css selector", "dialog [aria-pressed=true][data-panel]")
    assert pressed.get_attribute("data-panel") == "conv1"
    assert step_on_screen(browser) == 42
    time.sleep(0.3)
    assert browser.current_url.endswith(wanted)


def test_steps_are_exact(visit, server):
    browser = visit(hash=f"#movie={MOVIE}&step=20", base=server)
    assert step_on_screen(browser) == 20
    for key, expected in (
        (".", 21),
        (".", 22),
        (",", 21),
        ("\ue014", 22),
        ("\ue012", 21),
        ("\ue010", 90),
        ("\ue011", 1),
    ):
        press(browser, key)
        assert step_on_screen(browser) == expected, key
    press(browser, ".", times=60)
    assert step_on_screen(browser) == 61
    field = browser.find_element("css selector", "dialog [data-do=step]")
    field.send_keys("\ue009a\ue000", "\ue017")  # all of it away: that is no step to go to
    press(browser, "\ue004")
    assert field.get_attribute("value") == "61"
    field.send_keys("\ue009a\ue000", "77\n")
    assert step_on_screen(browser) == 77
    wait(browser, "location.hash.includes('step=77')")


def test_a_panel_fills_the_stage_and_the_keyboard_chooses_it(visit, site):
    browser = visit(hash=f"#movie={MOVIE}")
    where = """
        const [left, top, width, height] = arguments[0];
        const stage = document.querySelector("dialog .stage").getBoundingClientRect();
        const matrix = new DOMMatrix(getComputedStyle(document.querySelector("dialog .layer")).transform);
        return [matrix.e + matrix.a * left, matrix.f + matrix.a * top, matrix.a * width, matrix.a * height,
                stage.width, stage.height, matrix.a];"""
    (movie,) = next(run for run in site.manifest.runs if run.id == "ga/frostbite/small/1").movies
    whole = browser.execute_script(where, [0, 0, 550, 1000])
    assert whole[5] - 4 < whole[3] <= whole[5]
    label = 30  # pixels above a panel at least, for its label
    for number, panel in enumerate(movie.panels, 1):
        press(browser, str(number))
        wait(browser, "document.getAnimations().length == 0")  # it glides
        left, top, width, height, room, tall, scale = browser.execute_script(where, panel.view)
        assert left >= 0
        assert top >= label
        assert left + width <= room
        assert top + height <= tall
        assert room - width < 30 or tall - label - height < 30
        assert scale > 1
    press(browser, "\ue00c")  # Escape: first the whole picture, then out
    wait(browser, "!location.hash.includes('panel')")
    assert browser.execute_script("return document.querySelector('dialog').open")
    press(browser, "\ue00c")
    wait(browser, "!document.querySelector('dialog').open")


def test_a_tall_panel_is_cut_into_rows_that_lie_side_by_side(visit, results):
    folder = results / "runs/ga/frostbite/small/1"
    (folder / "activation.poster.png").unlink(missing_ok=True)
    layout = SceneLayout(open_frozen(folder / "frozen"), screen_shape=(210, 160, 3))
    place = next(place for place in layout.places if place.name == "conv2")
    left, top, width, height = place.box
    image = np.zeros((layout.height, layout.width, 3), np.uint8)
    rows = np.arange(height) * place.rows // height
    image[top : top + height, left : left + width] = (40 + 10 * rows)[:, None, None]
    with video_written_whole(folder / "activation.mp4", width=layout.width, height=layout.height, fps=60) as write:
        for step in range(20):
            write(image + np.where(image, 2 * step, 0).astype(np.uint8))
    build_site(results, replications=500)
    with served(results) as address:
        browser = visit(hash=f"#movie={quote(MOVIE, safe='')}&step=7&panel=conv2", base=address)
        wait(browser, "document.querySelector('dialog .pieces').width > 0")
        wait(browser, "document.querySelector('dialog video').readyState > 1")
        first_row = """
            const canvas = document.querySelector("dialog .pieces"), { clientWidth, clientHeight } = canvas.parentNode;
            const cut = cutToFit(...arguments[0], clientWidth - 20, clientHeight - 54);
            const tall = cut.scale * arguments[0][1] / arguments[0][2];  // of a row of maps
            const middle = (clientHeight + 34 - cut.per * tall) / 2 + tall / 2;  // of the first one
            return [cut, [...canvas.getContext("2d").getImageData(0, middle, canvas.width, 1).data]];"""
        painted, end = [], time.monotonic() + 600
        for step in (7, 8):
            begins, rows, pixels = None, set(), []
            while begins != rows or pixels in painted:  # until the step is there
                assert time.monotonic() < end, f"step {step}: rows {begins} instead of {rows}"
                time.sleep(0.03)
                cut, pixels = browser.execute_script(first_row, [width, height, place.rows])
                shades = Counter(round((shade - 40 - 2 * (step - 1)) / 10) for shade in pixels[0::4] if shade)
                begins = {shade for shade, _ in shades.most_common(cut["count"])}  # others are at the edges
                rows = {cut["per"] * piece for piece in range(cut["count"])}  # each piece begins with its first row
            painted.append(pixels)
            browser.execute_script("document.querySelector('dialog [data-do=forward]').click()")
        assert cut["count"] > 1
        assert cut["scale"] > 1.5 * 476 / height  # of the same panel in one piece
        assert not browser.find_element("css selector", "dialog .layer").is_displayed()
        press(browser, "0")
        wait(browser, "document.querySelector('dialog .pieces').hidden")


def test_a_run_s_page_has_a_player_of_its_own(visit):
    browser = visit("runs/ga/frostbite/small/1.html", f"#movie={MOVIE}&step=12&panel=fc")
    wait(browser, "document.querySelector('video').readyState > 1")
    assert browser.find_element("css selector", "[data-do=step]").get_attribute("value") == "12"
    press(browser, ".")
    wait(browser, "location.hash.includes('step=13')")
    assert abs(browser.execute_script("return document.querySelector('video').currentTime") - 12.5 / 60) < 1e-4


def test_the_keyboard_reaches_cards_and_shows_where_it_is(visit):
    browser = visit(hash="#algo=es&game=frostbite")
    seen = []
    for _ in range(30):
        press(browser, "\ue004")
        seen.append(browser.execute_script(
            "const [e, next] = [document.activeElement, document.activeElement.nextElementSibling];"
            "return [e.id || e.className || e.name || e.textContent.trim(), "
            "getComputedStyle(e).outlineStyle, next ? getComputedStyle(next).outlineStyle : '']"
        ))  # fmt: skip
        if seen[-1][0] == "Run page":
            break
    names = [name for name, *_ in seen]
    assert names[0] == "skip"
    assert {"brand", "theme", "game", "q", "sort", "Run page"} <= set(names)
    assert all("solid" in outlines or "auto" in outlines for _, *outlines in seen)


def test_light_and_dark_follow_the_system_and_the_switch(visit):
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    browser = visit()
    light = browser.execute_script(f"return {paper}")
    browser.show_as("dark")
    dark = browser.execute_script(f"return {paper}")
    assert light != dark
    button = browser.find_element("id", "theme")
    button.click()
    assert button.text == "Theme: light"
    assert browser.execute_script(f"return {paper}") == light
    visit("games/pong.html")
    assert browser.execute_script(f"return {paper}") == light
    for _ in range(2):
        browser.find_element("id", "theme").click()
    assert browser.execute_script(f"return {paper}") == dark
    assert browser.execute_script("return localStorage.length") == 0


def test_a_movie_that_went_away_is_named_in_the_player(browser, visit, site):
    visit(hash=f"#movie={MOVIE}")
    browser.execute_script("document.querySelector('dialog video').src = 'gone.mp4'")
    wait(browser, "!document.querySelector('dialog .trouble').hidden")
    assert f"{MOVIE} cannot be played here" in browser.find_element("css selector", "dialog .trouble").text
    browser.complaints()


@pytest.fixture(scope="module")
def hundreds(site, tmp_path_factory):
    """The index of three hundred runs, without their own pages."""
    folder = tmp_path_factory.mktemp("hundreds") / "site"
    shutil.copytree(site.folder, folder, ignore=shutil.ignore_patterns("runs", "games", "manifest.json"))
    template = next(run for run in site.manifest.runs if run.id == "ga/frostbite/small/1")
    curve = (tuple(1000.0 * n for n in range(400)), tuple(float(n % 97) for n in range(400)))
    games = [f"game_{number}" for number in range(20)]
    runs = [
        replace(template, game=game, model=model, run=number, curve=curve)
        for game in games
        for model in ("a", "b", "c", "d", "e")
        for number in range(1, 4)
    ]
    collections = {game: Collection(game, (), (), ()) for game in games}
    write_index(replace(site.manifest, runs=tuple(runs), games=collections), folder, files="../")
    return folder


def test_cards_are_drawn_as_they_come_near(hundreds, browser, wait_until):
    browser.get((hundreds / "index.html").as_uri())
    drawn = "return document.querySelectorAll('.card polyline.run').length"
    assert browser.execute_script(drawn) < 200  # the best agent comes first
    browser.execute_script("document.querySelector('.card').scrollIntoView()")
    wait_until(lambda: browser.execute_script(drawn) > 0)
    assert browser.execute_script(drawn) < 200
    browser.execute_script("document.querySelector('.cards').lastElementChild.scrollIntoView()")
    last = "return document.querySelector('.cards').lastElementChild.querySelector('polyline.run') !== null"
    wait_until(lambda: browser.execute_script(last))


def test_a_loop_plays_on_a_card_only_while_the_mouse_is_on_it(visit):
    from selenium.webdriver import ActionChains

    browser = visit()
    screen = browser.find_element("css selector", ".card .screen[data-loop]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", screen)
    assert not browser.find_elements("css selector", ".loop")
    ActionChains(browser).move_to_element(screen).perform()
    wait(browser, "document.querySelectorAll('.loop').length === 1")
    ActionChains(browser).move_to_element(browser.find_element("css selector", "h1")).perform()
    wait(browser, "document.querySelectorAll('.loop').length === 0")


def test_filters_are_folded_away_on_a_phone_only(visit):
    browser = visit()
    assert browser.execute_script("return document.querySelector('.fold').open")
    browser.set_window_size(500, 800)
    wait(browser, "!document.querySelector('.fold').open")


def test_a_panel_that_is_shown_alone_has_its_label_as_text(visit):
    browser = visit("index.html", f"#movie={quote(MOVIE, safe='')}&panel=conv1")
    wait(browser, "document.querySelector('dialog .caption').textContent.startsWith('conv1: 16 maps')")
    browser.execute_script("document.querySelector('dialog .panels button').click()")
    wait(browser, "document.querySelector('dialog .caption').textContent === ''")


# ga/frostbite/small has two runs, with scores 10, 40, 60 and 20, 20, 100 at 100k, 200k and 300k frames.
READ = "document.querySelector('.reader').getAttribute('aria-valuetext')"
BOX = "(document.querySelector('.readout')?.innerText || '').split(/\\s*\\n\\s*/)"


def point_at(browser, share, *, kind="mouse"):
    """Points at the learning curve, `share` of the way from its left to its right edge."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.interaction import POINTER_TOUCH
    from selenium.webdriver.common.actions.pointer_input import PointerInput

    reader = browser.find_element("css selector", ".reader")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", reader)
    aside = round((share - 0.5) * reader.size["width"])
    devices = {"devices": [PointerInput(POINTER_TOUCH, "finger")]} if kind == "touch" else {}
    actions = ActionChains(browser, duration=0, **devices).move_to_element_with_offset(reader, aside, 0)
    (actions.click() if kind == "touch" else actions).perform()


def test_a_learning_curve_tells_its_values_under_the_mouse_until_it_leaves(visit):
    browser = visit("runs/ga/frostbite/small/1.html")
    for share, frames, own, median in ((0.6, "200,000", 40, 30), (0.9, "300,000", 60, 80)):
        point_at(browser, share)
        assert browser.execute_script(f"return {BOX}") == [
            f"{frames} frames", f"{own} run 1", f"{median} median of 2 runs", "65.2 random play",
        ]  # fmt: skip
        # The dot lies on the line. The chart goes from the lowest score to the highest, with 6 % of room.
        dot = browser.find_element("css selector", ".reader .dot.run").value_of_css_property("bottom")
        room = browser.find_element("css selector", ".reader").size["height"]
        low, high = 10 - 0.06 * 90, 100 + 0.06 * 90
        assert float(dot.removesuffix("px")) == pytest.approx(room * (own - low) / (high - low), abs=1)
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element(browser.find_element("tag name", "h1")).perform()
    assert browser.execute_script(f"return {BOX}") == [""]


def test_the_keyboard_reads_a_learning_curve_and_leaves_the_movie_alone(visit):
    browser = visit("runs/ga/frostbite/small/1.html", f"#movie={MOVIE}&step=12")
    browser.execute_script("document.querySelector('.reader').focus()")
    at_end = "300,000 frames: run 1 60; median of 2 runs 80; random play 65.2"
    assert browser.execute_script(f"return {READ}") == at_end
    for key, start in (("\ue012", "200,000 frames: run 1 40"), ("\ue011", "100,000 frames: run 1 10"),
                       ("\ue012", "100,000 frames"), ("\ue00e", "200,000 frames"), ("\ue010", at_end)):  # fmt: skip
        press(browser, key)  # left, Home, left, page up, End
        assert browser.execute_script(f"return {READ}").startswith(start), key
    assert browser.find_element("css selector", "[data-do=step]").get_attribute("value") == "12"
    press(browser, "\ue00c")  # Escape
    assert browser.execute_script(f"return {BOX}") == [""]


def test_a_finger_leaves_the_values_shown_until_it_touches_something_else(visit):
    browser = visit("games/frostbite.html")
    point_at(browser, 0.99, kind="touch")
    frames, median, random = browser.execute_script(f"return {BOX}")
    at = int(frames.removesuffix(" frames").replace(",", ""))
    assert 295_000 < at <= 300_000
    assert float(median.removesuffix(" GA, small")) == pytest.approx(30 + 50 * (at - 200_000) / 100_000, abs=0.01)
    assert random == "65.2 random play"
    browser.find_element("tag name", "h1").click()
    assert browser.execute_script(f"return {BOX}") == [""]
