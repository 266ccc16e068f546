"""What has changed in the plan since a run was trained, and what that does to the run."""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neurozoo.algorithms.registry import get_algorithm
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json
from neurozoo.networks.catalogue import architecture_digest
from neurozoo.plan.planned_runs import PlannedRun, run_settings, settings_of_run
from neurozoo.plan.products import result_file
from neurozoo.plan.snakemake_records import record_of
from neurozoo.records.format import check_format
from neurozoo.records.run_config import ARCHITECTURE, config_of_run, read_architecture, read_run_settings


@dataclass(frozen=True)
class Change:
    """A setting that was another one when the run was trained, with its values as JSON has them."""

    name: str
    before: object
    now: object

    def __str__(self) -> str:
        """Returns words such as `mutation_power was 0.5, is now 0.002`."""
        return f"{self.name} was {_as_text(self.before)}, is now {_as_text(self.now)}"

    @property
    def is_growth(self) -> bool:
        """Whether the number has become larger."""
        return isinstance(self.before, int | float) and isinstance(self.now, int | float) and self.before < self.now


def changed_settings(config: Mapping, recorded: Mapping[str, object], **run: Any) -> list[Change]:
    """Finds the settings in which a run differs from the plan; `**run` as in `planned_runs`."""
    settings = settings_of_run(config, **run)
    now = asdict(settings)
    if "protocol" in now:  # a record names the game's own, too
        now["protocol"] = settings.describe_protocol(run["game"])["name"]
    both = {name: [recorded[name], now[name]] for name in now if name in recorded}
    plain = json.loads(json.dumps(both, default=str, skipkeys=True))  # a record may hold what somebody wrote
    return [Change(name, *values) for name, values in plain.items() if values[0] != values[1]]


def changed_network(before: object, model: str) -> list[Change]:
    """Finds whether the catalogue describes a network otherwise than the `ARCHITECTURE` that a run recorded."""
    if before is None or before == (now := architecture_digest(model, with_start=True)):
        return []
    return [Change(f"the description of {model!r}", before, now)]


def in_words(changes: Sequence[Change]) -> str:
    """Returns the first of several changes, and the number of the others."""
    return f"{changes[0]}, and {len(changes) - 1} more" if len(changes) > 1 else str(changes[0])


def outlook(config: Mapping, run_dir: Path, **run: Any) -> str:
    """Says whether a run that has begun goes on or starts anew, if its settings have changed.

    Returns:
        Words such as `starts anew (mutation_power was 0.5, is now 0.002)`. They are empty if nothing has changed, if
        the run has not begun, or if it cannot be known, because a file is damaged or elsewhere.
    """
    spec = get_algorithm(run["algo"])
    try:
        recorded, spent = _begun(run_dir, spec.budget_unit)
        changes = changed_network(recorded.get(ARCHITECTURE), run["model"])
        changes += changed_settings(config, recorded, **run)
    except NeurozooError:  # a plan is possible all the same
        return ""
    if not changes:
        return ""
    serious = [change for change in changes if change.name not in (spec.budget_unit, *spec.settings.WAYS_TO_RUN)]
    if serious or spent is None:
        return f"starts anew ({in_words(serious or changes)})"
    lowered = [change for change in changes if change.name == spec.budget_unit and not change.is_growth]
    if lowered and spent >= run_settings(config, **run)[spec.budget_unit]:
        return f"starts anew ({in_words(lowered)})"
    return f"goes on ({in_words(changes)})"


def unseen_changes(config: Mapping, runs: Iterable[PlannedRun]) -> str:
    """Says which results are of other settings than planned, where Snakemake cannot see it; nothing if there are none.

    It does not know results that were copied here, or made by `python -m neurozoo train`, nor what the catalogue of
    networks said.
    """
    found = {}
    for run in runs:
        result = Path(config["pathvars"]["results"], "runs", run.name, result_file(run.algo))
        if not result.exists():
            continue
        with contextlib.suppress(NeurozooError):  # a damaged file, about which others complain
            file = config_of_run(result.parent)
            changes = changed_network(read_architecture(file), run.model)
            if not record_of(result):
                changes += changed_settings(config, read_run_settings(file), **asdict(run))
            if changes:
                found[result] = f"{run.name}: {in_words(changes)}"
    if not found:
        return ""
    (result, first), count = next(iter(found.items())), len(found)
    them = "1 run has a result" if count == 1 else f"{count} runs have results"
    more = "" if count == 1 else f"; and {count - 1} more"
    return (
        f"{them} of other settings or another network than planned, and Snakemake cannot see it here, so they stay "
        f"({first}{more}). To train anew: --forcerun {result}{'' if count == 1 else ' ...'}"
    )


def runs_to_train(config: Mapping, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Leaves the runs that a plan trains: those without a result, and those whose settings have changed since."""
    return [run for run in runs if not _is_done(config, run)]


def _is_done(config: Mapping, run: PlannedRun) -> bool:
    folder = Path(config["pathvars"]["results"], "runs", run.name)
    if not (folder / result_file(run.algo)).exists():
        return False
    try:
        return not changed_settings(config, read_run_settings(config_of_run(folder)), **asdict(run))
    except NeurozooError:  # a damaged file
        return False


def _begun(run_dir: Path, budget_unit: str) -> tuple[dict[str, object], int | None]:
    """Reads with which settings a run has begun, and how much of its budget is spent; None if it has no state.

    The state says with what a training continues. `config.yaml` has the other settings.
    """
    state = run_dir / "state" / "state.json"
    if not state.exists():
        return read_run_settings(config_of_run(run_dir)), None
    settings: dict[str, object] = {}
    with contextlib.suppress(NeurozooError):
        settings = read_run_settings(config_of_run(run_dir))
    found = read_json(state, "The next training explains what to do.")
    check_format(found, state)
    identity = found.get("identity")
    if not isinstance(identity, dict):
        raise NeurozooError(f"{state} is damaged.")
    spent = found.get("progress")
    return settings | identity | {budget_unit: found.get("budget")}, spent if isinstance(spent, int) else 0


def _as_text(value: object) -> str:
    if value is None:
        return "empty"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
