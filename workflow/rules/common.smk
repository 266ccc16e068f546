"""
Makes the library importable, checks the configuration, and lists the planned runs.

REQUIRED INPUTS:

    config     = config.yaml, or what --configfile names

A mistake in the configuration stops Snakemake here, before it reads any rule.
"""

import os
import signal
import sys
import threading
from functools import cache
from pathlib import Path

from snakemake.cli import get_argument_parser
from snakemake.settings.types import DeploymentMethod

PROJECT = Path(str(workflow.current_basedir)).resolve().parents[1]

# Snakemake passes sys.path to every `script:`, so nodes of a cluster need nothing else.
sys.path.insert(0, str(PROJECT / "workflow" / "lib"))

from neurozoo.agents.agent import IMPORTED
from neurozoo.compute.slurm import check_scheduler, end_leftover_jobs
from neurozoo.native.image import check_image
from neurozoo.plan.changes import outlook, runs_to_train, unseen_changes
from neurozoo.plan.products import algo_pattern, figure_formats, needs_of, planned_products, result_file, run_files
from neurozoo.plan.comparable import played_differently
from neurozoo.plan.config_files import check_config_file
from neurozoo.plan.configuration import check_config
from neurozoo.plan.missing_packages import missing_packages
from neurozoo.plan.named_files import check_container, check_folders, check_folders_on_storage, check_named_files
from neurozoo.plan.named_files import check_results_folder
from neurozoo.plan.run_targets import check_run_targets, runs_of_targets
from neurozoo.records.kept_result import keep_result
from neurozoo.plan.targets import check_targets
from neurozoo.plan.tried_environments import try_environments
from neurozoo.plan.planned_runs import (
    check_new_run,
    filmed_runs,
    import_choices,
    imported_runs,
    labels_of_runs,
    needs_besides,
    planned_runs,
    recorded_settings,
    run_resources,
    runs_with_lean,
    runs_with_levels,
    runs_with_predictions,
    runs_of_game,
    start_files,
)
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import KERAS_NETWORKS, check_layer
from neurozoo.gallery.file_titles import FOLDERS
from neurozoo.agents.tags import parse_tag


def in_a_sentence(function, *arguments, **named):
    """Calls a function of the library; if it fails, the user sees only the message.

    Snakemake would put tracebacks around it, so it ends the process, except in jobs and in other people's workflows.
    """
    try:
        return function(*arguments, **named)
    except NeurozooError as error:
        if IS_STARTED_BY_USER:
            sys.exit(f"neurozoo: {error}")
        raise WorkflowError(str(error)) from None


def say_once(sentence):
    """Shows the user a message once, and not again in every job."""
    if workflow.is_main_process:
        logger.warning(sentence)


# Signals before a time limit go to all processes of a job: training handles them, and Snakemake must survive them.
if threading.current_thread() is threading.main_thread():
    for warning in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(warning, signal.SIG_IGN)


# As a module of another workflow, the project has neither configuration files nor targets of its own.
IS_STARTED_BY_USER = workflow.is_main_process and len(workflow.modifier_stack) == 1

in_a_sentence(check_image)

for path in (workflow.overwrite_configfiles or ["config.yaml"]) if IS_STARTED_BY_USER else ():
    if not str(path).endswith(".json"):
        in_a_sentence(check_config_file, path)


# Snakemake would merge both files, and would also run the experiments of config.yaml.
if not workflow.overwrite_configfiles:

    configfile: "config.yaml"


CONFIG_FILES = ", ".join(map(str, workflow.configfiles)) or "The configuration"
config.update(in_a_sentence(check_config, config, source=CONFIG_FILES, notify=say_once))
# Files may be elsewhere where they are in a cloud, or made by another workflow that this one is a module of.
HAS_FILES_HERE = not workflow.storage_settings.default_storage_provider
if IS_STARTED_BY_USER:
    in_a_sentence(check_named_files, config, with_starts=HAS_FILES_HERE)

# Jobs in conda environments, containers and clouds bring packages of their own.
RUNS_HERE = HAS_FILES_HERE and not workflow.deployment_settings.deployment_method
if IS_STARTED_BY_USER and RUNS_HERE and (sentence := missing_packages(config)):
    say_once(sentence)
if IS_STARTED_BY_USER and RUNS_HERE:
    for sentence in in_a_sentence(lambda: list(try_environments(config))):
        say_once(sentence)
