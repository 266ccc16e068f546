import pytest
from neurozoo.rollouts import progress
from neurozoo.rollouts.progress import Progress


def test_without_a_terminal_plain_lines_go_to_standard_error_and_to_the_log(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with Progress("digging", total=3000, log=tmp_path / "logs" / "x.log") as counter:
        counter.advance(1500)
        counter.say("half of it")
    lines = (tmp_path / "logs" / "x.log").read_text()
    first, second, last = lines.splitlines()
    assert first.startswith("digging: 1,500 of 3,000 steps, ")
    assert second == "digging: half of it"
    assert last.startswith("digging: 1,500 steps done, ")
    assert capsys.readouterr().err == lines


def test_a_task_of_unknown_length_counts_its_steps(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with Progress("digging", total=None) as counter:
        counter.advance(1500)
    assert capsys.readouterr().err.startswith("digging: 1,500 steps, ")


def test_lines_are_at_least_ten_seconds_apart(capsys):
    with Progress("digging", total=100) as counter:
        for _ in range(100):
            counter.advance()
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(("terminal", "has_bar"), [("bar", True), ("lines", False)])
def test_a_terminal_shows_a_bar_unless_lines_are_chosen(monkeypatch, capsys, terminal, has_bar):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with Progress("digging", total=10, terminal=terminal) as counter:
        counter.advance(10)
    assert ("|" in capsys.readouterr().err) == has_bar
    assert counter.count == 10


def test_a_failed_task_is_not_reported_as_done(tmp_path):
    with pytest.raises(ValueError, match="stone"), Progress("digging", total=9, log=tmp_path / "x.log"):
        raise ValueError("stone")
    assert (tmp_path / "x.log").read_text() == ""
