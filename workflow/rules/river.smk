"""
Tests agents of the river crossing task in fixed worlds. Made only if it is requested by its path.

REQUIRED INPUTS:

    keras      = <results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.keras
    record     = <results>/runs/{algo}/river_crossing/{model}/{run}/frozen/model.json

OUTPUTS:

    report     = <results>/runs/{algo}/river_crossing/{model}/{run}/robustness.json
    table      = <results>/runs/{algo}/river_crossing/{model}/{run}/robustness.csv
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
