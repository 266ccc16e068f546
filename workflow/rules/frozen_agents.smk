"""
Freezes the trained agents, and records and tests them.

REQUIRED INPUTS:

    core         = results/native/libneurozoo_core.so
    noise       = <noise>/table.f32
    checkpoint  = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    config      = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    records     = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl

OUTPUTS:

    keras       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    saved_model = <results>/runs/{algo}/{game}/{model}/{run}/frozen/saved_model
    graph       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.pb
    onnx        = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.onnx
    record      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout     = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz
    steps       = <results>/runs/{algo}/{game}/{model}/{run}/rollout.parquet
    of_seed     = <results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.{npz,parquet}
    test        = <results>/runs/{algo}/{game}/{model}/{run}/test.json

Tagged moments of a run can have all these files, too, such as tags/human/rollout.npz. The rule
freeze_tag makes their frozen/. Tags: initial, human, frames such as 400M, hours such as 2HR; see docs/zoo.md.

A model is frozen only if its forms act like the native core on a recorded episode; `freeze` in the configuration
says which of them are kept besides the Keras model. NumPy plays the episode of most imported networks, so that their
movies need not wait for the core. Keras networks have no graph and need neither core nor noise table (except in the
platform game, which looks for the core in results/native): Keras plays their episode. A rollout needs only the Keras
model and its record, so it can be made again wherever that folder is.
"""


rule freeze_model:
    """Freezes the network of a run for Keras, TensorFlow and the Atari Zoo's tools."""
    input:
        **described(core="results/native/libneurozoo_core.so", noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
    output:
        **chosen_forms(
            saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/frozen/saved_model"),
            graph="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.pb",
            onnx="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.onnx",
        ),
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/freeze_model.log",
    wildcard_constraints:
        model=f"(?!({KERAS_NETWORK})/)[^/]+",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    script:
        "../scripts/freeze_model.py"


# Movies of agents from elsewhere need not wait until the core is compiled.
ruleorder: freeze_imported > freeze_model


use rule freeze_model as freeze_imported with:
    """Freezes an imported network, whose episode for the check NumPy plays."""
    input:
        **described(noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
    wildcard_constraints:
        algo=IMPORTED,
        game=r"(?!gym\.)[^/]+",
        model=PLAIN_NETWORK,


use rule freeze_model as freeze_keras_model with:
    """Freezes the network of a run that is no chain of layers."""
    input:
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
    output:
        **chosen_forms(
            saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/frozen/saved_model"),
            onnx="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.onnx",
        ),
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    wildcard_constraints:
        model=KERAS_NETWORK,


use rule freeze_model as freeze_tag with:
    """Freezes the network of a tagged moment."""
    input:
        **described(core="results/native/libneurozoo_core.so", noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        **chosen_forms(
            saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/saved_model"),
            graph="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.pb",
            onnx="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.onnx",
        ),
        keras="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/logs/freeze_tag.log",
    params:
        tag=plan.tag_of,


use rule freeze_tag as freeze_keras_tag with:
    """Freezes a tagged network that is no chain of layers."""
    input:
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        records="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        **chosen_forms(
            saved_model=directory("<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/saved_model"),
            onnx="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.onnx",
        ),
        keras="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/tags/{tag}/frozen/model.json",
    wildcard_constraints:
        model=KERAS_NETWORK,


rule rollout:
    """Records episodes of a frozen agent."""
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
        terminal=TERMINAL,
    params:
        rollout=config["rollout"],
    script:
        "../scripts/rollout.py"


use rule rollout as rollout_of_seed with:
    """Records episodes of a frozen agent from another seed."""
    output:
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.npz",
        steps="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/seed_{seed}.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/rollout_of_seed_{seed}.log",
    params:
        rollout=lambda wildcards: {**config["rollout"], "seed": int(wildcards.seed)},


rule test_agent:
    """Tests a frozen agent with random actions and under other protocols."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    output:
        test="<results>/runs/{algo}/{game}/{model}/{run}/test.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/test_agent.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="4h",
        terminal=TERMINAL,
    params:
        test=config["test"],
    script:
        "../scripts/test_agent.py"
