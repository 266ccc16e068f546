"""`python -m neurozoo impala_gym`: runs command lines and lists of workers of impala_horovod_gym.

Its list of workers becomes the list of hosts of `mpirun`. Passwords in it are neither used nor shown.

Source: impala_horovod_gym, `run_experiment_mm_raw.py` and `experiment.py`; sections 2, 8 and 9 of the specification.
"""

import argparse
import csv
import shlex
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neurozoo.agents.zoo_names import game_of
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.cli import arguments as args
from neurozoo.environments.protocols import FRAME_SKIP
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import open_text, write_text
from neurozoo.folders import guard

COLUMNS = ("job", "ip", "tf_port", "cuda_visible_devices", "ssh_port", "ssh_username", "ssh_password")
NETWORKS = {"simpleconvnetagent": "impala_gym_simple", "resnetlstmagent": "impala_gym_deep"}
LOCAL = ("localhost", "127.0.0.1", "::1")
# Options that are settings here, by our name.
SETTINGS: dict[str, tuple[Callable[[str], object], str]] = {
    "batch_size": (int, "batch_size"),
    "unroll_length": (int, "unroll_length"),
    "seed": (int, "seed"),
    "entropy_cost": (float, "entropy_cost"),
    "baseline_cost": (float, "baseline_cost"),
    "discounting": (float, "discount"),
    "reward_clipping": (str, "reward_clipping"),
    "learning_rate": (float, "learning_rate"),
    "decay": (float, "decay_rate"),
    "momentum": (float, "momentum"),
    "epsilon": (float, "optimizer_epsilon"),
}
# Options that change nothing here, and why.
WITHOUT_EFFECT = {
    "tmux_sess": "The processes have no windows; train.log and `status` show what they do.",
    "queue_capacity": "Learners take each rollout as soon as it has been played.",
    "width": "The networks see 84 x 84 pixels.",
    "height": "The networks see 84 x 84 pixels.",
    "num_action_repeats": "Every protocol repeats an action for 4 frames.",
}
# Options of a single process of the original.
OF_ONE_PROCESS = ("learner_host", "actor_hosts", "task", "job_name")


class Worker(NamedTuple):
    """A line of the list of workers, without its password."""

    job: str  # `learner` or `actor`
    host: str  # where it runs
    ssh_port: str  # port of its ssh server; empty for the default
    ssh_username: str  # account there; empty for one's own

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return self.host in (*LOCAL, socket.gethostname(), socket.getfqdn())


def add_commands(commands: args.Commands) -> None:
    """Adds `impala_gym`."""
    command = args.add_command(commands, "impala_gym", _impala_gym, "run a command line of impala_horovod_gym")
    command.prefix_chars = "\0"  # its options are read by `translate`
    command.add_argument("words", nargs="*", metavar="--OPTION VALUE", help="such as: --workers_csv_path hosts.csv")


def _impala_gym(options):
    def as_commands(given):
        words, notices = translate(given)
        return [words], notices

    args.run_translated(options, as_commands)


