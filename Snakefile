"""
Neurozoo: from a list of experiments to trained agents, tables, figures, frozen networks, rollouts and movies.

    snakemake -n                                   shows what would run
    snakemake --profile local                      runs config.yaml on all cores
    snakemake --profile debug                      runs one tiny experiment on one core, with its own results
    snakemake --configfile config/published_ga.yaml --profile sge
    snakemake --profile local results/figures/learning_curves.pdf

`results/README.md` says what every file is; `config.yaml` holds the science, `profiles/` the hardware.
"""

from snakemake.utils import min_version

min_version("9.27")


# Folders that a configuration may move under `pathvars`; <results> is built into Snakemake.
pathvars:
    noise="results/noise",


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/native.smk"
include: "workflow/rules/noise.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/lineage.smk"
include: "workflow/rules/archives.smk"
include: "workflow/rules/generators.smk"
include: "workflow/rules/inspection.smk"
include: "workflow/rules/river.smk"
include: "workflow/rules/filters.smk"
include: "workflow/rules/movies.smk"
include: "workflow/rules/imports.smk"
include: "workflow/rules/comparing.smk"
include: "workflow/rules/site.smk"


onstart:
    in_a_sentence(check_folders, folders_to_make())
    in_a_sentence(
        check_scheduler, workflow.executor_plugin.name, getattr(workflow.executor_settings, "submit_cmd", None)
    )
    in_a_sentence(end_leftover_jobs, workflow.workdir_init, has_to_answer=workflow.executor_plugin.name == "slurm")


localrules:
    all,


rule all:
    """Makes everything that the configuration plans, and the gallery."""
    input:
        planned_products(config),
        "<results>/site/manifest.json",


explain_unknown_targets()
