"""Writes the reports of a run for TensorBoard as well, for people who watch many runs live."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from neurozoo.errors import explained
from neurozoo.folders import opened_folder, reached


class EventWriter:
    """Writes the numbers of each report as scalars, by their names in the log, over the progress of the run.

    Earlier event files in the folder stay; without a folder, nothing is written. TensorBoard itself is not needed for
    this. Look at all runs with `tensorboard --logdir results/runs`.
    """

    def __init__(self, folder: Path | None) -> None:
        self._writer, self._stack = None, contextlib.ExitStack()
        if folder is None:
            return
        import tensorflow as tf

        try:
            descriptor = self._stack.enter_context(opened_folder(folder, make=True))
        except OSError as error:
            raise explained(error, folder) from error
        self._writer = tf.summary.create_file_writer(str(reached(descriptor)))
        # What TensorBoard's own `scalar` writes; the package that has it is not installed here.
        self._kind = tf.compat.v1.SummaryMetadata(
            plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
            data_class="DATA_CLASS_SCALAR",
        )

    def report(self, record: Mapping[str, object], *, progress: int) -> None:
        """Writes the values of a report that are numbers."""
        if self._writer is None:
            return
        import tensorflow as tf

        with self._writer.as_default(step=progress):
            for name, value in record.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    tf.summary.write(name, tf.constant(float(value), tf.float32), metadata=self._kind)
        self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._stack.close()
