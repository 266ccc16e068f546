"""
Shows what the filters of networks respond to (docs/filters.md).

REQUIRED INPUTS:

    keras       = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras
    record      = <results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json
    rollout     = <results>/runs/{algo}/{game}/{model}/{run}/rollout.npz

OUTPUTS:

    weights     = <results>/runs/{algo}/{game}/{model}/{run}/filters/weights_{layer}.png
    patches     = <results>/runs/{algo}/{game}/{model}/{run}/filters/patches_{layer}.png
    synthetic   = <results>/runs/{algo}/{game}/{model}/{run}/filters/synthetic_{layer}.{png,csv}
    inversion   = <results>/runs/{algo}/{game}/{model}/{run}/filters/inversion_{layer}.png
    guided      = <results>/runs/{algo}/{game}/{model}/{run}/filters/guided_{layer}.png
    page        = <results>/runs/{algo}/{game}/{model}/{run}/filters/guided.html
    attribution = <results>/runs/{algo}/{game}/{model}/{run}/filters/attribution.png
    saliency    = <results>/runs/{algo}/{game}/{model}/{run}/filters/saliency.{png,csv}
    lean        = <results>/runs/{algo}/{game}/{model}/{run}/filters/lean.csv
    figures     = <results>/figures/temporal_lean.{pdf,svg,png}

`all` makes them for the experiments that the configuration lists under `filters`; for other runs, request a file by its
path. TensorFlow computes with one thread, so that every machine makes the same files.
"""


rule draw_weights:
    """Draws the weights of a layer."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    output:
        weights=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/weights_{layer}.png", "weights", caption="draw_weights"
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_weights_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    script:
        "../scripts/draw_weights.py"


rule draw_patches:
    """Draws the parts of screens to which filters respond most."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        patches=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/patches_{layer}.png", "patches", caption="draw_patches"
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_patches_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        channels=config["filters"]["channels"],
        patches=config["filters"]["patches"],
    script:
        "../scripts/draw_patches.py"


rule draw_synthetic:
    """Draws inputs that are optimised for filters."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        synthetic=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/synthetic_{layer}.png",
            "synthetic inputs",
            caption="draw_synthetic",
        ),
        course="<results>/runs/{algo}/{game}/{model}/{run}/filters/synthetic_{layer}.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_synthetic_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        channels=config["filters"]["channels"],
        synthetic=config["filters"]["synthetic"],
    script:
        "../scripts/draw_synthetic.py"


rule draw_inversion:
    """Draws inputs to which a layer responds as to recorded ones."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        inversion=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/inversion_{layer}.png",
            "feature inversion",
            caption="draw_inversion",
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_inversion_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        inversion=config["filters"]["inversion"],
    script:
        "../scripts/draw_inversion.py"


rule draw_guided:
    """Draws what excited the filters of a layer."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        guided=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/guided_{layer}.png",
            "guided backpropagation",
            caption="draw_guided",
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_guided_{layer}.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        channels=config["filters"]["channels"],
    script:
        "../scripts/draw_guided.py"


rule guided_page:
    """Makes a page of what excited the filters of all convolutions."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        page=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/guided.html",
            "guided backpropagation, all convolutions",
            caption="guided_page",
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/guided_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        guided_page=config["filters"]["guided_page"],
    script:
        "../scripts/guided_page.py"


rule draw_attribution:
    """Draws which pixels decided an action."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        attribution=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/attribution.png",
            "integrated gradients",
            caption="draw_attribution",
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_attribution.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        attribution=config["filters"]["attribution"],
    script:
        "../scripts/draw_attribution.py"


rule draw_saliency:
    """Draws which pixels mattered for actions, by several methods, and tests each of them."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
        rollout="<results>/runs/{algo}/{game}/{model}/{run}/rollout.npz",
    output:
        saliency=pictured(
            "<results>/runs/{algo}/{game}/{model}/{run}/filters/saliency.png", "saliency", caption="draw_saliency"
        ),
        tests="<results>/runs/{algo}/{game}/{model}/{run}/filters/saliency.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_saliency.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    script:
        "../scripts/draw_saliency.py"


rule temporal_lean:
    """Measures how much first layers weigh each frame."""
    input:
        keras="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/{game}/{model}/{run}/frozen/model.json",
    output:
        lean="<results>/runs/{algo}/{game}/{model}/{run}/filters/lean.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/temporal_lean.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="10m",
    script:
        "../scripts/temporal_lean.py"


rule plot_temporal_lean:
    """Draws how much first layers weigh each frame."""
    input:
        leans=planned("filters/lean.csv", runs_with_lean(config)),
    output:
        figures=reported("<results>/figures/temporal_lean.{format}", "Temporal lean", of="temporal_lean"),
    log:
        "<results>/logs/plot_temporal_lean.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        words=config["figures"]["words"],
        columns=config["figures"]["temporal_lean"]["columns"],
        confidence=config["statistics"]["confidence"],
        seed=config["statistics"]["seed"],
    script:
        "../scripts/plot_temporal_lean.py"
