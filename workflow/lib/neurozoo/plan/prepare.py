"""Everything around Snakemake's rules: checks before it plans anything, and what the rules ask of a plan.

Snakemake itself is not imported. The rules hand over its `workflow`, so that all of this can be tested without it.
"""

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from neurozoo.agents.tags import parse_tag
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.spec import Need
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.compute.slurm import check_scheduler, end_leftover_jobs
from neurozoo.environments.games import world_of
from neurozoo.errors import NeurozooError, plain_errors
from neurozoo.files.times import time_in
from neurozoo.folders import RESULTS, find
from neurozoo.native import CORE
from neurozoo.native.image import check_image
from neurozoo.networks.catalogue import check_layer
from neurozoo.plan.changes import outlook, runs_to_train, unseen_changes
from neurozoo.plan.config_files import check_config_file
from neurozoo.plan.configuration import check_config
from neurozoo.plan.file_times import (
    about_copies,
    about_the_future,
    check_copies,
    copied_runs,
    files_from_the_future,
    older_than_inputs,
    set_to_now,
)
from neurozoo.plan.named_files import (
    check_container,
    check_folders,
    check_folders_on_storage,
    check_named_files,
    named_files,
)
from neurozoo.plan.planned_runs import (
    PlannedRun,
    check_new_run,
    import_choices,
    imported_runs,
    labels_of_runs,
    planned_runs,
    run_settings,
    runs_of_game,
    settings_of_run,
    start_files,
)
from neurozoo.plan.run_targets import check_run_targets, runs_of_targets
from neurozoo.plan.unknown_targets import check_targets
from neurozoo.plan.warnings import (
    computed_by_keras,
    missing_packages,
    played_differently,
    runs_besides,
    try_environments,
)
from neurozoo.plan.what_ifs import check_intervened, check_what_if
from neurozoo.records.kept_result import keep_result
from neurozoo.signals import OF_SCHEDULERS, hang_up, leads

Wildcards = Any  # Snakemake's; anything that `dict` takes


def check_config_files(workflow: Any) -> None:
    """Checks the configurations before Snakemake reads them; a wrong one ends the process as in `prepare`."""
    with _sentences(workflow):
        for path in (workflow.overwrite_configfiles or ["config.yaml"]) if _is_started_by_user(workflow) else ():
            if not str(path).endswith(".json"):
                check_config_file(path)


def put_before_installed(library: Path) -> None:
    """Lets jobs use the library of this project, and not another one that is installed."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(library), os.environ.get("PYTHONPATH")]))


def prepare(workflow: Any, config: dict, *, get_parser: Callable[[], Any], notify: Callable[[str], object]) -> "Plan":
    """Checks what the user wrote before Snakemake reads any rule, and fills in defaults in `config`.

    `get_parser` makes the parser of Snakemake's command line. `notify` gets sentences for the user that are no reason
    to stop.

    Raises:
        SystemExit: There is a mistake; after a sentence, around which Snakemake would put tracebacks.
    """
    # Warnings go to all processes of a job: training handles them, and Snakemake must survive them.
    if threading.current_thread() is threading.main_thread():
        for number in OF_SCHEDULERS:
            signal.signal(number, signal.SIG_IGN)
        if workflow.is_main_process and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, hang_up)
    notify = notify if workflow.is_main_process else lambda sentence: None  # not again in every job
    with _sentences(workflow):
        check_image()
        source = ", ".join(map(str, workflow.configfiles)) or "The configuration"
        config.update(check_config(config, source=source))
        os.environ[RESULTS] = os.path.abspath(config["pathvars"]["results"])  # scripts guard it
        plan = Plan(workflow, config, targets=_targets(workflow, get_parser), notify=notify)
        for sentence in plan._check():
            notify(sentence)
    return plan


def _is_started_by_user(workflow: Any) -> bool:
    """Returns whether files and targets are the user's: not in jobs, nor as a module of another workflow."""
    return workflow.is_main_process and len(workflow.modifier_stack) == 1


