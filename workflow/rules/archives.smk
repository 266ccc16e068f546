"""
Shows archives of levels: heat maps, movies, pages, and tables and curves over all runs.

REQUIRED INPUTS:

    config     = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    archive    = <results>/runs/{algo}/{game}/{model}/{run}/archive.npz
    levels     = <results>/runs/{algo}/{game}/{model}/{run}/levels.parquet
    result     = <results>/runs/{algo}/{game}/{model}/{run}/result.json
    metrics    = <results>/tables/metrics.parquet

OUTPUTS:

    corrected  = <results>/runs/{algo}/{game}/{model}/{run}/corrected.json
    heatmap    = <results>/runs/{algo}/{game}/{model}/{run}/heatmap.png
    movie      = <results>/runs/{algo}/{game}/{model}/{run}/archive.mp4
    page       = <results>/runs/{algo}/{game}/{model}/{run}/archive.html
    table      = <results>/tables/archives.csv
    tests      = <results>/tables/archive_tests.csv
    figures    = <results>/figures/{archives,archive_rows,archive_histograms,predictions}.{pdf,svg,png}

A corrected archive has its elites evaluated again: what was lucky leaves its cell.
"""


rule correct_archive:
    """Evaluates an archive's elites again, so that lucky episodes do not count."""
    input:
        unpack(foundations_of),
        starts=ancient(plan.starts_of),
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        archive="<results>/runs/{algo}/{game}/{model}/{run}/archive.npz",
    output:
        corrected="<results>/runs/{algo}/{game}/{model}/{run}/corrected.json",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/correct_archive.log",
    conda:
        "../../envs/neurozoo.yaml"
    threads: plan.cores_of
    resources:
        mem_mb=3000,
        runtime="1h",
    script:
        "../scripts/correct_archive.py"


rule draw_archive:
    """Draws an archive as a heat map."""
    input:
        archive="<results>/runs/{algo}/{game}/{model}/{run}/archive.npz",
    output:
        heatmap=report(
            "<results>/runs/{algo}/{game}/{model}/{run}/heatmap.png",
            caption="../report/heatmap.rst",
            category="Archives",
            labels={"algorithm": "{algo}", "game": "{game}", "variant": "{model}", "run": "{run}"},
        ),
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/draw_archive.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    script:
        "../scripts/draw_archive.py"


rule film_archive:
    """Films how an archive filled."""
    input:
        archive="<results>/runs/{algo}/{game}/{model}/{run}/archive.npz",
        levels="<results>/runs/{algo}/{game}/{model}/{run}/levels.parquet",
    output:
        movie="<results>/runs/{algo}/{game}/{model}/{run}/archive.mp4",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/film_archive.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="30m",
    script:
        "../scripts/film_archive.py"


rule archive_page:
    """Makes a page that shows the level behind every cell of an archive."""
    input:
        unpack(foundations_of),
        starts=ancient(plan.starts_of),
        config="<results>/runs/{algo}/{game}/{model}/{run}/config.yaml",
        archive="<results>/runs/{algo}/{game}/{model}/{run}/archive.npz",
        corrected="<results>/runs/{algo}/{game}/{model}/{run}/corrected.json",
    output:
        page="<results>/runs/{algo}/{game}/{model}/{run}/archive.html",
    log:
        "<results>/runs/{algo}/{game}/{model}/{run}/logs/archive_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="30m",
    script:
        "../scripts/archive_page.py"


rule archive_table:
    """Makes the table of all archives."""
    input:
        results=planned("result.json", runs_with_levels(config)),
        corrected=planned("corrected.json", runs_with_levels(config)),
    output:
        csv="<results>/tables/archives.csv",
    log:
        "<results>/logs/archive_table.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/archive_table.py"


rule plot_archives:
    """Draws how all archives filled."""
    input:
        metrics="<results>/tables/metrics.parquet",
    output:
        figures=reported("<results>/figures/archives.{format}", "Archives"),
    log:
        "<results>/logs/plot_archives.log",
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
        "../scripts/plot_archives.py"


rule archive_tests:
    input:
        results=planned("result.json", runs_with_levels(config)),
    output:
        csv="<results>/tables/archive_tests.csv",
    log:
        "<results>/logs/archive_tests.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    script:
        "../scripts/archive_tests.py"


rule plot_archive_rows:
    input:
        archives=planned("archive.npz", runs_with_levels(config)),
    output:
        figures=reported("<results>/figures/archive_rows.{format}", "Archives side by side"),
    log:
        "<results>/logs/plot_archive_rows.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
    script:
        "../scripts/plot_archive_rows.py"


rule plot_archive_histograms:
    input:
        archives=planned("archive.npz", runs_with_levels(config)),
    output:
        figures=reported("<results>/figures/archive_histograms.{format}", "Objectives of elites"),
    log:
        "<results>/logs/plot_archive_histograms.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
    script:
        "../scripts/plot_archive_histograms.py"


rule plot_predictions:
    input:
        archives=planned("archive.npz", runs_with_predictions(config)),
        levels=planned("levels.parquet", runs_with_predictions(config)),
        results=planned("result.json", runs_with_predictions(config)),
    output:
        figures=reported("<results>/figures/predictions.{format}", "Predictions"),
    log:
        "<results>/logs/plot_predictions.log",
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=4000,
        runtime="30m",
    params:
        words=config["figures"]["words"],
    script:
        "../scripts/plot_predictions.py"