if IS_STARTED_BY_USER and (sentence := in_a_sentence(played_differently, config)):
    say_once(sentence)

if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    in_a_sentence(check_container, config["container"])


# All rules run in this image, if Snakemake is told to use one.
container: config["container"]


PLANNED_RUNS = planned_runs(config)
IMPORTED_RUNS = imported_runs(config)
LABELS = labels_of_runs(config)

# A parameter of figures over runs, so that a change draws them anew; none as in earlier versions, whose figures stay.
WORDS = {"words": "beside"} if config["figures"]["words"] == "beside" else {}

if IS_STARTED_BY_USER and HAS_FILES_HERE and (sentence := in_a_sentence(unseen_changes, config, PLANNED_RUNS)):
    say_once(sentence)


# Names are not constrained to known ones, so that `run_settings` can explain a wrong one.
wildcard_constraints:
    algo=r"[^/]+",
    game=r"[^/]+",
    model=r"[^/]+",
    run=r"[1-9]\d*",
    tag=r"[^/]+",
    seed=r"\d+",


# Networks without a native plan and without a graph.
KERAS_NETWORK = "|".join(KERAS_NETWORKS)

# Some rules make their files of a run's tagged moments, too: they match {run} with "1" and with "1/tags/human".
RUN_OR_TAG = r"[1-9]\d*(/tags/[^/]+)?"


def planned(name, runs=PLANNED_RUNS):
    """Returns the paths of a file in the folders of all planned runs, or of other runs."""
    return run_files(name, runs)


def existing_folders():
    """Returns the folders whose files the gallery shows; a new file makes its folder newer."""
    results = Path(config["pathvars"]["results"])
    return sorted(str(folder) for pattern in FOLDERS for folder in results.glob(pattern) if folder.is_dir())


def runs_of(wildcards):
    """Returns the planned and imported runs that play a game; fails with an explanation if there are none."""
    return in_a_sentence(runs_of_game, config, wildcards.game)


def requested_files():
    """Returns the targets of the command line that are no names of rules."""
    return [target for target in requested_targets() if not workflow.is_rule(target)]


def requested_targets():
    """Returns the targets of the command line, which Snakemake does not know yet while rules are read."""
    if not IS_STARTED_BY_USER or Path(sys.argv[0]).name not in ("snakemake", "__main__.py"):
        return []
    return get_argument_parser().parse_args(sys.argv[1:]).targets


def explain_unknown_targets():
    """Suggests other names for targets that no rule makes or no run can have; has to be called after all rules."""

    prefix = str(workflow.inputfile("file")).removesuffix("file")  # of Snakemake's copies of files on S3; else ""

    def is_made(path):
        return any(rule.is_producer(prefix + path) for rule in workflow.rules)

    products = [str(file).removeprefix(prefix) for rule in workflow.rules for file in rule.output]
    names = [rule.name for rule in workflow.rules]
    in_a_sentence(check_targets, requested_files(), is_made=is_made, products=products, rules=names)
    in_a_sentence(check_run_targets, config, requested_files())


def folders_to_make():
    """Returns the folders of planned runs and of the targets of the command line."""
    results = Path(config["pathvars"]["results"])
    runs = [*PLANNED_RUNS, *IMPORTED_RUNS]
    paths = [results / "runs" / run.algo / run.game / run.model / str(run.run) for run in runs]
    return [results, *paths, *(Path(file).parent for file in requested_files())]


if IS_STARTED_BY_USER:
    in_a_sentence(check_folders, folders_to_make(), are_needed=False)
    if HAS_FILES_HERE:
        in_a_sentence(check_results_folder, config["pathvars"]["results"])
    else:
        in_a_sentence(check_folders_on_storage, config["pathvars"])


def model_with_layer(wildcards):
    """Returns a run's frozen model; fails with an explanation if it has no layer of the wanted name."""
    in_a_sentence(check_layer, wildcards.model, wildcards.layer)
    return "<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras"


def labels_in_grid(game):
    """Returns the labels of a game's runs; nothing if there are none, as in earlier versions, so that movies stay."""
    labels = {run: label for run, label in LABELS.items() if run.split("/")[1] == game}
    return {"labels": labels} if labels else {}


