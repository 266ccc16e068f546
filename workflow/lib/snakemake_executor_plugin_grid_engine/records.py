"""What is kept about jobs in `.snakemake/sge/` of the working directory, which all nodes see.

`JOB.json` is a job's record, `TOKEN.exit` what its script noted down at its end, and `DIGEST.claim` the newest job that
makes some files.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(".snakemake/sge")


@dataclass(frozen=True)
class Record:
    """A submitted job.

    Attributes:
        job: Its id: `7`, or `7.2` for a task of an array job.
        token: Name of its notes.
        time: When it was submitted, in seconds since 1970.
        name: Rule and wildcards, by points.
        log: What it prints.
        output: What it makes.
        recipe: Digest of how it makes that.
        folder: The working directory.
    """

    job: str
    token: str
    time: float
    name: str
    log: str
    output: list[str]
    recipe: str
    folder: str

    def save(self) -> None:
        """Keeps the record, and says that this job makes its files now."""
        _write(FOLDER / f"{self.job}.json", json.dumps(asdict(self)))
        _write(_claim(self.output), self.job)

    @property
    def exit_code(self) -> int | None:
        """What the job's own script noted down last; None while it has not ended (or was killed)."""
        try:
            return int((FOLDER / f"{self.token}.exit").read_text())
        except (OSError, ValueError):
            return None


def newest_job(output: list[str]) -> Record | None:
    """Returns the newest job that was submitted here for some files, if its record is readable.

    In a copied folder, records are those of jobs that make the files of the original.
    """
    try:
        record = Record(**json.loads((FOLDER / f"{_claim(output).read_text()}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return record if record.folder == os.getcwd() else None


def digest(value: object) -> str:
    """Names a value by a hash of its JSON text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _claim(output: list[str]) -> Path:
    return FOLDER / f"{digest(output)}.claim"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
