"""
Trains networks that make platform levels. Made only if a run names their weights as its decoder.

REQUIRED INPUTS:

    library    = results/native/libneurozoo_core.so

OUTPUTS:

    levels     = <results>/generators/{preset}/levels.npz
    weights    = <results>/generators/{preset}/generator.npz
    judgement  = <results>/generators/{preset}/generator.json

Presets are paper, wgan_gp, laptop and demo (docs/platformer.md). A killed training continues from state/, which is no
declared output, because Snakemake deletes the outputs of a failed job.
"""


rule draw_levels:
    """Draws the levels that a generator learns from; the agent sorts them out."""
    input:
        **described(library="results/native/libneurozoo_core.so"),
    output:
        levels="<results>/generators/{preset}/levels.npz",
    log:
        "<results>/generators/{preset}/draw_levels.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2
    resources:
        mem_mb=2000,
        runtime="30m",
    script:
        "../scripts/draw_levels.py"


rule train_generator:
    """Trains a generator of levels, or continues to, and judges it."""
    input:
        **described(library="results/native/libneurozoo_core.so"),
        levels="<results>/generators/{preset}/levels.npz",
    output:
        weights="<results>/generators/{preset}/generator.npz",
        judgement="<results>/generators/{preset}/generator.json",
    log:
        "<results>/generators/{preset}/train_generator.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: 2
    resources:
        mem_mb=3000,
        runtime="12h",
    params:
        state="<results>/generators/{preset}/state/state.npz",
    script:
        "../scripts/train_generator.py"
