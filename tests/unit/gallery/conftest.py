"""A small results folder, made without training: tables, records of frozen networks, and movies that show the step."""

import json
import shutil
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

STEPS = 90
BLOCK = 16  # pixels of one binary digit of the step's number, drawn on the game's screen in black or white


def write_run(results, run, scores, *, protocol="uber2018", episodes=10, frames=100_000, recorded=None):
    """Writes a finished run's settings and metrics; `scores` are those of its reports.

    `recorded` is what makes it comparable.
    """
    algo, game, model, number = run.split("/")
    folder = results / "runs" / run
    folder.mkdir(parents=True)
    identity = f"{algo},{game},{model},{number},{protocol}"
    rows = [f"{identity},{frames * (i + 1)},{score + 0.5},{score},{episodes}" for i, score in enumerate(scores)]
    head = "algo,game,model,run,protocol,frames,score,test_score,test_episodes"
    (folder / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
    keys = zip(("algo", "game", "model", "run", "protocol"), identity.split(","), strict=True)
    recorded = {name: json.dumps(value) for name, value in (recorded or {}).items()}
    settings = ["format: 1", *(f"{name}: {value}" for name, value in recorded.items())]
    settings += [f"{key}: {json.dumps(int(value) if key == 'run' else value)}" for key, value in keys]
    (folder / "config.yaml").write_text("\n".join([*settings, "seed: 0", "frames: 300000", "commit: 0123abc"]) + "\n")
    (folder / "checkpoint.npz").write_bytes(b"parameters")
    return folder


def write_frozen(folder, *, game="frostbite", model="small", algo="ga", run=1):
    """Writes the `model.json` of the network `small`, without the network."""
    from neurozoo.environments.protocols import protocol_of

    layers = [("conv1", "conv", (21, 21, 16)), ("conv2", "conv", (11, 11, 32)), ("fc", "dense", (256,)),
              ("out", "dense", (18,))]  # fmt: skip
    names = ("name", "kind", "shape", "activation", "cycles", "keras_layer", "node", "weight_node")
    record = {
        "format": 1,
        "game": game,
        "model": model,
        "algo": algo,
        "run": run,
        "protocol": asdict(protocol_of(game, None)),
        "actions": [f"ACTION_{i}" for i in range(18)],
        "layers": [dict(zip(names, (*layer, "relu", 1, layer[0], "x", "x"), strict=True)) for layer in layers],
    }
    folder.mkdir(parents=True)
    (folder / "model.json").write_text(json.dumps(record))


def write_activation_movie(folder, *, steps=STEPS):
    """Films panels, each in its own grey. The screen shows the step's number, from 0, as 8 binary digits."""
    from neurozoo.agents.frozen import open_frozen
    from neurozoo.movies.classic_frame import Canvas
    from neurozoo.movies.video import video_written_whole

    canvas = Canvas(open_frozen(folder / "frozen"), screen_shape=(210, 160, 3), steps=steps)
    with video_written_whole(folder / "activation.mp4", width=canvas.width, height=canvas.height, fps=60) as show:
        for step in range(steps):
            image = np.full((canvas.height, canvas.width, 3), 255, np.uint8)
            for number, place in enumerate(canvas.places):
                left, top, width, height = place.box
                image[top : top + height, left : left + width] = 60 + 20 * number
            left, top = canvas.places[0].box[:2]
            for digit in range(8):
                x = left + digit * BLOCK
                image[top : top + BLOCK, x : x + BLOCK] = 255 * (step >> digit & 1)
            show(image)
    return canvas


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """Two algorithms in two games with three runs of one of them; one is still being trained."""
    results = tmp_path_factory.mktemp("gallery") / "example"
    for run, scores in {
        "ga/frostbite/small/1": [10, 40, 60],
        "ga/frostbite/small/2": [20, 20, 100],
        "es/frostbite/virtual_bn/1": [5, 30],
        "ga/pong/small/1": [-21],
    }.items():
        write_run(results, run, scores)
    for number in (1, 2):
        folder = results / "runs/ga/frostbite/small" / str(number)
        write_frozen(folder / "frozen", run=number)
        if number == 1:
            write_activation_movie(folder)
            Image.new("RGB", (64, 36), "navy").save(folder / "loop.webp")
        else:
            shutil.copy(folder.parent / "1" / "activation.mp4", folder)
        Image.new("RGB", (320, 200), "white").save(folder / "lineage.png")
    training = results / "runs/es/pong/small/1"
    (training / "state").mkdir(parents=True)
    (training / "config.yaml").write_text("format: 1\nalgo: es\ngame: pong\nmodel: small\nrun: 1\nprotocol: uber2018\n")
    lines = [{"format": 1, "Iteration": i, "frames": 1000 * i, "score": -20.0 + i, "test_score": None} for i in (1, 2)]
    (training / "state" / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (results / "figures").mkdir()
    Image.new("RGB", (300, 200), "white").save(results / "figures" / "learning_curves.png")
    (results / "tables").mkdir()
    (results / "tables" / "scores.csv").write_text("algo\nga\n")
    return results


@pytest.fixture(scope="session")
def add_run():
    """`write_run`, for tests that need further runs."""
    return write_run


@pytest.fixture
def results(pristine, tmp_path):
    """A copy of the results that a test may damage."""
    return shutil.copytree(pristine, tmp_path / "example")


@pytest.fixture(scope="session")
def site(pristine):
    """The results with their gallery: `site.results`, `site.folder` and `site.manifest`."""
    from neurozoo.gallery.pages import build_site

    manifest = build_site(pristine, replications=500)
    return SimpleNamespace(results=pristine, folder=pristine / "site", manifest=manifest)
