"""
Builds the native op that plays whole episodes.

REQUIRED INPUTS:

    sources    = native/

OUTPUTS:

    source     = results/native/ale-py-0.12.1.tar.gz
    library    = results/native/libneurozoo_ops.so
    build_info = results/native/build.json

ALE comes as the source package that ale-py publishes. The op is linked with it, so the library is under
GPL-2.0 and must not be given away as a binary (see NOTICE).
"""


localrules:
    fetch_ale,  # nodes of a cluster often see no network


rule fetch_ale:
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


rule build_native_op:
    input:
        source="results/native/ale-py-0.12.1.tar.gz",
        sources=native_sources(),
    output:
        library="results/native/libneurozoo_ops.so",
        build_info="results/native/build.json",
    log:
        "results/native/build_native_op.log",
    benchmark:
        "results/native/build_native_op.benchmark.tsv"
    conda:
        "../../envs/neurozoo.yaml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime="30m",
    params:
        march=config["native"]["march"],
    script:
        "../scripts/build_native_op.py"
