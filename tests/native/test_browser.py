"""The river crossing task in WebAssembly, as pages play it: worlds, landscapes and steps of the core and of NumPy."""

import hashlib
import itertools
import json
import shutil
import subprocess

import numpy as np
import pytest
from neurozoo.agents.checkpoint import Checkpoint
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.river_crossing import RESOURCE, STONE, TRAP, WATER, RiverCrossing, RiverRules
from neurozoo.evaluation import Episode
from neurozoo.evaluation.native import NativeEvaluator
from neurozoo.files.templates import STATIC
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.native.browser import MODULE, compile_module, compiler_version, hash_units, read_facts, read_module
from neurozoo.networks.catalogue import NETWORKS, get_network
from neurozoo.networks.modular import landscape_cycles
from neurozoo.play.page import agent_of_page

from tests.unit.networks.modular_twin import crossing_weights, run_modular

PROTOCOL = get_protocol("river_fixed", observation="objects")
MODELS = [name for name, network in NETWORKS.items() if network.is_modular]
AGENT = 5  # what `edit` puts on the map besides the kinds of cells
# Plays worlds with the class of the page, and writes what it shows before each step: a hash of all heights of all
# cycles, and everything else in full.
DRIVER = """
const { readFileSync, writeFileSync } = require("fs"), { createHash } = require("crypto");
const { module: text, agent, worlds } = JSON.parse(readFileSync(0));
Core.open(Buffer.from(text, "base64"), agent).then((core) => {
  const list = (values) => [...values];
  console.log(JSON.stringify(worlds.map(({ seed, width, steps, edits }) => {
    const moments = [];
    core.start(seed, width);
    for (let step = 0; step <= steps; ++step) {
      for (const [when, ...edit] of edits) if (when === step) core.edit(...edit);
      const facts = core.facts(), hash = createHash("sha256");
      for (let cycle = 1; cycle <= facts.cycles; ++cycle) hash.update(new Uint8Array(core.heights(cycle).buffer));
      moments.push({ ...facts, heights: hash.digest("hex"), cells: list(core.cells()), map: list(core.map()),
                     scores: list(core.scores()), desires: list(core.desires()), path: core.path() });
      if (facts.isOver) break;
      core.step();
    }
    return moments;
  })));
});
"""


@pytest.fixture(scope="module")
def play():
    """Plays worlds in Node: `play(checkpoint, worlds)` returns the moments of each."""
    if not (node := shutil.which("node")):
        pytest.skip("WebAssembly is tested in Node, which is missing: apt install nodejs")

    def run(checkpoint, worlds, module=None):
        asked = {"module": module or read_module(), "agent": agent_of_page(checkpoint), "worlds": worlds}
        script = (STATIC / "play.js").read_text() + DRIVER
        result = subprocess.run([node, "-e", script], input=json.dumps(asked), capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-4000:]
        return json.loads(result.stdout)

    return run


def checkpoint_of(model, *, seed=0, theta=None):
    layout = get_network(model).layout(18)
    if theta is None:
        theta = np.random.default_rng(seed).normal(0, 0.7, layout.parameter_count).astype(np.float32)
    return Checkpoint(theta, "ga", "river_crossing", model, 1, PROTOCOL, 18)


def crossing():
    return checkpoint_of("modular", theta=crossing_weights())


def observation_of(river):
    planes = np.zeros((20, 20, 6), np.float32)
    for kind in range(1, 5):
        planes[..., kind - 1] = kind == river.grid.T
    planes[river.row, river.column, 4 if river.carries else 5] = 1
    return planes


def expected_moments(checkpoint, world):
    """Plays a world in Python, with the twin of the game and the agent in NumPy, and yields what `DRIVER` writes."""
    river = RiverCrossing(RiverRules(min_width=world["width"], max_width=world["width"], attempts=1))
    river.reset(seed=world["seed"])
    arrays, layers = checkpoint.layout.split(checkpoint.theta), checkpoint.layout.layers
    own = [{part: arrays[f"{placed.layer.name}/{part}"] for part in placed.shapes} for placed in layers]
    for step in range(world["steps"] + 1):
        for when, column, row, kind in world["edits"]:
            if when == step and kind == AGENT:
                river.column, river.row, river.age = column, row, 0
            elif when == step:
                river.grid[column, row], river.age = kind, 0
        desired = run_modular(layers[0], observation_of(river), own[0])
        scores = run_modular(layers[2], run_modular(layers[1], desired, own[1]), own[2])
        heights = landscape_cycles(desired[..., 0], own[1].get("w"), cycles=layers[1].layer.cycles)
        yield {
            "column": river.column, "row": river.row, "carries": river.carries, "width": river.width,
            "age": river.age, "isOver": river.is_over, "action": scores.argmax(),
            "cells": river.grid.T.ravel().tolist(), "map": desired.ravel().tolist(), "scores": scores.tolist(),
            "heights": hashlib.sha256(np.stack(heights).tobytes()).hexdigest(),
        }  # fmt: skip
        if river.is_over:
            return
        river.step(int(scores.argmax()))


