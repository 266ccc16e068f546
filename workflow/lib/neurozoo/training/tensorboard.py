"""Writes the reports of a run for TensorBoard as well, for people who watch many runs live."""

import contextlib
import errno
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from neurozoo.errors import explained
from neurozoo.folders import opened_folder, reached


class EventWriter:
    """Writes the numbers of each report as scalars, by their names in the log, over the progress of the run.

    Earlier event files in the folder stay; without a folder, nothing is written. TensorBoard itself is not needed for
    this. Scalars have their first form, `simple_value`, because importers of other systems read no other.
    """

    def __init__(self, folder: Path | None) -> None:
        self._writer: Any = None
        self._stack = contextlib.ExitStack()
        self._folder = folder
        if folder is None:
            return
        import tensorflow as tf

        try:
            descriptor = self._stack.enter_context(opened_folder(folder, make=True))
        except OSError as error:
            raise explained(error, folder) from error
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        with self._explained():
            self._writer = tf.io.TFRecordWriter(str(reached(descriptor, name)))
        self._write(file_version="brain.Event:2")

    def report(self, record: Mapping[str, object], *, progress: int) -> None:
        """Writes the values of a report that are numbers. Raises `NeurozooError` if the disk is full."""
        if self._writer is None:
            return
        numbers = {k: v for k, v in record.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        values = [{"tag": name, "simple_value": value} for name, value in numbers.items()]
        self._write(step=progress, summary={"value": values})

    def _write(self, **event: object) -> None:
        import tensorflow as tf

        with self._explained():
            self._writer.write(tf.compat.v1.Event(wall_time=time.time(), **event).SerializeToString())
            self._writer.flush()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        import tensorflow as tf

        try:
            yield
        except tf.errors.OpError as error:
            is_full = isinstance(error, tf.errors.ResourceExhaustedError)
            raise explained(OSError(errno.ENOSPC if is_full else errno.EIO, ""), self._folder) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._writer is not None:
            with self._stack, self._explained():
                self._writer.close()
