"""
Trains the agents.

REQUIRED INPUTS:

    ops        = results/native/libneurozoo_ops.so
    noise      = <noise>/table.f32

OUTPUTS:

    config     = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    checkpoint = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    genome     = <results>/runs/{algo}/{game}/{model}/{run}/genome.json
    records    = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl
    profile    = <results>/runs/{algo}/{game}/{model}/{run}/profile.json, profile.html, if they are asked for

A run killed half-way continues from state/ when it is started again. Neither that folder nor snapshots/ is
declared, because Snakemake deletes the outputs of a failed job, and its logs as soon as a job starts: training keeps
both in state/ too, and writes log.jsonl whole at the end.

Op and noise table are ancient: building them again makes the same bits, so nothing is trained again.
"""


rule train:
    input:
        ops=ancient("results/native/libneurozoo_ops.so"),
        noise=ancient("<noise>/table.f32"),
    output:
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        genome="<results>/runs/{algo}/{game}/{model}/{run}/genome.json",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/train.log",
    benchmark:
        "<results>/runs/{algo}/{game}/{model}/{run}/train.benchmark.tsv"
    conda:
        "../../envs/neurozoo.yaml"
    threads: share_of_cores
    resources:
        mem_mb=memory_of,
        runtime="12h",
        # The batched engine (docs/gpu.md): a GPU, and episodes at once, as many as its memory holds.
        gpu=gpus_of,
        batched_slots=256,
        # A Dask cluster that plays the episodes (docs/dask.md), such as "slurm workers=20 threads=8"; a way to run, not
        # a setting of the run, so that changing it repeats nothing.
        distributed=cluster_of,
        # What the terminal gets: bar, lines or log. Bars of runs side by side would overwrite each other.
        terminal="bar" if len(PLANNED_RUNS) == 1 else "lines",
    params:
        settings=settings_of,
    script:
        "../scripts/train.py"


rule profile_learner:
    output:
        report="<results>/runs/{algo}/{game}/{model}/{run}/profile.json",
        flames="<results>/runs/{algo}/{game}/{model}/{run}/profile.html",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/profile.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: share_of_cores
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        settings=settings_of,
    script:
        "../scripts/profile_learner.py"