def world(seed, width, *, steps=150, edits=()):
    return {"seed": seed, "width": width, "steps": steps, "edits": edits}


def assert_played_as_expected(checkpoint, worlds, played):
    for one, moments in zip(worlds, played, strict=True):
        expected = list(expected_moments(checkpoint, one))
        assert [{name: moment[name] for name in expected[0]} for moment in moments] == expected


def test_an_agent_crosses_25_rivers_in_the_browser_as_in_python_to_the_bit(play):
    agent, worlds = crossing(), [world(seed, width) for seed in range(5) for width in range(5)]
    played = play(agent, worlds)
    assert_played_as_expected(agent, worlds, played)
    ends = [moments[-1] for moments in played]
    assert all(end["isOver"] and end["cells"][end["row"] * 20 + end["column"]] == RESOURCE for end in ends)
    assert sum(map(len, played)) > 500
    for moments in played:
        for moment, following in itertools.pairwise(moments):
            assert moment["path"][:2] == [20 * each["row"] + each["column"] for each in (moment, following)]
            desires = np.reshape(moment["desires"], (2, 5, 2))[int(moment["carries"])]
            np.testing.assert_array_equal(desires[moment["cells"]], np.reshape(moment["map"], (400, 3))[:, :2])


@pytest.mark.parametrize("model", MODELS)
def test_every_modular_network_plays_in_the_browser_as_in_python_to_the_bit(play, model):
    for seed in range(3):
        agent, worlds = checkpoint_of(model, seed=seed), [world(seed, width, steps=20) for width in range(5)]
        assert_played_as_expected(agent, worlds, play(agent, worlds))


def test_edits_change_world_and_plan_as_in_python(play):
    edits = [(2, 10, row, WATER) for row in range(20)]
    edits += [(5, 9, 3, STONE), (5, 2, 2, AGENT), (9, 3, 3, TRAP), (9, 15, 10, RESOURCE)]
    agent, worlds = crossing(), [world(7, 1, edits=edits)]
    played = play(agent, worlds)
    assert_played_as_expected(agent, worlds, played)
    assert played[0][-1]["isOver"]


def test_the_core_plays_the_same_episodes(core, small_noise_table, play):
    """In the first attempt of an episode, the levels are the worlds of its seed, with rivers of 0 to 3 columns."""
    agent = crossing()
    played = play(agent, [world(seed, width) for seed in range(20) for width in range(4)])
    genome = Genome(Weights.of(agent.theta))
    with NativeEvaluator(
        core=core, noise=small_noise_table, layout=agent.layout, game="river_crossing", protocol=PROTOCOL
    ) as evaluator:
        evaluator.pin([genome])
        for seed in range(20):
            moments = [moment for moments in played[4 * seed : 4 * seed + 4] for moment in moments[:-1]]
            trace = evaluator.trace(Episode(genome, 0, seed, len(moments)))
            assert len(trace.logits) == len(moments)
            np.testing.assert_array_equal(np.float32([moment["scores"] for moment in moments]), trace.logits)
            agents = trace.planes.reshape(-1, 400, 6)[..., 4:].any(-1).argmax(-1)
            np.testing.assert_array_equal([20 * moment["row"] + moment["column"] for moment in moments], agents)


def test_the_module_was_compiled_from_these_sources():
    assert read_facts()["sources_sha256"] == hash_units(), "native/ has changed: make browser, and commit the module"


def test_compiling_again_gives_the_same_module(tmp_path):
    if compiler_version() is None:
        pytest.skip("the module is compiled by Emscripten, which is missing: apt install emscripten")
    if compiler_version() != read_facts()["compiler"]:
        pytest.skip(f"another compiler may make other code: this is {compiler_version()}")
    compile_module(tmp_path / "river.wasm")
    assert (tmp_path / "river.wasm").read_bytes() == MODULE.read_bytes()
