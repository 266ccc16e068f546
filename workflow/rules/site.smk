"""
Makes pages of the results: the gallery, a page about their provenance, and the book of results.

REQUIRED INPUTS:

    products   = what the configuration plans
    settings   = <results>/runs/{algo}/{game}/{model}/{run}/config.yaml
    build      = results/native/build.json

OUTPUTS:

    manifest   = <results>/site/manifest.json
    index      = <results>/site/index.html
    provenance = <results>/provenance.{html,json}

The gallery shows the results that exist. `build_site` makes it after everything else. `refresh_site` makes the same
pages again when index.html is requested, also while another Snakemake trains. Its only inputs are existing folders,
because one Snakemake cannot wait for files that another one is making.

`book` is made only if it is requested. It takes the results that are there, of all configurations that the claims of the
book name, and writes docs/results/README.md and its pages, which are under version control.
"""


localrules:
    refresh_site,
    book,


rule build_site:
    """Makes the gallery after everything else."""
    input:
        products=planned_products(config),
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
        labels=plan.labels,
        url=config["site"]["url"],
    script:
        "../scripts/build_site.py"


use rule build_site as refresh_site with:
    """Makes the gallery from what exists now."""
    input:
        folders=existing_folders,
    output:
        index="<results>/site/index.html",
    log:
        "<results>/logs/refresh_site.log",


rule provenance:
    """Makes a page about where all results come from."""
    input:
        settings=planned("config.yaml") + planned("config.yaml", plan.imported),
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


rule book:
    """Takes the results that are there, and writes the pages of the book."""
    log:
        "<results>/logs/book.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        mem_mb=2000,
        runtime="30m",
    script:
        "../scripts/book.py"
