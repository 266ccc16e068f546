import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from neurozoo.agents.checkpoint import read_checkpoint, write_checkpoint
from neurozoo.agents.export import export_weights
from neurozoo.agents.genome_import import MOST_BYTES, import_genome, parse_genome, read_text
from neurozoo.agents.playable_agent import play_as, read_agent
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation, Weights, decode
from neurozoo.genomes.noise_table import open_noise_table

GENOME = Genome(1, (Mutation(2, 0.002),))
SEEDS = [4070460811, 2393459932]

# ---- every published form


@pytest.mark.parametrize(
    "text",
    [
        "(1, (2, 0.002))",
        " (1, (2, 0.002))\n",
        "seeds = (1, (2, 0.002))\n",
        "[1, [2, 0.002]]",
        "\ufeff[1, [2, 2e-3]]",
        "Current elite: (1, (2, 0.002))",
        "11/20/2026 09:35:20 AM Current elite: (1, (2, 0.002))\n",
        "11/20/2026 09:30:20 AM Current elite: (7,)\n\n... Current elite: (1, (2, 0.002))\n11/20/2026 Timesteps\n",
    ],
)
def test_a_genome_is_read_in_every_published_form(text):
    assert parse_genome(text) == GENOME


@pytest.mark.parametrize("name", ["(1) genome.json", "[frostbite].json", "{genome}", "Current elite: 3"])
def test_a_file_whose_name_begins_like_a_genome_is_opened(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("(1, (2, 0.002))")
    monkeypatch.chdir(tmp_path)
    assert parse_genome(read_text(name)) == parse_genome(read_text(Path(name))) == GENOME
    (tmp_path / name).unlink()
    assert read_text(name) == name
    with pytest.raises(NeurozooError, match="cannot be read as a file"):
        read_text(Path(name))


@pytest.mark.parametrize("layout", ["[{}, {}]", "{}, {}", "[\n{},\n {},\n],", "({},{},)"])
def test_a_flat_list_is_seeds_where_seeds_are_wanted(layout):
    assert parse_genome(layout.format(*SEEDS), seeds=True) == tuple(SEEDS)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "[", "[]", "()", "(1, (2, 0.002)", "nonsense", "[1, [2, NaN]]", "null", "7", '"7"', "[" * 100_000,
        "Current elite:", "Current elite: nobody", "(__import__('os').getpid(),)", "[1, [2, 0.1], os]",
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_text_that_is_not_a_genome_is_refused_with_a_message(text):
    with pytest.raises(NeurozooError) as caught:
        parse_genome(text)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["[,]", ",", "[1,,2]", "[1 2]", "[4294967296]", f"[{'9' * 5000}]", "[]"])
def test_text_that_is_not_a_list_of_seeds_is_refused_with_a_message(text):
    with pytest.raises(NeurozooError) as caught:
        parse_genome(text, seeds=True)
    assert len(str(caught.value)) < 500


# ---- import


@pytest.fixture
def bring(small_noise_table, tmp_path):
    """Imports for breakout and the network `small`, unless told otherwise."""

    def bring(source, **choices):
        words = {"game": "breakout", "model": "small"} | choices
        return import_genome(source, noise=small_noise_table, runs=tmp_path / "runs", **words)

    return bring


def test_an_imported_genome_has_the_folder_and_the_files_of_a_run(bring, small_noise_table, tmp_path):
    (tmp_path / "breakout_model1_final.txt").write_text("(1, (2, 0.002))\n")
    folder = bring(tmp_path / "breakout_model1_final.txt", model="Model", run=3)
    assert folder == tmp_path / "runs" / "imported" / "breakout" / "small" / "3"
    assert sorted(path.name for path in folder.iterdir()) == [
        "checkpoint.npz",
        "config.yaml",
        "genome.json",
        "result.json",
    ]
    checkpoint = read_checkpoint(folder / "checkpoint.npz")
    assert (checkpoint.algo, checkpoint.game, checkpoint.model, checkpoint.run) == ("imported", "breakout", "small", 3)
    assert checkpoint.protocol == protocol_of("breakout")
    expected = decode(GENOME, noise=open_noise_table(small_noise_table), layout=checkpoint.layout)
    np.testing.assert_array_equal(checkpoint.theta, expected)
    record = json.loads((folder / "genome.json").read_text())
    assert record["genome"] == [1, [2, 0.002]]
    assert record["parameters"] == 1_004_852
    facts = yaml.safe_load((folder / "config.yaml").read_text())
    assert facts["protocol_record"]["max_noops"] == 30


