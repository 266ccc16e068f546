import contextlib
import hashlib
import html
import itertools
import json
import os
import re
import shutil
import zipfile
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.gallery.pages import build_site, bundle_site
from rocrate.rocrate import ROCrate

RUN = "runs/ga/frostbite/small/1"
EVIL = "<img src=x onerror='document.title=1'>\"&'"


class Links(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, page):
        super().__init__()
        self.page, self.found, self.tags, self.without_text = page, [], [], []
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.found += [attributes[name] for name in ("href", "src", "poster", "data-loop") if name in attributes]
        if tag == "img" and not attributes.get("alt"):
            self.without_text.append(attributes)

    def broken(self):
        paths = [link.partition("#")[0] for link in self.found if not link.startswith(("data:", "#"))]
        return [path for path in paths if path and not (self.page.parent / unquote(path)).exists()]


def pages_of(folder):
    return [Links(path) for path in sorted(folder.rglob("*.html"))]


def test_every_link_leads_somewhere_and_none_into_the_network(site):
    for page in pages_of(site.folder):
        assert page.broken() == []
        assert page.without_text == []
        assert not [link for link in page.found if re.match(r"(https?:)?//", link)]
    for path in (*site.folder.glob("*.css"), *site.folder.glob("*.js"), *site.folder.rglob("*.html")):
        assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text()) == []


def card_of(folder, run):
    """The HTML of a card on the index, with what the script adds to it."""
    card = (folder / "index.html").read_text().partition(f'data-id="{run}"')[2].partition('class="card"')[0]
    drawn = json.loads((folder / "cards.js").read_text().removeprefix("const CARDS = ").rstrip(";\n"))[run]
    return card + drawn["curve"] + drawn["likes"]


def test_a_card_says_runs_episodes_and_protocol(site):
    card = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", card_of(site.folder, "ga/frostbite/small/2")))
    assert "mean of 10 test episodes" in card
    assert "Last tests of 2 runs: 80" in card
    assert "[" not in card.partition("Last tests")[2].partition(".")[0]
    assert "uber2018" in card


def words(path):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", path.read_text())))


def test_five_runs_have_an_interval_and_two_have_none(results, site):
    for number in (3, 4, 5):
        shutil.copytree(results / RUN, results / "runs/ga/frostbite/small" / str(number))
    build_site(results, replications=100)
    for folder, count, has_interval in ((results / "site", 5, True), (site.folder, 2, False)):
        shown = words(folder / f"{RUN}.html").partition(f"Last tests of {count} runs")[2][:60]
        assert ("95 % interval" in shown) is has_interval, shown


def test_every_score_says_which_one_it_is(site):
    run = words(site.folder / f"{RUN}.html")
    assert " Test score 60 " in run
    assert "Test score over 300k frames in 3 reports: from 10 to 60, at most 60." in run
    training = words(site.folder / "runs/es/pong/small/1.html")
    assert "The run's own score over 2k frames in 2 reports: from -19 to -18" in training
    game = words(site.folder / "games" / "pong.html")
    assert "ES, small, own score at -18" in game
    assert " Test score " in words(site.folder / "index.html").partition("Scores over runs")[2]


def test_scores_that_must_not_be_compared_are_named(results, add_run):
    def facts(epsilon):
        protocol = {"name": "uber2018", "sticky_probability": 0.0}
        evaluation = {"action_rule": "greedy", "epsilon": epsilon}
        return {
            "settings_record": {},
            "protocol_record": protocol,
            "evaluation_record": evaluation,
        }

    for algo, epsilon in (("rs", 0), ("dqn", 0.05)):
        add_run(results, f"{algo}/breakout/small/1", [1.0, 2.0], recorded=facts(epsilon))
    build_site(results, replications=100)
    text = words(results / "site" / "games" / "breakout.html")
    assert "here episodes were played differently (test epsilon)." in text
    assert "RS, small, uber2018, test epsilon 0 at 2" in text


