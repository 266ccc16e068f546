"""Makes, shows and removes the stack of `data/cloud.yaml`."""

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from neurozoo.compute.aws import aws_client, aws_errors, error_code
from neurozoo.errors import NeurozooError
from neurozoo.plan.cloud_profiles import STACK_FILE, STACK_NAME, Stack, read_stack

LOG_GROUP = "/aws/batch/job"
SPOT_QUOTA = "L-34B43A08"  # "All Standard Spot Instance Requests", in vCPUs
MOST_THREADS = 8  # that a job of profiles/aws/config.yaml asks for
POLL = 10.0  # seconds
PATIENCE = 1800.0  # seconds for AWS to make or remove everything
_ENDED = ("_COMPLETE", "_FAILED")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What `cloud up` makes."""

    name: str  # of the stack
    region: str  # such as `eu-central-1`
    bucket: str  # its name is unique among those of all users of AWS
    image: str  # for the jobs, made by `make image`
    cores: int  # most vCPUs at a time
    budget: int  # USD per month, at which the alarm comes
    email: str  # to which the alarm comes
    log_days: int = 7  # for which AWS keeps the jobs' logs

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", self.bucket):
            raise NeurozooError(
                f"{self.bucket!r} cannot be the name of a bucket. It should have 3 to 63 small letters, digits, dots "
                "and hyphens, and be unique in the world, such as zoo-of-ada-2026."
            )
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,127}", self.name):
            raise NeurozooError(f"{self.name!r} cannot be the name of a stack. Use letters, digits and hyphens.")
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", self.email):
            raise NeurozooError(f"{self.email!r} should be an e-mail address, to which the budget's alarm comes.")
        if min(self.budget, self.log_days) < 1:
            raise NeurozooError("Budget and days of logs should be at least 1.")
        if self.cores < MOST_THREADS:
            raise NeurozooError(
                f"Cores should be at least {MOST_THREADS}, because a training asks for as many (set-threads in "
                f"profiles/aws/config.yaml), but are {self.cores}. With fewer it would wait forever."
            )

    @property
    def lines(self) -> list[str]:
        """What is made, in words."""
        return [
            f"Stack {self.name} in {self.region}:",
            "- a network in two zones, which lets nothing in",
            f"- spot machines for AWS Batch, at most {self.cores} vCPUs, none without jobs, and their queue",
            f"- the bucket {self.bucket}, encrypted and closed to the public; cloud down keeps it",
            "- roles: jobs may read and write this bucket, and nothing else",
            f"- the log group {LOG_GROUP}, kept for {self.log_days} days, unless it is there already",
            f"- an alarm to {self.email} at 80% of {self.budget} USD a month, for the whole account",
            f"The stack itself costs nothing while no job runs. Jobs use the image {self.image}.",
        ]


def bring_up(plan: Plan, *, say: Say, dry_run: bool = False) -> None:
    """Makes the stack, and tells the profile about it. A stack that is there is left as it is.

    Raises:
        NeurozooError: The bucket exists, a quota is too small, AWS refuses, or making it failed; nothing is left then.
    """
    for line in plan.lines:
        say(line)
    if dry_run:
        say("Nothing was made (--dry-run).")
        return
    client = aws_client("cloudformation", region=plan.region)
    found = _stack(client, plan.name)
    if is_new := found is None:
        _check_bucket(plan)
        _check_quota(plan, say)
        parameters = {
            "BucketName": plan.bucket,
            "MaxCores": plan.cores,
            "MonthlyBudget": plan.budget,
            "AlarmEmail": plan.email,
            "LogDays": plan.log_days,
            "MakesLogGroup": "no" if _has_log_group(plan.region) else "yes",
        }
        with aws_errors(f"The stack {plan.name} cannot be made"):
            client.create_stack(
                StackName=plan.name,
                TemplateBody=resources.files("neurozoo").joinpath("data/cloud.yaml").read_text(encoding="utf-8"),
                Parameters=[{"ParameterKey": k, "ParameterValue": str(v)} for k, v in parameters.items()],
                Capabilities=["CAPABILITY_IAM"],
                OnFailure="DELETE",
            )
    elif found:
        say(f"The stack {plan.name} is there already ({found['StackStatus']}) and stays as it is.")
    found = _wait(client, plan.name, say)
    if found is None or found["StackStatus"] not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        if is_new:
            _remove_empty_bucket(plan)
        state = "was removed again" if found is None else f"is in state {found['StackStatus']}"
        raise NeurozooError(
            f"The stack {plan.name} could not be made and {state}. For the reason: aws "
            f"cloudformation describe-stack-events --region {plan.region} --stack-name {plan.name}. "
            "Then: python -m neurozoo cloud down"
        )
    made = _outputs(found)
    Stack(plan.name, plan.region, made["Bucket"], made["Queue"], made["JobRole"], plan.image).write()
    say(f"Ready, see {STACK_FILE}. Next: snakemake --profile aws")


def show_status(name: str | None, *, region: str | None, say: Say) -> None:
    """Says what there is, and what runs. Without name or region it is the stack that `cloud up` has made from here."""
    name, region = _chosen(name, region)
    client = aws_client("cloudformation", region=region)
    found = _stack(client, name)
    if found is None:
        say(f"There is no stack {name} in {client.meta.region_name}. Make it: python -m neurozoo cloud up")
        return
    say(f"Stack {name} in {client.meta.region_name}: {found['StackStatus']}")
    made = _outputs(found)
    for what, value in made.items():
        say(f"  {what}: {value}")
    if "Queue" in made:
        jobs = _jobs(region, made["Queue"])
        say(f"  Jobs that wait or run: {len(jobs)}")


def take_down(name: str | None, *, region: str | None, say: Say, dry_run: bool = False) -> None:
    """Ends all jobs, and removes everything but the bucket. Safe to repeat.

    Without a name or region it is the stack that `cloud up` has made from here. An error lists what cannot be removed.
    """
    name, region = _chosen(name, region)
    client = aws_client("cloudformation", region=region)
    found = _stack(client, name)
    if found is None:
        say(f"There is no stack {name} in {client.meta.region_name}: nothing to remove.")
    else:
        made = _outputs(found)
        jobs = _jobs(region, made["Queue"]) if "Queue" in made else []
        say(f"Ends {len(jobs)} jobs and removes the stack {name} in {client.meta.region_name}.")
        if "Bucket" in made:
            say(f"Keeps the bucket {made['Bucket']}. To delete all results: aws s3 rb --force s3://{made['Bucket']}")
        if dry_run:
            say("Nothing was removed (--dry-run).")
            return
        batch = aws_client("batch", region=region)
        with aws_errors("A job cannot be ended"):
            for job in jobs:
                batch.terminate_job(jobId=job, reason="python -m neurozoo cloud down")
        with aws_errors(f"The stack {name} cannot be removed"):
            client.delete_stack(StackName=name)
        if (left := _wait(client, name, say)) is not None:
            with aws_errors(f"The stack {name} cannot be read"):
                there = client.describe_stack_resources(StackName=name)["StackResources"]
            names = [entry.get("PhysicalResourceId", entry["ResourceType"])
                     for entry in there if entry["ResourceStatus"] != "DELETE_COMPLETE"]  # fmt: skip
            raise NeurozooError(
                f"The stack {name} is in state {left['StackStatus']}. Not removed: {', '.join(names)}. Wait until no "
                "job runs, and repeat the same command, or remove them in AWS's console."
            )
        say("Everything else is removed.")
    made_here = _made_here()
    if not dry_run and made_here is not None and (made_here.name, made_here.region) == (name, client.meta.region_name):
        STACK_FILE.unlink()


def _made_here() -> Stack | None:
    """Returns the stack that the profile knows; None if there is none, or its file is damaged."""
    try:
        return read_stack()
    except NeurozooError:
        return None


def _chosen(name: str | None, region: str | None) -> tuple[str, str | None]:
    """Completes name and region by those of the stack that the profile knows."""
    made_here = _made_here()
    if made_here is not None and name in (None, made_here.name):
        return made_here.name, region or made_here.region
    return name or STACK_NAME, region


def _stack(client: Any, name: str) -> dict | None:
    """Returns a stack as CloudFormation describes it; None if there is none."""
    try:
        with aws_errors(f"The stack {name} cannot be read"):
            found = client.describe_stacks(StackName=name)["Stacks"]
    except NeurozooError as error:
        if error_code(error) == "ValidationError" and "does not exist" in str(error):
            return None
        raise
    return next((stack for stack in found if stack["StackStatus"] != "DELETE_COMPLETE"), None)


def _outputs(stack: dict) -> dict[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}


def _wait(client: Any, name: str, say: Say) -> dict | None:
    """Waits until nothing changes any more, and returns the stack."""
    end, before = time.monotonic() + PATIENCE, None
    while (found := _stack(client, name)) is not None and not found["StackStatus"].endswith(_ENDED):
        if found["StackStatus"] != before:
            before = found["StackStatus"]
            say(f"  {before}")
        if time.monotonic() > end:
            raise NeurozooError(
                f"The stack {name} is still in state {before}. Look again later: python -m neurozoo cloud status"
            )
        time.sleep(POLL)
    return found


def _jobs(region: str | None, queue: str) -> list[str]:
    """Returns the ids of the jobs that wait or run."""
    batch = aws_client("batch", region=region)
    found = []
    with aws_errors(f"The jobs of {queue} cannot be listed"):
        for state in ("SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING"):
            for page in batch.get_paginator("list_jobs").paginate(jobQueue=queue, jobStatus=state):
                found += [job["jobId"] for job in page["jobSummaryList"]]
    return found


def _check_bucket(plan: Plan) -> None:
    client = aws_client("s3", region=plan.region)
    try:
        with aws_errors(f"The bucket {plan.bucket} cannot be made"):
            client.head_bucket(Bucket=plan.bucket)
    except NeurozooError as error:
        if error_code(error) in ("404", "NoSuchBucket"):
            return
        if error_code(error) not in ("301", "400", "403"):  # it is another's, or in another region
            raise
    raise NeurozooError(
        f"The bucket {plan.bucket} exists already, perhaps in another account: names are unique in the world. "
        "Give another: --bucket NAME. (If cloud down has kept it with results of yours, copy them: aws s3 sync.)"
    )


def _remove_empty_bucket(plan: Plan) -> None:
    """Removes the bucket of a stack that could not be made, so that the next attempt can have its name."""
    client = aws_client("s3", region=plan.region)
    with contextlib.suppress(NeurozooError), aws_errors(f"The bucket {plan.bucket} cannot be removed"):
        client.delete_bucket(Bucket=plan.bucket)  # AWS refuses if it holds anything


def _check_quota(plan: Plan, say: Say) -> None:
    client = aws_client("service-quotas", region=plan.region)
    try:
        with aws_errors("The quota of spot machines cannot be read"):
            quota = client.get_service_quota(ServiceCode="ec2", QuotaCode=SPOT_QUOTA)["Quota"]["Value"]
    except NeurozooError as error:
        say(f"{error} It is not checked.")
        return
    if quota < plan.cores:
        advice = f"Give --cores {quota:.0f}, or ask for more" if quota >= MOST_THREADS else "Ask for more"
        raise NeurozooError(
            f"This account may use {quota:.0f} vCPUs of spot machines in {plan.region}, but {plan.cores} are wanted. "
            f"{advice}: aws service-quotas request-service-quota-increase --region {plan.region} --service-code ec2 "
            f"--quota-code {SPOT_QUOTA} --desired-value {plan.cores}"
        )


def _has_log_group(region: str) -> bool:
    client = aws_client("logs", region=region)
    with aws_errors("The log groups cannot be listed"):
        groups = client.describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]
    return any(group["logGroupName"] == LOG_GROUP for group in groups)