def test_importing_an_imported_genome_gives_the_same_weights(bring, tmp_path):
    first = bring("(1, (2, 0.002))", protocol="machado2018", action_set="minimal")
    again = bring(first / "genome.json", game=None, model=None, run=2)
    one, two = (read_checkpoint(folder / "checkpoint.npz") for folder in (first, again))
    np.testing.assert_array_equal(one.theta, two.theta)
    assert one.protocol == two.protocol == protocol_of("breakout", "machado2018", action_set="minimal")


@pytest.mark.parametrize(
    ("source", "choices"),
    [("[1, [3, 0.002]]", {}), ("[1, [2, 0.002]]", {"protocol": "machado2018", "action_set": "minimal"})],
)
def test_another_agent_in_the_folder_is_not_replaced(bring, source, choices):
    folder = bring("[1, [2, 0.002]]")
    bring("[1, [2, 0.002]]")  # the same again
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(
        NeurozooError, match=r"should be empty or hold .*, but it holds imported/breakout/small/1 .*--run N"
    ):
        bring(source, **choices)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "checkpoint.npz").unlink()  # as Snakemake does before it runs a rule again
    bring(source, **choices)


@pytest.mark.parametrize("sign", ["log.jsonl", "state/state.json"])
def test_the_folder_of_a_training_is_not_taken_for_an_import(bring, tmp_path, sign):
    folder = tmp_path / "runs" / "imported" / "breakout" / "small" / "1"
    (folder / sign).parent.mkdir(parents=True)
    for name in (sign, "config.yaml"):
        (folder / name).write_text("of the training")
    with pytest.raises(NeurozooError, match="a run trains there or has trained"):
        bring("[1]")
    assert (folder / "config.yaml").read_text() == "of the training"


def test_the_start_state_of_2018_is_a_choice(bring):
    folder = bring("[1]", game="frostbite", start_state="2018")
    assert read_agent(folder).protocol.start_state == "2018"
    with pytest.raises(NeurozooError, match="not known for 'breakout'"):
        bring("[1]", start_state="2018")


