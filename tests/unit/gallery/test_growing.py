"""A workflow of two runs, with a movie each, whose gallery grows in a real browser."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from neurozoo.gallery.growing import grow

# Brings the first run, and the second when it is told; then it ends with a status of its own.
WORKFLOW = """
import shutil, signal, sys, time
from pathlib import Path
for run in "12":
    while not Path(f"begin{run}").exists():
        time.sleep(0.05)
    shutil.copytree(Path(sys.argv[1], "runs/ga/frostbite/small", run), f"results/runs/ga/frostbite/small/{run}")
while not Path("end").exists():
    time.sleep(0.05)
sys.exit(3)
"""
CONFIG = "experiments: {demo: {algo: ga, preset: demo, games: [frostbite], models: [small], runs: 3}}\n"


@pytest.fixture
def live(tmp_path, pristine, monkeypatch):
    """Starts the workflow under `live`: `live()` returns its process, whose page is `process.page`."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "workflow.py").write_text(WORKFLOW)
    started = []

    def start():
        command = [sys.executable, "-m", "neurozoo", "live", sys.executable, "workflow.py", str(pristine)]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True)
        process.page = tmp_path / "results" / "site" / "index.html"
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition, *, seconds=600):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not true in {seconds} s"
        time.sleep(0.05)
    return found


def text_of(browser, name):
    found = f"document.getElementById('{name}')"
    return browser.execute_script(f"return document.readyState === 'complete' && {found} ? {found}.textContent : ''")


def facts_of(page: Path) -> dict:
    return json.loads(page.with_name("growth.js").read_text().removeprefix("grow(").removesuffix(");\n"))


def test_a_page_shows_the_first_run_while_others_are_to_come_then_grows_and_at_last_rests(live, browser, tmp_path):
    process = live()
    (tmp_path / "begin1").touch()
    address = process.page.as_uri()
    assert process.stdout.readline() == f"The gallery grows from now on: {address}\n"
    browser.get(address)
    wait_until(lambda: text_of(browser, "shown") == "1 of 1 runs")
    wait_until(lambda: "To come: ga/frostbite/small/" in text_of(browser, "growth"))
    (tmp_path / "begin2").touch()
    wait_until(lambda: text_of(browser, "shown") == "2 of 2 runs")  # it has loaded itself again
    assert text_of(browser, "growth")
    assert not process.page.with_name("manifest.json").exists()  # an output of the workflow, which would warn
    (tmp_path / "end").touch()
    assert process.wait(timeout=600) == 3
    wait_until(lambda: text_of(browser, "shown") == "2 of 2 runs" and not text_of(browser, "growth"))
    assert browser.execute_script("return typeof window.grow") == "undefined"  # it asks for nothing any more
    assert 'id="growth"' not in process.page.read_text()


def test_a_page_of_a_workflow_that_was_killed_says_so_until_it_hears_more(live, browser, tmp_path):
    process = live()
    (tmp_path / "begin1").touch()
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    script = process.page.with_name("growth.js")
    facts = facts_of(process.page)
    assert time.time() < facts["until"] <= time.time() + 60
    browser.get(process.page.as_uri())
    script.write_text(f"grow({json.dumps(facts | {'until': 1})});\n")  # a minute later
    wait_until(lambda: "was stopped before its end" in text_of(browser, "growth"))
    script.write_text(f"grow({json.dumps(facts | {'words': 'It lives.', 'until': 2**40})});\n")
    wait_until(lambda: text_of(browser, "growth") == "It lives.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_workflow_and_leave_a_gallery_that_rests(live, tmp_path, number):
    process = live()
    (tmp_path / "begin1").touch()
    process.stdout.readline()
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as terminals do
    else:
        process.send_signal(number)
    assert process.wait(timeout=600) == (130 if number == signal.SIGINT else 143)
    assert 'id="growth"' not in process.page.read_text()
    assert facts_of(process.page)["until"] == 0
    assert subprocess.run(["pgrep", "-g", str(process.pid)], stdout=subprocess.DEVNULL).returncode == 1


def test_a_second_command_leaves_a_gallery_that_grows_to_the_first(live, tmp_path):
    process = live()
    (tmp_path / "begin1").touch()
    process.stdout.readline()
    built = facts_of(process.page)["built"]
    command = [sys.executable, "-m", "neurozoo", "live", sys.executable, "-c", "import time; time.sleep(4)"]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL).returncode == 0
    assert facts_of(process.page)["built"] == built
    assert f'data-built="{built}"' in process.page.read_text()


# Grows a gallery that cannot be written, beside a command that waits for a file, and says how often it tried.
BROKEN = r"""
import sys
from neurozoo.gallery import growing
tries = []
def write(growth):
    tries.append(growth)
    raise ValueError("a mistake")
command = [sys.executable, "-c", "import os, time\nwhile not os.path.exists('end'): time.sleep(0.05)"]
status = growing.grow(command, sys.argv[1], write=write, foresee=lambda: "", show=print)
sys.exit(f"{status} after {len(tries)}")
"""


def test_a_mistake_in_the_gallery_does_not_end_the_workflow_and_is_made_once(tmp_path, pristine):
    results = tmp_path / "results"
    shutil.copytree(pristine / "runs", results / "runs")
    command = [sys.executable, "-c", BROKEN, str(results)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline() == "The gallery could not be written: ValueError: a mistake\n"
    time.sleep(3)
    assert process.poll() is None
    (tmp_path / "end").touch()
    assert process.communicate(timeout=600)[1] == "0 after 1\n"


def test_ctrl_c_is_python_s_own_again_when_the_command_has_ended(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    command = [sys.executable, "-c", ""]
    assert grow(command, tmp_path, write=lambda _: None, foresee=str, show=lambda _: None) == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_the_workflow_goes_on_where_no_gallery_can_be_written(live, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "site").touch()  # a file where a folder should be
    process = live()
    for name in ("begin1", "begin2"):
        (tmp_path / name).touch()
    wait_until(lambda: (tmp_path / "results/runs/ga/frostbite/small/2").is_dir())
    time.sleep(3)
    (tmp_path / "end").touch()
    assert process.wait(timeout=600) == 3
