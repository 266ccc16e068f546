"""Weights as plain arrays: those of `export`, and those of a network that PyTorch would store channels first."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from neurozoo.agents.agent_import import import_agent
from neurozoo.agents.checkpoint import read_checkpoint, write_checkpoint
from neurozoo.agents.export import export_weights
from neurozoo.agents.weights_import import import_weights
from neurozoo.environments.game_networks import any_layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from numpy.lib.stride_tricks import sliding_window_view

DOCS = Path(__file__).parents[3] / "docs" / "your_network.md"


@pytest.fixture
def exported(agent, tmp_path):
    """Exports an agent: its checkpoint, and the file."""

    def export(model="small", *, name="weights.npz", **choices):
        checkpoint = agent(model, **choices)
        write_checkpoint(tmp_path / "checkpoint.npz", checkpoint)
        export_weights(tmp_path / "checkpoint.npz", tmp_path / name, noise="")
        return checkpoint, tmp_path / name

    return export


def test_a_damaged_file_of_safetensors_is_told(exported, tmp_path):
    _, path = exported(name="weights.safetensors")
    for content in (path.read_bytes()[:-1], b"{}", b""):
        path.write_bytes(content)
        with pytest.raises(NeurozooError, match=r"weights.safetensors is damaged or holds more than arrays of numbers"):
            import_agent(path, noise="", game="breakout", model="small", run_dir=tmp_path / "run")


def test_numbers_that_numpy_lacks_are_named(tmp_path):
    path = tmp_path / "weights.safetensors"
    header = b'{"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(NeurozooError, match=r"type 'BF16', which NumPy does not have. Convert them to float32 first."):
        import_agent(path, noise="", game="breakout", model="small", run_dir=tmp_path / "run")


def changed(path, **arrays):
    """Replaces arrays of a file; None takes one away. Names have `_` for `/`."""
    with np.load(path) as file:
        kept = dict(file)
    for name, array in arrays.items():
        key = name.replace("_", "/")
        kept[key] = array(kept.get(key)) if callable(array) else array
    np.savez(path, **{name: array for name, array in kept.items() if array is not None})
    return path


@pytest.mark.parametrize("name", ["weights.npz", "weights.safetensors"])
@pytest.mark.parametrize("model", ["small", "es_atari", "recurrent_large"])  # plain, with a reference, without biases
def test_what_export_wrote_comes_back_with_every_bit(exported, tmp_path, model, name):
    checkpoint, path = exported(model, name=name, game="breakout")
    folder = import_agent(path, noise="", game=checkpoint.game, model=model, run_dir=tmp_path / "run")
    found = read_checkpoint(folder / "checkpoint.npz")
    np.testing.assert_array_equal(found.theta, checkpoint.theta)
    assert (found.reference is None) == (model != "es_atari")
    np.testing.assert_array_equal(found.reference, checkpoint.reference)
    assert (found.algo, found.game, found.model, found.run) == ("imported", checkpoint.game, model, 1)
    record = yaml.safe_load((folder / "config.yaml").read_text())
    assert record["source"]["weights"] == name
    assert json.loads((folder / "genome.json").read_text())["genome"] is None
    assert import_agent(path, noise="", game=checkpoint.game, model=model, run_dir=tmp_path / "run") == folder


def test_an_agent_with_a_policy_draws_its_actions_and_one_with_action_values_does_not(tmp_path):
    for model, rule in (("impala_shallow", "sampled"), ("small_layer_norm", "greedy")):
        layout = any_layout_of("breakout", model, protocol_of("breakout", "machado2018"))
        theta = np.arange(layout.parameter_count, dtype=np.float32) / layout.parameter_count
        np.savez(tmp_path / "w.npz", **layout.split(theta))
        folder = import_weights(
            tmp_path / "w.npz", game="breakout", model=model, protocol="machado2018", runs=tmp_path / "runs"
        )
        found = read_checkpoint(folder / "checkpoint.npz")
        assert (found.action_rule, found.protocol.name) == (rule, "machado2018")
        np.testing.assert_array_equal(found.theta, theta)


def channels_first(state, frames):
    """Computes a network of `state` as PyTorch does: shape (4, 84, 84), channels first. Returns the outputs."""
    value = frames
    for layer, stride in (("network.0", 4), ("network.2", 2), ("network.4", 1)):
        weights = state[f"{layer}.weight"]
        windows = sliding_window_view(value, weights.shape[2:], axis=(1, 2))[:, ::stride, ::stride]
        value = np.einsum("cyxij,ocij->oyx", windows, weights) + state[f"{layer}.bias"][:, None, None]
        value = np.maximum(value, 0)
    value = np.maximum(state["network.7.weight"] @ value.ravel() + state["network.7.bias"], 0)
    return state["network.9.weight"] @ value + state["network.9.bias"]


def test_the_documents_bring_weights_of_pytorch_which_then_compute_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    shapes = {
        "network.0": (32, 4, 8, 8), "network.2": (64, 32, 4, 4), "network.4": (64, 64, 3, 3),
        "network.7": (512, 3136), "network.9": (6, 512),
    }  # fmt: skip
    state = {}
    for name, shape in shapes.items():
        state[f"{name}.weight"] = rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        state[f"{name}.bias"] = rng.normal(0, 0.1, shape[0]).astype(np.float32)
    (snippet,) = [code for code in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL) if "torch" in code]
    monkeypatch.chdir(tmp_path)
    code = "\n".join(line for line in snippet.splitlines() if "torch" not in line)
    exec(code, {"state": state})  # with arrays in place of what torch.load gives
    folder = import_weights("mine.npz", game="pong", model="nature", action_set="minimal", run_dir=tmp_path / "run")
    checkpoint = read_checkpoint(folder / "checkpoint.npz")
    frames = rng.random((84, 84, 4), np.float32)
    outputs = checkpoint.layout.keras_model(checkpoint.theta)(frames[None], training=False).numpy()[0]
    expected = channels_first(state, frames.transpose(2, 0, 1))
    np.testing.assert_allclose(outputs, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"out_b": None}, r"the file lacks out/b\. Rename"),
        ({"fc_b": None, "head_b": np.zeros(3, np.float32)}, r"the file lacks fc/b and has head/b, too"),
        ({"conv1_w": lambda w: w.transpose(3, 2, 0, 1)}, r"conv1/w .*has \(16, 4, 8, 8\)\. .*transpose\(2, 3, 1, 0\)"),
        ({"fc_w": lambda w: w.T}, r"fc/w should have shape \(3872, 256\).*transpose\(1, 0\)"),
        ({"out_w": lambda w: w[:, :3]}, r"out/w .* The game has 4 outputs here\. Give the game"),
        ({"conv2_b": lambda b: b[:7]}, r"conv2/b .*Give the network that it belongs to"),
        ({"fc_w": lambda w: w[:7]}, r"fc/w .*Give the network that it belongs to"),
        ({"fc_b": lambda b: b.astype(np.int32)}, "fc/b should hold floats, but holds int32"),
        ({"fc_b": lambda b: b * np.float32("nan")}, r"NaN or infinite; the first are in fc/b \(256\)"),
        ({"reference": np.zeros((2, 84, 84, 4), np.float32)}, "the file has reference, too"),  # it needs none
        ({"theta": np.zeros(3)}, "is a checkpoint of this project"),
    ],
)
def test_arrays_of_another_network_are_named(exported, tmp_path, arrays, words):
    checkpoint, path = exported()
    with pytest.raises(NeurozooError, match=words):
        import_weights(changed(path, **arrays), game=checkpoint.game, model="small", run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_files_that_are_no_arrays_and_choices_that_are_missing_are_refused(exported, tmp_path):
    checkpoint, path = exported()
    with pytest.raises(NeurozooError, match="Give both"):
        import_weights(path, game=checkpoint.game)
    with pytest.raises(NeurozooError, match="cannot be read"):
        import_weights(tmp_path / "none.npz", game="pong", model="small")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(NeurozooError, match="is damaged"):
        import_weights(path, game="pong", model="small")
    np.savez(path, **{"conv1/w": np.array([{}], object)})
    with pytest.raises(NeurozooError, match="is damaged or holds more than arrays"):
        import_weights(path, game="pong", model="small")
    np.savez(path, **any_layout_of("pong", "virtual_bn", protocol_of("pong")).split(ones("virtual_bn")))
    with pytest.raises(NeurozooError, match="the file lacks reference"):
        import_weights(path, game="pong", model="virtual_bn", run_dir=tmp_path / "run")


def ones(model):
    layout = any_layout_of("pong", model, protocol_of("pong"))
    return np.ones(layout.parameter_count, np.float32)
