"""Programs of the project, and the signals that stop them: wherever these come, nobody sees a traceback."""

import os
import signal
import subprocess
import sys

import pytest
from neurozoo.signals import FOR_GOOD, SIGNALS

# Sends the signal at the call of a function with a given number, counted from the moment at which our code begins.
WATCH = """
import atexit, os, signal, sys
at, seen = int(os.environ["SIGNAL_AT"]), None

def watch(frame, event, argument):
    global seen
    if seen is not None:
        seen += 1
        if seen == at:
            os.kill(os.getpid(), signal.SIGINT)
    elif event == "return" and frame.f_globals["__name__"] == "neurozoo" and frame.f_code.co_name == "<module>":
        seen = 0

@atexit.register
def tell():
    with open(os.environ["SEEN"], "w") as file:
        file.write(str(seen))

sys.setprofile(watch)
"""

# As Snakemake starts a script.
SCRIPT = """
class Snakemake:
    pass

snakemake = Snakemake()
import os
import signal
import sys
import time

from neurozoo.errors import plain_errors

def come(number):
    os.kill(os.getpid(), number)

with plain_errors("log"):
"""


@pytest.fixture
def program(tmp_path):
    """Runs a program in a folder of its own: `program(code)` a script, `program("-m", "neurozoo", ...)` a command."""

    def run(*words, ignored=(), **variables):
        if len(words) == 1:
            (tmp_path / "script.py").write_text(SCRIPT + "".join(f"    {line}\n" for line in words[0].splitlines()))
            words = ["script.py"]
        before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
        try:
            return subprocess.run(
                [sys.executable, *words],
                cwd=tmp_path,
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                timeout=600,
            )
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    return run


@pytest.mark.parametrize("words", [["print('done')"], ["-m", "neurozoo", "settings", "rs"]], ids=["script", "command"])
def test_ctrl_c_at_any_moment_ends_a_program_without_a_traceback(program, tmp_path, words):
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    path = os.pathsep.join([str(tmp_path / "watch"), *filter(None, [os.environ.get("PYTHONPATH")])])
    seen = tmp_path / "seen"

    def run(at):
        return program(*words, PYTHONPATH=path, SIGNAL_AT=str(at), SEEN=str(seen))

    assert run(-1).returncode == 0
    total = int(seen.read_text())
    ends = {}
    for at in (1, total // 3, total - 1000, total - 100, total - 10, total):
        stopped = run(at)
        assert stopped.stderr in ("", "neurozoo: stopped by SIGINT\n"), at
        ends[at] = stopped.returncode
    assert ends[1] == -signal.SIGINT
    assert ends[total] == 0
    assert set(ends.values()) <= {-signal.SIGINT, 128 + signal.SIGINT, 0}


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_program_in_a_sentence_with_its_status(program, tmp_path, number):
    stopped = program(f"come({number})\ntime.sleep(1800)")
    assert stopped.stderr == (tmp_path / "log").read_text() == f"neurozoo: stopped by {number.name}\n"
    assert stopped.returncode == 128 + number


@pytest.mark.parametrize("number", FOR_GOOD)
def test_what_is_ignored_from_the_start_as_with_nohup_stays_ignored(program, number):
    assert program(f"come({number})", ignored=[number]).returncode == 0


def test_a_signal_in_a_destructor_is_not_lost(program):
    code = "class A:\n    def __del__(self):\n        come(signal.SIGINT)\nA()\ntime.sleep(1800)"
    stopped = program(code)
    assert (stopped.stderr, stopped.returncode) == ("neurozoo: stopped by SIGINT\n", 130)


def test_a_signal_waits_until_a_package_is_loaded(program, tmp_path):
    module = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nfor _ in range(9): pass\nprint('loaded')\n"
    (tmp_path / "package.py").write_text(module)
    stopped = program("def load():\n    import package\nload()\ntime.sleep(1800)")
    assert stopped.stdout == "loaded\n"
    assert (stopped.stderr, stopped.returncode) == ("neurozoo: stopped by SIGTERM\n", 143)


def test_the_second_signal_ends_a_program_that_does_not_come_to_its_end(program):
    wait = "    come(signal.SIGINT)\n    time.sleep(1800)\n"
    stopped = program(f"try:\n{wait}finally:\n{wait}")
    assert (stopped.stderr, stopped.returncode) == ("", -signal.SIGINT)


def test_a_stop_is_quiet_where_the_reader_of_the_output_ended_first(program):
    code = "reader, writer = os.pipe()\nos.dup2(writer, 1)\nos.close(writer)\nos.close(reader)\nprint('some')\n"
    stopped = program(f"{code}come(signal.SIGINT)\ntime.sleep(1800)", PYTHONUNBUFFERED="")
    assert (stopped.stderr, stopped.returncode) == ("neurozoo: stopped by SIGINT\n", 130)


def test_a_program_whose_output_was_closed_by_others_ends_in_silence(program):
    ended = program("import sys\nsys.stdout.close()")
    assert (ended.stderr, ended.returncode) == ("", 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_program_works_without_standard_streams(tmp_path, closed):
    uses = "    [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]\n    open('done', 'w').close()\n"
    (tmp_path / "script.py").write_text(SCRIPT + uses)
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" script.py {closed}', sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.stderr, ended.returncode) == ("", 0)
    assert (tmp_path / "done").exists()


def test_a_full_device_behind_the_output_is_told_in_a_sentence():
    command = ["sh", "-c", 'exec "$0" -m neurozoo settings ga >/dev/full', sys.executable]
    full = subprocess.run(command, capture_output=True, text=True)
    assert full.stderr.startswith("neurozoo: What this program writes or prints finds no room (no space left on devi")
    assert (full.stderr.count("\n"), full.returncode) == (1, 1)


def test_a_sentence_is_in_the_log_where_the_terminal_is_gone(program, tmp_path):
    code = "reader, writer = os.pipe()\nos.dup2(writer, 2)\nos.close(writer)\nos.close(reader)\n"
    stopped = program(f"{code}come(signal.SIGHUP)\ntime.sleep(1800)")
    assert (tmp_path / "log").read_text() == "neurozoo: stopped by SIGHUP\n"
    assert stopped.returncode == 129


@pytest.mark.parametrize(("raised", "is_shown"), [("KeyboardInterrupt", False), ("ValueError", True)])
def test_a_program_of_others_hides_only_interrupts(python, raised, is_shown):
    destructor = f"class A:\n    def __del__(self):\n        raise {raised}\n"
    code = f"from neurozoo.signals import hide_interrupts\nhide_interrupts()\n{destructor}A()\nraise {raised}"
    ended = python(code, check=False)
    assert (raised in ended.stderr) == ("ignored" in ended.stderr) == is_shown
    assert ended.returncode != 0
