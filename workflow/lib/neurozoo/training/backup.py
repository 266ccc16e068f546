"""Keeps what a run needs to continue on storage that outlives its node, and brings it back on another node.

Spot instances are lost within two minutes, and their disks with them. A backup is made at regular intervals and when
the training ends, is stopped, or fails. It holds `state/`, `snapshots/`, `tags/`, `population/` and `superseded/` of a
run, as they are between two writes of the training. Whatever a kill of the process may leave behind can be continued
from, so a backup can, too.

Storage on S3 has no transactions, but it replaces an object as a whole, and does so on condition that nobody else has
replaced it (`If-Match`):

- `parts/HASH-TRAINING` hold the content of files in parts of at most 16 MiB. A part is stored once, so only what has
  changed is sent. No training stores a part under a name that another may delete.
- `index.json` names the parts of each file. It is replaced after its parts are there, and parts that it no longer names
  are deleted after that.

A training that continues a backup replaces the index at once. An earlier training that still runs on a node that
seemed lost then fails to replace it, and stops: two trainings never mix their files.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from neurozoo.compute.aws import aws_client, aws_errors, error_code, split_s3_address
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file, parse_json
from neurozoo.training import heartbeat
from neurozoo.training.state import KEPT, SUPERSEDED

STATE = "state"
FOLDERS = (*KEPT, SUPERSEDED, STATE)  # state/ comes last: its presence says that all is there
PART = 2**24  # bytes
PERIOD = 60.0  # seconds between two backups
SHARE = 0.05  # of the time that backups may take; slow ones become rarer

Index = dict[str, list[str]]  # the names of the parts of each file, by its path in the run's folder
_PART_NAME = re.compile("[0-9a-f]{64}-[0-9a-f]{8}")


class TakenOver(NeurozooError):
    """Another training continues this run from its backup, so this one must end."""


class Backup:
    """The backup of one run. Call it from the thread that writes the run's files.

    Args:
        run_dir: Folder of the run.
        address: Where it is kept, such as `s3://my-bucket/results/runs/ga/pong/large/1/backup`.

    Raises:
        NeurozooError: The address is wrong, or boto3 is not installed.
    """

    def __init__(self, run_dir: str | os.PathLike, address: str) -> None:
        self.address = address
        self._run_dir = Path(run_dir)
        self._bucket, self._prefix = split_s3_address(address)
        self._client = aws_client("s3")
        self._token = secrets.token_hex(4)
        self._owner = f"process {os.getpid()} on {socket.gethostname()}, since {time.time():.3f}"
        self._index: Index = {}
        self._tag: str | None = None  # of the index that is there; S3 changes it with every new content
        self._count = 0
        self._next = time.monotonic() + PERIOD

    def open(self) -> bool:
        """Takes the backup over, and brings the files back if this folder has no state.

        A state that is there is kept: it is that of a training on this machine, and continuing from either gives the
        same results.

        Returns:
            Whether files were brought back.

        Raises:
            NeurozooError: The storage does not answer, or the backup is damaged. Nothing is changed in the folder.
        """
        with aws_errors(f"The backup {self.address} cannot be read"):
            found = self._read_index()
            is_missing = not (self._run_dir / STATE / "state.json").exists()
            restores = is_missing and "state/state.json" in found
            if restores:
                self._restore(found)
            self._index = found
            self._replace_index(found)  # from now on, an earlier training that still runs cannot
            self._remove_leftovers(found)
        return restores

    def keep_if_due(self) -> None:
        """Makes a backup if the last one is old enough. Call it often.

        Raises:
            NeurozooError: As for `keep`.
        """
        if time.monotonic() >= self._next:
            self.keep()

    def keep(self) -> None:
        """Makes a backup now.

        Raises:
            TakenOver: Another training continues the run.
            NeurozooError: The storage does not answer; the backup before is unchanged, and the next call tries again.
        """
        begin = time.monotonic()
        try:
            with aws_errors(f"The backup {self.address} cannot be written"):
                stored = {part[:64]: part for parts in self._index.values() for part in parts}
                index: Index = {}
                for name, path in self._files():
                    index[name] = self._store(path, stored)
                before = {part for parts in self._index.values() for part in parts}
                self._replace_index(index)
                self._index = index
                self._delete(before - {part for parts in index.values() for part in parts})
        finally:
            end = time.monotonic()
            self._next = end + max(PERIOD, (end - begin) / SHARE)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for folder in FOLDERS:
            for path in sorted((self._run_dir / folder).rglob("*")):
                is_whole = path.is_file() and not path.is_symlink() and not path.name.startswith(".")
                if is_whole and not (path.parent.name == STATE and path.name == heartbeat.FILE):
                    yield path.relative_to(self._run_dir).as_posix(), path

    def _store(self, path: Path, stored: dict[str, str]) -> list[str]:
        """Stores the parts of a file that are not yet there, and returns the names of all."""
        parts = []
        with open_file(path) as file:
            while data := file.read(PART):
                content = hashlib.sha256(data).hexdigest()
                if content not in stored:
                    part = f"{content}-{self._token}"
                    self._client.put_object(Bucket=self._bucket, Key=self._key(f"parts/{part}"), Body=data)
                    stored[content] = part
                parts.append(stored[content])
        return parts

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _get_index(self) -> Any:
        """Returns the storage's answer with the index; None if there is no index."""
        try:
            with aws_errors(f"The backup {self.address} cannot be read"):
                return self._client.get_object(Bucket=self._bucket, Key=self._key("index.json"))
        except NeurozooError as error:
            if error_code(error) == "NoSuchKey":
                return None
            raise

    def _read_index(self) -> Index:
        answer = self._get_index()
        if answer is None:
            return {}
        self._tag = answer["ETag"]
        try:
            files = parse_json(answer["Body"].read())["files"]
            for name, parts in files.items():
                is_inside = ".." not in PurePosixPath(name).parts and name.partition("/")[0] in FOLDERS
                are_parts = all(_PART_NAME.fullmatch(part) for part in parts)
                if not (is_inside and are_parts and "\0" not in name):
                    raise ValueError(f"{name!r} has no place in it")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self._damaged(f"its index.json ({error})") from error
        return files

    def _damaged(self, what: str) -> NeurozooError:
        return NeurozooError(
            f"The backup {self.address} is damaged: {what}. Restore it from an earlier version of the objects, or "
            f"delete it to train this run from the start: aws s3 rm --recursive {self.address}"
        )

    def _replace_index(self, files: Index) -> None:
        self._count += 1
        content = {"owner": self._owner, "number": self._count, "files": files}
        data = (json.dumps(content, indent=1) + "\n").encode()
        try:
            self._put_index(data)
        except NeurozooError as error:
            if error_code(error) not in ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"):
                raise
            if not self._is_mine():
                raise TakenOver(
                    f"Another training has taken over the backup {self.address}, because this one seemed lost. Two "
                    "trainings must not mix their files, so this one stops; nothing is lost."
                ) from error
            self._put_index(data)  # an earlier write of this training has arrived, but its answer was lost

    def _put_index(self, data: bytes) -> None:
        condition = {"IfNoneMatch": "*"} if self._tag is None else {"IfMatch": self._tag}
        with aws_errors(f"The backup {self.address} cannot be written"):
            answer = self._client.put_object(Bucket=self._bucket, Key=self._key("index.json"), Body=data, **condition)
        self._tag = answer["ETag"]

    def _is_mine(self) -> bool:
        """Returns whether this training has written the index that is there; notes its tag if so."""
        answer = self._get_index()
        if answer is None:
            return False
        with contextlib.suppress(ValueError, LookupError, TypeError):  # somebody else's file
            if parse_json(answer["Body"].read())["owner"] == self._owner:
                self._tag = answer["ETag"]
                return True
        return False

    def _restore(self, files: Index) -> None:
        place = self._run_dir / f".restored.{os.getpid()}"
        for leftover in self._run_dir.glob(".restored.*"):  # of a process that was killed
            shutil.rmtree(leftover)
        try:
            for name, parts in files.items():
                path = place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "wb") as file:
                    for part in parts:
                        file.write(self._part(part, name))
            for folder in FOLDERS:
                if (place / folder).exists():
                    shutil.rmtree(self._run_dir / folder, ignore_errors=True)  # without a state, it belongs to nothing
                    os.replace(place / folder, self._run_dir / folder)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _part(self, part: str, name: str) -> bytes:
        try:
            with aws_errors(f"The backup {self.address} cannot be read"):
                answer = self._client.get_object(Bucket=self._bucket, Key=self._key(f"parts/{part}"))
        except NeurozooError as error:
            raise (
                self._damaged(f"a part of {name} is missing") if error_code(error) == "NoSuchKey" else error
            ) from error
        data = answer["Body"].read(PART + 1)
        if hashlib.sha256(data).hexdigest() != part[:64]:
            raise self._damaged(f"a part of {name} has another content")
        return data

    def _remove_leftovers(self, files: Index) -> None:
        """Deletes parts that a killed training has stored, but never named in an index."""
        named = {part for parts in files.values() for part in parts}
        prefix = self._key("parts/")
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        there = {entry["Key"].removeprefix(prefix) for page in pages for entry in page.get("Contents", ())}
        self._delete(there - named)

    def _delete(self, parts: set[str]) -> None:
        for part in sorted(parts):
            self._client.delete_object(Bucket=self._bucket, Key=self._key(f"parts/{part}"))


class NoBackup:
    """Stands for the backup of a run whose folder outlives its node."""

    def open(self) -> bool:
        """Brings nothing back."""
        return False

    def keep_if_due(self) -> None:
        """Does nothing."""

    def keep(self) -> None:
        """Does nothing."""


def backup_of(run_dir: str | os.PathLike, address: str) -> Backup | NoBackup:
    """Returns the backup of a run at an address; one that does nothing if the address is empty."""
    return Backup(run_dir, address) if address else NoBackup()
