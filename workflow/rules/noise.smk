"""
Makes the table of random numbers from which all weights of neuroevolution come.

OUTPUTS:

    table      = <noise>/table.f32
    facts      = <noise>/table.json

All runs of a node share one copy in memory.
"""


rule noise_table:
    """Makes the table of random numbers from which weights come."""
    output:
        table="<noise>/table.f32",
        facts="<noise>/table.json",
    log:
        "<noise>/noise_table.log",
    benchmark:
        "<noise>/noise_table.benchmark.tsv"
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        size=config["noise"]["size"],
    script:
        "../scripts/noise_table.py"
