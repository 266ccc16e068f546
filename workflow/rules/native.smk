"""
Builds the native core, which plays whole episodes, and TensorFlow's ops for it, which nothing here needs.

REQUIRED INPUTS:

    sources    = native/

OUTPUTS:

    source     = results/native/ale-py-0.12.1.tar.gz
    core       = results/native/libneurozoo_core.so
    ops        = results/native/libneurozoo_ops.so
    build_info = results/native/build.json

ALE comes as the source package that ale-py publishes. The core is linked with it, so the libraries are under GPL-2.0
and must not be distributed as binaries (see NOTICE).

The files in native/ are not inputs of the rule, because Snakemake would plan nothing else when the core must be built
again (https://github.com/snakemake/snakemake/issues/4166). Instead, build.json holds their hash: `make setup` builds
the core again if they have changed, and a core that does not fit them is not loaded.
"""


localrules:
    fetch_ale,  # nodes of a cluster often have no network


rule fetch_ale:
    """Downloads the sources of the Arcade Learning Environment."""
    output:
        source="results/native/ale-py-0.12.1.tar.gz",
    log:
        "results/native/fetch_ale.log",
    conda:
        "../../envs/neurozoo.yaml"
    resources:
        runtime="10m",
    script:
        "../scripts/fetch_ale.py"


rule build_native:
    """Compiles the core that plays episodes."""
    input:
        source=ancient("results/native/ale-py-0.12.1.tar.gz"),
    output:
        core="results/native/libneurozoo_core.so",
        ops="results/native/libneurozoo_ops.so",
        build_info="results/native/build.json",
    log:
        "results/native/build_native.log",
    benchmark:
        "results/native/build_native.benchmark.tsv"
    conda:
        "../../envs/neurozoo.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime="30m",
    params:
        march=config["native"]["march"],
    script:
        "../scripts/build_native.py"
