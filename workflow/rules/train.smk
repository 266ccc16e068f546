"""
Trains the agents.

REQUIRED INPUTS:

    core        = the native core, for algorithms that need it
    noise      = the noise table, for algorithms that need it
    start      = the population, weights or other run that a run starts from, if its settings name one

OUTPUTS:

    config     = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    checkpoint = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    archive    = <results>/runs/{algo}/{game}/{model}/{run}/archive.npz
    levels     = <results>/runs/{algo}/{game}/{model}/{run}/levels.parquet
    records    = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl
    result     = <results>/runs/{algo}/{game}/{model}/{run}/result.json
    profile    = <results>/runs/{algo}/{game}/{model}/{run}/profile.{json,html}

A killed run continues from state/ when it is started again. Neither that folder nor snapshots/ is a declared output,
because Snakemake deletes the outputs of a failed job. It also deletes a job's logs when the job starts, so training
keeps both logs in state/, too, and writes log.jsonl complete at the end.

A run results in a network (checkpoint.npz) or, in quality diversity, in an archive (archive.npz), with everything
that was evaluated beside it (levels.parquet). Neuroevolution also writes genome.json; no rule needs it, because the checkpoint contains the genome, too.

A profile is made only if it is requested by its path.
"""


rule train:
    """Trains an agent, or continues to."""
    input:
        unpack(foundations_of),
        starts=ancient(plan.starts_of),
    output:
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
        result="<results>/runs/{algo}/{game}/{model}/{run}/result.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/train.log",
    benchmark:
        "<results>/runs/{algo}/{game}/{model}/{run}/train.benchmark.tsv"
    wildcard_constraints:
        algo=f"(?!({algo_pattern(lambda spec: spec.result == 'archive')}|{IMPORTED})/)[^/]+",
    conda:
        "../../envs/neurozoo.yaml"
    threads: plan.cores_of
    resources:
        # A training that failed gets twice as much, in case that was the reason.
        mem_mb=lambda wildcards, attempt: plan.resources_of(wildcards)["memory"] * min(attempt, 2),
        runtime="24h",
        # On Slurm: five minutes before the end of its time, training saves its state and returns to the queue.
        slurm_extra="--signal=USR1@300",
        # For the batched engine (docs/gpu.md): a GPU, and as many episodes at once as its memory can hold.
        # Not 0: Kubernetes refuses a request of a GPU without a limit, even of none.
        gpu=lambda wildcards: plan.resources_of(wildcards)["gpus"] or None,
        batched_slots=256,
        # A Dask cluster that plays the episodes (docs/dask.md), such as "slurm workers=20 threads=8". It is not a
        # setting of the run, so changing it repeats nothing.
        distributed=lambda wildcards: plan.resources_of(wildcards)["cluster"],
        # The processes of a run with several learners or actors (docs/impala.md), and the command that starts them: mpirun,
        # or srun (set-resources of a profile). Slurm counts threads per process, others for all of them together. Other
        # runs must not have `mpi`: Slurm would start them without srun, and only what srun starts gets its signals.
        tasks=lambda wildcards: (
            plan.resources_of(wildcards)["ranks"] if plan.resources_of(wildcards)["ranks"] > 1 else 0
        ),
        mpi=lambda wildcards: "yes" if plan.resources_of(wildcards)["ranks"] > 1 else None,
        launcher="mpirun",
        # Where the state is kept besides, so that another node can continue after this one is lost (docs/cloud.md).
        backup=plan.backup_of,
        terminal=TERMINAL,
        # What the terminal says of it in a plan.
        outlook=plan.outlook_of,
        # No resource, but the last moment before Snakemake deletes an earlier result.
        kept_result=plan.keep_result_of,
    params:
        settings=plan.settings_of,
    script:
        "../scripts/train.py"


use rule train as train_archive with:
    """Searches for an archive of levels, or continues to."""
    output:
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        archive="<results>/runs/{algo}/{game}/{model}/{run}/archive.npz",
        levels="<results>/runs/{algo}/{game}/{model}/{run}/levels.parquet",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
        result="<results>/runs/{algo}/{game}/{model}/{run}/result.json",
    wildcard_constraints:
        algo=algo_pattern(lambda spec: spec.result == "archive"),


rule profile_learner:
    """Measures where a learner spends its time."""
    input:
        unpack(foundations_of),
    output:
        report="<results>/runs/{algo}/{game}/{model}/{run}/profile.json",
        flames="<results>/runs/{algo}/{game}/{model}/{run}/profile.html",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/profile.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: plan.cores_of
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        settings=plan.settings_of,
    script:
        "../scripts/profile_learner.py"
