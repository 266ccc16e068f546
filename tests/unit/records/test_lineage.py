import json

import pandas as pd
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.figures.lineage import plot_lineage
from neurozoo.records.lineage import ancestors, individuals, parent_ages, read_lineage, write_lineage

# Generation, individual, parent, power, training score, validation mean, parent?, elite?
FIRST = [
    [1, 4, None, None, None, 30.0, 12.0, True, True],
    [1, 2, None, None, None, 28.0, None, True, False],
    [1, 0, None, None, None, 25.0, 9.0, False, False],
]
SECOND = [
    [1, 4, None, None, None, 30.0, 14.0, True, True],  # the elite stays
    [2, 7, 1, 2, 0.5, 40.0, 13.0, True, False],
]
THIRD = [[3, 1, 2, 7, 0.25, 35.0, 20.0, True, True], [3, 3, 1, 4, 0.25, 33.0, None, True, False]]
GENERATIONS = (FIRST, SECOND, THIRD)


def write_log(path, generations=GENERATIONS):
    with open(path, "w") as file:
        for iteration, rows in enumerate(generations, start=1):
            report = {"format": 1, "frames": 1, "score": 1, "test_score": 1, "Iteration": iteration, "Lineage": rows}
            file.write(json.dumps(report) + "\n")
    return path


@pytest.fixture
def lineage(tmp_path):
    write_lineage(write_log(tmp_path / "log.jsonl"), tmp_path / "lineage.parquet")
    return read_lineage(tmp_path / "lineage.parquet")


def births(table):
    return list(zip(table["generation"], table["individual"], strict=True))


def test_the_table_has_every_row_of_every_report(lineage):
    assert lineage["iteration"].tolist() == [1, 1, 1, 2, 2, 3, 3]
    rows = lineage.drop(columns="iteration").astype(object)
    assert rows.where(rows.notna(), None).to_numpy().tolist() == [*FIRST, *SECOND, *THIRD]
    assert lineage.dtypes.astype(str).to_dict() == {
        "iteration": "int64", "generation": "int64", "individual": "int64", "parent_generation": "Int64",
        "parent_individual": "Int64", "power": "Float64", "fitness": "float64", "validation_score": "Float64",
        "is_parent": "bool", "is_elite": "bool",
    }  # fmt: skip


def test_an_individual_counts_once_as_its_own_generation_saw_it(lineage):
    once = individuals(lineage)
    assert births(once) == [(1, 0), (1, 2), (1, 4), (2, 7), (3, 1), (3, 3)]
    assert once["validation_score"][2] == 12.0


def test_the_ancestors_of_an_elite_lead_back_to_fresh_weights(lineage):
    assert births(ancestors(lineage)) == [(1, 2), (2, 7), (3, 1)]
    assert births(ancestors(lineage, 2)) == [(1, 4)]
    with pytest.raises(NeurozooError, match="no elite of generation 4"):
        ancestors(lineage, 4)


def test_the_ancestors_lead_back_to_the_one_genome_that_has_no_row(tmp_path):
    child = [[1, 3, 0, 0, 0.5, 5.0, None, True, True]]
    write_lineage(write_log(tmp_path / "log.jsonl", [child]), tmp_path / "lineage.parquet")
    assert births(ancestors(read_lineage(tmp_path / "lineage.parquet"))) == [(1, 3)]


def test_a_parent_is_as_old_as_the_generations_since_its_birth_when_its_children_are_born(lineage):
    assert parent_ages(lineage) == [1, 1, 2, 1]  # those that the last generation selected have no children


def test_one_generation_is_drawn_without_ages(tmp_path):
    write_lineage(write_log(tmp_path / "log.jsonl", [FIRST]), tmp_path / "lineage.parquet")
    assert parent_ages(read_lineage(tmp_path / "lineage.parquet")) == []
    (tmp_path / "result.json").write_text(json.dumps({"algo": "ga", "game": "pong", "iteration": 1}))
    plot_lineage(tmp_path / "lineage.parquet", [tmp_path / "lineage.svg"], result=tmp_path / "result.json")
    assert "Generations between" not in (tmp_path / "lineage.svg").read_text()


@pytest.mark.parametrize(
    "ending", ["png", pytest.param("svg", marks=pytest.mark.long), pytest.param("pdf", marks=pytest.mark.long)]
)
def test_the_figure_is_the_same_to_the_byte(tmp_path, lineage, ending):
    (tmp_path / "result.json").write_text(json.dumps({"algo": "ga", "game": "pong", "iteration": 3}))
    for name in ("a", "b"):
        plot_lineage(tmp_path / "lineage.parquet", [tmp_path / f"{name}.{ending}"], result=tmp_path / "result.json")
    first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert len(first) > 5_000


def test_random_search_without_parents_is_a_figure(tmp_path):
    rows = [[*row[:7], False, row[8]] for row in FIRST]
    write_lineage(write_log(tmp_path / "log.jsonl", [rows]), tmp_path / "lineage.parquet")
    (tmp_path / "result.json").write_text(json.dumps({"iteration": 1}))
    plot_lineage(tmp_path / "lineage.parquet", [tmp_path / "a.png"], result=tmp_path / "result.json")
    assert (tmp_path / "a.png").exists()


def test_a_log_without_or_with_a_damaged_lineage_is_refused(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"format": 1, "frames": 1, "score": 1, "test_score": 1, "Iteration": 1}\n')
    with pytest.raises(NeurozooError, match="has no lineage"):
        write_lineage(log, tmp_path / "lineage.parquet")
    for rows in ([[1, 2]], [[*FIRST[0][:5], "much", *FIRST[0][6:]]], 5, [5]):
        with pytest.raises(NeurozooError, match=r"is damaged: a row of its lineage should have generation"):
            write_lineage(write_log(log, [rows]), tmp_path / "lineage.parquet")
    assert not (tmp_path / "lineage.parquet").exists()


def test_a_file_that_is_not_a_lineage_is_refused(tmp_path):
    path = tmp_path / "lineage.parquet"
    with pytest.raises(NeurozooError, match="The rule lineage makes it"):
        read_lineage(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(NeurozooError, match="should be a lineage"):
        read_lineage(path)
    pd.DataFrame({"frames": [1]}).to_parquet(path)
    with pytest.raises(NeurozooError, match=r"should have the columns iteration, generation, .*, but has frames\."):
        read_lineage(path)
