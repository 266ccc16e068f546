import json
import resource
import shutil
import zipfile

import pytest
from neurozoo.agents.frozen import open_frozen, outdated
from neurozoo.errors import NeurozooError


def change(folder, **values):
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_damaged_or_foreign_model_json_is_refused(own_copy):
    record = json.loads((own_copy / "model.json").read_text())
    (own_copy / "model.json").write_text(json.dumps(record)[:-20])
    with pytest.raises(NeurozooError, match="is damaged"):
        open_frozen(own_copy)
    (own_copy / "model.json").write_text(json.dumps({**record, "format": "another"}))
    with pytest.raises(NeurozooError, match="has format another, but this version reads format 1"):
        open_frozen(own_copy)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"layers": [{"name": "conv1"}]}, "incomplete or damaged .KeyError: 'kind'"),
        ({"protocol": {"name": "uber2018"}}, "incomplete or damaged"),
        ({"game": "braekout"}, "did you mean 'breakout'"),
        ({"algo": "../../../escaped"}, "should be a name of letters, digits"),
        ({"model": "/tmp/escaped"}, "should be a name of letters, digits"),
        ({"layers": []}, "should name at least one layer and one action"),
    ],
)
def test_an_incomplete_model_json_is_refused(own_copy, values, sentence):
    change(own_copy, **values)
    with pytest.raises(NeurozooError, match=sentence):
        open_frozen(own_copy)


def test_a_layer_whose_name_would_lead_out_of_the_folder_is_refused(own_copy):
    layers = json.loads((own_copy / "model.json").read_text())["layers"]
    change(own_copy, layers=[layers[0] | {"name": "../../../escaped"}, *layers[1:]])
    with pytest.raises(NeurozooError, match=r"'\.\./\.\./\.\./escaped' should be a name of letters, digits"):
        open_frozen(own_copy)


def test_a_missing_or_damaged_keras_file_is_refused(own_copy):
    frozen = open_frozen(own_copy)
    whole = (own_copy / "model.keras").read_bytes()
    (own_copy / "model.keras").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NeurozooError, match="is damaged or not a Keras model"):
        frozen.load_keras()
    (own_copy / "model.keras").unlink()
    with pytest.raises(NeurozooError, match=r"model\.keras is missing"):
        frozen.load_keras()


def test_a_keras_file_with_weights_that_are_not_finite_is_refused_with_the_layer(own_copy):
    import keras

    model = keras.models.load_model(own_copy / "model.keras")
    kernel, bias = model.get_layer("fc").get_weights()
    bias[3] = float("nan")
    model.get_layer("fc").set_weights([kernel, bias])
    model.save(own_copy / "model.keras")
    with pytest.raises(NeurozooError, match="weights that are NaN or infinite; the first are in fc/bias"):
        open_frozen(own_copy).load_keras()


def test_a_keras_file_that_brings_code_along_is_refused(own_copy):
    import keras

    inputs = keras.Input((84, 84, 4))
    outputs = keras.layers.Lambda(lambda value: value[:, 0, 0, :])(inputs)
    keras.Model(inputs, outputs).save(own_copy / "model.keras")
    with pytest.raises(NeurozooError, match="not a Keras model"):
        open_frozen(own_copy).load_keras()


def test_a_keras_file_with_other_outputs_or_layers_than_model_json_is_refused(own_copy):
    frozen = open_frozen(own_copy)
    with pytest.raises(NeurozooError, match="lacks a layer"):
        frozen.activations_model(["conv1", "conv7"])
    change(own_copy, actions=["NOOP", "FIRE"])
    with pytest.raises(NeurozooError, match=r"outputs of shape \(None, 4\), but model\.json beside it names 2 actions"):
        open_frozen(own_copy).load_keras()


def test_a_model_that_asks_for_more_weights_than_its_file_holds_is_refused(frozen_folder, tmp_path):
    import keras

    folder = tmp_path / "frozen"
    shutil.copytree(frozen_folder("small"), folder)
    with zipfile.ZipFile(folder / "model.keras") as file:
        members = {name: file.read(name) for name in file.namelist()}
    assert members["config.json"].count(b'"units": 256') == 1
    members["config.json"] = members["config.json"].replace(b'"units": 256', b'"units": 2000000')  # 31 GB
    layer = b'"build_config": {"input_shape": [null, 256]}'
    members["config.json"] = members["config.json"].replace(layer, layer.replace(b"256", b"2000000"))
    with zipfile.ZipFile(folder / "model.keras", "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(NeurozooError, match=r"model\.keras is damaged .*it asks for [0-9,]+ weights, but its file has"):
        open_frozen(folder).load_keras()

    class Twice(keras.layers.Layer):
        def call(self, value):
            return 2 * value

    # When Keras finds the shape of its result, it gives values to all variables of this thread that have none.
    assert Twice()(keras.Input((3,))).shape == (None, 3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # kB


@pytest.mark.parametrize("shape", [[], [3, 4], [1, 2, 3, 4], [0], [2.5]])
def test_activations_are_of_units_or_maps(own_copy, shape):
    record = json.loads((own_copy / "model.json").read_text())
    record["layers"][0]["shape"] = shape
    (own_copy / "model.json").write_text(json.dumps(record))
    with pytest.raises(NeurozooError, match=r"model\.json"):
        open_frozen(own_copy)


@pytest.mark.parametrize(
    ("result", "warning"),
    [
        ({"frames": 800, "test_score": 2.5}, None),
        ({"frames": 900, "test_score": 2.5}, "is the agent after 800 frames, but the run has reached 900"),
        ({"frames": 800, "test_score": 3}, "is an earlier agent: its test score is 2.5, that of the run is 3"),
    ],
)
def test_a_frozen_agent_of_an_earlier_training_is_known(result, warning, tmp_path):
    (tmp_path / "frozen").mkdir()
    (tmp_path / "frozen" / "model.json").write_text(json.dumps({"scores": {"frames": 800, "test_score": 2.5}}))
    (tmp_path / "result.json").write_text(json.dumps({"format": 1, "kind": "network", **result}))
    said = outdated(tmp_path)
    assert said is None if warning is None else warning in said
