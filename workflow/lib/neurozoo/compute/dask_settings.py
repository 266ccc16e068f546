"""Which Dask cluster a run spreads its episodes over, in words that fit into a resource of a rule."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from neurozoo.errors import NeurozooError, unknown_name

KINDS = ("local", "sge", "slurm")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NUMBERS = ("workers", "least_workers", "threads")
_PLAIN = re.compile(r"[\w.,:@%+/~-]*")  # what a scheduler's names consist of, and no shell takes for its own


@dataclass(frozen=True)
class ClusterSettings:
    """How many workers there are, where, and how they are asked for.

    Attributes:
        cluster: `local` (processes on this machine), `sge`, `slurm`, or the address of a scheduler that runs already,
            such as `tls://node7:8786`.
        workers: Most workers at a time; of `sge` and `slurm` each is a job. No meaning for an address.
        least_workers: How many stay when there is little to do.
        threads: Episodes at once in each worker.
        memory: Of each job, such as `8GB`; Slurm is asked for it, Grid Engine by `directives`.
        walltime: Longest time of a job, as the scheduler writes it; empty for its default.
        queue: Queue or partition; empty for the default.
        account: Account (Slurm) or project (Grid Engine); empty for the default.
        directives: More options of qsub or sbatch, such as `-pe smp 8; -l h_vmem=2G`, with semicolons between them.
        interface: Network interface that scheduler and workers use, such as `ib0`; empty for the default.
        ca_file: Certificate of the authority, for an address.
        certificate: Our certificate, for an address.
        key: Our private key, for an address.
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
                    f"A Dask cluster's {name} should be a whole number from {least}, but {value!r} came."
                )
        if not self.is_address and self.least_workers > self.workers:
            raise NeurozooError(
                f"A Dask cluster's least_workers should be at most workers ({self.workers}), but "
                f"{self.least_workers} came."
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in NUMBERS:
                continue
            if not isinstance(value, str) or not value.isprintable():
                raise NeurozooError(f"A Dask cluster's {field.name} should be text in one line, but {value!r} came.")
            if field.name in ("memory", "walltime", "queue", "account", "interface") and not _PLAIN.fullmatch(value):
                raise NeurozooError(f"A Dask cluster's {field.name} has characters that it may not have: {value!r}.")
        if self.is_address:
            self._check_address()

    def _check_address(self) -> None:
        files = {"ca_file": self.ca_file, "certificate": self.certificate, "key": self.key}
        scheme, host = self.cluster.partition("://")[0], urlsplit(self.cluster).hostname
        if scheme == "tls" and not all(files.values()):
            missing = ", ".join(name for name, file in files.items() if not file)
            raise NeurozooError(f"The Dask scheduler at {self.cluster} needs the files {missing}, too.")
        if scheme != "tls" and (scheme != "tcp" or host not in LOOPBACK):
            raise NeurozooError(
                f"The Dask scheduler {self.cluster!r} is not encrypted, and who reaches it can run programs as you. "
                "Start that scheduler with --protocol tls and give its tls:// address."
            )

    @property
    def is_address(self) -> bool:
        """Whether the cluster is somebody else's, and stays when we go."""
        return "://" in self.cluster

    @property
    def slots(self) -> int:
        """Episodes at once when all workers are there; 0 if nobody knows."""
        return 0 if self.is_address else self.workers * self.threads

    @classmethod
    def of(cls, value: "str | Mapping | ClusterSettings | None") -> "ClusterSettings | None":
        """Reads a section of a configuration, or words such as `slurm workers=10 threads=8 memory=16GB`.

        Args:
            value: The words, quoted as in a shell, or a mapping of the attributes; None or nothing for no cluster.

        Raises:
            NeurozooError: Something in it is unknown or makes no sense.
        """
        if not value or isinstance(value, cls):
            return value or None
        given = _of_words(value) if isinstance(value, str) else dict(value)
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise unknown_name("key of a Dask cluster", name, names)
        if "cluster" not in given:
            raise NeurozooError(f"Say which Dask cluster: {', '.join(KINDS)} or tls://HOST:PORT.")
        return cls(**given)

    def to_words(self) -> str:
        """Returns the words that `of` reads, without what is at its default."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cluster"}
        defaults = {field.name: field.default for field in fields(self)}
        words = [f"{name}={value}" for name, value in given.items() if value != defaults[name]]
        return shlex.join([self.cluster, *words])


def _of_words(text: str) -> dict[str, object]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise NeurozooError(f"The words for a Dask cluster {text!r} cannot be read: {error}.") from None
    given: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            name, value = "cluster", word
        if name in given:
            raise NeurozooError(f"A Dask cluster's {name} should be given once, but came twice in {text!r}.")
        given[name] = int(value) if name in NUMBERS and value.isdecimal() else value
    return given
