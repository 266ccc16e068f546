"""Imports published genomes: each becomes a run's folder with genome and weights.

A source is parsed as numbers and brackets and never run. The folder has the same files as one of our own runs, so
freezing, rollouts, movies and evaluation treat both alike.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from neurozoo.agents.checkpoint import check_reference
from neurozoo.agents.imported_run import (
    ImportChoices,
    choose_folder,
    imported_checkpoint,
    imported_protocol,
    write_imported,
)
from neurozoo.agents.playable_agent import weights_of_seeds
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError, naming, unknown_name
from neurozoo.files import open_text, parse_json
from neurozoo.genomes.cshenton import NETWORK as CSHENTON
from neurozoo.genomes.genome import Genome, GenomeRecord, check_seeds, decode, genome_record
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Layout
from neurozoo.records.elite_lines import MARK, last_elite

MOST_BYTES = 2**26  # largest file: a genome of a million mutations takes about 20 MB
Format = Literal["auto", "genome", "seeds"]

EXPECTED = (
    "Give a genome such as (1, (2, 0.002)) or [1, [2, 0.002]], a line 'Current elite: (...)' of a log, a genome.json, "
    "or the seeds of cshenton/neuroevolution such as [4070460811, 2393459932]; or a file with one of these."
)


_NAME = re.compile(r"\A[A-Za-z_]\w*\s*=\s*(?=[(\[])")  # as in `seeds = (...)`, which the toolbox's documents show

# ---- reading


def read_text(source: str | os.PathLike) -> str:
    """Returns the text in a file, or `source` itself if it is a genome and neither a path nor the name of a file.

    Raises:
        NeurozooError: The file is missing, too large or not text.
    """
    text = os.fspath(source)
    is_path = not isinstance(source, str) or os.path.isfile(source)  # names of files may begin like genomes
    if not is_path and (_NAME.sub("", text.lstrip())[:1] in ("(", "[", "{") or MARK in text):
        return text
    try:
        with open_text(text) as file:
            if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:
                raise NeurozooError(
                    f"{text} has {size:,} bytes, but a genome has at most {MOST_BYTES:,}. If it is a log, give only "
                    f"its last line '{MARK} (...)'."
                )
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise NeurozooError(f"{text[:80]!r} cannot be read as a file ({reason}). {EXPECTED}") from error


def parse_genome(text: str, *, seeds: bool = False) -> Genome | tuple[int, ...] | Mapping:
    """Reads a genome in any of the published forms.

    Args:
        text: A tuple or list of numbers, a JSON object, or a log, of which the last line `Current elite: (...)`
            counts.
        seeds: Whether a flat list of numbers means seeds of cshenton/neuroevolution.

    Returns:
        A genome, seeds, or the JSON object (`genome_record` reads it).

    Raises:
        NeurozooError: The text has none of these forms.
    """
    if MARK in text:
        whole = last_elite(text)
        if whole is None:
            raise NeurozooError(
                f"The line {text[text.rindex(MARK) :][:80]!r} says only what is new in the genome. Give the whole log, "
                "or the genome.json of its run."
            )
        text = whole
    text = _NAME.sub("", text.strip().removeprefix("\ufeff").strip())
    if not text:
        raise NeurozooError(f"The genome is empty. {EXPECTED}")
    if seeds and re.fullmatch(r"[\[(]?[0-9,\s]+[\])]?,?", text):
        numbers = [number.strip() for number in text.strip("[](), \t\r\n").split(",")]
        if not all(re.fullmatch("[0-9]{1,20}", number) for number in numbers):
            raise NeurozooError(f"Seeds look like [4070460811, 2393459932], but got: {text[:80]}")
        return check_seeds([int(number) for number in numbers])
    if text.startswith("("):
        return Genome.from_text(text)
    try:
        value = parse_json(text)
    except ValueError as error:
        raise NeurozooError(f"This is not a genome: {text[:80]!r}. {EXPECTED}") from error
    return value if isinstance(value, dict) else Genome.from_json(value)


# ---- import


def import_genome(
    source: str | os.PathLike,
    *,
    noise: str | os.PathLike,
    format: Format = "auto",
    **choices: Unpack[ImportChoices],
) -> Path:
    """Imports a published genome as a run's folder.

    Args:
        source: A file or the text itself, in one of the forms that `parse_genome` reads.
        noise: The noise table; not opened for seeds.
        format: What a flat list of numbers means: `seeds`, a `genome`, or `auto`: seeds if the network is `cshenton`.
        **choices: See `ImportChoices`.

    Returns:
        The folder, with `config.yaml`, `genome.json` and `checkpoint.npz`.

    Raises:
        NeurozooError: The source is not a genome, does not fit the noise table, the game or the network, or the
            folder holds another agent.
    """
    if format not in get_args(Format):
        raise unknown_name("format", format, get_args(Format))
    run, model = choices.get("run", 1), choices.get("model")
    if isinstance(run, bool) or not isinstance(run, int) or run < 1:
        raise NeurozooError(f"The run should be a whole number from 1, but is {run!r}.")
    name = get_network(model).name if model is not None else None
    text = read_text(source)
    with naming("The genome" if text == os.fspath(source) else source):
        parsed = parse_genome(text, seeds=format == "seeds" or (format == "auto" and name == CSHENTON))
        record = _merged(parsed, game=choices.get("game"), model=name)
        played = imported_protocol(record, choices)
        layout = layout_of(record.game, record.model, played)
        _check_fit(record, parsed, played, layout)
        if record.seeds is not None:
            theta = weights_of_seeds(record, layout)
        else:
            assert record.genome is not None  # `_merged` refuses a file without a genome
            theta = decode(record.genome, noise=open_noise_table(noise), layout=layout)
        check_reference(None, layout, source="The genome")

    checkpoint = imported_checkpoint(theta, layout, game=record.game, run=run, protocol=played)
    folder = choose_folder(checkpoint, choices)
    origin = parsed.get("source") if isinstance(parsed, Mapping) else None
    solution: dict[str, Any] = {"genome": None if record.genome is None else record.genome.to_json()}
    if record.seeds is not None:
        solution["seeds"] = list(record.seeds)
    write_imported(folder, checkpoint, source=origin, solution=solution)
    return folder


def _merged(parsed: Genome | tuple | Mapping, *, game: str | None, model: str | None) -> GenomeRecord:
    """Merges the source with the user's arguments, which must not contradict it."""
    if isinstance(parsed, Mapping):
        given = {"game": game, "model": model}
        completed = {**{key: value for key, value in given.items() if value is not None}, **parsed}
        record = genome_record(completed, source="The genome's file")
        for kind, said, wanted in (("game", record.game, game), ("network", record.model, model)):
            if wanted is not None and wanted != said:
                raise NeurozooError(
                    f"The genome was evolved for the {kind} {said!r}, not {wanted!r}. Leave out the {kind}."
                )
        if record.genome is None and record.seeds is None:
            raise NeurozooError(
                "The file holds no genome: its run's weights do not come from the noise table and are only in the "
                "checkpoint.npz beside it. Freeze or evaluate that run's folder instead."
            )
    else:
        if game is None or model is None:
            raise NeurozooError("The genome names no game and network. Give both (--game, --model).")
        if isinstance(parsed, Genome):
            record = GenomeRecord(genome=parsed, game=game, model=model)
        else:
            record = GenomeRecord(genome=None, game=game, model=model, seeds=parsed)
    check_game(record.game)
    return record


def _check_fit(record: GenomeRecord, parsed: object, played: Protocol, layout: Layout) -> None:
    """Refuses a genome that was evolved for another number of actions or parameters."""
    if record.protocol is not None:
        evolved, available = (len(output_names(record.game, protocol)) for protocol in (record.protocol, played))
        if evolved != available:
            raise NeurozooError(
                f"The genome was evolved for {evolved} actions, but {record.game!r} has {available} under "
                f"{played.name!r} with the action set {played.action_set!r}. Use the protocol that it was evolved with."
            )
    said = parsed.get("parameters") if isinstance(parsed, Mapping) else None
    if said is not None and said != layout.parameter_count:
        raise NeurozooError(
            f"The genome was evolved for {said} parameters, but the network {record.model!r} with "
            f"{layout.num_actions} outputs has {layout.parameter_count:,}. Give the right network and game."
        )
