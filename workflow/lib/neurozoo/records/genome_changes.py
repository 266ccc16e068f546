"""Fields of a report that grow by every generation: a log holds what is new in them, and readers put them together.

The elite's genome grows by a mutation in nearly every generation. Written whole each time, it would make a log grow
with the square of the generations. A log of ours has instead how many entries it shares with the genome in the report
before, and the entries after these: `{"keeps": 57, "adds": [[9131717, 0.002]]}`.
"""

from collections.abc import Mapping
from typing import Any

from neurozoo.genomes.packing import common_length
from neurozoo.records.published_log import ELITE_GENOME

GROWING = (ELITE_GENOME,)  # lists, by their names in a report


def as_changes(record: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns a complete report as a log holds it, after the complete one before it, if any."""
    written = dict(record)
    for name in GROWING:
        now, then = record.get(name), (before or {}).get(name)
        if isinstance(now, list) and isinstance(then, list):
            kept = common_length(then, now)
            written[name] = {"keeps": kept, "adds": now[kept:]}
    return written


class Restorer:
    """Completes the reports of a log, one after the other. It holds one genome, however long the log is.

    The growing fields of the last report are in `last`, complete.
    """

    def __init__(self) -> None:
        self.last: dict[str, list] = {}
        self._generation: int | None = None

    def restore(self, record: dict[str, Any], *, is_wanted: bool = True) -> dict[str, Any]:
        """Completes the next report; the first one is complete already.

        Unless growing fields are wanted, `record` loses them, which takes less time.

        Raises:
            ValueError: A change does not fit the report before, or that report is missing.
        """
        before, now = self._generation, record.get("Iteration")
        is_next = before is None or now is None or now == before + 1
        self._generation = now
        for name in GROWING:
            if name in record:
                last = self.last.setdefault(name, [])
                value = record[name]
                if isinstance(value, dict):
                    kept, added = value.get("keeps"), value.get("adds")
                    if not (is_next and type(kept) is int and 0 <= kept <= len(last) and isinstance(added, list)):
                        raise ValueError(f"{name} does not continue the one in the report before")
                    del last[kept:]
                    last += added
                elif isinstance(value, list):
                    last[:] = value
                else:
                    last.clear()
                if is_wanted:
                    record[name] = list(last) if isinstance(value, dict) else value
                else:
                    del record[name]
        return record
