"""
Imports genomes, and evaluates them.

REQUIRED INPUTS:

    core        = results/native/libneurozoo_core.so
    noise      = <noise>/table.f32
    genome     = what `imports` in the configuration names

OUTPUTS:

    config     = <results>/runs/imported/{game}/{model}/{run}/config.yaml
    genome     = <results>/runs/imported/{game}/{model}/{run}/genome.json
    checkpoint = <results>/runs/imported/{game}/{model}/{run}/checkpoint.npz
    result     = <results>/runs/imported/{game}/{model}/{run}/result.json
    evaluation = <results>/runs/{algo}/{game}/{model}/{run}/evaluation.json
    scores     = <results>/tables/imported_scores.csv

An imported run has the files that the other rules need: it is frozen, recorded and filmed like a trained run.
"""


ruleorder: import_genome > train


rule import_genome:
    """Imports a genome or a frozen graph from elsewhere."""
    input:
        **described(noise="<noise>/table.f32"),
        genome=lambda wildcards: plan.import_of(wildcards)["file"] or [],
    output:
        config="<results>/runs/imported/{game}/{model}/{run}/config.yaml",
        genome="<results>/runs/imported/{game}/{model}/{run}/genome.json",
        checkpoint="<results>/runs/imported/{game}/{model}/{run}/checkpoint.npz",
        result="<results>/runs/imported/{game}/{model}/{run}/result.json",
    log:
        "<results>/runs/imported/{game}/{model}/{run}/logs/import_genome.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        choices=lambda wildcards: {key: value for key, value in plan.import_of(wildcards).items() if key != "file"},
    script:
        "../scripts/import_genome.py"


rule evaluate:
    """Plays test episodes of a run's network in the core."""
    input:
        **described(core="results/native/libneurozoo_core.so", noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
    output:
        evaluation="<results>/runs/{algo}/{game}/{model}/{run}/evaluation.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/evaluate.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 8
    resources:
        mem_mb=4000,
        runtime="2h",
    params:
        evaluation=config["evaluation"],
    script:
        "../scripts/evaluate.py"


rule imported_scores:
    """Makes the table of imported agents' scores."""
    input:
        planned("evaluation.json", plan.imported),
    output:
        scores="<results>/tables/imported_scores.csv",
    log:
        "<results>/logs/imported_scores.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/imported_scores.py"
