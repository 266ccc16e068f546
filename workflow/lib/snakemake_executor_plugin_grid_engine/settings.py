"""What is particular to a cluster."""

from dataclasses import dataclass, field
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase


def _setting(default: str | int, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """What is particular to a cluster: `--grid-engine-memory` and so on, or lines in a profile."""

    parallel_environment: str = _setting("smp", "Parallel environment that gives all slots on one host")
    mpi_environment: str = _setting("mpi", "Parallel environment whose slots may be on several hosts")
    memory: str = _setting("h_vmem", "Resource that limits memory; none for none")
    memory_per: str = _setting("slot", "Whether this resource counts per slot or per job")
    gpu: str = _setting("gpu", "Resource for GPUs")
    gpu_per: str = _setting("job", "Whether this resource counts per slot or per job")
    options: str = _setting("", "Further options of qsub for all jobs")
    warning: int = _setting(300, "Seconds before its time limit at which a job gets SIGUSR1; 0 for never")
    grace: int = _setting(60, "Seconds after which a job that left the queue without an exit code counts as killed")
    patience: int = _setting(1800, "Seconds to wait for a node or a master that does not answer")

    def __post_init__(self) -> None:
        for name in ("memory_per", "gpu_per"):
            if (value := getattr(self, name)) not in ("slot", "job"):
                option = f"grid-engine-{name.replace('_', '-')}"
                raise WorkflowError(f"{option} is {value!r}, but a resource counts per slot or per job.")
