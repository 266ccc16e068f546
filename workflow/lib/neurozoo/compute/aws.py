"""Clients of AWS and of storage that speaks S3, and sentences for what they refuse."""

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from neurozoo.errors import NeurozooError, needing

CREDENTIALS = "Run aws configure, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_REFUSED_KEYS = {
    "AuthFailure", "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId",
    "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip
_FORBIDDEN = {"403", "AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


def aws_client(service: str, *, region: str | None = None) -> Any:
    """Returns a client of boto3. Credentials, region and AWS_ENDPOINT_URL come from the environment or ~/.aws."""
    with needing("cloud", "AWS"):
        import boto3
        from botocore.config import Config
    config = Config(
        connect_timeout=10,
        read_timeout=60,
        retries={"max_attempts": 5, "mode": "standard"},
        # Storage of others than AWS does not take checksums off again: https://github.com/boto/boto3/issues/4435
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    with aws_errors(f"A client of {service} cannot be made"):
        return boto3.Session().client(service, region_name=region, config=config)


@contextlib.contextmanager
def aws_errors(failure: str) -> Iterator[None]:
    """Turns errors of boto3 into sentences with a remedy, which begin with the failure: "The stack cannot be read"."""
    with needing("cloud", "AWS"):
        from boto3.exceptions import S3UploadFailedError
        from botocore.exceptions import BotoCoreError, ClientError
    try:
        yield
    except (BotoCoreError, ClientError, S3UploadFailedError) as error:
        raise NeurozooError(f"{failure}: {_reason(error)}") from error


def error_code(error: NeurozooError) -> str:
    """Returns the code that AWS gave, such as `NoSuchKey`; "" if it gave none. For errors from `aws_errors`."""
    response = getattr(error.__cause__, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    if kind in ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"):
        return f"there are no credentials. {CREDENTIALS}."
    if kind in ("NoRegionError", "InvalidRegionError"):
        return "no region is named. Set AWS_REGION, such as eu-central-1, or give --region."
    if kind in ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"):
        given = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        place = f"AWS_ENDPOINT_URL, which is {given}" if given else "the name of the region"
        return f"nothing answers ({str(error).rstrip('.')}). Check the network and {place}."
    response = getattr(error, "response", {})
    code, words = (str(response.get("Error", {}).get(name, "")) for name in ("Code", "Message"))
    words = words.rstrip(".") or str(error)
    if code in _REFUSED_KEYS:
        return f"the credentials are refused ({code}: {words}). {CREDENTIALS} anew."
    if code in _FORBIDDEN:
        return f"you are not allowed to ({code}: {words}). Ask the owner of the account for this right."
    if code == "NoSuchBucket":
        return "the bucket does not exist. Make it with python -m neurozoo cloud up, or correct its name."
    return f"{code}: {words}." if code else f"{words}."


def split_s3_address(address: str) -> tuple[str, str]:
    """Splits `s3://bucket/some/prefix/` into bucket and prefix without slashes at its ends."""
    match = re.fullmatch(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/+(.*?)/*)?", address)
    if match is None:
        raise NeurozooError(f"{address!r} is not an address on S3. It should look like s3://my-bucket/neurozoo.")
    return match[1], match[2] or ""
