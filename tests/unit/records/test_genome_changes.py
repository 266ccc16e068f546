import json

import pytest
from neurozoo.records.genome_changes import Restorer, as_changes

NAME = "TruncatedPopulationEliteSeeds"
GENOMES = [
    [5],
    [5, [7, 0.01]],
    [5, [7, 0.01]],  # the elite stays
    [5, [8, 0.01], [9, 0.02]],  # of another parent
    [6],
]


def changes(genomes):
    records = [{"Iteration": number, NAME: genome} for number, genome in enumerate(genomes, 1)]
    return [as_changes(now, before) for now, before in zip(records, [None, *records], strict=False)]


def test_a_log_holds_how_much_of_a_genome_is_kept_and_what_is_added():
    assert [record[NAME] for record in changes(GENOMES)] == [
        [5],
        {"keeps": 1, "adds": [[7, 0.01]]},
        {"keeps": 2, "adds": []},
        {"keeps": 1, "adds": [[8, 0.01], [9, 0.02]]},
        {"keeps": 0, "adds": [6]},
    ]


def test_the_reports_are_what_they_were():
    restorer = Restorer()
    read = [restorer.restore(json.loads(json.dumps(record))) for record in changes(GENOMES)]
    assert [record[NAME] for record in read] == GENOMES
    assert [record["Iteration"] for record in read] == [1, 2, 3, 4, 5]


def test_a_genome_that_is_not_wanted_is_still_known_to_the_next_report():
    restorer = Restorer()
    read = [restorer.restore(record, is_wanted=record["Iteration"] == 4) for record in changes(GENOMES)]
    assert [record.get(NAME) for record in read] == [None, None, None, GENOMES[3], None]


def test_a_report_after_one_without_a_genome_is_complete():
    assert as_changes({NAME: [5]}, {"Iteration": 1}) == {NAME: [5]}
    assert as_changes({NAME: [5]}, {NAME: None}) == {NAME: [5]}


@pytest.mark.parametrize(
    "change", [{"keeps": 3, "adds": []}, {"keeps": -1, "adds": []}, {"keeps": 1}, {"keeps": True, "adds": []}, {}]
)
def test_a_change_that_does_not_fit_is_refused(change):
    restorer = Restorer()
    restorer.restore({NAME: [5, [7, 0.01]]})
    with pytest.raises(ValueError, match="does not continue the one in the report before"):
        restorer.restore({NAME: change})


def test_a_missing_report_is_noticed_where_its_genome_would_be_continued():
    logged = changes(GENOMES)
    restorer = Restorer()
    restorer.restore(dict(logged[0]))
    with pytest.raises(ValueError, match="does not continue the one in the report before"):
        restorer.restore(dict(logged[2]))
