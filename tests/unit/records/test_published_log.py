from datetime import datetime

import pytest
from neurozoo.records.published_log import GA_FIELDS, format_table, read_tables, restored, stamped

NOW = datetime(2026, 11, 20, 9, 35, 20)


def test_the_date_uses_a_twelve_hour_clock():
    assert stamped("Start timing", now=NOW) == "11/20/2026 09:35:20 AM Start timing\n"
    assert stamped("", now=NOW.replace(hour=0)) == "11/20/2026 12:35:20 AM \n"
    assert stamped("", now=NOW.replace(hour=12)) == "11/20/2026 12:35:20 PM \n"
    assert stamped("", now=NOW.replace(hour=21)) == "11/20/2026 09:35:20 PM \n"


def test_a_table_looks_as_the_published_one_to_the_blank():
    fields = {
        "PopulationEpRewMax": 1610.0,
        "TruncatedPopulationValidationRewMean": 142.0,
        "TruncatedPopulationEliteSeeds": "(163570948, (80914285, 0.002), (9131717, 0.002))",
    }
    # The three rows of the specification's sample; dashes are both widths (33, 33) and 13.
    assert format_table(fields, now=NOW) == (
        "11/20/2026 09:35:20 AM " + "-" * 79 + " \n\n"
        "11/20/2026 09:35:20 AM |  PopulationEpRewMax                  |  1.61e+03                            |\n\n"
        "11/20/2026 09:35:20 AM |  ...tedPopulationValidationRewMean   |  142                                 |\n\n"
        "11/20/2026 09:35:20 AM |  TruncatedPopulationEliteSeeds       |  ...285, 0.002), (9131717, 0.002))   |\n\n"
        "11/20/2026 09:35:20 AM " + "-" * 79 + " \n\n"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1000, "1e+03"), (331234, "3.31e+05"), (0.002, "0.002"), (float("nan"), "nan"), (None, "None"), ("text", "text")],
)
def test_numbers_keep_three_significant_digits_and_other_values_their_text(value, shown):
    row = format_table({"Field": value}, now=NOW).splitlines()[2]
    assert row.removeprefix("11/20/2026 09:35:20 AM |  Field   |  ").removesuffix("   |").rstrip() == shown


def test_names_that_are_equal_once_shortened_are_refused():
    with pytest.raises(ValueError, match="differ in their last 30"):
        format_table({"a" * 40: 1, "b" * 4 + "a" * 36: 2}, now=NOW)


def test_a_table_that_is_written_can_be_read_back():
    fields = {name: number for number, name in enumerate(GA_FIELDS, start=1)}
    (table,) = read_tables(format_table(fields, now=NOW).splitlines())
    assert table == {name: str(number) for name, number in fields.items()}


def test_shortened_names_are_restored_whichever_end_is_missing():
    name = "TruncatedPopulationEliteValidationRewMean"
    assert restored("..." + name[-30:]) == name
    assert restored(name[:30] + "...") == name
    assert restored("Iteration") == "Iteration"
    # Without their ends, two names of the genetic algorithm look the same; neither is guessed.
    assert restored("TruncatedPopulationEliteTestEp...") == "TruncatedPopulationEliteTestEp..."


def test_a_table_that_was_cut_off_by_a_restart_is_left_out():
    whole = format_table({"Iteration": 1, "Score": 5}, now=NOW)
    cut = "".join(whole.splitlines(keepends=True)[:4])
    restart = stamped("Loaded iteration 1 from snapshot.pkl", now=NOW)
    tables = list(read_tables((whole + cut + restart + whole.replace("5  ", "6  ")).splitlines()))
    assert [table["Score"] for table in tables] == ["5", "6"]