def _sentences(workflow: Any) -> contextlib.AbstractContextManager:
    """Ends the process with a sentence if the user can fix an error; of a job, Snakemake shows the error."""
    return plain_errors() if workflow.is_main_process else contextlib.nullcontext()


def _in_a_sentence(method: Callable) -> Callable:
    """Makes a method of `Plan` end the process as `prepare` does."""

    @functools.wraps(method)
    def call(self: "Plan", *arguments: Any) -> Any:
        with _sentences(self._workflow):
            return method(self, *arguments)

    return call


def _targets(workflow: Any, get_parser: Callable[[], Any]) -> list[str]:
    """Returns the targets of the command line, which Snakemake does not know yet while rules are read."""
    if not _is_started_by_user(workflow) or Path(sys.argv[0]).name not in ("snakemake", "__main__.py"):
        return []
    return get_parser().parse_args(sys.argv[1:]).targets


class Plan:
    """What the rules ask of a configuration. Functions that end in `_of` take Snakemake's wildcards.

    Attributes:
        runs: The planned runs.
        imported: The imported genomes, as runs.
        labels: What the settings of runs are called.
    """

    def __init__(
        self, workflow: Any, config: Mapping, *, targets: Iterable[str], notify: Callable[[str], object]
    ) -> None:
        self.runs = planned_runs(config)
        self.imported = imported_runs(config)
        self.labels = labels_of_runs(config)
        self._workflow = workflow
        self._config = config
        self._targets = list(targets)
        self._notify = notify
        self._from_the_future: dict[str, int] = {}  # files with their times, in nanoseconds
        self._results = Path(config["pathvars"]["results"])

    def _check(self) -> Iterator[str]:
        """Looks for what a plan can go wrong with outside of the configuration; yields what does not stop it."""
        workflow, config = self._workflow, self._config
        methods = {method.name for method in workflow.deployment_settings.deployment_method}
        if "APPTAINER" in methods:
            check_container(config["container"])
        if not _is_started_by_user(workflow):
            return
        has_files_here = not workflow.storage_settings.default_storage_provider
        check_named_files(config, with_starts=has_files_here)
        check_folders(self._folders(), are_needed=False)
        if has_files_here:
            others = [*find(Path(CORE).parent, "*"), *find(config["pathvars"]["noise"], "*")]
            others += [Path(path) for _, path in named_files(config)]
            self._from_the_future = files_from_the_future(self._results, others)
            yield from filter(None, [about_the_future(self._from_the_future, time_in(self._results))])
        else:
            check_folders_on_storage(config["pathvars"])
        if has_files_here and not methods:  # jobs in environments, containers and clouds bring packages of their own
            yield from filter(None, [missing_packages(config)])
            yield from try_environments(config)
        yield from filter(None, [played_differently(config)])
        yield from computed_by_keras(config)
        yield from runs_besides(config, self._files())
        if has_files_here:
            yield from filter(None, [unseen_changes(config, self.runs)])

    @_in_a_sentence
    def check_targets(self) -> None:
        """Suggests other names for targets that no rule makes or no run can have; to be called after all rules."""
        rules = list(self._workflow.rules)
        prefix = str(self._workflow.inputfile("file")).removesuffix("file")  # of copies of files on S3; else ""
        check_run_targets(self._config, self._files())  # first: it knows the reason
        check_targets(
            self._files(),
            is_made=lambda path: any(rule.is_producer(prefix + path) for rule in rules),
            products=[str(file).removeprefix(prefix) for rule in rules for file in rule.output],
            rules=[rule.name for rule in rules],
        )
        copied = [] if prefix else self._copied_runs()
        if copied and (sentence := about_copies(older_than_inputs(rules, copied))):
            self._notify(sentence)

    @_in_a_sentence
    def check_start(self) -> None:
        """Checks folders and the scheduler before jobs start, sets times right, and ends jobs that were left behind.

        A killed Snakemake leaves jobs behind. `--touch` gets along only with results whose files belong together.
        """
        executor = self._workflow.executor_plugin.name
        if signal.getsignal(signal.SIGHUP) is hang_up and not self._workflow.local_exec:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # jobs in a queue go on without a terminal
        elif signal.getsignal(signal.SIGHUP) is hang_up and leads():
            signal.signal(signal.SIGTERM, hang_up)  # Snakemake would wait for its jobs, which nobody tells
        check_folders(self._folders())
        set_to_now(self._from_the_future, time_in(self._results))
        if executor == "touch":
            check_copies(self._copied_runs())
        check_scheduler(executor)
        end_leftover_jobs(self._workflow.workdir_init, has_to_answer=executor == "slurm")

    @_in_a_sentence
    def runs_of(self, wildcards: Wildcards) -> list[PlannedRun]:
        """Returns the planned and imported runs that play a game; there have to be some."""
        return runs_of_game(self._config, wildcards["game"])

    def labels_of(self, wildcards: Wildcards) -> dict[str, str]:
        """Returns what the settings of a game's runs are called."""
        return {run: label for run, label in self.labels.items() if run.split("/")[1] == wildcards["game"]}

    @_in_a_sentence
    def import_of(self, wildcards: Wildcards) -> dict:
        """Returns the source of an imported run, which the configuration has to have."""
        return import_choices(self._config, **wildcards)

    @_in_a_sentence
    def settings_of(self, wildcards: Wildcards) -> dict:
        """Returns the settings of a run."""
        return run_settings(self._config, **wildcards)

    @_in_a_sentence
    def resources_of(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns what a run requests from the scheduler.

        `memory` in megabytes, `gpus`, and `cluster`: the Dask cluster that plays, in the words of `ClusterSettings`;
        empty for none, and for runs that play on a GPU. `ranks`: the processes that the run consists of.
        """
        settings, spec = settings_of_run(self._config, **wildcards), ALGORITHMS[wildcards["algo"]]
        can_use_cluster = ("core" in spec.needs or spec.has_levels) and not settings.gpus
        cluster = ClusterSettings.of(self._config["distributed"]) if can_use_cluster else None
        words = cluster.to_words() if cluster else ""
        return {"memory": settings.memory, "gpus": settings.gpus, "cluster": words, "ranks": settings.ranks}

    @_in_a_sentence
    def rollout_with(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the settings of a rollout with an intervention, which the configuration has to have."""
        intervention = self._named("interventions", wildcards["intervention"])
        check_intervened(wildcards["model"], intervention["layer"])
        return {**self._config["rollout"], "intervention": intervention}

    def rollout_for_probes(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns the settings of a rollout for probes; only an emulator has sticky actions."""
        rollout = {key: self._config["probes"][key] for key in ("episodes", "max_steps", "sticky_probability", "seed")}
        return rollout if world_of(wildcards["game"]) == "atari" else {**rollout, "sticky_probability": None}

    @_in_a_sentence
    def what_if(self, wildcards: Wildcards) -> dict[str, Any]:
        """Returns a change of an episode, which the configuration has to have; another agent by its folder."""
        change = self._named("what_if", wildcards["name"])
        if (named := change["intervention"]) is not None:
            return {**change, "intervention": self._config["interventions"][named]}
        return change if change["agent"] is None else {**change, "agent": self._run_of(change["agent"])}

    @_in_a_sentence
    def successor_of(self, wildcards: Wildcards) -> list[str]:
        """Returns the file of the agent that takes over, if there is one, in a what-if that a run has to allow."""
        entry = self._named("what_if", wildcards["name"])
        algo, game, model, run = (wildcards[name] for name in ("algo", "game", "model", "run"))
        check_what_if(self._config, PlannedRun(algo, game, model, int(run)), entry)
        agent = entry["agent"]
        return [] if agent is None else [f"{self._run_of(agent)}/frozen/model.keras"]

    def _run_of(self, name: str) -> str:
        return f"{self._config['pathvars']['results']}/runs/{name}"

    def _named(self, section: str, name: str) -> dict[str, Any]:
        if name not in (named := self._config[section]):
            known = ", ".join(named) or "none"
            raise NeurozooError(
                f"The configuration has no {name!r} under {section}; it has: {known}. Write it there (docs/causal.md)."
            )
        return named[name]

    @_in_a_sentence
    def tag_of(self, wildcards: Wildcards) -> str:
        """Returns a tag, which has to be valid."""
        return parse_tag(wildcards["tag"]).text

    @_in_a_sentence
    def model_with_layer_of(self, wildcards: Wildcards) -> str:
        """Returns a run's frozen model, which has to have a layer."""
        check_layer(wildcards["model"], wildcards["layer"])
        return "<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras"

    @_in_a_sentence
    def needs_of(self, wildcards: Wildcards) -> tuple[Need, ...]:
        """Returns what must be built before a run is trained."""
        check_new_run(self._config, self._folder_of(wildcards), **wildcards)
        settings = settings_of_run(self._config, **wildcards)
        return (*ALGORITHMS[wildcards["algo"]].needs, *settings.needs_besides(wildcards["game"]))

    @_in_a_sentence
    def starts_of(self, wildcards: Wildcards) -> list[str]:
        """Returns the files that a run starts from, such as the agent and the generator of an archive."""
        return start_files(self._config, **wildcards)

    @_in_a_sentence
    def outlook_of(self, wildcards: Wildcards) -> str:
        """Returns what a plan says of a run whose settings have changed: that it goes on, or starts anew."""
        if not self._workflow.dryrun:
            return ""
        return outlook(self._config, self._folder_of(wildcards), **wildcards)

    @_in_a_sentence
    def keep_result_of(self, wildcards: Wildcards) -> str:
        """Keeps a run's earlier result, and returns nothing: Snakemake asks just before it deletes outputs."""
        if self._workflow.is_main_process and not self._workflow.dryrun:
            keep_result(self._folder_of(wildcards))
        return ""

    def backup_of(self, wildcards: Wildcards) -> str:
        """Returns where a run's state is kept besides, if results are on S3, whose jobs may lose their disk."""
        storage = self._workflow.storage_settings
        if storage.default_storage_provider != "s3":
            return ""
        return os.path.join(storage.default_storage_prefix, self._folder_of(wildcards), "backup")

    def cores_of(self, wildcards: Wildcards) -> int:
        """Returns the cores of each run if all that are wanted and not finished run side by side on this machine.

        On a cluster, Snakemake knows of no cores, and the profile sets them.
        """
        cores = self._workflow.resource_settings.cores or 1
        return max(1, cores // self._runs_side_by_side) if cores > 1 else 1

    @functools.cached_property
    def _runs_side_by_side(self) -> int:
        """The number of runs that are not finished: of those that targets name, or of all; 1 if all are."""
        wanted = runs_of_targets(self._config, self._targets)
        with _sentences(self._workflow):
            return max(1, len(runs_to_train(self._config, self.runs if wanted is None else wanted)))

    def _copied_runs(self) -> list[Path]:
        """Returns the folders of runs whose results Snakemake has not made here; none in jobs and as a module."""
        return copied_runs(self._results, (*self.runs, *self.imported)) if _is_started_by_user(self._workflow) else []

    def _folder_of(self, wildcards: Wildcards) -> Path:
        return self._results.joinpath("runs", *(wildcards[name] for name in ("algo", "game", "model", "run")))

    def _files(self) -> list[str]:
        """Returns the targets that are no names of rules."""
        return [target for target in self._targets if not self._workflow.is_rule(target)]

    def _folders(self) -> list[Path]:
        """Returns the folders of planned runs and of the wanted files."""
        runs = [self._results / "runs" / run.name for run in (*self.runs, *self.imported)]
        return [self._results, *runs, *(Path(file).parent for file in self._files())]
