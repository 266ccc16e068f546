import shutil

import numpy as np
import pytest
from neurozoo.__main__ import main
from PIL import Image


@pytest.fixture(scope="module")
def run_dir(frozen_folder, rollout_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    shutil.copytree(frozen_folder("small"), folder / "frozen")
    shutil.copy(rollout_file("small"), folder / "rollout.npz")
    return folder


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("weights --layer conv2", "weights_conv2.png"),
        ("patches --layer conv2 --channels 3 30 --count 2", "patches_conv2.png"),
        ("patches --layer fc --channels 0 255", "patches_fc.png"),
        ("synthetic --layer conv1 --channels 3 --steps 3 --objective unit --position 20 0", "synthetic_conv1.png"),
        ("synthetic --layer out --steps 2 --frames newest", "synthetic_out.png"),
        ("inversion --layer fc --steps 2 --at 5", "inversion_fc.png"),
        ("guided --layer conv1 --channels 0 1 2", "guided_conv1.png"),
        ("attribution --observations 2 --points 3", "attribution.png"),
        ("saliency --moments 6", "saliency.png"),
        ("lean", "lean.csv"),
    ],
)
def test_every_picture_has_a_command(run_dir, capsys, words, file):
    name, *options = words.split()
    main(["filters", name, str(run_dir), *options])
    assert file in capsys.readouterr().out
    path = run_dir / "filters" / file
    if path.suffix == ".png":
        picture = np.asarray(Image.open(path))
        assert picture.shape[1] >= 600
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_directions_come_from_a_file(run_dir, tmp_path, capsys):
    np.save(tmp_path / "directions.npy", np.eye(16, dtype=np.float32)[:2])
    words = ["filters", "synthetic", str(run_dir), "--layer", "conv1", "--steps", "3", "--objective", "direction"]
    main([*words, "--directions", str(tmp_path / "directions.npy")])
    course = (run_dir / "filters" / "synthetic_conv1.csv").read_text().splitlines()
    assert course[0] == "channel,step,objective"
    assert len(course) == 1 + 2 * 3
    np.save(tmp_path / "directions.npy", np.eye(15))
    capsys.readouterr()
    for end in ([], ["--directions", str(tmp_path / "directions.npy")], ["--directions", str(tmp_path / "x.npy")]):
        with pytest.raises(SystemExit):
            main([*words, *end])
    errors = capsys.readouterr().err
    assert "(directions, 16) without rows of zeros, but got none" in errors
    assert "but got one of shape (15, 15)" in errors
    assert "x.npy should be a .npy file" in errors


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("weights --layer fc", "is dense"),
        ("weights --layer conv9", "Known: conv1, conv2, fc, out"),
        ("weights --layer conv1 --filters 0", "argument --filters: should be >= 1, but is 0"),
        ("patches --layer conv1 --seed -1", "argument --seed: should be >= 0, but is -1"),
        ("synthetic --layer conv1 --seed -1", "argument --seed: should be >= 0, but is -1"),
        (
            "synthetic --layer conv1 --jitter 200",
            "jitter should be below the 84 pixels of a picture's side, but is 200",
        ),
        ("guided --layer conv1 --channels 16", "channels 0 to 15"),
        ("synthetic --layer conv1 --objective unit --position 21 0", "21 rows and 21 columns"),
        ("patches --layer conv1 --rollout nothing.npz", "nothing.npz is missing"),
        ("attribution --at 99", "steps 0 to 39"),
    ],
)
def test_a_slip_is_answered_by_one_sentence(run_dir, capsys, words, sentence):
    name, *options = words.split()
    with pytest.raises(SystemExit):
        main(["filters", name, str(run_dir), *options])
    assert sentence in capsys.readouterr().err


def test_leans_of_runs_become_a_figure(run_dir, tmp_path, capsys):
    main(["filters", "lean", str(run_dir)])
    main(["filters", "plot-lean", str(run_dir), "--output", str(tmp_path / "lean.png")])
    assert (tmp_path / "lean.png").read_bytes().startswith(b"\x89PNG")
