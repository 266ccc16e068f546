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
import socket
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from neurozoo.compute.aws import aws_client, aws_errors, error_code, split_s3_address
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file, parse_json, plain_name, read_json, sha256_of
from neurozoo.folders import delete, delete_folder, delete_leftovers, find, move, open_descriptor, temporary_name
from neurozoo.training import heartbeat
from neurozoo.training.state import KEPT, SUPERSEDED, next_superseded

STATE = "state"
FOLDERS = (*KEPT, SUPERSEDED, STATE)
PART = 2**24  # bytes
PERIOD = 60.0  # seconds between two backups
SHARE = 0.05  # of the time that backups may take; slow ones become rarer

_STATE_FILE = f"{STATE}/state.json"

Index = dict[str, list[str]]  # the names of the parts of each file, by its path in the run's folder
_PART_NAME = re.compile("[0-9a-f]{64}-[0-9a-f]{8}")


class TakenOver(NeurozooError):
    """Another training continues this run from its backup, so this one must end."""


class Backup:
    """The backup of one run. Call it from the thread that writes the run's files.

    `address` says where it is kept, such as `s3://my-bucket/results/runs/ga/pong/large/1/backup`. A NeurozooError says
    that it is wrong, or that boto3 is not installed.
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
        self._modified = 0.0  # when that index was written
        self._count = 0
        self._next = time.monotonic() + PERIOD

    def open(self) -> str:
        """Takes the backup over, and brings its files back unless the state in this folder is to be preferred.

        Of two states with the same settings the one that has come further is preferred: continuing from either gives
        the same results. Of two with different settings it is the later one, and the other goes to `superseded/`.

        Returns:
            A sentence about what was done; empty if nothing was.

        Raises:
            NeurozooError: The storage does not answer, or the backup is damaged. Nothing is changed in the folder.
        """
        with aws_errors(f"The backup {self.address} cannot be read"):
            found = self._read_index()
            done = self._bring_back(found) if _STATE_FILE in found else ""
            self._index = found
            self._replace_index(found)  # from now on, an earlier training that still runs cannot
            self._remove_leftovers(found)
        return done

    def _bring_back(self, found: Index) -> str:
        path = self._run_dir / _STATE_FILE
        if not path.exists():
            self._restore(found)
            return f"This folder had no state: it comes from the backup {self.address}"
        stored = self._content(found, _STATE_FILE)
        here, there = (_read_state(data) for data in (_bytes_of(path), stored))
        if here is None or there is None:
            return ""  # the training says what is damaged
        if here["identity"] == there["identity"]:
            if there["progress"] <= here["progress"]:
                return ""
            self._restore(found)
            return (
                f"The backup {self.address} has come further than the state in this folder ({there['progress']:,} "
                f"against {here['progress']:,}): the run goes on from the backup"
            )
        is_newer = self._modified > path.stat().st_mtime
        if not is_newer and any(
            _bytes_of(aside) == stored for aside in find(self._run_dir, f"{SUPERSEDED}/*/state.json")
        ):
            return ""  # this folder began anew, and has set that state aside itself
        if is_newer:
            kept = self._restore(found, keeps_state=True)
        else:
            with self._fetched(found) as place:
                self._merge_superseded(place)
                kept = _set_aside(place, self._run_dir)
        return (
            f"The backup {self.address} and the state in this folder have different settings. The "
            f"{'backup' if is_newer else 'state in this folder'} is the later one; the other is now in {kept}"
        )

    @property
    def is_due(self) -> bool:
        """Whether the last one is old enough for the next."""
        return time.monotonic() >= self._next

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
                index = {name: self._store(path, stored) for name, path in self._files()}
                before = {part for parts in self._index.values() for part in parts}
                self._replace_index(index)
                self._index = index
                self._delete(before - {part for parts in index.values() for part in parts})
        finally:
            end = time.monotonic()
            self._next = end + max(PERIOD, (end - begin) / SHARE)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for folder in FOLDERS:
            for path in find(self._run_dir / folder, "**/*"):
                is_whole = path.is_file() and not path.name.startswith(".")
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
        self._tag, self._modified = answer["ETag"], answer["LastModified"].timestamp()
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
            f"The backup {self.address} is damaged: {what}. Restore the objects as they were before, or "
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

    def _restore(self, files: Index, *, keeps_state: bool = False) -> Path | None:
        """Puts the folders of the backup in the place of those here; returns where a state is that is kept."""
        with self._fetched(files) as place:
            self._merge_superseded(place)
            kept = _set_aside(self._run_dir, self._run_dir) if keeps_state else None
            self._clear(files)
            for folder in (*KEPT, STATE):  # the state last: it says that all is there
                if (place / folder).exists():
                    move(place / folder, self._run_dir / folder)
        return kept

    def _clear(self, files: Index) -> None:
        """Deletes the state here, which is in the backup, too, or behind it. Files that are not of it are set aside."""
        arrays = _arrays_of(self._run_dir / _STATE_FILE)
        for name in (*files, *(f"{STATE}/arrays/{array}.npy" for array in arrays)):
            if not name.startswith(SUPERSEDED):
                delete(self._run_dir / name)
        folders = [self._run_dir / folder for folder in (*KEPT, STATE)]
        if any(not path.is_dir() for folder in folders for path in find(folder, "**/*")):
            _set_aside(self._run_dir, self._run_dir)
        for folder in folders:
            delete_folder(folder)

    def _merge_superseded(self, place: Path) -> None:
        """Adds what the backup has in `superseded/`, but for what is here already."""
        here = [_hashes(path) for path in find(self._run_dir, f"{SUPERSEDED}/*")]
        for path in find(place, f"{SUPERSEDED}/*"):
            if _hashes(path) not in here:
                move(path, next_superseded(self._run_dir))

    @contextlib.contextmanager
    def _fetched(self, files: Index) -> Iterator[Path]:
        """Yields a folder with all files of the backup; it ends with the context."""
        delete_leftovers(self._run_dir / "restored")  # of a process that was killed
        place = self._run_dir / temporary_name("restored")
        try:
            for name, parts in files.items():
                with open(place / name, "xb", opener=open_descriptor) as file:
                    for part in parts:
                        file.write(self._part(part, name))
            yield place
        finally:
            delete_folder(place)

    def _content(self, files: Index, name: str) -> bytes:
        return b"".join(self._part(part, name) for part in files[name])

    def _part(self, part: str, name: str) -> bytes:
        try:
            with aws_errors(f"The backup {self.address} cannot be read"):
                answer = self._client.get_object(Bucket=self._bucket, Key=self._key(f"parts/{part}"))
        except NeurozooError as error:
            if error_code(error) == "NoSuchKey":
                raise self._damaged(f"a part of {name} is missing") from error
            raise
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


def _read_state(data: bytes) -> dict[str, Any] | None:
    """Returns `identity` and `progress` of a state; None if it is damaged."""
    try:
        state = parse_json(data)
        return {"identity": state["identity"], "progress": int(state["progress"])}
    except (ValueError, LookupError, TypeError):
        return None


def _bytes_of(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read()


def _arrays_of(state: Path) -> list[str]:
    """Returns the arrays that a state names; none if it is missing or damaged."""
    try:
        return [plain_name(name) for name in read_json(state, "")["arrays"]]
    except (NeurozooError, ValueError, LookupError, TypeError):
        return []


def _hashes(folder: Path) -> dict[str, str]:
    """Returns the hashes of all files in a folder, by their names."""
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in find(folder, "**/*") if path.is_file()}


def _set_aside(place: Path, run_dir: Path) -> Path:
    """Moves a state, and what a training keeps besides, into `superseded/` of a run; returns where they are then."""
    kept = next_superseded(run_dir)
    for folder, target in ((STATE, kept), *((name, kept / name) for name in KEPT)):
        if (place / folder).exists():
            move(place / folder, target)
    return kept
