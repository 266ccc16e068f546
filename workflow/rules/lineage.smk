"""
Makes the lineage of a run: which individual descends from which.

REQUIRED INPUTS:

    log        = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl
    result     = <results>/runs/{algo}/{game}/{model}/{run}/result.json

OUTPUTS:

    lineage    = <results>/runs/{algo}/{game}/{model}/{run}/lineage.parquet
    figures    = <results>/runs/{algo}/{game}/{model}/{run}/lineage.{pdf,svg,png}

Only the genetic algorithms and random search have a lineage.
"""


rule lineage:
    """Makes the table of a run's individuals and their parents."""
    input:
        log="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        parquet="<results>/runs/{algo}/{game}/{model}/{run}/lineage.parquet",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/lineage.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    script:
        "../scripts/lineage.py"


rule plot_lineage:
    """Draws the family tree of a run's elite."""
    input:
        lineage="<results>/runs/{algo}/{game}/{model}/{run}/lineage.parquet",
        result="<results>/runs/{algo}/{game}/{model}/{run}/result.json",
    output:
        figures=[
            report(
                f"<results>/runs/{{algo}}/{{game}}/{{model}}/{{run}}/lineage.{format}",
                caption="../report/lineage.rst",
                category="Lineages",
                labels={**RUN_LABELS, "format": format},
            )
            for format in ("pdf", "svg", "png")
        ],
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/plot_lineage.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    script:
        "../scripts/plot_lineage.py"
