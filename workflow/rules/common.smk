"""
Makes the library importable, checks the configuration, and has what several rules share.

REQUIRED INPUTS:

    config     = config.yaml, or what --configfile names

A mistake in the configuration stops Snakemake here, before it reads any rule.
"""

import os
import sys
from functools import partial
from pathlib import Path

from snakemake.cli import get_argument_parser

# Snakemake passes sys.path to every `script:`, so nodes of a cluster need nothing else; but behind what is installed, which
# may be the library of another checkout. As a module from GitHub, whose rules are not in a folder, the project uses that.
library = Path(str(workflow.current_basedir)).parent / "lib"
if library.is_dir():
    sys.path.insert(0, str(library))

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.gallery.file_titles import FOLDERS
from neurozoo.networks.catalogue import KERAS_NETWORKS, NETWORKS
from neurozoo.networks.numpy_networks import is_plain
from neurozoo.plan.planned_runs import filmed_runs, runs_with_lean, runs_with_levels, runs_with_predictions
from neurozoo.plan.prepare import check_config_files, prepare, put_before_installed
from neurozoo.plan.products import algo_pattern, figure_formats, planned_products, run_files

if library.is_dir():
    put_before_installed(library)

# Snakemake takes braces in absolute paths for wildcards: in those of environments, none of which has any, and of locks.
if set("{}") & set(os.getcwd() + str(workflow.current_basedir)):
    from snakemake.persistence import file as locks
    from snakemake.sourcecache import LocalSourceFile
    from snakemake.utils import listfiles

    LocalSourceFile.format = lambda file, **wildcards: file
    locks.listfiles = lambda pattern: listfiles(os.path.relpath(pattern))

check_config_files(workflow)

# Snakemake would merge both files, and would also run the experiments of config.yaml.
if not workflow.overwrite_configfiles:

    configfile: "config.yaml"


plan = prepare(workflow, config, get_parser=get_argument_parser, notify=logger.warning)


# All rules run in this image, if Snakemake is told to use one.
container: config["container"]


# Names are not constrained to known ones, so that the library can explain a wrong one.
wildcard_constraints:
    algo=r"[^/]+",
    game=r"[^/]+",
    model=r"[^/]+",
    layer=r"[^/]+",
    run=r"[1-9]\d*",
    tag=r"[^/]+",
    seed=r"\d+",


# Networks without a native plan and without a graph.
KERAS_NETWORK = "|".join(KERAS_NETWORKS)
# Those that NumPy can play, too.
PLAIN_NETWORK = "|".join(name for name, network in NETWORKS.items() if is_plain(network))

# Some rules make their files of a run's tagged moments, too: they match {run} with "1" and with "1/tags/human".
RUN_OR_TAG = r"[1-9]\d*(/tags/[^/]+)?"

# What the terminal shows of a job: bar, lines or log. Bars of parallel jobs would overwrite each other.
TERMINAL = "bar" if len(plan.runs) == 1 else "lines"

# How reports label the files of a run.
RUN_LABELS = {"algorithm": "{algo}", "game": "{game}", "network": "{model}", "run": "{run}"}


def planned(name, runs=plan.runs):
    """Returns the paths of a file in the folders of all planned runs, or of other runs."""
    return run_files(name, runs)


def planned_of_game(name):
    """Returns a function of wildcards: the paths of a file in the folders of all runs that play the game."""
    return lambda wildcards: run_files(name, plan.runs_of(wildcards))


def reported(path, label, of="learning_curves"):
    """Returns a figure over runs in all formats of a section of the configuration, for reports."""
    figure = partial(report, caption=f"../report/{Path(path).stem}.rst", category="Figures")
    return [
        figure(path.format(format=end), labels={"figure": label, "format": end}) for end in figure_formats(config, of)
    ]


def pictured(path, what, caption):
    """Returns a picture of a run's network, for reports."""
    labels = {"picture": what, **RUN_LABELS} | ({"layer": "{layer}"} if "{layer}" in path else {})
    return report(path, caption=f"../report/{caption}.rst", category="Filters", labels=labels)


def described(**files):
    """Returns inputs: built files, and their descriptions, without which nothing loads them.

    They are ancient: a rebuild makes equal files.
    """
    facts = {
        "results/native/libneurozoo_core.so": "results/native/build.json",
        "<noise>/table.f32": "<noise>/table.json",
    }
    files |= {f"{name}_facts": facts[file] for name, file in files.items()}
    return {name: ancient(file) for name, file in files.items()}


def foundations_of(wildcards):
    """Returns what must be built before a run is trained."""
    files = {"core": {"core": "results/native/libneurozoo_core.so"}, "noise": {"noise": "<noise>/table.f32"}}
    return {name: file for need in plan.needs_of(wildcards) for name, file in described(**files[need]).items()}


def chosen_forms(**files):
    """Returns those of a frozen model's forms that the configuration keeps besides the Keras model."""
    return {form: file for form, file in files.items() if form in config["freeze"]["forms"]}


def existing_folders(wildcards):
    """Returns the folders whose files the gallery shows; a new file makes its folder newer."""
    results = Path(config["pathvars"]["results"])
    return sorted(str(folder) for pattern in FOLDERS for folder in results.glob(pattern) if folder.is_dir())
