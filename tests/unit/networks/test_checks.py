"""What a user writes wrongly into the catalogue is told in a sentence that names it, before anything is trained."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import ARCHITECTURES, architecture_digest, by_name
from neurozoo.networks.chains import Network
from neurozoo.networks.keras_networks import KerasNetwork
from neurozoo.networks.layers import Layer

DIGESTS = Path(__file__).with_name("digests.json")
CONV = Layer("conv1", "conv", 8, kernel=8, stride=4)
FC = Layer("fc", "dense", 16)
OUT = Layer("out", "dense", activation="linear")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"activation": "sigmoid"}, "activation of the layer 'fc' 'sigmoid' is unknown. Known: linear, relu, tanh"),
        ({"kind": "convolution"}, "kind of the layer 'fc' 'convolution' is unknown"),
        ({"padding": "SAME"}, "padding of the layer 'fc' 'SAME' is unknown; did you mean 'same'"),
        ({"normalisation": "batch"}, "normalisation of the layer 'fc' 'batch' is unknown"),
        ({"initialisation": "he"}, "initialisation of the layer 'fc' 'he' is unknown"),
        ({"kind": "conv"}, "'fc' should have a whole number kernel >= 1, but it is 0"),
        ({"units": 0}, "'fc' should have a whole number units >= 1, but it is 0"),
        ({"units": 2.5}, "'fc' should have a whole number units >= 1, but it is 2.5"),
        ({"stride": 0}, "'fc' should have a whole number stride >= 1, but it is 0"),
        ({"name": "a/b"}, "The layer 'a/b' should have a name of letters, digits and _"),
        ({"name": ""}, "The layer '' should have a name"),
    ],
)
def test_a_layer_is_checked_when_it_is_written(fields, message):
    with pytest.raises(NeurozooError) as caught:
        replace(FC, **fields)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((), "'mine' has no layers"),
        ((CONV, FC), "'mine' should end with a dense layer without units, .* but ends with 'fc'"),
        ((FC, FC, OUT), "'mine' has a layer 'fc', twice"),
        ((replace(FC, name="flatten"), OUT), "'mine' has a layer 'flatten', which its model has already"),
        ((FC, CONV, OUT), "'mine' has the conv 'conv1' after the dense 'fc'"),
        ((replace(FC, units=None), OUT), "'mine' has a layer 'fc' without units"),
        ((replace(FC, normalisation="layer"), OUT), r"'fc' is not for chains \(layer normalisation\)"),
        ((replace(FC, kind="lstm"), OUT), r"'fc' is not for chains \(lstm\)"),
    ],
)
def test_a_chain_is_checked_as_a_whole(layers, message):
    with pytest.raises(NeurozooError, match=message):
        Network("mine", (), layers)


@pytest.mark.parametrize("name", ["my/net", "my net", "", "..", ".net"])
def test_a_network_has_a_name_that_can_be_a_folder(name):
    with pytest.raises(NeurozooError, match="should be a name of letters, digits"):
        Network(name, (), (FC, OUT))
    assert Network("my-net.v2", (), (FC, OUT)).name == "my-net.v2"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"head": "values"}, "head of the network 'mine' 'values' is unknown"),
        ({"units": 0}, "'mine' should have a whole number units >= 1"),
        ({"lstm_units": -1}, "'mine' should have a whole number lstm_units >= 0"),
        ({"torso": (FC,)}, "'mine' should have a torso of convolutions"),
        ({"torso": ()}, "'mine' should have a torso of convolutions"),
        ({"torso": (CONV, CONV)}, "'mine' has a layer 'conv1', twice"),
        ({"torso": (replace(CONV, name="baseline"),)}, "'mine' has a layer 'baseline', which its model has already"),
        ({"torso": (replace(CONV, units=None),)}, "'conv1' should have a whole number units >= 1, but it is None"),
        ({"torso": (replace(CONV, bias=False),)}, "the bias of its layer 'conv1' cannot be False: it would"),
        ({"torso": (replace(CONV, std=9.0),)}, "the std of its layer 'conv1' cannot be 9.0"),
        ({"torso": (replace(CONV, normalisation="before_bias"),)}, "the normalisation of its layer 'conv1' cannot be"),
    ],
)
def test_a_network_with_heads_is_checked(fields, message):
    with pytest.raises(NeurozooError, match=message):
        KerasNetwork(**{"name": "mine", "published_names": (), "torso": (CONV,), "units": 4} | fields)


def test_two_networks_never_share_a_name():
    mine = Network("small", (), (FC, OUT))
    for networks, name in (
        ([mine, ARCHITECTURES["small"]], "small"),
        ([replace(mine, name="mine", published_names=("Model",)), ARCHITECTURES["small"]], "Model"),
    ):
        with pytest.raises(NeurozooError, match=f"are called '{name}'"):
            by_name(networks)


def test_digests_are_of_what_a_network_computes_and_of_how_it_starts_but_not_of_names(monkeypatch):
    def digests(network):
        monkeypatch.setitem(ARCHITECTURES, "mine", network)
        return architecture_digest("mine"), architecture_digest("mine", with_start=True)

    small = replace(ARCHITECTURES["small"], name="mine", published_names=())
    first, *others = small.layers
    before = digests(small)
    assert before == (architecture_digest("small"), architecture_digest("small", with_start=True))

    def changed(**fields):
        return digests(replace(small, layers=(replace(first, **fields), *others)))

    assert changed(name="renamed", std=1) == before
    for change in ({"activation": "tanh"}, {"units": 17}, {"padding": "valid"}, {"gain": 0.5}):
        assert not set(changed(**change)) & set(before)
    for change in ({"std": 2.0}, {"initialisation": "glorot"}):
        now = changed(**change)
        assert now[0] == before[0]
        assert now[1] != before[1]
    assert digests(replace(small, observation_clip=5.0))[0] != before[0]


def test_digests_of_the_catalogue_stay_as_they_are():
    """With another digest, all checkpoints of a network are refused, and all runs with it start anew."""
    known = json.loads(DIGESTS.read_text())
    now = {name: [architecture_digest(name), architecture_digest(name, with_start=True)] for name in ARCHITECTURES}
    assert {name: now[name] for name in known} == known
