"""
Looks inside the trained agents: frozen models, rollouts and movies of their activations.

REQUIRED INPUTS:

    ops         = results/native/libneurozoo_ops.so
    noise       = <noise>/table.f32
    checkpoint  = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    genome      = <results>/runs/{algo}/{game}/{model}/{run}/genome.json

OUTPUTS:

    keras       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    saved_model = <results>/runs/{algo}/{game}/{model}/{run}/frozen/saved_model/
    graph       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.pb
    record      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout     = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz
    steps       = <results>/runs/{algo}/{game}/{model}/{run}/rollout.parquet
    of_seed     = <results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.{npz,parquet}
    movie       = <results>/runs/{algo}/{game}/{model}/{run}/activation.mp4
    generations = <results>/runs/{algo}/{game}/{model}/{run}/generations.mp4

Frozen model, rollout and activation movie exist of tagged moments of a run, too, such as
<results>/runs/{algo}/{game}/{model}/{run}/tags/human/activation.mp4; the rule freeze_tag makes their frozen/. Tags: initial,
human, frames such as 400M, hours such as 2HR; see docs/zoo.md.

A model is frozen only if its three forms act like the native op on a recorded episode. Rollout and movie need
nothing but the frozen model, so that they can be made again wherever that folder is. What generations.mp4 is made of
stays in generations/{N}/, which is not declared: a generation that was frozen by hand lies there, too.
"""


rule freeze_model:
    input:
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        genome="<results>/runs/{algo}/{game}/{model}/{run}/genome.json",
        ops=ancient("results/native/libneurozoo_ops.so"),
        noise=ancient("<noise>/table.f32"),
    output:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/frozen/saved_model"),
        graph="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.pb",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/freeze_model.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    script:
        "../scripts/freeze_model.py"


rule freeze_tag:
    input:
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        genome="<results>/runs/{algo}/{game}/{model}/{run}/genome.json",
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
        ops=ancient("results/native/libneurozoo_ops.so"),
        noise=ancient("<noise>/table.f32"),
    output:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.keras",
        saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/saved_model"),
        graph="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.pb",
        record="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/logs/freeze_tag.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        tag=tag_of,
    script:
        "../scripts/freeze_tag.py"


rule rollout:
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    output:
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
        steps="<results>/runs/{algo}/{game}/{model}/{run}/rollout.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/rollout.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal="bar" if len(PLANNED_RUNS) == 1 else "lines",  # side by side, bars would overwrite each other
    params:
        rollout=config["rollout"],
    script:
        "../scripts/rollout.py"


use rule rollout as rollout_of_seed with:
    output:
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.npz",
        steps="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/rollout_of_seed_{seed}.log",
    params:
        rollout=lambda wildcards: {**config["rollout"], "seed": int(wildcards.seed)},


rule activation_movie:
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/activation.mp4",
            caption="../report/activation_movie.rst",
            category="Activation movies",
            labels={"algorithm": "{algo}", "game": "{game}", "network": "{model}", "run": "{run}"},
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/activation_movie.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal="bar" if len(PLANNED_RUNS) == 1 else "lines",  # side by side, bars would overwrite each other
    params:
        movie={key: config["movie"][key] for key in ("fps", "max_steps")},
    script:
        "../scripts/activation_movie.py"


rule generations:
    input:
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        genome="<results>/runs/{algo}/{game}/{model}/{run}/genome.json",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
        ops=ancient("results/native/libneurozoo_ops.so"),
        noise=ancient("<noise>/table.f32"),
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/generations.mp4",
            caption="../report/generations.rst",
            category="Generations",
            labels={"algorithm": "{algo}", "game": "{game}", "network": "{model}", "run": "{run}"},
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/generations.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=4000,
        runtime="2h",
        terminal="bar" if len(FILMED_RUNS) == 1 else "lines",
    params:
        generations={key: value for key, value in config["generations"].items() if key != "experiments"},
    script:
        "../scripts/generations.py"
