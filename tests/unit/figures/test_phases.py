import json
import re
import xml.etree.ElementTree

import pytest
from neurozoo.__main__ import main
from neurozoo.errors import NeurozooError
from neurozoo.figures.phases import DEFAULT_FIELDS, FIELDS, draw_panels
from neurozoo.records.simple_dqn_csv import COLUMNS

HEADER = ",".join(COLUMNS)
RANDOM = "0,random,50000,53,-20.5,-21,-19,1,0,50903,0.0001,0,0,46.9,46.9,1065"
EPOCHS = """\
1,train,250000,263,-20.25,-21,-16,0.775,250000,305715,-0.098,0.5,62500,1049.6,1002.6,249.3
1,test,125000,150,-21.0,-21,-21,0.05,250000,433351,-0.098,0,62500,1400.0,350.1,357.0
2,train,250000,280,-19.0,-21,-15,0.55,500000,690000,-0.1,0.4,125000,2400.0,1000.0,250.0
2,test,125000,90,-18.0,-20,-11,0.05,500000,1000000,0.2,0,125000,2900.0,464.4,269.1"""


@pytest.fixture
def csv(tmp_path):
    """Writes a CSV in a folder of its own: `csv(*lines)`."""

    def write(*lines):
        path = tmp_path / "pong.csv"
        path.write_text("\n".join([HEADER, *lines]) + "\n")
        return path

    return write


def texts(svg):
    """Returns what stands in a figure; letters are shapes there, and their text a comment."""
    return re.findall(r"<!-- (.*?) -->", svg.read_text())


def lines(svg, colour):
    """Returns the lines of a colour, each as its points, downwards."""
    found = []
    for path in xml.etree.ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}path"):
        if f"stroke: {colour.lower()}" in path.get("style", "").lower():
            found.append([[float(n) for n in pair.split()] for pair in re.split("[ML]", path.get("d"))[1:]])
    return found


def test_every_field_gets_a_panel_with_its_title(csv, tmp_path):
    draw_panels(csv(RANDOM, EPOCHS), [tmp_path / "p.svg"], title="Some run")
    said = texts(tmp_path / "p.svg")
    assert {"Some run", "Average reward", "Average Q-value", "Number of games", "Average loss", "Epoch"} <= set(said)
    assert {"Random", "Train", "Test"} <= set(said)
    assert any("divided by the number of the epoch; here it is multiplied back" in text for text in said)
    draw_panels(csv(RANDOM, EPOCHS), [tmp_path / "p.svg"], fields=["epoch_time"])
    said = texts(tmp_path / "p.svg")
    assert "Phase time" in said
    assert "Average reward" not in said
    assert not any("divided" in text for text in said)


def test_run_without_random_phase_is_drawn_too(csv, tmp_path):
    grey = "#5D5D5D"
    draw_panels(csv(RANDOM, EPOCHS), [tmp_path / "with.svg"], fields=["average_reward"])
    draw_panels(csv(EPOCHS), [tmp_path / "without.svg"], fields=["average_reward"])
    horizontal = [line for line in lines(tmp_path / "with.svg", grey) if len(line) == 2 and line[0][1] == line[1][1]]
    panel, *legend = sorted(horizontal, key=lambda line: line[0][0] - line[1][0])
    assert panel[1][0] - panel[0][0] > 10 * (legend[0][1][0] - legend[0][0][0])
    drawn = lines(tmp_path / "without.svg", "#D55E00")
    assert [line[1][1] < line[0][1] for line in drawn if line[0][1] != line[1][1]] == [True]  # tests got better


def test_cost_is_drawn_as_it_is_or_as_it_was_written(csv, tmp_path):
    def rises(**choices):
        draw_panels(csv(EPOCHS), [tmp_path / "p.svg"], fields=["meancost"], **choices)
        drawn = [line for line in lines(tmp_path / "p.svg", "#0072B2") if line[0][1] != line[1][1]]
        assert len(drawn) == 1
        return drawn[0][1][1] < drawn[0][0][1]

    assert rises()  # from 0.5 to 2 * 0.4
    assert not rises(cost_as_written=True)
    said = texts(tmp_path / "p.svg")
    assert "Average loss, divided by epoch" in said
    assert "multiplied back" not in " ".join(said)
    assert not lines(tmp_path / "p.svg", "#D55E00")  # a test has no cost


def test_epoch_of_one_point_is_a_dot(csv, tmp_path):
    draw_panels(csv(*EPOCHS.splitlines()[:2]), [tmp_path / "p.png"])
    assert (tmp_path / "p.png").stat().st_size > 5000


def test_commands_take_a_table_or_a_folder(csv, tmp_path, capsys):
    main(["panels", str(csv(RANDOM, EPOCHS)), "--fields", "meanq, nr_games"])
    assert capsys.readouterr().out.strip() == str(tmp_path / "pong.png")
    assert (tmp_path / "pong.png").read_bytes().startswith(b"\x89PNG")
    run = tmp_path / "run"
    run.mkdir()
    columns = {f"train_{name}": 1.0 for name in COLUMNS[2:]}
    report = {"format": 1, "Iteration": 1, "frames": 4, "score": 1.0, "test_score": 1.0, **columns}
    (run / "log.jsonl").write_text(json.dumps(report) + "\n")
    (run / "config.yaml").write_text(
        "format: 1\nalgo: x\ngame: pong\nmodel: small\nrun: 1\nprotocol: uber2018\nseed: 3\n"
    )
    main(["panels", str(run), "--output", str(run / "p.svg")])
    assert "Number of games" in texts(run / "p.svg")
    main(["phases", str(run)])
    header, row = (run / "phases.csv").read_text().splitlines()
    assert header.startswith(HEADER)
    assert row.endswith(",3")
    (tmp_path / "pong.csv").write_bytes((run / "phases.csv").read_bytes())
    main(["phases", str(tmp_path / "pong.csv")])  # beside others
    assert (tmp_path / "pong.phases.csv").read_bytes() == (run / "phases.csv").read_bytes()


def test_mistakes_are_refused_with_a_message(csv, tmp_path):
    with pytest.raises(NeurozooError, match=r"field 'mean_q' is unknown; did you mean 'meanq'\?"):
        draw_panels(csv(EPOCHS), [tmp_path / "p.png"], fields=["mean_q"])
    with pytest.raises(NeurozooError, match="At least one field"):
        draw_panels(csv(EPOCHS), [tmp_path / "p.png"], fields=[])
    with pytest.raises(NeurozooError, match="figure format 'gif' is unknown"):
        draw_panels(csv(EPOCHS), [tmp_path / "p.gif"])


def test_configuration_knows_the_same_fields():
    from pathlib import Path

    import yaml

    schema = yaml.safe_load((Path(__file__).parents[3] / "workflow/schemas/config.schema.yaml").read_text())
    fields = schema["properties"]["figures"]["properties"]["phases"]["properties"]["fields"]
    assert fields["items"]["enum"] == [*FIELDS]
    assert fields["default"] == [*DEFAULT_FIELDS]
