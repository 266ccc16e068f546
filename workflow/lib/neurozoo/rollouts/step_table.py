"""A rollout's steps as a table, one row per step, for analyses that need no pictures."""

import json
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.files import written_whole

ROWS = 4096  # per row group; one row group is in memory


class StepTable:
    """Writes a Parquet file of steps that appears whole or not at all; use it in a `with` statement.

    Columns:

    - `episode`, and `step` within the episode, both from 0.
    - `frame`: emulator frames of the episode before the step.
    - `action` and `action_name`: the action played, which may come from noise. Not where outputs are continuous.
    - `reward`: points of the step.
    - `score`: points of the episode before the step.
    - `is_last`: whether the step ended the episode.
    - `output_NAME`: the network's outputs, float32; the action without noise is that of the largest one.
    - `ram_0` and so on: the console's memory before the step, uint8. Each byte has a column of its own: most bytes
      rarely change and take almost no space, and a query reads only the columns it needs.

    The file's metadata have a key `neurozoo`: a JSON text about the agent and how it played.

    Args:
        path: The `.parquet` to write.
        frozen: The agent.
        ram_bytes: How many bytes of the console's memory get a column, from the first on.
        facts: The metadata.
    """

    def __init__(self, path: str | os.PathLike, frozen: FrozenModel, *, ram_bytes: int, facts: Mapping[str, object]):
        import pyarrow as pa

        self._path, self._ram_bytes = path, ram_bytes
        self._actions = None if frozen.is_continuous else pa.array(frozen.actions, pa.string())
        names = pa.dictionary(pa.int16(), pa.string())
        chosen = {} if frozen.is_continuous else {"action": pa.int16(), "action_name": names}
        columns = {
            **dict.fromkeys(("episode", "step", "frame"), pa.int32()),
            **chosen,
            **{"reward": pa.float64(), "score": pa.float64(), "is_last": pa.bool_()},
            **{f"output_{name}": pa.float32() for name in frozen.actions},
            **{f"ram_{index}": pa.uint8() for index in range(ram_bytes)},
        }
        self._schema = pa.schema(list(columns.items()), metadata={"neurozoo": json.dumps(facts)})
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        self._whole = written_whole(self._path)
        self._writer = pq.ParquetWriter(self._whole.__enter__(), self._schema, compression="zstd")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None and self._rows:
                self._write()
        finally:
            self._writer.close()
            self._whole.__exit__(kind, error, traceback)

    def append(self, **step: Any) -> None:
        """Adds a step: `episode`, `step`, `frame`, `action`, `reward`, `score`, `is_last`, `outputs` and `ram`."""
        self._rows.append(step)
        if len(self._rows) == ROWS:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        columns = {name: [row[name] for row in self._rows] for name in self._rows[0]}
        outputs, ram = (np.stack(columns.pop(name), axis=1) for name in ("outputs", "ram"))
        if self._actions is not None:
            indices = pa.array(columns["action"], pa.int16())
            columns["action_name"] = pa.DictionaryArray.from_arrays(indices, self._actions)
        names = self._schema.names
        values = [columns[name] for name in names if name in columns] + [*outputs, *ram[: self._ram_bytes]]
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(values, self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
