"""The agent of mazes that comes with the project: its first convolution reads three of four planes."""

from pathlib import Path

import pytest
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.freeze import freeze
from neurozoo.agents.frozen import open_frozen
from neurozoo.feature_visualization.layers import find_convolution
from neurozoo.feature_visualization.receptive_fields import receptive_field
from neurozoo.feature_visualization.weights import draw_weights

AGENT = Path(__file__).parents[3] / "config" / "agents" / "maze_recurrent.npz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maze") / "frozen"
    freeze(read_checkpoint(AGENT), folder, steps=12)
    return folder


def test_weights_have_a_heading_for_each_plane_that_is_read(folder, tmp_path):
    draw_weights(folder, tmp_path / "view.png", layer="view")
    assert (tmp_path / "view.png").stat().st_size > 1000


def test_taking_some_planes_and_scaling_them_moves_no_receptive_field(folder):
    frozen = open_frozen(folder)
    layer = find_convolution(frozen, "view")
    kernel = frozen.load_keras().get_layer("view").get_weights()[0].shape[:2]
    assert receptive_field(frozen, layer).size == kernel