def test_learners_that_no_experiment_plans_are_called_by_what_they_recorded(results, add_run):
    ways = {"small/1": ("vtrace", "none"), "small/2": ("ppo", "none"), "large/1": ("ppo", "learning")}
    for run, (objective, proximal_policy) in ways.items():
        record = {"objective": objective, "proximal_policy": proximal_policy}
        recorded = {"settings_record": record}
        add_run(results, f"impala/breakout/{run}", [1.0, 2.0], recorded=recorded)
    build_site(results, replications=100)
    table = words(results / "site" / "games" / "breakout.html")
    for name in ("IMPALA small objective vtrace", "PPO small 2 one run", "decoupled PPO large 2 one run"):
        assert name in table
    index = (results / "site" / "index.html").read_text()
    for chip in ("impala", "ppo", "decoupled-ppo"):
        assert f'name="algo" value="{chip}"' in index
        assert f'data-algo="{chip}"' in index


def test_searches_and_agents_of_one_game_have_charts_of_their_own(results, add_run):
    add_run(results, "impala/mario/small/1", [1.0, 2.0])
    folder = add_run(results, "cma_me/mario/plain/1", [3.0])
    head = "algo,game,model,run,protocol,evaluations,score,test_score,test_episodes"
    rows = [f"cma_me,mario,plain,1,uber2018,{count},{score},," for count, score in ((100, 5.0), (200, 9.0))]
    (folder / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
    build_site(results, replications=100)
    text = words(results / "site" / "games" / "mario.html")
    assert "Score over evaluations of 1 run; medians end with CMA-ME, plain at 9." in text
    assert "Test score over frames of 1 run; medians end with IMPALA, small at 2." in text


def test_more_kinds_than_colours_have_other_dashes(results, add_run):
    for number in range(16):
        add_run(results, f"ga/breakout/net{number}/1", [1.0, 2.0])
    build_site(results, replications=100)
    page = (results / "site" / "games" / "breakout.html").read_text()
    classes = re.findall(r'<li class="(c\d+)">', page.partition('class="legend"')[2].partition("</ul>")[0])
    style = (results / "site" / "style.css").read_text()
    looks = {
        (re.search(rf"\.{name} {{ --colour: var\((--c\d)\)", style)[1],
         (re.search(rf"[( ]\.{name}[,)][^}}]*--dash: ([\d ]+);", style) or ["", "solid"])[1])
        for name in classes
    }  # fmt: skip
    assert len(looks) == 16


def test_a_card_keeps_its_evaluation_apart_from_the_tests_over_runs(results):
    episodes = {"protocol": {"name": "uber2018"}, "episodes": [{"score": 1000.0}, {"score": 3000.0}]}
    (results / RUN / "evaluation.json").write_text(json.dumps(episodes))
    build_site(results, replications=100)
    card = card_of(results / "site", "ga/frostbite/small/1")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", card))
    assert "2,000" in text
    assert "mean of 2 evaluation episodes" in text
    assert "Last tests of 2 runs: 80" in text
    # The line goes from the lowest test score of the game, 30, to the highest, 100; this run's is 60.
    assert re.search(r'class="dot own" style="left:([0-9.]+)%"', card).group(1) == f"{3 + 94 * 30 / 70:.2f}"


def test_names_from_files_cannot_become_markup(results):
    folder = results / "runs" / "ga" / "frostbite" / EVIL.replace("/", "") / "1"
    shutil.copytree(results / RUN, folder)
    config = folder / "config.yaml"
    config.write_text(config.read_text() + f"note: {EVIL!r}\n</script><b>: 1\n")
    shutil.copy(folder / "activation.mp4", folder / "<b>bold</b>.mp4".replace("/", ""))
    build_site(results, replications=100)
    tags = {tag for page in pages_of(results / "site") for tag in page.tags}
    plain = {tag for page in pages_of(results / "site") if EVIL[:4] not in page.page.as_posix() for tag in page.tags}
    assert "b" not in tags
    for page in pages_of(results / "site"):
        text = page.page.read_text()
        assert page.broken() == []
        assert "<img src=x" not in text
        assert "onerror='" not in text
        assert text.count("</script>") == text.count("<script")
    assert tags == plain


def test_a_name_that_is_not_utf_8_is_left_out_and_named(results):
    runs, run = os.fsencode(results / "runs"), os.fsencode(results / RUN)
    shutil.copy(run + b"/lineage.png", run + b"/gr\xfc\xdfe.png")
    shutil.copytree(runs + b"/es", runs + b"/\xff")
    manifest = build_site(results, replications=100)
    named = {entry.path for entry in manifest.missing if "not UTF-8" in entry.reason}
    assert f"{RUN}/gr\\xfc\\xdfe.png" in named
    assert "runs/\\xff/frostbite/virtual_bn/1" in named
    assert [run.id for run in manifest.runs if "frostbite" in run.id] == [
        "es/frostbite/virtual_bn/1", "ga/frostbite/small/1", "ga/frostbite/small/2"
    ]  # fmt: skip
    assert "gr\\xfc\\xdfe.png" in (results / "site" / "index.html").read_text()


def test_card_and_page_of_a_run_that_plays_in_browser_have_a_link_to_it_also_in_a_bundle(results, tmp_path):
    (results / RUN / "play.html").write_text("<title>play</title>")
    build_site(results, replications=100)
    bundle_site(results, tmp_path / "bundle", replications=100)
    for folder, name in itertools.product((results / "site", tmp_path / "bundle"), (f"{RUN}.html", "index.html")):
        (link,) = re.findall(
            r'<a[^>]*href="([^"]*)">(?:<svg.*?</svg>)?Play in the browser</a>', (folder / name).read_text()
        )
        assert ((folder / name).parent / link).read_text() == "<title>play</title>"


def test_a_page_of_nothing_says_so(tmp_path):
    build_site(tmp_path)
    assert "There are no runs yet." in (tmp_path / "site" / "index.html").read_text()


def test_a_bundle_is_no_other_archive(results, tmp_path):
    with pytest.raises(NeurozooError, match=r"should be a folder or a .zip, but .*x.tar ends in .tar"):
        bundle_site(results, tmp_path / "x.tar")
    assert not (tmp_path / "x.tar").exists()


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_a_bundle_holds_everything_that_it_links_to(results, tmp_path, suffix):
    bundle = tmp_path / f"gallery{suffix}"
    bundle_site(results, bundle, replications=100)
    shutil.rmtree(results)
    if suffix:
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(tmp_path / "out")
        bundle = tmp_path / "out" / "gallery"
    pages = pages_of(bundle)
    assert len(pages) == 8
    assert [page.broken() for page in pages] == [[]] * 8
    assert (bundle / "files" / RUN / "activation.mp4").exists()
    assert not list(bundle.rglob("checkpoint.npz"))
    text = (bundle / f"{RUN}.html").read_text()
    assert re.search(r"<td>runs/ga/frostbite/small/1/checkpoint.npz <span[^>]*>not in this copy", text)


def test_a_bundle_is_a_crate_that_names_runs_files_and_hashes(results, tmp_path):
    """Readers of RO-Crates, such as those of archives that give DOIs, find what each run made."""
    bundle_site(results, tmp_path / "bundle", replications=100)
    crate = ROCrate(tmp_path / "bundle")
    assert crate.name == "Agents in Frostbite, Pong"
    assert crate.datePublished
    assert "name one here" in crate.license
    files = {entity.id: entity for entity in crate.data_entities}
    on_disk = {path.relative_to(tmp_path / "bundle").as_posix() for path in (tmp_path / "bundle").rglob("*.*")}
    assert set(files) == on_disk - {"ro-crate-metadata.json"}
    movie = files[f"files/{RUN}/activation.mp4"]
    content = (tmp_path / "bundle" / movie.id).read_bytes()
    assert (movie["sha256"], movie["contentSize"]) == (hashlib.sha256(content).hexdigest(), str(len(content)))
    run = crate.get(f"#{RUN.removeprefix('runs/')}")
    assert movie in run["result"]
    assert run["instrument"]["name"] == "Neurozoo"
    assert run["name"] == "GA, small, Frostbite, run 1"


def test_a_bundle_can_be_unpacked_on_windows(results, tmp_path):
    for game in ("gym.corridor:Corridor-v0", "gym.corridor_Corridor-v0"):  # no two games share a page
        shutil.copytree(results / RUN, results / f"runs/dqn/{game}/small/1")
    bundle_site(results, tmp_path / "bundle", replications=100)
    files = [path.relative_to(tmp_path / "bundle").as_posix() for path in (tmp_path / "bundle").rglob("*")]
    assert [path for path in files if re.search(r'[<>:"\\|?*]', path)] == []
    for game in ("gym.corridor~Corridor-v0", "gym.corridor_Corridor-v0"):
        run = f"runs/dqn/{game}/small/1"
        assert {f"{run}.html", f"games/{game}.html", f"files/{run}/activation.mp4"} < set(files)
    assert [page.broken() for page in pages_of(tmp_path / "bundle")] == [[]] * len(pages_of(tmp_path / "bundle"))
    build_site(results, replications=100)  # pages beside the results have the results' own names
    assert (results / "site/runs/dqn/gym.corridor:Corridor-v0/small/1.html").exists()
    assert [page.broken() for page in pages_of(results / "site")] == [[]] * len(pages_of(results / "site"))


def test_a_bundle_names_no_command_of_where_it_was_made(results, tmp_path, monkeypatch):
    monkeypatch.chdir(results.parent)
    bundle_site("example", "bundle", replications=100)
    for path in ("index.html", f"{RUN}.html", "manifest.json"):
        text = (tmp_path / "bundle" / path).read_text()
        assert "Not made yet." in text
        assert "snakemake" not in text
    build_site("example", replications=100)
    assert (
        f"snakemake --profile local --configfile CONFIGURATION -- example/{RUN}/rollout.npz"
        in (results / "site" / f"{RUN}.html").read_text()
    )


def test_a_bundle_overwrites_nothing(results, tmp_path):
    (tmp_path / "taken.zip").write_bytes(b"precious")
    with pytest.raises(NeurozooError, match="exists"):
        bundle_site(results, tmp_path / "taken.zip")
    with pytest.raises(NeurozooError, match="exists"):
        bundle_site(results, results)
    assert (tmp_path / "taken.zip").read_bytes() == b"precious"


@pytest.mark.parametrize("is_bundle", [True, False])
def test_links_in_results_are_listed_and_not_followed(results, tmp_path, is_bundle):
    secret = tmp_path / "secret"
    secret.mkdir()
    settings = (results / RUN / "config.yaml").read_text()
    (secret / "config.yaml").write_text(settings + "password: hunter2\n")
    (secret / "figure.png").write_bytes((next(results.rglob("*.png"))).read_bytes())
    (secret / "page.html").write_text("hunter2")
    shutil.copytree(results / RUN, secret / "run")
    (secret / "run" / "hunter2.html").write_text("hunter2")
    (results / RUN / "config.yaml").unlink()
    (results / RUN / "config.yaml").symlink_to(secret / "config.yaml")
    (results / RUN / "weights.png").symlink_to(secret / "figure.png")
    (results / RUN / "provenance.html").symlink_to(secret / "page.html")
    (results / "runs/ga/frostbite/small/7").symlink_to(secret / "run", target_is_directory=True)

    pages = tmp_path / "bundle" if is_bundle else results / "site"
    bundle_site(results, pages, replications=100) if is_bundle else build_site(results, replications=100)

    files = [path for path in pages.rglob("*") if path.is_file()]
    assert not [path for path in files if b"hunter2" in path.read_bytes()]
    assert not [
        path for path in files if path.relative_to(pages).as_posix().startswith("files/runs/ga/frostbite/small/7/")
    ]
    manifest = json.loads((pages / "manifest.json").read_text())
    refused = {entry["path"] for entry in manifest["missing"] if entry["reason"].startswith("A link leads here.")}
    assert refused == {
        "runs/ga/frostbite/small/7",
        *(f"{RUN}/{n}" for n in ("config.yaml", "weights.png", "provenance.html")),
    }
    assert [page.broken() for page in pages_of(pages)] == [[]] * len(pages_of(pages))


@pytest.mark.parametrize("place", ["posters", "runs/ga", "manifest.json"])
def test_a_gallery_neither_writes_nor_deletes_through_links(results, tmp_path, place):
    home = tmp_path / "home"
    (home / "thesis").mkdir(parents=True)
    (home / "thesis" / "chapter.tex").write_text("data")
    listed = {
        "written": [
            "posters/thesis/chapter.tex",
            "runs/thesis/chapter.tex",
            f"runs/../../../{home.name}/thesis/chapter.tex",
        ]
    }
    (home / "manifest.json").write_text(json.dumps(listed))
    link = results / "site" / place
    if link.exists():
        link.rename(tmp_path / "before")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(home / "manifest.json" if place == "manifest.json" else home)
    is_listed = place in ("posters", "manifest.json")  # the other pages are written
    refused = contextlib.nullcontext() if is_listed else pytest.raises(NeurozooError, match=f"{link} is a link")
    with refused:
        build_site(results, replications=100)
    assert sorted(path.name for path in home.rglob("*")) == ["chapter.tex", "manifest.json", "thesis"]
    assert (home / "manifest.json").read_text() == json.dumps(listed)


def test_a_gallery_deletes_only_what_it_has_written(results):
    build_site(results, replications=100)
    own = results / "site" / "runs" / "notes.html"
    own.write_text("precious")
    poster = results / "site/posters" / RUN / "activation.png"
    assert poster.exists()
    shutil.rmtree(results / RUN)
    build_site(results, replications=100)
    assert not (results / "site" / f"{RUN}.html").exists()
    assert not poster.exists()
    assert own.read_text() == "precious"


def test_the_index_opens_with_the_best_agent(site):
    text = (site.folder / "index.html").read_text()
    hero = text.partition('class="hero"')[2].partition("</section>")[0]
    assert "data-hero" in hero
    assert f"{RUN.replace('/1', '/2')}/activation.mp4" in hero  # 100 points are more than 60
    assert "of human" in hero
    page = (site.folder / f"{RUN}.html").read_text()
    assert '<meta property="og:title" content="Frostbite, GA, small, run 1">' in page


def preview_of(page):
    return dict(re.findall(r'<meta property="og:(url|image)" content="([^"]*)">', page.read_text()))


def test_links_show_a_picture_only_where_their_address_is_known(site, results, tmp_path):
    assert preview_of(site.folder / f"{RUN}.html") == preview_of(site.folder / "index.html") == {}
    assert "twitter:card" not in (site.folder / "index.html").read_text()  # without a picture, there is no large one
    build_site(results, url="https://example.org/a%20b/site/", replications=100)
    assert preview_of(results / "site" / f"{RUN}.html") == {
        "url": f"https://example.org/a%20b/site/{RUN}.html", "image": f"https://example.org/a%20b/{RUN}/loop.webp",
    }  # fmt: skip
    index = preview_of(results / "site" / "index.html")
    assert index["url"] == "https://example.org/a%20b/site/"
    poster = index["image"].removeprefix("https://example.org/a%20b/site/")  # the best run has no loop
    assert (results / "site" / unquote(poster)).exists()
    bundle_site(results, tmp_path / "bundle", url="https://example.org", replications=100)
    assert preview_of(tmp_path / "bundle" / f"{RUN}.html") == {
        "url": f"https://example.org/{RUN}.html", "image": f"https://example.org/files/{RUN}/loop.webp",
    }  # fmt: skip


@pytest.mark.parametrize("page", ["index.html", "games/frostbite.html"])
def test_codes_are_explained_in_words_for_those_without_a_mouse(site, page):
    words = (site.folder / page).read_text().partition('class="names"')[2].partition("</details>")[0]
    assert "<dt>GA</dt><dd>Genetic algorithm</dd>" in words
    assert "<dd>conv 16 8/4, conv 32 4/2, dense 256" in words
    assert "<dd>How episodes are played: 4 frames per step" in words


def test_a_movie_of_a_tag_says_so_on_its_card_and_does_not_head_the_page(results, tmp_path):
    shutil.rmtree(results / "runs/ga/frostbite/small/2")
    place = results / RUN / "tags" / "initial"
    place.mkdir(parents=True)
    for name in ("frozen", "activation.mp4", "loop.webp"):
        shutil.move(results / RUN / name, place / name)
    bundle_site(results, tmp_path / "bundle", replications=100)
    assert [page.broken() for page in pages_of(tmp_path / "bundle")] == [[]] * len(pages_of(tmp_path / "bundle"))
    assert (tmp_path / "bundle" / "files" / RUN / "tags/initial/loop.webp").exists()
    assert 'class="hero"' not in (tmp_path / "bundle" / "index.html").read_text()
    card = card_of(tmp_path / "bundle", "ga/frostbite/small/1")
    assert "90 steps (initial)" in card
