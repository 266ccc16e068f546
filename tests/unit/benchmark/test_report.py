"""The report as text and as Markdown."""

import pytest
from neurozoo.benchmark.report import BEGIN, END, Column, Table, as_markdown, as_text, write_page
from neurozoo.errors import NeurozooError


def table_of(names, *rows):
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


@pytest.fixture
def report():
    library = {"compiler": "c++ 12", "march": "x86-64-v3", "commit": None}
    versions = {"python": "3.11.7", "tensorflow": "2.21.0", "keras": "3.15.1", "ale-py": "0.12.1", "numpy": "2.4.6"}
    speeds = "network game engine threads frames_per_second frames_per_second_per_core"
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "machine": {
            "processor": "Abacus 9", "physical_cores": 2, "memory_gigabytes": 16.5, "system": "Linux",
            "load_average": 0.25,
        },
        "software": {"neurozoo": "0.1.0", "commit": "0123456789abcdef", "library": library, **versions},
        "peak": {"gigaflops": 130.4, "vector_bits": 256, "read_gigabytes_per_second": {"1": 20.4, "2": 31.6}},
        "results": table_of(
            speeds, ("large", "pong", "native", 1, 5000.0, 5000.0), ("large", "pong", "native", 2, 9500.0, 4750.0)
        ),
        "parts": [
            {
                "network": "large",
                "game": "pong",
                "emulator_microseconds_per_frame": 50.04,
                "emulator_frames_per_second": 19_984.0,
                "preprocessing_microseconds_per_step": 20.26,
                "forward_microseconds_per_step": 1234.5678,
                "forward_gigaflops": 99.6,
                "rest_microseconds": -3.0,
                "step_microseconds": 800.4,
                "multiply_adds_per_step": 16_041_000,
                "done_multiply_adds_per_step": 6_349_000,
                "frames_per_processor_second": 4998.0,
                "floor_frames_per_second": 6250.0,
                "share_of_floor": 0.7997,
                "done_floor_frames_per_second": 10_000.0,
                "share_of_done_floor": 0.4998,
            }
        ],
        "rivals": table_of(
            "game network way frames_per_processor_second",
            ("pong", "environments only", "EnvPool", 12_345.6),
            ("pong", "large", "PyTorch, 64 policies", 1000.0),
        ),
        "memory": table_of("network threads peak_megabytes own_megabytes", ("large", 2, 1500.4, 380.0)),
        "decoding": table_of("network mutations threads seconds child_seconds", ("large", 1000, 2, 1.0, 0.0057)),
        "update": {
            "parameters": 1_008_450, "population_size": 5000, "threads": 2, "seconds": 0.5, "noise_gigabytes": 10.08,
            "floor_seconds": 0.319,
        },
    }  # fmt: skip


def test_every_figure_stands_in_the_table_of_a_page(report):
    lines = as_markdown(report).splitlines()
    assert "| large | pong | 50.0 | 19,984 | 20.3 | 1,234.6 | 100 | -3.0 | 800 | 4,998 |" in lines
    assert "| large | pong | 4,998 | 16.04 | 6,250 | 80% | 6.35 | 10,000 | 50% |" in lines
    assert "| large | pong | native | 1 | 5,000 | 5,000 | 1.00 |" in lines
    assert "| large | pong | native | 2 | 9,500 | 4,750 | 1.90 |" in lines
    assert "| pong | environments only | EnvPool | 12,346 |  |" in lines
    assert "| pong | large | PyTorch, 64 policies | 1,000 | 5.0 x |" in lines
    assert "| large | 2 | 1,500 | 380 |" in lines
    assert "| `large`: weights of its child | 1 | 0.006 |  |" in lines
    assert "| an update of `es`, 1,008,450 parameters, after 5,000 episodes | 2 | 0.500 | 0.319 |" in lines


def test_without_pytorch_nothing_is_compared_with_it(report):
    del report["rivals"]
    assert "Speed without this project" not in as_text(report)


def test_a_speed_up_starts_from_the_fewest_threads_that_were_measured(report):
    report["results"] = [
        {**report["results"][0], "threads": threads, "frames_per_second": speed}
        for threads, speed in ((2, 9000.0), (4, 17_100.0))
    ]
    lines = as_markdown(report).splitlines()
    assert [line.split("|")[-2].strip() for line in lines if "| native |" in line] == ["2.00", "3.80"]


@pytest.mark.parametrize("layout", [as_text, as_markdown])
def test_a_report_says_where_and_with_what_it_was_measured(report, layout):
    text = layout(report)
    for words in (
        "Abacus 9, 2 cores, 16.5 GB of memory, Linux, load 0.25 at the start, 2026-01-02T03:04:05+00:00",
        "neurozoo 0.1.0 (0123456789ab); native core of no commit, c++ 12, -march=x86-64-v3",
        "130 GFLOP/s in vectors of 256 bits; memory is read at 20 GB/s by 1, 32 GB/s by 2 threads",
    ):
        assert words in text


def test_columns_stand_below_each_other_in_the_terminal():
    columns = (Column("name", "", lambda record: record[0]), Column("time", "s", lambda record: record[1], ",.1f"))
    table = Table("Times", "", columns, (("first", 1234.56), ("a second", 7)))
    assert table.as_text().splitlines() == [
        "Times",
        "",
        "name         time",
        "                s",
        "first     1,234.6",
        "a second      7.0",
    ]


def test_the_terminal_needs_no_more_than_120_columns(report):
    report["parts"][0] |= {"network": "recurrent_large", "game": "space_invaders"}
    assert max(map(len, as_text(report).split("One step on one core")[1].splitlines())) <= 120


def test_a_page_keeps_what_people_wrote(report, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nBefore.\n\n{BEGIN}\nold figures\n{END}\n\nAfter.\n")
    for _ in range(2):  # writing twice changes nothing
        write_page(page, report)
        assert page.read_text() == f"# Title\n\nBefore.\n\n{BEGIN}\n\n{as_markdown(report)}\n\n{END}\n\nAfter.\n"


@pytest.mark.parametrize("text", [None, "# No lines\n", f"{BEGIN}\n", f"{END}\n{BEGIN}\n"])
def test_a_page_without_its_lines_is_left_alone(report, tmp_path, text):
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text)
    with pytest.raises(NeurozooError, match=r"page\.md is missing or lacks a line"):
        write_page(page, report)
    assert (page.read_text() if page.exists() else None) == text


@pytest.mark.parametrize("loss", ["parts", "results", "machine", "update"])
def test_what_is_no_report_is_told_in_a_sentence(report, loss):
    del report[loss]
    for layout in (as_text, as_markdown):
        with pytest.raises(NeurozooError, match=f"not a report of this version's benchmark: '{loss}' is missing"):
            layout(report)
