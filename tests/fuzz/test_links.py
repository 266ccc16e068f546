"""Commands on results with links in them, and folders that become links while commands write; `links.py` tries more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINKS = Path(__file__).with_name("links.py")

# The worst that has happened, and a command for each way in which results are read and written.
QUICK = """site | results/site/posters | folder
site | results/site/runs | twin
site | results/site/style.css | missing
bundle | results/runs/ga/hard_maze | twin
zip | results/runs/ga/hard_maze/simple/1/lineage.png | twin
show | results/tables/scores.csv | pipe
zoo list | results/runs/ga/hard_maze/simple | twin
provenance | results/runs/ga/hard_maze/simple/3/config.yaml | device
freeze | results/runs/ga/hard_maze/simple/3/frozen | folder
rollout | results/runs/ga/hard_maze/simple/3/rollout.npz | missing
movie game | results/runs/ga/hard_maze/simple/3/rollout.npz | twin
train on | results/runs/ga/hard_maze/simple/3/state | twin
train on | results/runs/ga/hard_maze/simple/3/train.log | missing
train anew | results/runs/ga/hard_maze/simple/3/superseded | folder
resume | results/runs/ga/hard_maze/simple/3/state/log.jsonl | fifo
status | results/runs/ga/hard_maze/simple/3 | itself
parse | results/runs/ga/hard_maze/simple/1/metrics.csv | missing
export | results/runs/ga/hard_maze/simple/3/genome.json | twin"""

# Exchanges each of the folders for a link to a folder outside, and back, until its input ends.
SWAP = """
import ctypes, glob, itertools, os, select, sys
folder, link, patterns = sys.argv[1], os.fsencode(sys.argv[2]), sys.argv[3:]
exchange = ctypes.CDLL(None).renameat2
count = 0
for pattern in itertools.cycle(patterns):
    if select.select([0], [], [], 0)[0]:
        break
    for path in glob.glob(pattern, root_dir=folder):
        path = os.fsencode(os.path.join(folder, path))
        if exchange(-100, path, -100, link, 2) == 0:
            count += 1
            os.sched_yield()
            while exchange(-100, path, -100, link, 2):
                pass
print(count)
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A project whose results have an example of everything."""
    folder = tmp_path_factory.mktemp("links") / "example"
    made = subprocess.run([sys.executable, LINKS, "--make", folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[-2000:]
    return folder


def test_nothing_outside_is_reached_through_a_link(example, tmp_path):
    (tmp_path / "cases").write_text(QUICK)
    run = subprocess.run(
        [sys.executable, LINKS, "--example", example, "--list", tmp_path / "cases"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
    assert f"{len(QUICK.splitlines())} cases, 0 failures" in run.stdout


@pytest.mark.long(seconds=1800)
def test_nothing_outside_is_reached_through_thousand_links(example):
    run = subprocess.run(
        [sys.executable, LINKS, "--example", example, "--cases", "1000"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]


def _race(example, tmp_path, monkeypatch, words, patterns, *, swaps):
    """Runs commands again and again while another process swaps folders for links; checks what lies outside."""
    monkeypatch.syspath_prepend(str(LINKS.parent))
    import links

    work = tmp_path / "work"
    subprocess.run(["cp", "-a", example, work], check=True)
    outside = links.make_outside(tmp_path / "home", work / "results")
    before, done = outside.state(), 0
    for pattern in patterns:
        link = tmp_path / "link"
        target = outside.folder / "twin" / Path(pattern).relative_to("results")
        link.symlink_to(target if target.exists() else outside.folder / "thesis")
        outside.opened()
        swapper = subprocess.Popen(
            [sys.executable, "-c", SWAP, work, link, pattern], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        run = subprocess.run(
            [sys.executable, LINKS, "--repeat", str(swaps), *words], cwd=work, capture_output=True, text=True
        )
        count = int(swapper.communicate("\n")[0])
        assert run.returncode == 0, run.stdout[-1000:] + run.stderr[-2000:]
        done += count
        assert outside.opened() == []
        assert outside.state() == before
        # A command may have put a folder of its own in the link's place.
        link.unlink() if link.is_symlink() else shutil.rmtree(link)
    os.close(outside.watch)
    return done


RUN = "results/runs/ga/hard_maze/simple/3"
PLACES = {
    "site": ["results/site/runs", "results/site/posters", "results/site/runs/ga/hard_maze", RUN],
    "train on": [f"{RUN}/state", RUN, f"{RUN}/state/arrays", f"{RUN}/snapshots", "results/runs/ga"],
}


@pytest.mark.parametrize("command", PLACES)
def test_a_folder_that_becomes_a_link_leads_nowhere(example, tmp_path, monkeypatch, command):
    assert _race(example, tmp_path, monkeypatch, [command], PLACES[command][:1], swaps=2) > 20


@pytest.mark.long(seconds=1200)
@pytest.mark.parametrize("command", PLACES)
def test_a_folder_that_becomes_a_link_ten_thousand_times_leads_nowhere(example, tmp_path, monkeypatch, command):
    assert _race(example, tmp_path, monkeypatch, [command], PLACES[command], swaps=40) > 10_000
