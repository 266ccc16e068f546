import pytest
from neurozoo.genomes.elite_lines import EliteLines, elite_line, elite_tail, last_elite
from neurozoo.genomes.genome import Genome

LONG = [7, *([10**8 + number, 0.002] for number in range(25))]
ELITES = [
    [7],
    LONG[:21],  # the longest that is printed whole
    LONG[:22],
    LONG[:22],  # the elite stays
    [*LONG[:21], [1, 0.5], [2, 1e-05]],  # of another parent
    [*LONG[:21], [1, 0.5]],
    [9, *LONG[1:]],  # of another origin
    LONG,
]


def lines(elites):
    return [elite_line(now, before) for now, before in zip(elites, [None, *elites], strict=False)]


def test_short_genomes_are_printed_as_the_published_code_does():
    assert lines([[7], [7, [1, 0.5]]]) == ["Current elite: (7,)", "Current elite: (7, (1, 0.5))"]


def test_lines_of_long_genomes_say_what_is_new():
    found = lines(ELITES)
    assert found[1].startswith("Current elite: (7, (100000000, 0.002), ")
    assert found[2] == "Current elite: the first 20 mutations of the one before, then (100000020, 0.002)"
    assert found[3] == "Current elite: the one before"
    assert found[4] == "Current elite: the first 20 mutations of the one before, then (1, 0.5), (2, 1e-05)"
    assert found[5] == "Current elite: the first 21 mutations of the one before"
    assert found[6].startswith("Current elite: (9, ")


def test_every_line_gives_the_whole_genome_again():
    reader = EliteLines()
    read = [reader.read(line.removeprefix("Current elite: ")) for line in lines(ELITES)]
    assert [Genome.from_text(text).to_json() for text in read] == ELITES
    log = "".join(f"11/20/2026 09:35:20 AM {line}\nTimesteps Per Second: 1\n" for line in lines(ELITES))
    assert Genome.from_text(last_elite(log)).to_json() == LONG


@pytest.mark.parametrize(
    "text",
    [
        "Current elite: the one before",
        "Current elite: the first 20 mutations of the one before",
        "Current elite: (7, (1, 0.5))\nCurrent elite: the first 3 mutations of the one before, then (1, 0.5)",
    ],
)
def test_a_change_without_the_genome_before_gives_none(text):
    assert last_elite(text) is None


@pytest.mark.parametrize("genome", [*ELITES, [1, *([1, 0.5] for _ in range(30))]])
def test_the_tail_ends_as_the_whole_text_does(genome):
    whole, tail = Genome.from_json(genome).to_text(), elite_tail(genome)
    assert (whole[-30:], len(whole) > 33) == (tail[-30:], len(tail) > 33)
