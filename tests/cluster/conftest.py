"""A Grid Engine small enough for a test: jobs are background processes, and qstat lists those that still run."""

import os
import stat
from pathlib import Path

import pytest

QSUB = """#!/bin/bash
# Takes the script from its standard input, as the real one does.
number=$(( $(cat "$FAKE_SGE/last" 2>/dev/null || echo 100) + 1 )); echo $number > "$FAKE_SGE/last"
echo "$@" > "$FAKE_SGE/$number.options"
cat > "$FAKE_SGE/$number.sh"
setsid bash "$FAKE_SGE/$number.sh" > "$FAKE_SGE/$number.out" 2>&1 < /dev/null &
echo $! > "$FAKE_SGE/$number.pid"
echo $number
"""

QSTAT = """#!/bin/bash
if [ "$1" = -j ]; then kill -0 "$(cat "$FAKE_SGE/$2.pid")" 2>/dev/null; exit; fi
echo "<job_info><queue_info>"
for file in "$FAKE_SGE"/*.pid; do
    kill -0 "$(cat "$file")" 2>/dev/null || continue
    echo "<job_list><JB_job_number>$(basename "$file" .pid)</JB_job_number><state>r</state></job_list>"
done
echo "</queue_info></job_info>"
"""

QDEL = """#!/bin/bash
for job in "$@"; do kill -9 -- "-$(cat "$FAKE_SGE/$job.pid")"; done
"""


@pytest.fixture
def grid_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts qsub, qstat and qdel into the path; returns the folder where they keep their jobs."""
    commands, jobs = tmp_path / "bin", tmp_path / "jobs"
    commands.mkdir()
    jobs.mkdir()
    for name, text in (("qsub", QSUB), ("qstat", QSTAT), ("qdel", QDEL)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755 | stat.S_IEXEC)
    monkeypatch.setenv("FAKE_SGE", str(jobs))
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return jobs
