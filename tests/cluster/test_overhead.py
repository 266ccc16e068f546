"""What a job costs that does nothing, through each profile as it is."""

import time

import pytest

JOBS = 4
CHAIN = """
rule first:
    output: "0.txt"
    shell: "touch {output}"
rule next:
    input: lambda wildcards: f"{int(wildcards.number) - 1}.txt"
    output: "{number,[1-9]}.txt"
    shell: "touch {output}"
"""


@pytest.mark.long(seconds=180)
@pytest.mark.parametrize("profile", ["profiles/local", "sge", "slurm"])
def test_each_of_a_chain_of_jobs_takes_a_minute_and_some_starts_of_snakemake_at_most(profile, request):
    experiment = request.getfixturevalue("slurm" if profile == "slurm" else "sge")()
    if profile == "slurm":
        experiment.change(**{"slurm-init-seconds-before-status-checks": 20})  # as it was
    (experiment.folder / "Snakefile").write_text(CHAIN)

    def seconds(*words: str) -> float:
        begin = time.monotonic()
        command = ("snakemake", *words, "--forceall", "--profile", profile, "--configfile", "hurt.yaml")
        experiment.process = experiment.cluster.start(*command, cwd=experiment.folder, log=experiment.log)
        assert experiment.wait() == 0, experiment.said
        return time.monotonic() - begin

    start, one, all_of_them = seconds("0.txt", "--dry-run"), seconds("0.txt"), seconds(f"{JOBS}.txt")
    overhead = (all_of_them - one) / JOBS
    print(f"{profile}: {one:.1f} s for one job, {overhead:.1f} s more for each further one; a dry run {start:.1f} s")
    assert overhead < 60 + 5 * start
