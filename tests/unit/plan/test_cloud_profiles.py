"""The profiles for clouds: sentences of what is missing, and resources that AWS Batch grants as they are."""

import importlib.util
import re
from functools import partial
from pathlib import Path

import pytest
from neurozoo.cloud.stack import MOST_THREADS
from neurozoo.errors import NeurozooError
from neurozoo.plan import cloud_profiles
from neurozoo.plan.cloud_profiles import Stack, check_profile, read_stack, stack_of_profile

PROJECT = Path(__file__).parents[3]
STACK = Stack("zoo", "eu-central-1", "my-zoo", "arn:queue", "arn:role", "registry.example.org/zoo:1")


def profile(name, monkeypatch):
    """Returns a profile as Snakemake reads it."""
    yte = pytest.importorskip("yte", reason="needs Snakemake: make setup")
    pytest.importorskip("boto3", reason="needs the extra cloud: make setup EXTRAS=cloud")
    monkeypatch.setattr(cloud_profiles, "read_stack", lambda: STACK)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    return yte.process_yaml((PROJECT / "profiles" / name / "config.yaml").read_text(), require_use_yte=True)


def rules():
    """Yields name, vCPUs and memory (MB) of each rule, as the rules themselves ask for it."""
    found = {}
    for path in (PROJECT / "workflow" / "rules").glob("*.smk"):
        for block in re.split(r"^(?=(?:use )?rule \w+)", path.read_text(), flags=re.MULTILINE)[1:]:
            head = re.match(r"(?:use rule (\w+) as|rule) (\w+)", block)
            base = found.get(head[1], (1, 1000))
            threads = re.search(r"^    threads: (\d+)", block, re.MULTILINE)
            memory = re.search(r"^        mem_mb=(\d+)", block, re.MULTILINE)
            found[head[2]] = (int(threads[1]) if threads else base[0], int(memory[1]) if memory else base[1])
    return found


def test_the_stack_is_what_was_written(tmp_path, monkeypatch):
    (tmp_path / "profiles" / "aws").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    STACK.write()
    assert read_stack() == STACK
    Path("profiles/aws/stack.json").write_text('{"name": "zoo"}')
    with pytest.raises(NeurozooError, match=r"lacks 'region'. Delete it. Run: python -m neurozoo cloud up"):
        read_stack()


def test_without_a_stack_the_profile_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    pytest.importorskip("boto3", reason="needs the extra cloud: make setup EXTRAS=cloud")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        stack_of_profile()
    assert ended.value.code == 1
    assert "stack.json is missing. Run: python -m neurozoo cloud up" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["aws", "kubernetes"])
def test_without_its_plugins_a_profile_says_how_to_install_them(name, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda plugin: None)
    with pytest.raises(SystemExit) as ended:
        check_profile(name)
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert f"neurozoo: --profile {name} needs the package snakemake-executor-plugin-{name}" in said
    assert said.endswith("not installed. Run: make setup EXTRAS=cloud\n")


def test_without_access_to_the_storage_the_profile_for_kubernetes_says_what_to_export(monkeypatch, capsys):
    pytest.importorskip("boto3", reason="needs the extra cloud: make setup EXTRAS=cloud")
    for name in cloud_profiles.ACCESS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "zoo")  # says nothing about access
    with pytest.raises(SystemExit) as ended:
        check_profile("kubernetes")
    assert ended.value.code == 1
    assert "Export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and" in capsys.readouterr().err


def test_the_profile_for_aws_names_what_the_stack_has(monkeypatch):
    found = profile("aws", monkeypatch)
    assert found["aws-batch-job-queue"] == "arn:queue"
    assert found["default-storage-prefix"] == "s3://my-zoo/neurozoo"
    assert found["container-image"] == "registry.example.org/zoo:1"


@pytest.mark.parametrize("name", ["aws", "kubernetes"])
def test_jobs_take_the_plugin_for_s3_from_where_the_image_has_it(name, monkeypatch):
    (folder,) = re.findall(r"PIP_FIND_LINKS=(\S+)", profile(name, monkeypatch)["precommand"])
    last_stage = (PROJECT / "envs" / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert f"COPY --from=packages {folder} {folder}\n" in last_stage


def test_batch_lowers_the_memory_of_no_rule(monkeypatch):
    from snakemake_executor_plugin_aws_batch.constant import VALID_RESOURCES_MAPPING as granted

    found = profile("aws", monkeypatch)
    asked = rules()
    assert asked["rollout"] == asked["rollout_of_seed"] == (1, 3000)
    assert asked["activation_movie"] == (2, 3000)
    lowered = []
    for rule, (threads, memory) in asked.items():
        vcpus = found["set-threads"].get(rule, threads)
        wanted = found["set-resources"].get(rule, {}).get("mem_mb", memory)
        least = min(memory for memory, counts in granted.items() if vcpus in counts)
        got = wanted if vcpus in granted.get(wanted, ()) else least
        if got < memory:
            lowered.append(f"{rule}: {vcpus} vCPUs, {memory} MB")
    assert lowered == []
    assert set(found["set-resources"]) <= set(asked)


def test_the_profile_for_kubernetes_passes_on_the_credentials_that_are_set(monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    found = profile("kubernetes", monkeypatch)
    assert found["envvars"] == ["AWS_ACCESS_KEY_ID"]
    assert found["default-resources"]["gpu_manufacturer"] == "nvidia"


@pytest.mark.parametrize("name", ["aws", "kubernetes", "sge", "slurm"])
def test_clusters_name_the_threads_of_all_rules_that_share_the_cores_of_this_machine(name, monkeypatch):
    """Snakemake knows of no cores there: it ended when the first archive was finished."""
    named = profile(name, monkeypatch)["set-threads"]
    blocks = [
        block
        for path in (PROJECT / "workflow" / "rules").glob("*.smk")
        for block in re.split(r"^(?=(?:use )?rule \w+)", path.read_text(), flags=re.MULTILINE)
    ]
    sharing = {re.match(r"rule (\w+)", block)[1] for block in blocks if "threads: plan.cores_of" in block}
    assert {"train", "correct_archive", "profile_learner"} <= sharing
    assert sharing <= set(named)


def test_no_training_asks_aws_for_more_than_the_stack_must_have(monkeypatch):
    assert max(profile("aws", monkeypatch)["set-threads"].values()) == MOST_THREADS


def test_the_log_of_a_pod_that_has_failed_is_that_of_its_only_container(monkeypatch):
    client = pytest.importorskip("kubernetes.client", reason="needs the extra cloud: make setup EXTRAS=cloud")
    asked = []

    def read_namespaced_pod_log(self, name, namespace, **choices):
        asked.append(choices)
        if len(asked) == 2:
            raise client.ApiException(status=400, reason="Bad Request")
        return "Killed"

    monkeypatch.setattr(client.CoreV1Api, "read_namespaced_pod_log", read_namespaced_pod_log)
    monkeypatch.setenv("SNAKEMAKE_STORAGE_S3_ACCESS_KEY", "nobody")
    check_profile("kubernetes")
    check_profile("kubernetes")  # a profile is read more than once
    read = partial(client.CoreV1Api().read_namespaced_pod_log, name="pod", namespace="zoo", container="c")
    assert read(previous=True) == "Killed"
    assert read(previous=True) == "The log of the pod pod cannot be read: Bad Request"
    assert asked == [{"container": "c"}] * 2
