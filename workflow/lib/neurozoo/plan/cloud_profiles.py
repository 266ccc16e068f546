"""What the profiles for clouds ask: whether their plugins are installed, and what `cloud up` has made."""

import importlib.util
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neurozoo.errors import NeurozooError, plain_errors
from neurozoo.files import read_json, write_json

STACK_NAME = "neurozoo"  # unless another is chosen
STACK_FILE = Path("profiles", "aws", "stack.json")  # written by `cloud up`, no part of the repository
_UP = "Run: python -m neurozoo cloud up"
# Environment variables that jobs of --profile kubernetes get, if they are set.
ACCESS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL",
    "SNAKEMAKE_STORAGE_S3_ACCESS_KEY", "SNAKEMAKE_STORAGE_S3_SECRET_KEY",
)  # fmt: skip
_KEYS = ("AWS_ACCESS_KEY_ID", "SNAKEMAKE_STORAGE_S3_ACCESS_KEY")  # one of which is needed
_PLUGINS = {
    "aws": ("snakemake_executor_plugin_aws_batch", "snakemake_storage_plugin_s3"),
    "kubernetes": ("snakemake_executor_plugin_kubernetes", "snakemake_storage_plugin_s3"),
}


@dataclass(frozen=True)
class Stack:
    """What `--profile aws` has to know of the account."""

    name: str  # of the stack
    region: str  # such as `eu-central-1`
    bucket: str  # for results
    queue: str  # ARN of the job queue
    job_role: str  # ARN of the role that jobs have
    image: str  # made by `make image` (docs/containers.md), in a registry that AWS reaches

    def write(self) -> None:
        """Writes `profiles/aws/stack.json`."""
        write_json(STACK_FILE, asdict(self))


def read_stack() -> Stack:
    """Returns what `cloud up` has made; raises NeurozooError if that is nothing, or the file is damaged."""
    found = read_json(STACK_FILE, _UP)
    try:
        return Stack(**{name: str(found[name]) for name in Stack.__dataclass_fields__})
    except KeyError as error:
        raise NeurozooError(f"{STACK_FILE} lacks {error}. Delete it. {_UP}") from error


def stack_of_profile() -> Stack:
    """Returns what `cloud up` has made; if a profile cannot work, ends the process with a sentence (status 1)."""
    check_profile("aws")
    with plain_errors():
        return read_stack()


def check_profile(name: str) -> None:
    """Ends the process with a sentence if a profile's plugins or keys are missing; mends what plugins do wrong."""
    with plain_errors():
        if missing := [plugin for plugin in _PLUGINS[name] if importlib.util.find_spec(plugin) is None]:
            raise NeurozooError(
                f"--profile {name} needs the package {missing[0].replace('_', '-')}, which is not installed. Run: make "
                "setup EXTRAS=cloud"
            )
        if name == "kubernetes" and not any(name in os.environ for name in _KEYS):
            raise NeurozooError(
                "--profile kubernetes hands your access to the storage to its jobs, but no variable has it. Export "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what else your storage needs (docs/cloud.md)."
            )
    if name == "kubernetes":
        _let_pods_fail()


def _let_pods_fail() -> None:
    """Lets Snakemake submit a job again whose pod has failed.

    The plugin (0.5.1) asks for the log of the container before. A pod that is never restarted has none, and the answer,
    400, would end Snakemake and leave all other jobs running.
    """
    from kubernetes.client import ApiException, CoreV1Api

    read = CoreV1Api.read_namespaced_pod_log
    if read.__name__ == "read_log":
        return

    def read_log(self: CoreV1Api, name: str, namespace: str, **choices: Any) -> str:
        choices.pop("previous", None)
        try:
            return read(self, name, namespace, **choices)
        except ApiException as error:
            return f"The log of the pod {name} cannot be read: {error.reason}"

    CoreV1Api.read_namespaced_pod_log = read_log