def translate(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Translates a command line of impala_horovod_gym. Writes the hosts of `mpirun` beside the list of workers.

    Returns:
        The words for `python -m neurozoo`, and sentences about what is ignored.
    """
    given = _parsed(arguments)
    notices = [f"--{name} is ignored. {why}" for name, why in WITHOUT_EFFECT.items() if name in given]
    for name in OF_ONE_PROCESS:
        if name in given:
            raise NeurozooError(
                f"--{name} is for a single process of the original. List the workers in a file: --workers_csv_path."
            )
    game, model = game_of(given.get("level_name", "BreakoutNoFrameskip-v4")), _network(given.get("agent_name"))
    run_dir = given.get("logdir") or f"results/runs/impala/{game}/{model}/1"
    if given.get("mode") == "test":
        own = [name for name in given if name not in ("mode", "logdir", "test_num_episodes", *WITHOUT_EFFECT)]
        notices += [f"--{name} is ignored. The run in {run_dir} has its own." for name in own if given.get("logdir")]
        return ["test", run_dir, "--episodes", str(given.get("test_num_episodes", 10))], notices
    settings = {ours: given[name] for name, (_, ours) in SETTINGS.items() if name in given}
    if "total_environment_frames" in given:  # which are steps
        settings["frames"] = FRAME_SKIP * int(given["total_environment_frames"])
    if "gradients_clipping" in given:
        norm = given["gradients_clipping"]
        settings["max_gradient_norm"] = norm if norm > 0 else None
    launcher: list[str] = []
    if path := given.get("workers_csv_path"):
        workers, ignored = read_workers(path)
        notices += ignored
        settings |= _processes(workers, settings)
        budget = settings.get("frames", resolve_settings("impala", preset="impala_gym").frames)
        settings["frames"] = budget * int(settings["learners"])  # there, each learner has the budget
        if not all(worker.is_local for worker in workers):
            launcher = ["--mpi", f"mpirun --map-by seq:OVERSUBSCRIBE --hostfile {shlex.quote(_hosts(path, workers))}"]
    elif "batch_size" in settings:
        settings["num_envs"] = settings["batch_size"]  # one learner plays what it learns from
    resolve_settings("impala", preset="impala_gym", overrides=settings)  # wrong values end here
    place = ["--run-dir", run_dir] if "logdir" in given else []
    words = ["train", "--algo", "impala", "--game", game, "--model", model, "--preset", "impala_gym", *place, *launcher]
    for name, value in settings.items():
        words += ["--set", f"{name}={'null' if value is None else value}"]
    return words, notices


def read_workers(path: str | Path) -> tuple[list[Worker], list[str]]:
    """Reads a list of workers, a CSV file with the columns of the original.

    Returns:
        The workers, learners first, then actors, each in the order of the file; and sentences about what is ignored.
    """
    guard(path)
    try:
        with open_text(path, newline="") as file:
            reader = csv.DictReader(file)
            names, rows = tuple(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeError, csv.Error) as error:
        raise NeurozooError(f"The list of workers {path} could not be read: {error}") from error
    if missing := [name for name in COLUMNS if name not in names]:
        raise NeurozooError(f"{path} lacks the column {missing[0]}; a list of workers begins with {','.join(COLUMNS)}")
    workers = []
    for number, row in enumerate(rows, start=2):
        if row["job"] not in ("learner", "actor"):  # such as ps, as in the original
            continue
        host = (row["ip"] or "").strip()
        if not host or host[0] == "-" or any(character.isspace() or character in ",:;/" for character in host):
            raise NeurozooError(f"Line {number} of {path} should name a host in the column ip, but says {host!r}.")
        workers.append(Worker(row["job"], host, row["ssh_port"] or "", row["ssh_username"] or ""))
    if not any(worker.job == "learner" for worker in workers):
        raise NeurozooError(f"{path} lists no learner. One line should have learner in the column job.")
    notices = []
    if any(row["ssh_password"] for row in rows):
        notices.append(
            f"Passwords in {path} are ignored: mpirun reaches other hosts by ssh with keys (ssh-copy-id HOST). Delete "
            "them from the file."
        )
    if any(row["cuda_visible_devices"] for row in rows):
        notices.append("cuda_visible_devices is ignored; set CUDA_VISIBLE_DEVICES on the hosts.")
    accounts = {worker.host: worker for worker in workers if worker.ssh_port or worker.ssh_username}
    if accounts:
        entries = "".join(
            f"\n  Host {host}"
            + (f"\n    Port {worker.ssh_port}" if worker.ssh_port else "")
            + (f"\n    User {worker.ssh_username}" if worker.ssh_username else "")
            for host, worker in accounts.items()
        )
        notices.append(f"Ports and accounts belong into ~/.ssh/config:{entries}")
    return sorted(workers, key=lambda worker: worker.job == "actor"), notices


def _parsed(arguments: Sequence[str]) -> dict[str, Any]:
    parser = args.OriginalParser(
        prog="python -m neurozoo impala_gym", description="See docs/impala.md.", allow_abbrev=False
    )
    kinds: dict[str, Callable[[str], object]] = {name: kind for name, (kind, _) in SETTINGS.items()}
    kinds |= {"total_environment_frames": float, "gradients_clipping": float, "test_num_episodes": int}
    texts = ("workers_csv_path", "logdir", "mode", "level_name", "agent_name", *WITHOUT_EFFECT, *OF_ONE_PROCESS)
    kinds |= dict.fromkeys(texts, str)
    for name, kind in kinds.items():
        parser.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS)
    found, unknown = parser.parse_known_args(list(arguments))
    if unknown:
        raise unknown_name(
            "option", unknown[0].split("=")[0], [f"--{name}" for name in kinds], owner="impala_horovod_gym"
        )
    given = vars(found)
    if given.get("mode", "train") not in ("train", "test"):
        raise unknown_name("mode", given["mode"], ("train", "test"))
    return given


def _network(agent: str | None) -> str:
    name = (agent or "SimpleConvNetAgent").lower()
    if name not in NETWORKS:
        raise unknown_name("agent", agent or "", ("SimpleConvNetAgent", "ResNetLSTMAgent"), owner="impala_horovod_gym")
    return NETWORKS[name]


def _processes(workers: Sequence[Worker], settings: dict[str, Any]) -> dict[str, object]:
    """Returns the numbers of processes, and environments enough for all actors and for whole batches."""
    learners = sum(worker.job == "learner" for worker in workers)
    actors = len(workers) - learners
    batch = settings.get("batch_size", resolve_settings("impala", preset="impala_gym").batch_size)
    most = max(1, -(-actors // learners))
    return {"learners": learners, "actors": actors, "num_envs": -(-most // batch) * batch}


def _hosts(path: str | Path, workers: Sequence[Worker]) -> str:
    """Writes the hosts of all processes in their order, and returns the file's path."""
    hosts = Path(path).with_suffix(".hosts")
    write_text(hosts, "".join(f"{worker.host}\n" for worker in workers))
    return str(hosts)
