"""Frozen Keras networks say what they see, remember and do, and all of their forms compute it."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from neurozoo.agents.checkpoint import write_checkpoint
from neurozoo.agents.freeze import freeze, freeze_run
from neurozoo.agents.freeze_keras import check_same_outputs, play_policy
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.game_networks import keras_layout_of
from neurozoo.errors import NeurozooError
from neurozoo.movies.outputs import meaning_of


@pytest.mark.parametrize(
    "model",
    ["impala_shallow_lstm", "nature_layer_norm", pytest.param("impala_gym_deep", marks=pytest.mark.long(seconds=4))],
)
def test_a_frozen_policy_has_keras_and_saved_model_but_no_graph(policy_folder, model):
    folder = policy_folder(model)
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "model.keras", "saved_model"]
    record = json.loads((folder / "model.json").read_text())
    assert record["check"] == {"steps": 12, "ties": 0}
    assert record["files"] == {"keras": "model.keras", "saved_model": "saved_model"}


def test_onnx_remembers_like_the_agent_under_the_same_names(policy, tmp_path):
    assert freeze(policy(), tmp_path / "frozen", steps=12, forms=["onnx"])["steps"] == 12
    assert sorted(path.name for path in (tmp_path / "frozen").iterdir()) == ["model.json", "model.keras", "model.onnx"]
    inputs = {"observation": np.zeros((2, 84, 84, 4), "f"), "previous_action": np.zeros(2, "i")}
    inputs |= {"previous_reward": np.zeros(2, "f"), "hidden_state": np.zeros((2, 256), "f")}
    said = open_frozen(tmp_path / "frozen").load_onnx()(inputs | {"cell_state": np.zeros((2, 256), "f")})
    assert {name: array.shape for name, array in said.items()} == {
        "logits": (2, 4), "baseline": (2, 1), "new_hidden_state": (2, 256), "new_cell_state": (2, 256),
    }  # fmt: skip


def test_model_json_tells_inputs_memory_and_action_rule(policy_folder):
    record = json.loads((policy_folder() / "model.json").read_text())
    assert (record["policy"], record["action_rule"]) == ("sampled", "drawn with the probabilities softmax(outputs)")
    assert [entry["input"] for entry in record["history"]] == ["previous_action", "previous_reward"]
    assert [(entry["input"], entry["shape"], entry["output"]) for entry in record["memory"]] == [
        ("hidden_state", [256], "new_hidden_state"),
        ("cell_state", [256], "new_cell_state"),
    ]
    assert record["outputs"] == {"policy": "policy", "baseline": "baseline"}
    assert [layer["name"] for layer in record["layers"]] == ["conv1", "conv2", "fc", "lstm", "policy"]
    frozen = open_frozen(policy_folder())
    assert (frozen.action_rule, frozen.has_history, frozen.state_shapes) == ("sampled", True, ((256,), (256,)))
    assert frozen.representation.name == "lstm"
    without = open_frozen(policy_folder("impala_shallow"))
    assert (without.has_history, without.state_shapes, without.representation.name) == (True, (), "fc")


def test_a_q_network_is_greedy_and_shows_q_values(policy_folder):
    record = json.loads((policy_folder("nature_layer_norm") / "model.json").read_text())
    assert record["outputs"] == {"q_values": "q_values", "baseline": "baseline"}
    assert [layer["name"] for layer in record["layers"]] == ["conv1", "conv2", "conv3", "fc", "q_values"]
    frozen = open_frozen(policy_folder("nature_layer_norm"))
    assert (frozen.action_rule, frozen.has_history, frozen.state_shapes) == ("greedy", True, ())
    assert meaning_of(frozen) == "Q-values"
    assert meaning_of(open_frozen(policy_folder("impala_shallow"))) == "probabilities"


def test_a_wrong_memory_is_noticed_even_if_actions_agree(policy, policy_folder):
    checkpoint = policy()
    layout = keras_layout_of(checkpoint.game, checkpoint.model, checkpoint.protocol)
    trace = play_policy(checkpoint, layout, steps=3)
    assert check_same_outputs(open_frozen(policy_folder()), trace) == {"steps": 3, "ties": 0}
    trace.outputs[-1][1] += 1
    with pytest.raises(NeurozooError, match=r"other new_cell_state than the agent in 1 of 3 steps, first in step 1"):
        check_same_outputs(open_frozen(policy_folder()), trace)


def test_the_memory_of_a_played_episode_goes_from_step_to_step(policy):
    checkpoint = policy()
    layout = keras_layout_of(checkpoint.game, checkpoint.model, checkpoint.protocol)
    trace = play_policy(checkpoint, layout, steps=4)
    for before, after in zip(trace.inputs[3:], trace.outputs[2:], strict=True):
        assert not before[0].any()
        np.testing.assert_array_equal(before[1:], after[:-1])
    assert (trace.inputs[1][0], trace.inputs[2][0]) == (0, 0)


def test_a_run_is_frozen_without_core_and_noise_table(policy, tmp_path):
    checkpoint = policy("impala_shallow")
    write_checkpoint(tmp_path / "checkpoint.npz", checkpoint)
    (tmp_path / "result.json").write_text(json.dumps({"format": 1, "kind": "network", "test_score": 3.0, "files": {}}))
    assert freeze_run(tmp_path)["ties"] == 0
    record = json.loads((tmp_path / "frozen" / "model.json").read_text())
    assert record["scores"] == {"test_score": 3.0}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"policy": "dice"}, "the policy 'dice' is none of greedy, sampled"),
        ({"memory": []}, "has 5 inputs, but model.json beside it describes 3"),
    ],
)
def test_a_damaged_model_json_is_refused(policy_folder, tmp_path, changes, sentence):
    folder = shutil.copytree(policy_folder(), tmp_path / "frozen")
    record = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(record | changes))
    with pytest.raises(NeurozooError, match=sentence):
        open_frozen(folder).load_keras()


def test_an_export_to_the_atari_zoo_says_that_there_is_no_graph(policy_folder):
    from neurozoo.agents.export import zoo_graph

    with pytest.raises(NeurozooError, match="has no graph, so it cannot be exported to the Atari Zoo"):
        zoo_graph(open_frozen(policy_folder()))


def test_layers_before_the_history_can_be_looked_at_alone(policy_folder):
    frozen = open_frozen(policy_folder())
    seen = frozen.activations_model(["conv1", "fc"])
    assert len(seen.inputs) == 1
    with pytest.raises(NeurozooError, match="cannot be computed from observations alone"):
        frozen.activations_model(["lstm"])


def test_an_earlier_moment_of_weights_that_are_not_finite_is_refused(policy, tmp_path):
    checkpoint = policy("impala_shallow")
    broken = replace(checkpoint, theta=np.full_like(checkpoint.theta, np.nan))
    with pytest.raises(NeurozooError, match="weights that are NaN or infinite; the first are in"):
        freeze(broken, tmp_path / "frozen")
    assert not (tmp_path / "frozen").exists()