def import_of(wildcards):
    """Returns the source of an imported run; fails with an explanation if the configuration has none."""
    return in_a_sentence(import_choices, config, game=wildcards.game, model=wildcards.model, run=wildcards.run)


def recorded_settings_of(wildcards):
    """Returns the settings of a run as Snakemake has recorded them for finished runs; only to compare them."""
    return in_a_sentence(recorded_settings, config, **dict(wildcards.items()))


def tag_of(wildcards):
    """Returns a tag; fails with an explanation if it is not valid."""
    return in_a_sentence(parse_tag, wildcards.tag).text


def resources_of(wildcards):
    """Returns the resources that a run requests from the scheduler."""
    return in_a_sentence(run_resources, config, **dict(wildcards.items()))


def folder_of(wildcards):
    """Returns the folder of a run."""
    return Path(config["pathvars"]["results"], "runs", wildcards.algo, wildcards.game, wildcards.model, wildcards.run)


def outlook_of(wildcards):
    """Returns what a plan says of a run whose settings have changed: that it goes on, or starts anew."""
    return in_a_sentence(outlook, config, folder_of(wildcards), **dict(wildcards.items())) if workflow.dryrun else ""


def keeping_result(wildcards):
    """Keeps a run's earlier result, and returns nothing. Snakemake asks for resources just before it deletes outputs."""
    if workflow.is_main_process and not workflow.dryrun:
        in_a_sentence(keep_result, folder_of(wildcards))
    return ""


def backup_address(wildcards):
    """Returns where a run's state is kept besides, if results are on S3, whose jobs may lose their node with its disk."""
    settings = workflow.storage_settings
    if settings.default_storage_provider != "s3":
        return ""
    return os.path.join(settings.default_storage_prefix, folder_of(wildcards), "backup")


def result_of(wildcards):
    """Returns the file that holds a run's result."""
    return f"<results>/runs/{{algo}}/{{game}}/{{model}}/{{run}}/{result_file(wildcards.algo)}"


def described(**needs):
    """Returns inputs: the op or noise table, and their descriptions if results are on S3, whose jobs get no other files.

    They are ancient: a rebuild makes equal files.
    """
    descriptions = {
        "ops": "results/native/build.json",
        "library": "results/native/build.json",
        "noise": "<noise>/table.json",
    }
    if workflow.storage_settings.default_storage_provider:
        needs |= {f"{need}_facts": descriptions[need] for need in needs}
    return {need: ancient(file) for need, file in needs.items()}


def op_besides(wildcards):
    """Returns the op library for a run that needs it because of its game or settings, and nothing for others."""
    needs = in_a_sentence(needs_besides, config, **dict(wildcards.items()))
    return described(ops="results/native/libneurozoo_ops.so") if "op" in needs else {}


def foundations_of(wildcards):
    """Returns the files that must exist before training."""
    run_dir = Path(
        config["pathvars"]["results"], "runs", wildcards.algo, wildcards.game, wildcards.model, wildcards.run
    )
    in_a_sentence(check_new_run, config, run_dir, **dict(wildcards.items()))
    files = {"op": ("ops", "results/native/libneurozoo_ops.so"), "noise": ("noise", "<noise>/table.f32")}
    found = described(**dict(files[need] for need in needs_of(wildcards.algo, run_dir)))
    found |= op_besides(wildcards)
    return found | starts_of(wildcards)


def starts_of(wildcards):
    """Returns the files that a run starts from, such as the agent and the generator of an archive."""
    files = in_a_sentence(start_files, config, **dict(wildcards.items()))
    return {"starts": [ancient(file) for file in files]} if files else {}


def share_of_cores(wildcards):
    """Returns the cores of each run if all that are wanted and not finished run side by side on this machine.

    On a cluster, Snakemake knows of no cores, and the profile sets them.
    """
    cores = workflow.resource_settings.cores or 1
    return max(1, cores // runs_side_by_side()) if cores > 1 else 1


@cache
def runs_side_by_side():
    """Returns the number of runs that are not finished: of those that targets name, or of all; 1 if all are."""
    runs = runs_of_targets(config, requested_targets())
    return max(1, len(in_a_sentence(runs_to_train, config, PLANNED_RUNS if runs is None else runs)))


def chosen_forms(**files):
    """Returns those of a frozen model's forms that the configuration keeps besides the Keras model."""
    return {form: file for form, file in files.items() if form in config["freeze"]["forms"]}
