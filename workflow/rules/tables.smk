"""
Turns logs into tables.

REQUIRED INPUTS:

    config     = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    log        = <results>/runs/{algo}/{game}/{model}/{run}/log.jsonl

OUTPUTS:

    csv        = <results>/runs/{algo}/{game}/{model}/{run}/metrics.csv
    phases     = <results>/runs/{algo}/{game}/{model}/{run}/phases.csv
    episodes   = <results>/runs/{algo}/{game}/{model}/{run}/episodes.csv
    metrics    = <results>/tables/metrics.{csv,parquet}
    scores     = <results>/tables/scores.csv
    comparison = <results>/tables/comparison.csv

Runs that learn in epochs have phases: random play, training and tests. Runs of actors and learners have episodes: the
games of training. The merged table and the scores contain the planned runs only, not all runs in <results>/runs/.
"""


localrules:
    parse_log,  # takes a second or two, for every run
    phase_table,
    episode_table,


rule parse_log:
    """Turns the log of a run into a table."""
    input:
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        log="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        csv="<results>/runs/{algo}/{game}/{model}/{run}/metrics.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/parse_log.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        columns=config["metrics"]["columns"],
    script:
        "../scripts/parse_log.py"


rule phase_table:
    """Makes the table of a run's epochs."""
    input:
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        log="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        csv="<results>/runs/{algo}/{game}/{model}/{run}/phases.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/phase_table.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    script:
        "../scripts/phase_table.py"


rule episode_table:
    """Makes the table of a run's games of training."""
    input:
        log="<results>/runs/{algo}/{game}/{model}/{run}/log.jsonl",
    output:
        csv="<results>/runs/{algo}/{game}/{model}/{run}/episodes.csv",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/episode_table.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    script:
        "../scripts/episode_table.py"


rule merge_metrics:
    """Merges the tables of all runs."""
    input:
        planned("metrics.csv"),
    output:
        csv="<results>/tables/metrics.csv",
        parquet="<results>/tables/metrics.parquet",
    log:
        "<results>/logs/merge_metrics.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        labels=plan.labels,
    script:
        "../scripts/merge_metrics.py"


rule score_table:
    """Makes the table of scores with intervals."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        csv=report(
            "<results>/tables/scores.csv",
            caption="../report/scores.rst",
            category="Tables",
            labels={"table": "Scores"},
        ),
    log:
        "<results>/logs/score_table.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/score_table.py"


rule comparison_table:
    """Makes the table of which algorithm is better, and how sure that is."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        csv=report(
            "<results>/tables/comparison.csv",
            caption="../report/comparison.rst",
            category="Tables",
            labels={"table": "Probability of improvement"},
        ),
    log:
        "<results>/logs/comparison_table.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/comparison_table.py"
