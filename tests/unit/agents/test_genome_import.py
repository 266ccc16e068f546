import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from neurozoo.agents import bundled_agents
from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.export import export_weights
from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.playable_agent import play_as, read_agent
from neurozoo.algorithms.neuroevolution.warm_start import Fit, read_population, read_weights
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of
from neurozoo.genomes.genome import Genome, Mutation, Weights, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.genomes.reading import MOST_BYTES

GENOME = Genome(1, (Mutation(2, 0.002),))
SEEDS = [4070460811, 2393459932]

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
        ('{"genome": [1], "parameters": 5}', {}, "for 5 parameters, but the network 'small' with 4 outputs has"),
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


def test_a_genome_of_a_network_of_another_size_is_no_agent(tmp_path):
    file = tmp_path / "genome.json"
    file.write_text('{"game": "hard_maze", "model": "simple", "genome": [5, [2, 0.002]], "parameters": 7}')
    with pytest.raises(NeurozooError, match=r"evolved for 7 parameters, but the network 'simple' with 2 outputs has"):
        read_agent(file)


def test_arrays_from_elsewhere_are_no_damaged_checkpoint_that_should_be_deleted(tmp_path):
    np.savez(tmp_path / "mine.npz", kernel=np.ones(3))
    with pytest.raises(
        NeurozooError, match=r"mine\.npz is no checkpoint of a run: it lacks about and theta\. If"
    ) as told:
        read_agent(tmp_path / "mine.npz")
    assert "elete" not in str(told.value)


# ---- whatever asks for a genome

FORMS = {
    "tuple.txt": "(1, (2, 0.002))",
    "ga.out": "11/20/2026 09:30:20 AM Current elite: (7,)\n\n... Current elite: (1, (2, 0.002))\n11/20/2026 Steps\n",
    "object.json": '{"game": "breakout", "model": "small", "genome": [1, [2, 0.002]]}',
    "cut.json": '{"game": "breakout", "model": "small", "gen',
    "other.txt": "nonsense",
    "seeds.json": '{"game": "breakout", "model": "small", "seeds": [-1]}',
}
BROKEN = ("cut.json", "other.txt", "seeds.json")
WORDS = {"game": "breakout", "model": "small"}


@pytest.fixture
def readers(bring, small_noise_table, tmp_path):
    """What reads a genome, by name; each returns its weights."""
    layout, noise = layout_of(*WORDS.values(), protocol_of("breakout")), open_noise_table(small_noise_table)
    fit = Fit(*WORDS.values(), layout, len(noise))
    index = {"file": "", "licence": "MIT", "algo": "imported", **WORDS, "command": "-", "evaluation": "-"}
    index |= {"score": {"mean": 1, "count": 1, "note": "none"}}

    def weights_of(genome):
        return decode(genome, noise=noise, layout=layout)

    def export(source):
        export_weights(source, tmp_path / "w.npz", noise=small_noise_table, **WORDS)
        with np.load(tmp_path / "w.npz", allow_pickle=False) as arrays:
            return np.concatenate([arrays[name].ravel() for name in arrays.files])

    def zoo(source, monkeypatch=pytest.MonkeyPatch):
        entry = index | {"file": str(source), "sha256": sha256_of(source)}
        (tmp_path / "index.yaml").write_text(yaml.safe_dump({"agents": {"elite": entry}}))
        with monkeypatch.context() as patch:
            patch.setattr(bundled_agents, "freeze_run", lambda *_, **__: None)
            folder = bundled_agents.unpack_agent(
                "elite", core="", noise=small_noise_table, index=tmp_path / "index.yaml", results=tmp_path / "zoo"
            )
        return read_checkpoint(folder / "checkpoint.npz").theta

    return {
        "import": lambda source: read_checkpoint(bring(source) / "checkpoint.npz").theta,
        "evaluate": lambda source: weights_of(read_agent(source, **WORDS).genome),
        "export": export,
        "zoo": zoo,
        "load_population": lambda source: weights_of(read_population(str(source), fit).genomes[0]),
        "load_from": lambda source: weights_of(read_weights(str(source), fit).genomes[0]),
    }


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_file", [True, False], ids=["file", "text"])
def test_a_genome_is_read_in_the_same_forms_with_the_same_sentences_everywhere(readers, tmp_path, name, is_file):
    source = FORMS[name]
    if is_file:
        (source := tmp_path / name).write_text(FORMS[name])
    else:
        del readers["zoo"]  # its agents are files
    if name not in BROKEN:
        expected = readers["evaluate"]("(1, (2, 0.002))")
        for read in readers.values():
            np.testing.assert_array_equal(read(source), expected)
        return
    sentences = {}
    for reader, read in readers.items():
        with pytest.raises(NeurozooError) as caught:
            read(source)
        sentences[reader] = str(caught.value)
    if is_file or name != "other.txt":  # a setting that is no genome is a path, which is missing
        assert len(set(sentences.values())) == 1


def test_a_run_whose_genome_is_a_text_is_read_with_the_names_in_its_checkpoint(bring):
    folder = bring("[1]")
    (folder / "genome.json").write_text("(1,)")
    assert read_agent(folder, game="breakout", model="small").genome == Genome(1)


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
