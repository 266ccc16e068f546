"""`python -m neurozoo cloud`: costs, and the stack, against a stand-in of AWS in this process."""

import importlib
import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from neurozoo import __main__ as program
from neurozoo.cloud import stack
from neurozoo.cloud.costs import core_hours, cost_lines
from neurozoo.cloud.stack import Plan, bring_up, show_status, take_down
from neurozoo.compute.aws import aws_client
from neurozoo.errors import NeurozooError

PLAN = Plan("zoo", "eu-central-1", "zoo-of-ada", "registry.example.org/zoo:1", 64, 50, "ada@example.org")


@pytest.fixture
def account(monkeypatch, tmp_path):
    """An empty account, and a project's folder."""
    moto = pytest.importorskip("moto", reason="needs moto: make foundations")
    pytest.importorskip("boto3", reason="needs the extra cloud: make setup EXTRAS=cloud")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    (tmp_path / "profiles" / "aws").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stack, "POLL", 0)
    # moto keeps the route tables of a stack that is deleted, and then refuses to delete their network.
    networks = importlib.import_module("moto.ec2.models.vpcs").VPCBackend
    monkeypatch.setattr(networks, "delete_vpc", lambda self, vpc_id: self.vpcs.pop(vpc_id))
    with moto.mock_aws(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # moto makes no budgets
        yield


def test_a_billion_frames_take_as_many_hours_as_the_speed_says():
    assert core_hours(1_000_000_000, speed=9_000) == pytest.approx(30.864, abs=0.001)


def test_the_cost_is_worked_out_from_prices_and_cores():
    # 3,600,000 frames at 1,000 frames/s are one core hour, or two vCPU hours; c5.2xlarge has 8 vCPUs.
    lines = cost_lines(3_600_000 * 100, speeds=(1_000,))
    row = next(line for line in lines if line.startswith("c5.2xlarge"))
    assert row.split() == ["c5.2xlarge", "4.78", "8.50"]  # 200 * 0.191 / 8 = 4.775, 200 * 0.34 / 8 = 8.5
    with pytest.raises(NeurozooError, match="should be positive"):
        cost_lines(0)


def test_a_stack_is_made_once_shown_and_removed_and_the_bucket_stays(account):
    said = []
    bring_up(PLAN, say=said.append)
    assert said[-1] == "Ready, see profiles/aws/stack.json. Next: snakemake --profile aws"
    found = json.loads(Path("profiles/aws/stack.json").read_text())
    assert (found["bucket"], found["region"], found["image"]) == (PLAN.bucket, PLAN.region, PLAN.image)
    assert found["queue"].startswith("arn:aws:batch:eu-central-1:")
    bring_up(PLAN, say=said.append)
    assert any("is there already (CREATE_COMPLETE) and stays as it is" in line for line in said)
    machines = aws_client("batch").describe_compute_environments()["computeEnvironments"]
    assert [(each["computeResources"]["type"], each["computeResources"]["maxvCpus"]) for each in machines] == [
        ("SPOT", 64)
    ]
    groups = aws_client("ec2").describe_security_groups(
        Filters=[{"Name": "description", "Values": ["Lets nothing in"]}]
    )
    assert [group["IpPermissions"] for group in groups["SecurityGroups"]] == [[]]
    assert aws_client("logs").describe_log_groups()["logGroups"][0]["retentionInDays"] == 7
    said.clear()
    show_status("zoo", region="eu-central-1", say=said.append)
    assert said[0] == "Stack zoo in eu-central-1: CREATE_COMPLETE"
    assert said[-1] == "  Jobs that wait or run: 0"
    said.clear()
    take_down("zoo", region="eu-central-1", say=said.append, dry_run=True)
    assert Path("profiles/aws/stack.json").exists()
    take_down("zoo", region="eu-central-1", say=said.append)
    assert "Keeps the bucket zoo-of-ada. To delete all results: aws s3 rb --force s3://zoo-of-ada" in said
    assert aws_client("cloudformation").describe_stacks()["Stacks"] == []
    assert [bucket["Name"] for bucket in aws_client("s3").list_buckets()["Buckets"]] == ["zoo-of-ada"]
    take_down("zoo", region="eu-central-1", say=said.append)
    assert said[-1] == "There is no stack zoo in eu-central-1: nothing to remove."
    assert not Path("profiles/aws/stack.json").exists()


def test_a_dry_run_makes_nothing(account, capsys):
    words = ["--bucket", "zoo-of-ada", "--image", "i", "--email", "a@b.c", "--region", "eu-central-1"]
    program.main(["cloud", "up", "--dry-run", *words])
    assert "at most 64 vCPUs" in capsys.readouterr().out
    assert aws_client("cloudformation").describe_stacks()["Stacks"] == []
    assert aws_client("s3").list_buckets()["Buckets"] == []


def test_a_bucket_that_exists_is_refused_before_anything_is_made(account):
    place = {"LocationConstraint": "eu-central-1"}
    aws_client("s3").create_bucket(Bucket="zoo-of-ada", CreateBucketConfiguration=place)
    with pytest.raises(NeurozooError, match=r"zoo-of-ada exists already.*Give another: --bucket NAME"):
        bring_up(PLAN, say=lambda line: None)
    assert aws_client("cloudformation").describe_stacks()["Stacks"] == []


def test_what_was_made_here_is_removed_where_it_was_made(account, monkeypatch):
    """Another region in the environment finds no stack, and must not take the file for that of a removed one."""
    said = []
    bring_up(PLAN, say=said.append)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    show_status(None, region=None, say=said.append)
    assert "Stack zoo in eu-central-1: CREATE_COMPLETE" in said
    take_down("another", region=None, say=said.append)
    take_down("zoo", region="us-east-1", say=said.append)
    assert said[-1] == "There is no stack zoo in us-east-1: nothing to remove."
    assert Path("profiles/aws/stack.json").exists()
    take_down(None, region=None, say=said.append)
    assert said[-1] == "Everything else is removed."
    assert aws_client("cloudformation", region="eu-central-1").describe_stacks()["Stacks"] == []
    assert not Path("profiles/aws/stack.json").exists()


@pytest.mark.parametrize("has_content", [False, True])
def test_the_empty_bucket_of_a_stack_that_could_not_be_made_goes(account, monkeypatch, has_content):
    client = aws_client("s3")
    wait = stack._wait

    def fail(cloudformation, name, say):
        wait(cloudformation, name, say)
        if has_content:
            client.put_object(Bucket=PLAN.bucket, Key="theirs", Body=b"1")
        cloudformation.delete_stack(StackName=name)  # keeps the bucket, as AWS does

    monkeypatch.setattr(stack, "_wait", fail)
    with pytest.raises(NeurozooError, match="could not be made and was removed again"):
        bring_up(PLAN, say=lambda line: None)
    assert len(client.list_buckets()["Buckets"]) == has_content


@pytest.mark.parametrize(("quota", "advice"), [(5.0, "Ask for more"), (16.0, "Give --cores 16, or ask for more")])
def test_a_quota_that_is_too_small_is_refused_with_a_remedy(account, monkeypatch, quota, advice):
    class Quotas:
        def get_service_quota(self, **_):
            return {"Quota": {"Value": quota}}

    real = stack.aws_client
    monkeypatch.setattr(
        stack,
        "aws_client",
        lambda service, **named: Quotas() if service == "service-quotas" else real(service, **named),
    )
    with pytest.raises(NeurozooError, match=rf"may use {quota:.0f} vCPUs .* but 64 are wanted. {advice}"):
        bring_up(PLAN, say=lambda line: None)
    assert aws_client("cloudformation").describe_stacks()["Stacks"] == []


def test_without_a_region_the_sentence_says_how_to_name_one(account, monkeypatch):
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(NeurozooError, match=r"no region is named. Set AWS_REGION"):
        show_status("zoo", region=None, say=print)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"bucket": "Zoo_1"}, "cannot be the name of a bucket"),
        ({"name": "my zoo"}, "cannot be the name of a stack"),
        ({"email": "ada"}, "should be an e-mail address"),
        ({"budget": 0}, "should be at least 1"),
        ({"cores": 7}, "Cores should be at least 8, because a training asks for as many"),
    ],
)
def test_wrong_words_are_refused_before_aws_is_asked(change, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        replace(PLAN, **change)
