"""
Agents of the river crossing task: tests in fixed worlds, made only if they are requested by their path, and a page on
which a modular agent plays.

REQUIRED INPUTS:

    checkpoint = <results>/runs/{algo}/river_crossing/{model}/{run}/checkpoint.npz
    keras      = <results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.keras
    record     = <results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.json

OUTPUTS:

    report     = <results>/runs/{algo}/river_crossing/{model}/{run}/robustness.json
    table      = <results>/runs/{algo}/river_crossing/{model}/{run}/robustness.csv
    page       = <results>/runs/{algo}/river_crossing/{model}/{run}/play.html
"""


rule robustness:
    """Plays 10,000 fixed worlds of each width of the river."""
    input:
        keras="<results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.keras",
        record="<results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.json",
    output:
        report="<results>/runs/{algo}/river_crossing/{model}/{run}/robustness.json",
        table="<results>/runs/{algo}/river_crossing/{model}/{run}/robustness.csv",
    log:
        "<results>/runs/{algo}/river_crossing/{model}/{run}/logs/robustness.log",
    wildcard_constraints:
        run=RUN_OR_TAG,
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=3000,
        runtime="2h",
    script:
        "../scripts/robustness.py"


rule play_page:
    """Makes a page on which a modular agent plays, in any browser."""
    input:
        checkpoint="<results>/runs/{algo}/river_crossing/{model}/{run}/checkpoint.npz",
    output:
        page=report(
            "<results>/runs/{algo}/river_crossing/{model}/{run}/play.html",
            caption="../report/play_page.rst",
            category="Play",
            labels={"algorithm": "{algo}", "network": "{model}", "run": "{run}"},
        ),
    log:
        "<results>/runs/{algo}/river_crossing/{model}/{run}/logs/play_page.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    script:
        "../scripts/play_page.py"
