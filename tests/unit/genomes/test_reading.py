"""The one reader of genomes: forms, files, and what is refused."""

import json
from pathlib import Path

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.genomes.reading import GenomeRecord, parse_genome, read_genome, read_text

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


@pytest.mark.parametrize(("model", "format"), [("cshenton", "auto"), ("small", "seeds")])
def test_a_flat_list_is_seeds_for_the_network_cshenton_or_on_demand(model, format):
    record = read_genome("4070460811, 2393459932", game="pong", model=model, format=format)
    assert record == GenomeRecord(None, "pong", model, seeds=tuple(SEEDS))


# ---- files


def write(path, **changes):
    record = {"game": "frostbite", "model": "small", "genome": [1, [2, 0.1]]} | changes
    path.write_text(json.dumps({key: value for key, value in record.items() if value is not None}))
    return path


def test_a_genome_file_is_read_with_our_name_or_the_published_one_of_its_network(tmp_path):
    for name in ("small", "Model"):
        record = read_genome(write(tmp_path / "genome.json", model=name))
        assert (record.game, record.model, record.genome) == ("frostbite", "small", Genome(1, (Mutation(2, 0.1),)))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"genome": None, "game": None}, r"lacks game, genome\. A genome file has game, model and genome"),
        ({"genome": "__import__('os')"}, "A genome looks like"),
        ({"model": "smal"}, "network 'smal' is unknown; did you mean 'small'"),
        ({"model": ["small"]}, "network .* is unknown"),
    ],
)
def test_a_genome_file_with_missing_keys_or_unknown_names_is_refused(tmp_path, changes, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        read_genome(write(tmp_path / "genome.json", **changes))


def test_a_text_in_a_genome_file_may_mention_a_log(tmp_path):
    file = tmp_path / "genome.json"
    file.write_text('{"source": "see Current elite: in log", "game": "pong", "model": "small", "genome": [5]}')
    assert read_genome(file).genome == Genome(5)


def test_a_log_of_numbers_says_where_the_genome_is(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("{}\n{}\n")
    with pytest.raises(NeurozooError, match=r"log\.jsonl has the numbers of a run\. Give the run's folder"):
        read_genome(log)


def test_a_cut_genome_file_is_refused(tmp_path):
    path = write(tmp_path / "genome.json")
    path.write_text(path.read_text()[:-5])
    with pytest.raises(NeurozooError, match=r"This is damaged JSON \(.*Give a genome such as"):
        read_genome(path)


def test_a_genome_file_without_a_genome_is_read(tmp_path):
    path = tmp_path / "genome.json"
    path.write_text(json.dumps({"game": "frostbite", "model": "small", "genome": None}))
    record = read_genome(path)
    assert (record.genome, record.seeds, record.protocol) == (None, None, None)
    path.write_text(json.dumps({"game": "frostbite", "model": "small", "seeds": [1, 2]}))
    assert read_genome(path).seeds == (1, 2)
    path.write_text(json.dumps({"game": "frostbite", "model": "small", "seeds": [-1]}))
    with pytest.raises(NeurozooError, match="A seed should be a whole number"):
        read_genome(path)


def test_a_genome_file_may_say_how_it_is_played(tmp_path):
    path = tmp_path / "genome.json"
    facts = {"protocol": "machado2018", "action_set": "minimal", "observation": "", "start_state": "2018"}
    write(path, **facts)
    protocol = read_genome(path).protocol
    assert (protocol.name, protocol.action_set, protocol.start_state) == ("machado2018", "minimal", "2018")
    write(path, game="river_crossing", protocol="river_fixed", observation="objects")
    assert read_genome(path).protocol.observation == "objects"
    write(path, protocol="uber")
    with pytest.raises(NeurozooError, match="did you mean 'uber2018'"):
        read_genome(path)


def test_the_genome_of_a_run_is_read_from_its_folder(tmp_path):
    write(tmp_path / "genome.json")
    assert read_genome(tmp_path).genome == read_genome(str(tmp_path)).genome == Genome(1, (Mutation(2, 0.1),))


def test_the_user_completes_a_file_but_the_file_counts(tmp_path):
    path = write(tmp_path / "genome.json", model=None)
    record = read_genome(path, game="pong", model="Model")
    assert (record.game, record.model) == ("frostbite", "small")
    assert "model" not in record.facts