@pytest.mark.parametrize(
    ("source", "choices", "sentence"),
    [
        ("(1, (2, 0.002))", {"game": None}, r"names no game and network\. Give both \(--game, --model\)"),
        ("(1, (2, 0.002))", {"game": "pnog"}, "did you mean 'pong'"),
        ("(1, (2, 0.002))", {"model": "smal"}, "did you mean 'small'"),
        ("(1, (2, 0.002))", {"protocol": "uber"}, "did you mean 'uber2018'"),
        ("(1, (2, 0.002))", {"protocol": "hard_maze"}, "cannot be played under the protocol 'hard_maze'"),
        ("(1, (2, 0.002))", {"run": 0}, "whole number from 1, but is 0"),
        ("(1, (2, 0.002))", {"format": "sedes"}, "did you mean 'seeds'"),
        ("[995149]", {}, r"index 995,149 lies outside the noise table: .* 0 to 995,148\. Is it a genome for another"),
        ("[1, [2000000, 0.1]]", {}, "index 2,000,000 lies outside the noise table"),
        ("nowhere.txt", {}, r"'nowhere.txt' cannot be read as a file \(No such file or directory\)\. Give a genome"),
        ("", {}, "cannot be read as a file"),
        ("x" * 5000, {}, "cannot be read as a file"),
        ("a\0b", {}, "cannot be read as a file"),
        ("[1, 2]", {"format": "seeds"}, "Seeds are genomes of the network 'cshenton', but the network is 'small'"),
        ('{"genome": [1], "game": "pong"}', {}, "evolved for the game 'pong', not 'breakout'"),
        ('{"genome": [1], "model": "large"}', {}, "evolved for the network 'large', not 'small'"),
        ('{"genome": [1]}', {"model": None}, "The genome's file lacks model"),
        ('{"other": [1]}', {}, "The genome's file lacks genome"),
        ('{"genome": null}', {}, r"its run's weights do not come from the noise table"),
        (
            '{"genome": [1], "parameters": 5}',
            {},
            "for 5 parameters, but the network 'small' with 4 outputs has",
        ),
        (
            '{"genome": [1], "protocol": "uber2018"}',
            {"protocol": "machado2018"},
            "evolved for 4 actions, but 'breakout' has 18 under 'machado2018' with the action set 'full'",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_genome_that_does_not_fit_is_refused_before_anything_is_written(bring, tmp_path, source, choices, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        bring(source, **choices)
    assert not (tmp_path / "runs").exists()


def test_an_empty_a_binary_and_a_huge_file_are_refused(bring, tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(NeurozooError, match="The genome is empty"):
        bring(tmp_path / "empty")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NeurozooError, match="it is not text"):
        bring(tmp_path / "binary")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(MOST_BYTES + 1)  # a sparse file
    with pytest.raises(NeurozooError, match=r"67,108,865 bytes, but a genome has at most 67,108,864\. If it is a log"):
        bring(tmp_path / "huge")


def test_seeds_become_a_run_under_their_own_protocol(bring):
    from neurozoo.genomes.cshenton import decode_seeds

    folder = bring(str(SEEDS), game="ice_hockey", model="cshenton")
    checkpoint = read_checkpoint(folder / "checkpoint.npz")
    assert checkpoint.protocol == protocol_of("ice_hockey", "gym_v4")
    np.testing.assert_array_equal(checkpoint.theta, decode_seeds(SEEDS, 18))
    record = json.loads((folder / "genome.json").read_text())
    assert (record["genome"], record["seeds"]) == (None, SEEDS)
    agent = read_agent(folder)
    np.testing.assert_array_equal(agent.genome.initial.theta, checkpoint.theta)


def test_seeds_under_another_protocol_are_refused(bring):
    with pytest.raises(NeurozooError, match="Use the protocol 'gym_v4'"):
        bring(str(SEEDS), game="frostbite", model="cshenton", protocol="uber2018")


# ---- agents


def test_weights_without_a_genome_come_from_the_checkpoint_beside_it(bring):
    folder = bring("[1]")
    record = json.loads((folder / "genome.json").read_text())
    (folder / "genome.json").write_text(json.dumps(record | {"genome": None}))
    agent = read_agent(folder)
    assert agent.genome == Genome(Weights.of(read_checkpoint(folder / "checkpoint.npz").theta))
    assert read_agent(folder / "checkpoint.npz").genome == agent.genome
    (folder / "genome.json").write_text(json.dumps(record | {"genome": None, "game": "pong"}))
    with pytest.raises(NeurozooError, match="a genome for pong/small, but weights for breakout/small"):
        read_agent(folder)
    (folder / "checkpoint.npz").unlink()
    with pytest.raises(
        NeurozooError, match=r"does not contain the agent's weights, and the checkpoint\.npz .* missing"
    ):
        read_agent(folder)


def test_an_agent_may_play_by_another_protocol_if_its_weights_fit(bring):
    agent = read_agent(bring("[1]", game="frostbite"))
    assert play_as(agent).protocol == protocol_of("frostbite")
    assert play_as(agent, start_state="2018").protocol == protocol_of("frostbite", start_state="2018")
    with pytest.raises(NeurozooError, match="has 1,008,450 weights, but 'small' needs 1,005,366 to play 'pong'"):
        play_as(agent, game="pong")  # its recipe would give another network there
    theta = np.ones(layout_of("pong", "small", protocol_of("pong")).parameter_count, np.float32)
    fixed = replace(agent, game="pong", genome=Genome(Weights.of(theta)))
    assert play_as(fixed, protocol="uber2018").game == "pong"
    with pytest.raises(NeurozooError, match="has 1,005,366 weights, but 'small' needs 1,008,450 to play 'frostbite'"):
        play_as(fixed, game="frostbite")


def test_an_agent_keeps_its_actions_under_another_protocol(bring):
    agent = read_agent(bring("[1]", game="pong"))
    assert protocol_of("pong", "machado2018").action_set == "full"
    assert play_as(agent, protocol="machado2018").protocol == protocol_of("pong", "machado2018", action_set="minimal")
    with pytest.raises(NeurozooError, match="has 1,005,366 weights, but 'small' needs 1,008,450 to play 'pong'"):
        play_as(agent, protocol="machado2018", action_set="full")


# ---- export


def test_exported_weights_have_names_and_shapes_and_need_no_pickle(bring, small_noise_table, tmp_path):
    folder = bring("(1, (2, 0.002))")
    theta = read_checkpoint(folder / "checkpoint.npz").theta
    for number, source in enumerate((folder, folder / "genome.json", folder / "checkpoint.npz")):
        path = tmp_path / f"{number}.npz"
        shapes = export_weights(source, path, noise=small_noise_table)
        assert shapes["conv1/w"] == (8, 8, 4, 16)
        with np.load(path, allow_pickle=False) as arrays:
            assert arrays.files == ["conv1/w", "conv1/b", "conv2/w", "conv2/b", "fc/w", "fc/b", "out/w", "out/b"]
            np.testing.assert_array_equal(np.concatenate([arrays[name].ravel() for name in arrays.files]), theta)


def test_export_keeps_the_reference_of_virtual_batch_norm(bring, small_noise_table, tmp_path):
    folder = bring("[1]")
    reference = np.ones((2, 84, 84, 4), np.float32)
    write_checkpoint(
        folder / "checkpoint.npz", replace(read_checkpoint(folder / "checkpoint.npz"), reference=reference)
    )
    assert export_weights(folder, tmp_path / "w.npz", noise=small_noise_table)["reference"] == (2, 84, 84, 4)
