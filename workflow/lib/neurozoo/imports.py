"""Genomes from elsewhere: a published one becomes a run's folder, and any genome becomes plain weights.

What comes in is read as numbers and brackets, never run. What goes out has the files of a run of ours, so that
freezing, rollouts, movies and evaluation need not know where an agent comes from.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import yaml

from neurozoo.architectures import get_network
from neurozoo.cshenton import NETWORK as CSHENTON
from neurozoo.cshenton import PROTOCOL as CSHENTON_PROTOCOL
from neurozoo.cshenton import decode_seeds
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import write_json, write_text, written_whole
from neurozoo.games import Protocol, check_game, layout_of, output_names, protocol_of
from neurozoo.genomes import Genome, GenomeRecord, Weights, check_seeds, decode, genome_record, read_genome
from neurozoo.networks import Layout
from neurozoo.noise import open_noise_table
from neurozoo.provenance import provenance
from neurozoo.training.checkpoint import Checkpoint, check_reference, read_checkpoint, write_checkpoint

ALGO = "imported"  # the folder of imported runs, beside those of the algorithms
MOST_BYTES = 2**26  # of a file: a genome of a million mutations takes about 20 MB
FORMATS = ("auto", "genome", "seeds")
Format = Literal["auto", "genome", "seeds"]

EXPECTED = (
    "Give a genome such as (1, (2, 0.002)) or [1, [2, 0.002]], a line 'Current elite: (...)' of a log, a genome.json, "
    "or the seeds of cshenton/neuroevolution such as [4070460811, 2393459932]; or a file with one of these."
)
_MARK = "Current elite:"  # of the published log


@dataclass(frozen=True)
class Agent:
    """Who plays, whatever its weights come from.

    Attributes:
        genome: A recipe for weights, or the weights themselves.
        game: Game id.
        model: Network name.
        protocol: How its episodes are played.
        reference: Observations for the statistics of virtual batch norm; None for other networks.
    """

    genome: Genome
    game: str
    model: str
    protocol: Protocol
    reference: np.ndarray | None = None


# ---- reading


def read_text(source: str | os.PathLike) -> str:
    """Returns the text that a file holds, or `source` itself if it is a genome and no path.

    Raises:
        NeurozooError: There is no such file, it is too large, or it is no text.
    """
    text = os.fspath(source)
    if text.lstrip()[:1] in ("(", "[", "{") or _MARK in text:
        return text
    try:
        size = Path(text).stat().st_size
        if size > MOST_BYTES:
            raise NeurozooError(
                f"{text} has {size:,} bytes, but a genome has at most {MOST_BYTES:,}. Of a longer log, give the last "
                f"line '{_MARK} (...)'."
            )
        return Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise NeurozooError(f"{text[:80]!r} cannot be read as a file ({reason}). {EXPECTED}") from error


def parse_genome(text: str, *, seeds: bool = False) -> Genome | tuple[int, ...] | Mapping:
    """Reads a genome in any of the published forms.

    Args:
        text: A tuple or list of numbers, a log with lines `Current elite: (...)`, of which the last counts, or a
            JSON object.
        seeds: Takes a flat list of numbers for the seeds of cshenton/neuroevolution.

    Returns:
        A genome, seeds, or the JSON object, which `genome_record` reads.

    Raises:
        NeurozooError: It is none of these.
    """
    if _MARK in text:
        text = text[text.rindex(_MARK) + len(_MARK) :].lstrip().partition("\n")[0]
    text = text.strip().removeprefix("\ufeff").strip()
    if not text:
        raise NeurozooError(f"The genome is empty. {EXPECTED}")
    if seeds and re.fullmatch(r"[\[(]?[0-9,\s]+[\])]?,?", text):
        numbers = [number.strip() for number in text.strip("[](), \t\r\n").split(",")]
        if not all(re.fullmatch("[0-9]{1,20}", number) for number in numbers):
            raise NeurozooError(f"Seeds look like [4070460811, 2393459932], but this came: {text[:80]}")
        return check_seeds([int(number) for number in numbers])
    if text.startswith("("):
        return Genome.from_text(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NeurozooError(f"This is no genome: {text[:80]!r}. {EXPECTED}") from error
    return value if isinstance(value, dict) else Genome.from_json(value)


def read_agent(path: str | os.PathLike) -> Agent:
    """Reads who plays from a `genome.json`; weights that no genome tells come from the `checkpoint.npz` beside it.

    Args:
        path: The file, or the folder of a run.

    Raises:
        NeurozooError: A file is missing or damaged.
    """
    path = Path(path)
    path = path / "genome.json" if path.is_dir() else path
    record = read_genome(path)
    protocol = _chosen_protocol(record, None, {})
    layout = layout_of(record.game, record.model, protocol)
    if record.genome is not None and not layout.needs_reference:
        return Agent(record.genome, record.game, record.model, protocol)
    if record.seeds is not None:
        return Agent(Genome(Weights.of(_weights_of_seeds(record, layout))), record.game, record.model, protocol)
    if not (path.parent / "checkpoint.npz").exists():
        raise NeurozooError(
            f"{path} does not say the agent's weights, and there is no checkpoint.npz beside it, which would hold "
            "them. Copy both files from one run."
        )
    checkpoint = read_checkpoint(path.parent / "checkpoint.npz")
    if (record.game, record.model) != (checkpoint.game, checkpoint.model):
        raise NeurozooError(
            f"{path.parent} holds a genome for {record.game}/{record.model}, but weights for "
            f"{checkpoint.game}/{checkpoint.model}. Copy both files from one run, or train it again."
        )
    genome = record.genome or Genome(Weights.of(checkpoint.theta))
    return Agent(genome, record.game, record.model, checkpoint.protocol, checkpoint.reference)


def play_as(agent: Agent, *, game: str | None = None, protocol: str | None = None, **choices: str | None) -> Agent:
    """Returns the agent as a player of another game or by another protocol.

    Args:
        agent: Who plays.
        game: Game id; None for the agent's own.
        protocol: Name; None for the agent's own, or for another game, that game's own.
        choices: `action_set`, `observation` and `start_state` as in `protocol_of`.

    Raises:
        NeurozooError: No such game or protocol, or the agent's weights do not fit what they show and take.
    """
    own = agent.protocol if game in (None, agent.game) else None
    game = check_game(game or agent.game)
    played = _chosen_protocol(GenomeRecord(agent.genome, game, agent.model, protocol=own), protocol, choices)
    initial = agent.genome.initial
    needed = layout_of(game, agent.model, played).parameter_count
    if isinstance(initial, Weights) and len(initial.theta) != needed:
        raise NeurozooError(
            f"The agent has {len(initial.theta):,} weights, but {agent.model!r} needs {needed:,} to play {game!r} "
            f"under {played.name!r}. Leave game, protocol and action set out to have it play what it was made for."
        )
    return replace(agent, game=game, protocol=played)


def _weights_of_seeds(record: GenomeRecord, layout: Layout) -> np.ndarray:
    if record.model != CSHENTON:
        raise NeurozooError(f"Seeds are genomes for the network {CSHENTON!r}; they mean nothing for {record.model!r}.")
    theta = decode_seeds(record.seeds, layout.num_actions)
    if len(theta) != layout.parameter_count:
        raise NeurozooError(
            f"The seeds make {len(theta):,} weights for observations of 210 x 160 x 3, but {record.game!r} under this "
            f"protocol needs {layout.parameter_count:,}. Use the protocol {CSHENTON_PROTOCOL!r}, with which they were "
            "evolved, and a game with screens of this size."
        )
    return theta


# ---- import


def import_genome(
    source: str | os.PathLike,
    *,
    noise: str | os.PathLike,
    game: str | None = None,
    model: str | None = None,
    run: int = 1,
    protocol: str | None = None,
    action_set: str | None = None,
    observation: str | None = None,
    start_state: str | None = None,
    format: Format = "auto",
    runs: str | os.PathLike = "results/runs",
    run_dir: str | os.PathLike | None = None,
) -> Path:
    """Makes a run's folder of a genome from elsewhere.

    Args:
        source: A file or the text itself, in one of the forms that `parse_genome` reads; or a frozen graph, `.pb`, see
            `neurozoo.zoo.graph_import`, which is frozen at once.
        noise: The noise table; not opened for seeds.
        game: Game id; may be left out if the source names it.
        model: Network, by our name or the published one; may be left out if the source names it.
        run: Number of the run.
        protocol: How it is to be played; None for what the source says, or else the network's or game's own.
        action_set: As in `protocol_of`.
        observation: As in `protocol_of`.
        start_state: As in `protocol_of`.
        format: What a flat list of numbers is: `seeds`, a `genome`, or `auto`: seeds for the network `cshenton`.
        runs: Folder of all runs.
        run_dir: Folder of this run; None for `runs`/imported/GAME/MODEL/RUN.

    Returns:
        The folder, with `config.yaml`, `genome.json` and `checkpoint.npz`.

    Raises:
        NeurozooError: The source is no genome, does not fit the noise table, the game or the network, or the folder
            holds another agent.
    """
    if os.fspath(source).endswith(".pb"):
        from neurozoo.zoo.graph_import import import_graph

        choices = {"protocol": protocol, "action_set": action_set, "observation": observation}
        return import_graph(
            source, game=game, model=model, run=run, start_state=start_state, runs=runs, run_dir=run_dir, **choices
        )
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    if isinstance(run, bool) or not isinstance(run, int) or run < 1:
        raise NeurozooError(f"A run's number is a whole number from 1, but {run!r} came.")
    name = get_network(model).name if model is not None else None
    parsed = parse_genome(read_text(source), seeds=format == "seeds" or (format == "auto" and name == CSHENTON))
    record = _joined(parsed, game=game, model=name)
    choices = {"action_set": action_set, "observation": observation, "start_state": start_state}
    played = _chosen_protocol(record, protocol, choices)
    layout = layout_of(record.game, record.model, played)
    _check_fit(record, parsed, played, layout)
    if record.seeds is not None:
        theta = _weights_of_seeds(record, layout)
    else:
        theta = decode(record.genome, noise=open_noise_table(noise), layout=layout)
    check_reference(None, layout, source="A genome from elsewhere")

    identity = {"algo": ALGO, "game": record.game, "model": record.model, "run": run}
    folder = Path(run_dir) if run_dir is not None else Path(runs, *map(str, identity.values()))
    checkpoint = Checkpoint(theta=theta, protocol=played, num_actions=layout.num_actions, **identity)
    check_same_agent(folder, checkpoint)
    facts = {
        **identity,
        **played.facts,
        "parameters": layout.parameter_count,
    }
    origin = parsed.get("source") if isinstance(parsed, Mapping) else None
    settings = {**facts, "source": origin, "protocol_record": asdict(played), **provenance()}
    write_text(folder / "config.yaml", yaml.safe_dump(settings, sort_keys=False))
    written = {"genome": None if record.genome is None else record.genome.to_json()}
    if record.seeds is not None:
        written["seeds"] = list(record.seeds)
    write_json(folder / "genome.json", {**facts, "source": origin, **written})
    write_checkpoint(folder / "checkpoint.npz", checkpoint)
    return folder


def check_same_agent(folder: Path, checkpoint: Checkpoint) -> None:
    """Keeps an import from slipping another agent under the evaluation, rollouts and movies of the one before it.

    Snakemake deletes `checkpoint.npz` before it runs a rule again, and makes anew what is made of it, so that a changed
    configuration passes.

    Raises:
        NeurozooError: The folder holds another agent, or a damaged one.
    """
    path = folder / "checkpoint.npz"
    if not path.exists():
        return
    there = read_checkpoint(path)
    expected, came = _described(checkpoint), _described(there)
    if expected != came:
        raise NeurozooError(
            f"{folder} should be free or hold the agent that is imported, {expected}, but it holds {came}. Number the "
            "new one otherwise (--run N), or delete the folder with all that was made of its agent."
        )


def _described(checkpoint: Checkpoint) -> str:
    names = (checkpoint.algo, checkpoint.game, checkpoint.model, str(checkpoint.run))
    played = " ".join(filter(None, checkpoint.protocol.facts.values()))
    digest = hashlib.sha256(np.ascontiguousarray(checkpoint.theta)).hexdigest()
    return f"{'/'.join(names)} ({played}; SHA-256 of the weights {digest[:16]})"


def _joined(parsed: Genome | tuple | Mapping, *, game: str | None, model: str | None) -> GenomeRecord:
    """Joins what the source says with what the user says; the two may not contradict each other."""
    if isinstance(parsed, Mapping):
        wanted = {"game": game, "model": model}
        said = {key: value for key, value in wanted.items() if value is not None} | parsed
        record = genome_record(said, source="The genome's file")
        for kind, said, wanted in (("game", record.game, game), ("network", record.model, model)):
            if wanted is not None and wanted != said:
                raise NeurozooError(
                    f"The genome was evolved for the {kind} {said!r}, but {wanted!r} was asked for. Leave it out."
                )
        if record.genome is None and record.seeds is None:
            raise NeurozooError(
                "The file holds no genome: its run's weights are no scaled noise, and their only record is the "
                "checkpoint.npz beside it. Freeze or evaluate that run's folder instead."
            )
    else:
        if game is None or model is None:
            raise NeurozooError("The genome does not say what it is for: give a game and a network (--game, --model).")
        is_genome = isinstance(parsed, Genome)
        record = GenomeRecord(
            genome=parsed if is_genome else None, game=game, model=model, seeds=None if is_genome else parsed
        )
    check_game(record.game)
    return record


def _chosen_protocol(record: GenomeRecord, name: str | None, choices: Mapping[str, str | None]) -> Protocol:
    """Finds how an agent is played: as asked for, as its file says, or as its network or game usually is."""
    if record.protocol is not None and name in (None, record.protocol.name):
        kept = {key: getattr(record.protocol, key) or None for key in ("action_set", "observation", "start_state")}
        return protocol_of(
            record.game, record.protocol.name, **kept | {k: v for k, v in choices.items() if v is not None}
        )
    if name is None and record.seeds is not None:
        name = CSHENTON_PROTOCOL
    return protocol_of(record.game, name, **choices)


def _check_fit(record: GenomeRecord, parsed: object, played: Protocol, layout: Layout) -> None:
    """Refuses a genome whose outputs or weights would be other ones than those that were evolved."""
    if record.protocol is not None:
        evolved, asked = (len(output_names(record.game, protocol)) for protocol in (record.protocol, played))
        if evolved != asked:
            raise NeurozooError(
                f"The genome was evolved for {evolved} actions, but {record.game!r} has {asked} under "
                f"{played.name!r} with the action set {played.action_set!r}. Use the protocol that it was evolved with."
            )
    said = parsed.get("parameters") if isinstance(parsed, Mapping) else None
    if said is not None and said != layout.parameter_count:
        raise NeurozooError(
            f"The genome was evolved for {said} parameters, but the network {record.model!r} with "
            f"{layout.num_actions} outputs has {layout.parameter_count:,}. Give the network and the game it is for."
        )


# ---- export


def export_weights(path: str | os.PathLike, output: str | os.PathLike, *, noise: str | os.PathLike) -> dict[str, tuple]:
    """Writes an agent's weights as plain arrays, for programs that know nothing of genomes.

    Args:
        path: A `genome.json`, a `checkpoint.npz`, or the folder of a run.
        output: The `.npz` to write: `conv1/w` of shape (height, width, in, out), `conv1/b`, ... in the order of the
            layers, and `reference` for virtual batch norm. They can be opened without pickle.
        noise: The noise table; opened only if the weights have to be decoded.

    Returns:
        The arrays' shapes by name.

    Raises:
        NeurozooError: A file is missing or damaged, or `output` is no `.npz`.
    """
    path, output = Path(path), Path(output)
    if output.suffix != ".npz":
        raise NeurozooError(f"Weights are written as .npz, but {output} was asked for.")
    if path.is_dir():
        path = path / "checkpoint.npz"
    if path.suffix == ".npz":
        checkpoint = read_checkpoint(path)
        layout, theta, reference = checkpoint.layout, checkpoint.theta, checkpoint.reference
    else:
        agent = read_agent(path)
        layout, reference = layout_of(agent.game, agent.model, agent.protocol), agent.reference
        if isinstance(agent.genome.initial, Weights) and not agent.genome.mutations:
            theta = agent.genome.initial.theta
        else:
            theta = decode(agent.genome, noise=open_noise_table(noise), layout=layout)
    arrays = layout.split(theta)
    if reference is not None:
        arrays["reference"] = reference
    with written_whole(output) as temporary:
        np.savez(temporary, **arrays)
    return {name: array.shape for name, array in arrays.items()}
