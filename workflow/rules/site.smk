"""
Makes pages of the results: the gallery, and a page that says where they come from.

REQUIRED INPUTS:

    products   = what the configuration plans

OUTPUTS:

    manifest   = <results>/site/manifest.json
    index      = <results>/site/index.html
    provenance = <results>/provenance.{html,json}

The gallery shows what there is. `build_site` makes it at the end of everything. `refresh_site` makes the same pages
again whenever somebody asks for index.html, also while another Snakemake trains: it needs nothing but the folders that
exist, because Snakemake lets nobody wait for files that another one is making.
"""


localrules:
    refresh_site,


rule build_site:
    input:
        products=products(),
        provenance="<results>/provenance.html",
    output:
        manifest="<results>/site/manifest.json",
    log:
        "<results>/logs/build_site.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/build_site.py"


rule refresh_site:
    input:
        folders=lambda wildcards: existing_folders(),
    output:
        index="<results>/site/index.html",
    log:
        "<results>/logs/refresh_site.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        statistics=config["statistics"],
    script:
        "../scripts/build_site.py"


rule provenance:
    input:
        settings=planned("config.yaml") + planned("config.yaml", IMPORTED_RUNS),
        build=ancient("results/native/build.json"),
    output:
        html=report(
            "<results>/provenance.html",
            caption="../report/provenance.rst",
            category="Provenance",
            labels={"page": "Provenance"},
        ),
        json="<results>/provenance.json",
    log:
        "<results>/logs/provenance.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        config=config,
    script:
        "../scripts/provenance.py"
