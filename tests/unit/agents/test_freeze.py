import dataclasses
import json
import shutil

import numpy as np
import pytest
from neurozoo.agents.freeze import CHECKED_SLOWLY, FORMS, freeze, freeze_run
from neurozoo.agents.frozen import open_frozen
from neurozoo.agents.frozen_check import check_same_actions, stacked
from neurozoo.environments.observations import ObservationShape
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import NETWORKS

FILES = ["model.json", "model.keras", "model.onnx", "model.pb", "saved_model"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def checkpoint(agent):
    return agent("small")


@pytest.fixture(scope="module")
def trace(checkpoint, played):
    return played(checkpoint)


@pytest.mark.parametrize(
    ("model", "protocol"),
    [
        ("small", "machado2018"),
        ("recurrent_large", "uber2018"),
        pytest.param("small", "uber2018", marks=pytest.mark.long),
        pytest.param("large", "uber2018", marks=pytest.mark.long),
        pytest.param("large", "machado2018", marks=pytest.mark.long),
        pytest.param("recurrent_large", "machado2018", marks=pytest.mark.long),
    ],
)
def test_all_forms_of_a_frozen_model_act_like_the_agent(agent, played, tmp_path, model, protocol):
    checkpoint = agent(model, protocol=protocol)
    check = freeze(checkpoint, tmp_path / "frozen", trace=played(checkpoint, 8), forms=FORMS)
    assert check == {"steps": 8, "ties": 0}
    assert names(tmp_path / "frozen") == FILES
    assert names(tmp_path) == ["frozen"]


@pytest.mark.long(seconds=40)
@pytest.mark.parametrize("model", sorted({*NETWORKS} - {"mujoco"}))
def test_onnx_acts_like_any_chain_in_a_thousand_steps(agent, played, tmp_path, model):
    """Networks, all but those whose movement sorts by the bits of numbers, which ONNX does not have."""
    river = {"game": "river_crossing", "observation": "objects"}
    checkpoint = agent(model, **(river if model.startswith("modular") else {"game": "frostbite"}))
    trace = played(checkpoint, 8 if model.endswith("movement") else 1000)
    if model.endswith("movement"):
        with pytest.raises(NeurozooError, match=r"model.onnx is missing or not ONNX \(.*Bitcast"):
            freeze(checkpoint, tmp_path / "frozen", trace=trace, forms=["onnx"])
        assert not names(tmp_path)
    else:
        assert freeze(checkpoint, tmp_path / "frozen", trace=trace, forms=["onnx"])["steps"] == len(trace.actions)


def test_only_the_forms_that_are_wanted_stay_after_all_were_checked(checkpoint, trace, tmp_path):
    check = freeze(checkpoint, tmp_path / "frozen", trace=trace, forms=("graph", "keras", "record"))
    assert check == {"steps": len(trace.actions), "ties": 0}
    assert set(names(tmp_path / "frozen")) == set(FILES) - {"saved_model", "model.onnx"}
    files = json.loads((tmp_path / "frozen" / "model.json").read_text())["files"]
    assert set(files.values()) == {"model.keras", "model.pb"}
    assert open_frozen(tmp_path / "frozen").load_keras().count_params() == len(checkpoint.theta)


def test_model_json_tells_a_stranger_everything(frozen_folder):
    record = json.loads((frozen_folder("small") / "model.json").read_text())
    assert record["input"]["node"] == "X_t"
    assert record["input"]["shape"] == [None, 84, 84, 4]
    assert record["input"]["range"] == [0, 1]
    assert record["protocol"]["preprocessing"] == "published_bilinear"
    assert record["actions"] == ["NOOP", "FIRE", "RIGHT", "LEFT"]
    assert record["layers"][2] == {
        "name": "fc", "kind": "dense", "shape": [256], "activation": "relu", "cycles": 1,
        "keras_layer": "fc", "node": "ga/fc/relu", "weight_node": "ga/fc/w",
    }  # fmt: skip
    assert record["scores"] == {"test_score": 7.0}
    assert set(record["versions"]) == {"neurozoo", "tensorflow", "keras"}
    assert record["check"] == {"steps": 20, "ties": 0}


def test_the_saved_model_serves_outputs_and_action_by_name(frozen_folder):
    import tensorflow as tf

    loaded = tf.saved_model.load(str(frozen_folder("small") / "saved_model"))
    served = loaded.signatures["serving_default"](observation=tf.ones((3, 84, 84, 4)))
    assert served["logits"].shape == (3, 4)
    np.testing.assert_array_equal(served["action"], np.argmax(served["logits"], axis=-1))


def test_an_agent_that_acts_differently_from_the_trace_is_not_frozen_and_the_old_folder_stays(
    checkpoint, trace, own_copy, tmp_path
):
    logits = trace.logits.copy()
    logits[3, (trace.actions[3] + 1) % 4] = np.abs(logits[3]).max() + 1
    before = (own_copy / "model.json").read_bytes()
    with pytest.raises(NeurozooError, match="in 1 of 20 steps, first in step 3"):
        freeze(checkpoint, own_copy, trace=dataclasses.replace(trace, logits=logits))
    assert (own_copy / "model.json").read_bytes() == before
    assert names(tmp_path) == ["frozen"]


def test_another_action_passes_only_where_the_two_best_outputs_are_a_tie(frozen_folder, trace):
    folder, step = frozen_folder("small"), 4
    best = int(trace.actions[step])
    logits, other = trace.logits.copy(), (best + 1) % 4
    largest = np.abs(logits[step]).max()
    logits[step, other] = logits[step, best] + np.float32(0.5e-5) * largest
    assert check_same_actions(folder, dataclasses.replace(trace, logits=logits))["ties"] == 1
    logits[step, other] = logits[step, best] + np.float32(5e-5) * largest
    with pytest.raises(NeurozooError, match="first in step 4"):
        check_same_actions(folder, dataclasses.replace(trace, logits=logits))


def test_every_form_is_checked(agent, trace, frozen_folder, tmp_path, played):
    stranger = agent("small", seed=2)
    freeze(stranger, tmp_path / "other", trace=played(stranger, 3), forms=FORMS)
    for form in ("model.keras", "model.onnx", "model.pb", "saved_model"):
        folder = shutil.copytree(frozen_folder("small"), tmp_path / form)
        own, other = folder / form, tmp_path / "other" / form
        if own.is_dir():
            shutil.rmtree(own)
            shutil.copytree(other, own)
        else:
            shutil.copyfile(other, own)
        with pytest.raises(NeurozooError, match=f"{form} acts differently from the agent"):
            check_same_actions(folder, trace)


@pytest.mark.long(seconds=10)
def test_a_full_disk_leaves_nothing_and_says_what_to_do(small_disk):
    outcomes = small_disk(
        """
import numpy as np
from neurozoo.environments.protocols import get_protocol
from neurozoo.agents.freeze import freeze
from neurozoo.agents.frozen import open_frozen
from neurozoo.networks.catalogue import get_network
from neurozoo.agents.checkpoint import Checkpoint
theta = np.random.default_rng(0).standard_normal(get_network("small").layout(4).parameter_count, np.float32)
checkpoint = Checkpoint(theta, "ga", "breakout", "small", 1, get_protocol("uber2018"), 4)
outcomes = []
for spare in 1_000_000, 5_000_000:  # the disk fills up in Keras' file or in TensorFlow's
    fill(spare)
    message = refusal(lambda: freeze(checkpoint, f"{sys.argv[1]}/frozen", trace=None))
    free()
    outcomes.append([message, os.listdir(sys.argv[1])])
print(json.dumps(outcomes))
""",
        size="6m",
    )
    assert len(outcomes) == 2
    for message, files in outcomes:
        assert "frozen could not be written: no space left on device" in message
        assert files == []


def test_stacks_are_made_of_the_last_four_planes():
    planes = np.arange(1, 6, dtype=np.float32)[:, None, None] * np.ones((5, 1, 1), np.float32)
    batches = list(stacked(planes, 3, ObservationShape(84, 84, 1, 4)))
    assert [len(batch) for batch in batches] == [3, 2]
    assert np.concatenate(batches)[:, 0, 0].tolist() == [
        [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5],
    ]  # fmt: skip
    (repeated,) = stacked(planes, 9, ObservationShape(84, 84, 1, 4, repeats_first=True))
    assert repeated[:2, 0, 0].tolist() == [[1, 1, 1, 1], [1, 1, 1, 2]]


@pytest.fixture
def run_dir(noise, tmp_path):
    """A run's results, as training writes them."""
    from neurozoo.agents.checkpoint import Checkpoint, write_checkpoint
    from neurozoo.environments.protocols import get_protocol
    from neurozoo.files import write_json
    from neurozoo.genomes.genome import Genome, decode
    from neurozoo.networks.catalogue import get_network
    from neurozoo.records.run_result import write_run_result

    genome = Genome(777).mutated(1000, 0.01).mutated(5000, 0.02)
    theta = decode(genome, noise=noise, layout=get_network("small").layout(4))
    checkpoint = Checkpoint(theta, "ga", "breakout", "small", 1, get_protocol("uber2018"), 4)
    write_checkpoint(tmp_path / "checkpoint.npz", checkpoint)
    write_json(tmp_path / "genome.json", {"game": "breakout", "model": "small", "genome": genome.to_json()})
    write_run_result(tmp_path, kind="network", facts={}, files=["checkpoint.npz", "genome.json"])
    return tmp_path


def test_a_run_is_frozen_after_the_native_core_played_its_genome(run_dir, core, noise_table):
    check = freeze_run(run_dir, core=core, noise=noise_table, log=run_dir / "freeze.log")
    assert check["steps"] > 50
    assert set(names(run_dir / "frozen")) == set(FILES) - {"model.onnx"}
    assert f"same actions in {check['steps']} steps" in (run_dir / "freeze.log").read_text()


def test_without_a_core_numpy_plays_the_genome(run_dir, noise_table):
    assert 50 < freeze_run(run_dir, noise=noise_table)["steps"] <= CHECKED_SLOWLY
    assert "model.keras" in names(run_dir / "frozen")


def test_a_genome_that_is_not_the_checkpoints_is_noticed(run_dir, core, noise_table):
    from neurozoo.files import write_json

    write_json(run_dir / "genome.json", {"game": "breakout", "model": "small", "genome": [778]})
    for player in (core, None):
        with pytest.raises(NeurozooError, match="acts differently from the agent"):
            freeze_run(run_dir, core=player, noise=noise_table)
    write_json(run_dir / "genome.json", {"game": "frostbite", "model": "small", "genome": [777]})
    with pytest.raises(NeurozooError, match="a genome for frostbite/small, but weights for breakout/small"):
        freeze_run(run_dir, core=core, noise=noise_table)
    assert not (run_dir / "frozen").exists()
