"""
Measures what the parts of networks do, by ablating them (docs/causal.md).

REQUIRED INPUTS:

    core       = results/native/libneurozoo_core.so
    noise      = <noise>/table.f32
    checkpoint = <results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz
    keras      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    record     = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout    = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz

OUTPUTS:

    effects    = <results>/runs/{algo}/{game}/{model}/{run}/causal.csv
    page       = <results>/runs/{algo}/{game}/{model}/{run}/causal.html
    with_      = <results>/runs/{algo}/{game}/{model}/{run}/rollouts/with_{intervention}.{npz,parquet}
    recording  = <results>/runs/{algo}/{game}/{model}/{run}/rollouts/probes.{npz,parquet}
    probes     = <results>/runs/{algo}/{game}/{model}/{run}/probes.{csv,png}
    sparse     = <results>/runs/{algo}/{game}/{model}/{run}/sparse_{layer}.{csv,png}

The core plays ablated agents, which are weights of their own, so networks are chains of layers. A rollout with an
intervention is played by the Keras model, in which every intervention is possible.
"""


rule causal:
    """Measures how the score changes when each channel of a network is ablated."""
    input:
        **described(core="results/native/libneurozoo_core.so", noise="<noise>/table.f32"),
        checkpoint="<results>/runs/{algo}/{game}/{model}/{run}/checkpoint.npz",
    output:
        effects="<results>/runs/{algo}/{game}/{model}/{run}/causal.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/causal.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 8
    resources:
        mem_mb=6000,
        runtime="4h",
    params:
        causal={key: config["causal"][key] for key in ("episodes", "layers", "sticky_probability", "seed")},
        with_=config["causal"]["with"],
        interventions=config["interventions"],
        statistics={key: config["statistics"][key] for key in ("replications", "confidence")},
    script:
        "../scripts/causal.py"


use rule rollout as rollout_with with:
    """Records episodes of a frozen agent with an intervention of the configuration."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        recorded="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/with_{intervention}.npz",
        steps="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/with_{intervention}.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/rollout_with_{intervention}.log",
    wildcard_constraints:
        intervention=r"[^/]+",
    params:
        rollout=plan.rollout_with,


rule causal_page:
    """Makes a page of the parts of a network that matter."""
    input:
        effects="<results>/runs/{algo}/{game}/{model}/{run}/causal.csv",
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        page=pictured("<results>/runs/{algo}/{game}/{model}/{run}/causal.html", "causal report", caption="causal_page"),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/causal_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    script:
        "../scripts/causal_page.py"


use rule rollout as rollout_for_probes with:
    """Records episodes of a frozen agent with sticky actions, for probes."""
    output:
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/probes.npz",
        steps="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/probes.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/rollout_for_probes.log",
    params:
        rollout=plan.rollout_for_probes,


rule probes:
    """Measures what a network's layers tell of the game's variables, and what happens without them."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/probes.npz",
    output:
        probes="<results>/runs/{algo}/{game}/{model}/{run}/probes.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/probes.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="4h",
        terminal=TERMINAL,
    params:
        probes={key: config["probes"][key] for key in ("starts", "steps")},
        statistics={key: config["statistics"][key] for key in ("replications", "confidence")},
    script:
        "../scripts/probes.py"


rule draw_probes:
    """Draws what a network's layers tell of the game's variables."""
    input:
        probes="<results>/runs/{algo}/{game}/{model}/{run}/probes.csv",
    output:
        picture=pictured("<results>/runs/{algo}/{game}/{model}/{run}/probes.png", "probes", caption="draw_probes"),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_probes.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="30m",
    params:
        agent="{algo}/{game}/{model}/{run}",
    script:
        "../scripts/draw_probes.py"


rule sparse_features:
    """Finds the sparse features of a layer, and draws those that decide most."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollouts/probes.npz",
    output:
        picture=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/sparse_{layer}.png",
            "sparse features",
            caption="sparse_features",
        ),
        table="<results>/runs/{algo}/{game}/{model}/{run}/sparse_{layer}.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/sparse_features_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        statistics={key: config["statistics"][key] for key in ("replications", "confidence")},
    script:
        "../scripts/sparse_features.py"
