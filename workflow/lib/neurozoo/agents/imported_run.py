"""The folder of an agent that was not trained in it: imported, or unpacked from the zoo."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TypedDict

import numpy as np
import yaml

from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json, write_text
from neurozoo.machine import provenance
from neurozoo.records.format import FORMAT, KEY
from neurozoo.records.run_result import write_run_result


class ImportChoices(TypedDict, total=False):
    """What a user may say about an agent to import."""

    game: str | None  # game id; if left out, the source has to name it
    model: str | None  # network, by our name or the published one; if left out, the source has to name it
    run: int  # number of the run
    protocol: str | None  # protocol name; if left out, that of the source, or else the network's or game's default
    action_set: str | None  # as in `protocol_of`
    observation: str | None  # as in `protocol_of`
    start_state: str | None  # as in `protocol_of`
    runs: str | os.PathLike  # folder of all runs
    run_dir: str | os.PathLike | None  # folder of this run; if left out, `runs`/imported/GAME/MODEL/RUN


def choose_folder(checkpoint: Checkpoint, choices: ImportChoices) -> Path:
    """Returns the folder for an imported agent, after `check_same_agent`."""
    folder = Path(choices.get("run_dir") or Path(choices.get("runs", "results/runs"), checkpoint.title))
    check_same_agent(folder, checkpoint)
    return folder


def write_imported(folder: Path, checkpoint: Checkpoint, *, source: object, solution: Mapping) -> None:
    """Writes `config.yaml`, `genome.json`, `checkpoint.npz` and `result.json` of an imported agent.

    `source` says where it comes from, if that is known; `solution` is what `genome.json` says of its genome: `genome`,
    which may be None, and perhaps `seeds`.
    """
    protocol = checkpoint.protocol
    facts = {
        **{name: getattr(checkpoint, name) for name in ("algo", "game", "model", "run")},
        **protocol.facts,
        "parameters": checkpoint.layout.parameter_count,
        "source": source,
    }
    settings = {KEY: FORMAT, **facts, "protocol_record": asdict(protocol), **provenance()}
    write_text(folder / "config.yaml", yaml.safe_dump(settings, sort_keys=False))
    write_json(folder / "genome.json", {**facts, **solution})
    write_checkpoint(folder / "checkpoint.npz", checkpoint)
    write_run_result(folder, kind="network", facts=facts, files=["checkpoint.npz", "genome.json"])


def check_same_agent(folder: Path, checkpoint: Checkpoint) -> None:
    """Refuses to import an agent into a folder that holds the evaluation, rollouts and movies of another one.

    A changed configuration passes: Snakemake deletes `checkpoint.npz` before it reruns the rule, and then makes
    everything that depends on it again.

    Raises:
        NeurozooError: The folder holds another agent, a run that was trained, or a damaged checkpoint.
    """
    path = folder / "checkpoint.npz"
    if any((folder / name).exists() for name in ("state", "log.jsonl")):
        raise NeurozooError(
            f"{folder} should be empty or hold an imported agent, but a run trains there or has trained. Give another "
            "folder (--run-dir), or another number (--run)."
        )
    if not path.exists():
        return
    imported, present = _described(checkpoint), _described(read_checkpoint(path))
    if imported != present:
        raise NeurozooError(
            f"{folder} should be empty or hold the imported agent, {imported}, but it holds {present}. Give the new "
            "agent another number (--run N), or delete the folder and everything made from its agent."
        )


def _described(checkpoint: Checkpoint) -> str:
    played = " ".join(filter(None, checkpoint.protocol.facts.values()))
    digest = hashlib.sha256(np.ascontiguousarray(checkpoint.theta).data).hexdigest()
    return f"{checkpoint.title} ({played}; SHA-256 of the weights {digest[:16]})"
