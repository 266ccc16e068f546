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


@pytest.mark.long
@pytest.mark.parametrize("profile", ["profiles/local", "sge", "slurm"])
def test_each_of_a_chain_of_jobs_takes_less_than_two_minutes(profile, request):
    experiment = request.getfixturevalue("slurm" if profile == "slurm" else "sge")()
    if profile == "slurm":
        experiment.change(**{"slurm-init-seconds-before-status-checks": 20})  # as it was
    (experiment.folder / "Snakefile").write_text(CHAIN)
    seconds = []
    for number in (0, JOBS):
        start = time.monotonic()
        command = ("snakemake", f"{number}.txt", "--forceall", "--profile", profile, "--configfile", "hurt.yaml")
        experiment.process = experiment.cluster.start(*command, cwd=experiment.folder, log=experiment.log)
        assert experiment.wait() == 0, experiment.said
        seconds.append(time.monotonic() - start)
    overhead = (seconds[1] - seconds[0]) / JOBS
    print(f"{profile}: {seconds[0]:.1f} s for one job, {overhead:.1f} s more for each further one")
    assert overhead < 120
