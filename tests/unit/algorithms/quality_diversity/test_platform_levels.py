"""Searches through platform levels: solutions of real numbers, an agent that is native, levels that fail."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from level_runs import trained
from neurozoo.algorithms.quality_diversity.archives import MapElitesEmitter, make_archive
from neurozoo.algorithms.quality_diversity.dsage import search
from neurozoo.algorithms.quality_diversity.presets import CMA_ME, DSAGE, MAP_ELITES
from neurozoo.algorithms.results import read_archive
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.comparison.archive_page import write_archive_page
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.level_domains import get_level_domain
from neurozoo.environments.platformer.evolved_runner import GAME
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.randomness import run_entropy
from neurozoo.records.level_table import read_levels

SHORT = {
    "initial_solutions": 30, "num_emitters": 1, "train_epochs": 1, "inner_iterations": 2, "channels": 4,
    "occupancy_channels": 4,
}  # fmt: skip
SMALL = {"agent": "a_star", "num_episodes": 2, "evaluations": 40}
MARIO = get_level_domain("mario")


@pytest.fixture(autouse=True)
def library(core, monkeypatch):
    monkeypatch.chdir(core.parents[2])


@pytest.mark.parametrize(
    ("algo", "model"), [("map_elites", "plain"), pytest.param("dsage", "full", marks=pytest.mark.long(seconds=10))]
)
def test_every_search_fills_an_archive_of_platform_levels(tmp_path, core, algo, model):
    changes = SMALL | (SHORT if algo == "dsage" else {})
    run_dir = trained(tmp_path / "1", algo, model, game="mario", core=core, **changes)
    arrays = read_archive(run_dir / "archive.npz")
    levels = read_levels(run_dir / "levels.parquet", ["objective", "sky_tiles", "jumps", "failed"])
    assert len(levels["objective"]) == 40
    assert not levels["failed"].any()
    assert len(arrays["objectives"]) > 1
    assert ((arrays["objectives"] >= 0) & (arrays["objectives"] <= 1)).all()
    # Measures are what the levels of the solutions say.
    again = MARIO.decode(arrays["solutions"])
    np.testing.assert_array_equal(again, arrays["metadata_level"])
    np.testing.assert_array_equal((again[:, :9] > 0).sum(axis=(1, 2)), arrays["measures"][:, 0])
    assert "mario_sky_tiles_jumps" in (run_dir / "result.json").read_text()


def test_the_surrogate_is_searched_by_evolution_strategies():
    settings = DSAGE["mario_demo"]
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(32)

    def predict(solutions):  # a slope: the further along, the more sky tiles
        along = np.asarray(solutions) @ direction
        return np.stack([np.ones(len(along)), 20 * along, 5 + 0 * along], axis=1).astype(np.float32)

    entropy = run_entropy(seed=0, run=1, algo="dsage", game="mario", model="full")
    found = [search(MARIO, settings, predict, entropy, 1, lambda done: None) for _ in range(2)]
    np.testing.assert_array_equal(*(np.sort(archive.data("index")) for archive in found))
    # Steps of 0.2 in 32 directions alone would come about 20 * 0.2 * sqrt(32) * 3 = 68 tiles far.
    assert found[0].data("measures")[:, 0].max() > 100


def test_children_of_map_elites_are_elites_with_noise():
    settings = MAP_ELITES["mario_demo"].changed({"batch_size": 400, "mutation_sigma": 0.5})
    archive = make_archive(MARIO, settings)
    emitter = MapElitesEmitter(archive, settings, MARIO)
    first = emitter.ask()
    assert first.std() == pytest.approx(0.2, rel=0.02)
    assert first.mean() == pytest.approx(0, abs=0.01)
    elite = np.full((1, 32), 7, np.float32)
    archive.add(elite, [1.0], [[3, 3]], evaluation=[0])
    children = emitter.ask()
    assert (children - 7).std() == pytest.approx(0.5, rel=0.02)
    assert emitter.ask().tobytes() != children.tobytes()


def test_presets_have_the_published_values():
    paper = DSAGE["mario_paper"]
    assert (paper.evaluations, paper.num_episodes, paper.num_emitters, paper.batch_size) == (10_000, 5, 1, 30)
    assert (paper.initial_solutions, paper.inner_iterations, paper.sigma0, paper.num_random) == (100, 10_000, 0.2, 250)
    assert (paper.train_epochs, paper.train_batch_size, paper.train_sample_size) == (200, 64, None)
    assert (paper.dims(MARIO), paper.coarse_dims(MARIO)) == ((150, 100), (30, 20))
    assert (CMA_ME["mario_paper"].num_emitters, CMA_ME["mario_paper"].batch_size) == (5, 30)


def test_training_in_platform_levels_needs_the_core_and_in_mazes_only_the_surrogate_does():
    in_keras = {name: settings.changed({"engine": "keras"}) for name, settings in DSAGE.items()}
    for presets in (in_keras, CMA_ME):
        assert presets["mario_demo"].needs_besides("mario") == ("core",)
        assert presets["demo"].needs_besides("maze") == ()
    assert DSAGE["demo"].needs_besides("maze") == ("core",)


def test_without_the_core_a_run_says_what_is_missing(tmp_path):
    with pytest.raises(NeurozooError, match="The game mario is played by the core, but none was given"):
        trained(tmp_path / "1", "cma_me", game="mario", **SMALL)


def test_an_agent_of_mazes_is_refused(tmp_path, core):
    with pytest.raises(NeurozooError, match="'wall_follower' cannot be sent into levels of 'mario'"):
        trained(tmp_path / "1", "cma_me", game="mario", core=core, evaluations=40)


@pytest.fixture
def agent_file(tmp_path):
    """A checkpoint of a network with random weights."""
    size = layout_of(GAME, "simple", protocol_of(GAME)).parameter_count
    theta = 0.3 * np.random.default_rng(2).standard_normal(size).astype(np.float32)
    about = {"game": GAME, "model": "simple", "num_actions": 8}
    np.savez(tmp_path / "checkpoint.npz", theta=theta, about=np.array(json.dumps(about)))
    return str(tmp_path / "checkpoint.npz")


def test_an_evolved_agent_plays_a_level_once_and_the_record_says_so(agent_file):
    for agent, episodes in (("a_star", 5), (agent_file, 1)):
        settings = resolve_settings("cma_me", preset="mario_laptop", overrides={"agent": agent})
        assert settings.describe_protocol("mario")["num_episodes"] == episodes


def test_the_page_of_an_archive_shows_no_way_of_an_agent_that_has_changed(agent_file, tmp_path, core):
    run_dir = trained(
        tmp_path / "run", "domain_randomization", game="mario", core=core, agent=agent_file, evaluations=8, batch_size=8
    )

    def shown():
        write_archive_page(run_dir, tmp_path / "archive.html")
        text = (tmp_path / "archive.html").read_text()
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1].replace("<\\/", "</"))
        return data["way"], [bool(level["way"]) for level in data["levels"]]

    way, ways = shown()
    assert way == f"of {agent_file}"
    assert all(ways)
    for change in (lambda: Path(agent_file).write_bytes(b"another"), lambda: Path(agent_file).unlink()):
        change()
        way, ways = shown()
        assert way == f"none, because {agent_file} is missing or has changed"
        assert not any(ways)
