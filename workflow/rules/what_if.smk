"""
Plays recorded episodes on with a change, and films both side by side (docs/causal.md#what-if).

REQUIRED INPUTS:

    keras   = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    record  = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz

OUTPUTS:

    movie   = <results>/runs/{algo}/{game}/{model}/{run}/what_if/{name}.{mp4,json}
    both    = <results>/runs/{algo}/{game}/{model}/{run}/what_if/{name}
    grid    = <results>/runs/{algo}/{game}/{model}/{run}/what_if/grid.{json,png}

The changes have names in the configuration (`what_if`); request a movie or the grid by its path. Both branches are
recordings in the folder what_if/{name}.
"""


rule what_if:
    """Films an episode as it was beside the same with a change."""
    input:
        successor=plan.successor_of,
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        movie=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/what_if/{name}.mp4",
            caption="../report/what_if.rst",
            category="What if",
            labels={**RUN_LABELS, "change": "{name}"},
        ),
        outcome="<results>/runs/{algo}/{game}/{model}/{run}/what_if/{name}.json",
        both=directory("<results>/runs/{algo}/{game}/{model}/{run}/what_if/{name}"),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/what_if_{name}.log",
    wildcard_constraints:
        name=r"(?!grid([.]|$))[^/.]+",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2  # drawing and encoding
    resources:
        mem_mb=3000,
        runtime="1h",
        terminal=TERMINAL,
    params:
        change=plan.what_if,
        title=lambda wildcards: wildcards.name.replace("_", " "),
        theme=config["movie"]["theme"],
    script:
        "../scripts/what_if.py"


rule what_if_grid:
    """Tries every action at some moments of a recorded episode."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        grid="<results>/runs/{algo}/{game}/{model}/{run}/what_if/grid.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/what_if_grid.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="4h",
        terminal=TERMINAL,
    script:
        "../scripts/what_if_grid.py"


rule draw_what_if_grid:
    """Draws where it mattered what the agent did."""
    input:
        grid="<results>/runs/{algo}/{game}/{model}/{run}/what_if/grid.json",
    output:
        picture=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/what_if/grid.png",
            caption="../report/draw_what_if_grid.rst",
            category="What if",
            labels={**RUN_LABELS, "change": "other actions"},
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_what_if_grid.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="30m",
    script:
        "../scripts/draw_what_if_grid.py"
