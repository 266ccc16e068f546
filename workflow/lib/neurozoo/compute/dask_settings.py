"""Settings of the Dask cluster that plays a run's episodes, as a mapping or as one line of text."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from neurozoo.errors import NeurozooError, unknown_name

KINDS = ("local", "sge", "slurm")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NUMBERS = ("workers", "least_workers", "threads")
_PLAIN = re.compile(r"[\w.,:@%+/~-]*")  # characters of schedulers' names, none of them special in a shell
_MEMORY = re.compile(r"\d+(\.\d+)?([kMGTP]i?B?|B)", re.IGNORECASE)


@dataclass(frozen=True)
class ClusterSettings:
    """Number and place of the workers, and the options of their jobs.

    Attributes:
        cluster: `local` (processes on this machine), `sge`, `slurm`, or the address of a running scheduler, such as
            `tls://node7:8786`.
        workers: Most workers at a time; in `sge` and `slurm` each is a job. Ignored for an address.
        least_workers: Number of workers that stay when there is little to do.
        threads: Number of episodes at once in each worker.
        memory: Memory of each job, such as `8GB`. Passed to Slurm only; for Grid Engine use `directives`.
        walltime: Time limit of a job, in the scheduler's format; empty for the default.
        queue: Queue or partition; empty for the default.
        account: Account (Slurm) or project (Grid Engine); empty for the default.
        directives: More options of qsub or sbatch, such as `-pe smp 8; -l h_vmem=2G`, with semicolons between them.
        interface: Network interface that scheduler and workers use, such as `ib0`; empty for the default.
        ca_file: For an address: file with the certificate of the authority.
        certificate: For an address: file with our certificate.
        key: For an address: file with our private key.
    """

    cluster: str
    workers: int = 2
    least_workers: int = 1
    threads: int = 1
    memory: str = "4GB"
    walltime: str = ""
    queue: str = ""
    account: str = ""
    directives: str = ""
    interface: str = ""
    ca_file: str = ""
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if not self.is_address and self.cluster not in KINDS:
            raise unknown_name("Dask cluster", self.cluster, (*KINDS, "tls://HOST:PORT"))
        for name in NUMBERS:
            value, least = getattr(self, name), 0 if name == "least_workers" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise NeurozooError(
                    f"A Dask cluster's {name} should be a whole number, at least {least}, but got {value!r}."
                )
        if not self.is_address and self.least_workers > self.workers:
            raise NeurozooError(
                f"A Dask cluster's least_workers should be at most workers ({self.workers}), but got "
                f"{self.least_workers}."
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in NUMBERS:
                continue
            if not isinstance(value, str) or not value.isprintable():
                raise NeurozooError(f"A Dask cluster's {field.name} should be one line of text, but got {value!r}.")
            if field.name in ("memory", "walltime", "queue", "account", "interface") and not _PLAIN.fullmatch(value):
                raise NeurozooError(
                    f"A Dask cluster's {field.name} has characters that are not allowed: {value!r}. "
                    "Use letters, digits and _.,:@%+/~- only."
                )
        if not self.is_address and not _MEMORY.fullmatch(self.memory):
            raise NeurozooError(
                "A Dask cluster's memory should be a number with a unit, such as 16GB or 512MiB, but got "
                f"{self.memory!r}."
            )
        if self.is_address:
            self._check_address()

    def _check_address(self) -> None:
        files = {"ca_file": self.ca_file, "certificate": self.certificate, "key": self.key}
        scheme, host = self.cluster.partition("://")[0], urlsplit(self.cluster).hostname
        if scheme == "tls" and not all(files.values()):
            missing = ", ".join(name for name, file in files.items() if not file)
            raise NeurozooError(f"The Dask scheduler at {self.cluster} also needs the files {missing}.")
        if scheme != "tls" and (scheme != "tcp" or host not in LOOPBACK):
            raise NeurozooError(
                f"The Dask scheduler {self.cluster!r} is not encrypted: anyone who reaches it can run programs as you. "
                "Start the scheduler with --protocol tls and give its tls:// address."
            )

    @property
    def is_address(self) -> bool:
        """Whether the cluster was started elsewhere and continues after the run."""
        return "://" in self.cluster

    @property
    def slots(self) -> int:
        """Number of episodes at once when all workers are connected; 0 if unknown."""
        return 0 if self.is_address else self.workers * self.threads

    @classmethod
    def of(cls, value: "str | Mapping | ClusterSettings | None") -> "ClusterSettings | None":
        """Reads a section of a configuration, or a line such as `slurm workers=10 threads=8 memory=16GB`.

        Args:
            value: The line, quoted as in a shell, or a mapping of the attributes; None or empty for no cluster.

        Raises:
            NeurozooError: A name is unknown or a value is invalid.
        """
        if not value:
            return None
        if isinstance(value, ClusterSettings):
            return value
        given = _of_words(value) if isinstance(value, str) else dict(value)
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise unknown_name("key", name, names, owner="a Dask cluster")
        if "cluster" not in given:
            raise NeurozooError(
                f"The kind of Dask cluster is missing. Give one of: {', '.join(KINDS)}, tls://HOST:PORT."
            )
        return cls(**given)

    def to_words(self) -> str:
        """Returns the line that `of` reads, without settings at their default."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cluster"}
        defaults = {field.name: field.default for field in fields(self)}
        words = [f"{name}={value}" for name, value in given.items() if value != defaults[name]]
        return shlex.join([self.cluster, *words])


def _of_words(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NeurozooError(
            f"The settings of a Dask cluster {text!r} cannot be read: {error}. Quote them as in a shell."
        ) from None
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            name, value = "cluster", word
        if name in given:
            raise NeurozooError(f"A Dask cluster's {name} should be given once, but is given twice in {text!r}.")
        given[name] = int(value) if name in NUMBERS and value.isdecimal() else value
    return given
