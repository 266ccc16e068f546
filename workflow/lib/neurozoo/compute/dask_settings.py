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
PLAIN = ("memory", "walltime", "queue", "account", "interface")
_PLAIN = re.compile(r"[\w.,:@%+/~-]*")  # characters of schedulers' names, none of them special in a shell
_MEMORY = re.compile(r"\d+(\.\d+)?([kMGTP]i?B?|B)", re.IGNORECASE)


@dataclass(frozen=True)
class ClusterSettings:
    """Number and place of the workers, and options of their jobs. Empty texts are the scheduler's defaults."""

    cluster: str  # local (on this machine), sge, slurm, or the address of a running scheduler, such as tls://node7:8786
    workers: int = 2  # at most; in `sge` and `slurm` each is a job. Ignored for an address
    least_workers: int = 1  # that stay when there is little to do
    threads: int = 1  # episodes at once in each worker
    memory: str = "4GB"  # of each job. Passed to Slurm only; for Grid Engine use `directives`
    walltime: str = ""  # time limit of a job, in the scheduler's format
    queue: str = ""  # or partition
    account: str = ""  # (Slurm) or project (Grid Engine)
    directives: str = ""  # more options of qsub or sbatch, such as `-pe smp 8; -l h_vmem=2G`
    interface: str = ""  # of the network, for scheduler and workers, such as `ib0`
    ca_file: str = ""  # for an address: the authority's certificate, our own, and our private key
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        if not self.is_address and self.cluster not in KINDS:
            raise unknown_name("Dask cluster", self.cluster, (*KINDS, "tls://HOST:PORT"))
        for field in fields(self):
            if problem := _problem(field.name, getattr(self, field.name)):
                raise NeurozooError(f"A Dask cluster's {field.name} {problem}")
        if self.is_address:
            self._check_address()
        elif self.least_workers > self.workers:
            raise NeurozooError(
                f"A Dask cluster's least_workers should be at most workers ({self.workers}), but got "
                f"{self.least_workers}."
            )

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

        The line is quoted as in a shell; None or empty stands for no cluster.
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
        given = {each.name: getattr(self, each.name) for each in fields(self)[1:]}
        changed = {each.name for each in fields(self)[1:] if given[each.name] != each.default}
        return shlex.join([self.cluster, *(f"{name}={given[name]}" for name in given if name in changed)])


def _problem(name: str, value: object) -> str:
    """Returns what is wrong with a setting, if anything is."""
    if name in NUMBERS:
        least = 0 if name == "least_workers" else 1
        is_right = type(value) is int and value >= least
        return "" if is_right else f"should be a whole number, at least {least}, but got {value!r}."
    if not isinstance(value, str) or not value.isprintable():
        return f"should be one line of text, but got {value!r}."
    if name in PLAIN and not _PLAIN.fullmatch(value):
        return f"has characters that are not allowed: {value!r}. Use letters, digits and _.,:@%+/~- only."
    if name == "memory" and not _MEMORY.fullmatch(value):
        return f"should be a number with a unit, such as 16GB or 512MiB, but got {value!r}."
    return ""


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
