import base64
import html.parser
import io
import shutil

import numpy as np
import pytest
from neurozoo.__main__ import main
from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.guided import draw_in_colours
from neurozoo.feature_visualization.guided_page import write_guided_page
from PIL import Image


class Pictures(html.parser.HTMLParser):
    """Collects a page's pictures by their alternative text, and every URL in it."""

    def __init__(self):
        super().__init__()
        self.pictures, self.urls = {}, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.urls += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "img":
            data = base64.b64decode(attributes["src"].removeprefix("data:image/png;base64,"))
            self.pictures[attributes["alt"]] = np.asarray(Image.open(io.BytesIO(data)))


@pytest.fixture(scope="module")
def page(frozen_folder, rollout_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "guided.html"
    found = write_guided_page(frozen_folder("small"), rollout_file("small"), path, filters=3)
    return path, found


def test_page_shows_for_each_filter_the_state_with_its_highest_value(page, frozen_folder, rollout_file):
    path, found = page
    shown = Pictures()
    shown.feed(path.read_text())
    assert len(shown.pictures) == 2 * 3 * 2  # layers, filters, pictures
    frozen = open_frozen(frozen_folder("small"))
    weights = frozen.load_keras().get_layer(frozen.layers[0].keras_layer)
    weights.activation = None
    observations = np.load(rollout_file("small"))["observations"]
    values = np.array(weights(observations))  # (steps, rows, columns, filters), before the rectifier
    is_settled = observations.reshape(len(observations), -1, 4).any(axis=1).all(axis=-1)
    assert is_settled.tolist() == [False] * 3 + [True] * 37  # frames before the first are black
    assert values[:3].max() > values[3:].max()  # otherwise the exclusion would not matter
    values[:3] = -np.inf
    for number in range(3):
        step, *place = np.unravel_index(values[..., number].argmax(), values.shape[:3])
        one = found[0].found[number]
        assert (one.step, one.position) == (step, tuple(place))
        assert one.value == pytest.approx(values[step, *place, number], rel=1e-5)
        drawn = shown.pictures[f"conv1, filter {number}: what was seen"]
        np.testing.assert_array_equal(drawn, draw_in_colours(observations[step], frozen.shape))
        box = [slice(max(s, 0), s + 8) for s in found[0].field.corner(*place)]
        outside = np.ones((84, 84), bool)
        outside[tuple(box)] = False
        assert not one.signal[outside].any()


def test_page_needs_nothing_but_itself(page, browser):
    path, _ = page
    shown = Pictures()
    shown.feed(path.read_text())
    assert all(url.startswith("data:image/png;base64,") for url in shown.urls)
    browser.complaints()
    for scheme in ("dark", "light"):
        browser.show_as(scheme)
        browser.get(path.as_uri())
        assert browser.complaints() == []
        sizes = browser.execute_script("return [...document.images].map((i) => [i.naturalWidth, i.naturalHeight])")
        assert sizes == [[84, 84]] * 12
        paper = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
        assert (paper == "rgb(18, 19, 20)") == (scheme == "dark")
    assert browser.execute_script("return document.querySelectorAll('svg').length") == 12
    browser.show_as("light")
    with browser.in_dark_gallery():
        browser.refresh()
        paper = browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(18, 19, 20)"


def test_episode_can_be_played_for_the_page(frozen_folder, tmp_path, capsys, monkeypatch):
    from neurozoo.rollouts import rollout

    played = []

    def short(*arguments, action_noise):
        played.append(action_noise)
        return record(*arguments, action_noise=action_noise, max_steps=5)

    record = rollout.record_rollout
    monkeypatch.setattr(rollout, "record_rollout", short)
    folder = tmp_path / "run"
    shutil.copytree(frozen_folder("small"), folder / "frozen")
    main(["filters", "guided-page", str(folder), "--filters", "1", "--play"])
    assert played == [0.05]
    assert "played 5 steps" in capsys.readouterr().out
    assert [file.name for file in folder.rglob("*.html")] == ["guided.html"]


def test_a_network_of_sections_is_told_what_draws_them(policy_folder, tmp_path):
    with pytest.raises(NeurozooError, match=r"Draw a section \(section1, section2, section3\) instead"):
        write_guided_page(policy_folder("impala_deep"), tmp_path / "none.npz", tmp_path / "page.html")
