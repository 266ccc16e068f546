"""
Draws the figures.

REQUIRED INPUTS:

    metrics    = <results>/tables/metrics.parquet

OUTPUTS:

    figures    = <results>/figures/learning_curves.{pdf,svg,png}
"""


rule plot_learning_curves:
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        figures=[
            report(
                f"<results>/figures/learning_curves.{format}",
                caption="../report/learning_curves.rst",
                category="Figures",
                labels={"figure": "Learning curves", "format": format},
            )
            for format in config["figures"]["learning_curves"]["formats"]
        ],
    log:
        "<results>/logs/plot_learning_curves.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        look={name: value for name, value in config["figures"]["learning_curves"].items() if name != "formats"},
        confidence=config["statistics"]["confidence"],
        seed=config["statistics"]["seed"],
    script:
        "../scripts/plot_learning_curves.py"
