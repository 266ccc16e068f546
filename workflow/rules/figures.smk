"""
Draws the figures.

REQUIRED INPUTS:

    metrics    = <results>/tables/metrics.parquet
    scores     = <results>/tables/scores.csv
    comparison = <results>/tables/comparison.csv
    references = CSV files that the configuration names under figures.learning_curves.references
    log        = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl

OUTPUTS:

    figures    = <results>/figures/learning_curves.{pdf,svg,png}
    profile    = <results>/figures/performance_profile.{pdf,svg,png}
    aggregates = <results>/figures/aggregates.{pdf,svg,png}
    improved   = <results>/figures/probability_of_improvement.{pdf,svg,png}
    phases     = <results>/runs/{algo}/{game}/{model}/{run}/phases.png
"""

REFERENCES = config["figures"]["learning_curves"]["references"]


rule plot_learning_curves:
    """Draws scores against frames, a panel per game."""
    input:
        metrics="<results>/tables/metrics.parquet",
        references=[file for games in REFERENCES["files"].values() for file in games.values()],
    output:
        figures=reported("<results>/figures/learning_curves.{format}", "Learning curves"),
    log:
        "<results>/logs/plot_learning_curves.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
        look={
            name: v
            for name, v in config["figures"]["learning_curves"].items()
            if name not in ("formats", "references")
        },
        references=REFERENCES,
        confidence=config["statistics"]["confidence"],
        seed=config["statistics"]["seed"],
    script:
        "../scripts/plot_learning_curves.py"


rule plot_performance_profile:
    """Draws which share of runs reaches which score."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        figures=reported("<results>/figures/performance_profile.{format}", "Performance profile"),
    log:
        "<results>/logs/plot_performance_profile.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
        confidence=config["statistics"]["confidence"],
        seed=config["statistics"]["seed"],
    script:
        "../scripts/plot_performance_profile.py"


rule plot_aggregates:
    """Draws aggregate scores with their intervals."""
    input:
        scores="<results>/tables/scores.csv",
    output:
        figures=reported("<results>/figures/aggregates.{format}", "Scores over all games"),
    log:
        "<results>/logs/plot_aggregates.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
        confidence=config["statistics"]["confidence"],
    script:
        "../scripts/plot_aggregates.py"


rule plot_improvement:
    """Draws the probability that one algorithm is better than another."""
    input:
        comparison="<results>/tables/comparison.csv",
    output:
        figures=reported("<results>/figures/probability_of_improvement.{format}", "Probability of improvement"),
    log:
        "<results>/logs/plot_improvement.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
        confidence=config["statistics"]["confidence"],
    script:
        "../scripts/plot_improvement.py"


rule plot_phases:
    """Draws the phases of a run that learns in epochs."""
    input:
        log="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        figure=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/phases.png",
            caption="../report/phases.rst",
            category="Phases",
            labels=RUN_LABELS,
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/plot_phases.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        look=config["figures"]["phases"],
    script:
        "../scripts/plot_phases.py"
