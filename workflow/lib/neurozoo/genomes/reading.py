"""The one reader of genomes: from a run's folder, a file, or the text itself, in every published form."""

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError, naming, unknown_name
from neurozoo.files import open_text, parse_json
from neurozoo.genomes.cshenton import NETWORK as CSHENTON
from neurozoo.genomes.elite_lines import MARK, last_elite
from neurozoo.genomes.genome import Genome, check_seeds
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Layout

MOST_BYTES = 2**26  # largest file: a genome of a million mutations takes about 20 MB
Format = Literal["auto", "genome", "seeds"]

EXPECTED = (
    "Give a genome such as (1, (2, 0.002)) or [1, [2, 0.002]], a line 'Current elite: (...)' of a log, a genome.json, "
    "or the seeds of cshenton/neuroevolution such as [4070460811, 2393459932]; a file with one of these; or a run's "
    "folder."
)
_NAME = re.compile(r"\A[A-Za-z_]\w*\s*=\s*(?=[(\[])")  # as in `seeds = (...)`, which the toolbox's documents show


@dataclass(frozen=True)
class GenomeRecord:
    """A genome, and what its source or its user says about it."""

    genome: Genome | None  # None if the weights come from seeds or are only in a `checkpoint.npz`
    game: str
    model: str  # network name such as `large`
    seeds: tuple[int, ...] | None = None  # published ones of cshenton/neuroevolution
    protocol: Protocol | None = None  # None if the source does not say how its episodes are played
    facts: Mapping[str, Any] = field(default_factory=dict)  # the JSON object that holds the genome; else empty


def read_genome(
    source: str | os.PathLike, *, game: str | None = None, model: str | None = None, format: Format = "auto"
) -> GenomeRecord:
    """Reads a genome. Whatever asks for one takes these sources and forms.

    Args:
        source: The folder of a run, a file, or the text itself, in one of the forms that `parse_genome` reads. It is
            parsed as numbers and brackets and never run.
        game: Game that it was evolved for, where the source does not say it.
        model: Network, by our name or the published one, where the source does not say it.
        format: What a flat list of numbers means: `seeds`, a `genome`, or `auto`: seeds if `model` is `cshenton`.

    Raises:
        NeurozooError: The source is missing or no genome, or a game, network or protocol is unknown or missing.
    """
    if format not in get_args(Format):
        raise unknown_name("format", format, get_args(Format))
    name = None if model is None else get_network(model).name
    text = read_text(source)
    with naming_source(source):
        found = parse_genome(text, seeds=format == "seeds" or (format == "auto" and name == CSHENTON))
        if isinstance(found, Mapping):
            record = _record(found, game=game, model=name)
        elif game is None or name is None:
            raise NeurozooError("The genome names no game and network. Give both (--game, --model).")
        elif isinstance(found, Genome):
            record = GenomeRecord(found, game, name)
        else:
            record = GenomeRecord(None, game, name, seeds=found)
        check_game(record.game)
        return record


def is_text(source: str | os.PathLike) -> bool:
    """Whether a source is a genome itself, and neither a path nor the name of a file."""
    if not isinstance(source, str) or os.path.exists(source):  # names of files may begin like genomes
        return False
    begin = _NAME.sub("", source.lstrip("\ufeff \t\r\n"))
    return bool(re.match(r"[(\[{]|[0-9]+\s*,", begin)) or MARK in source


def naming_source(source: str | os.PathLike) -> contextlib.AbstractContextManager[None]:
    """Puts the name of a source before the sentence of an error, as `naming` does, unless it is a text."""
    return contextlib.nullcontext() if is_text(source) else naming(source)


def read_text(source: str | os.PathLike) -> str:
    """Returns the text in a file or in the `genome.json` of a folder, or `source` itself if it is a genome.

    Raises:
        NeurozooError: The file is missing, too large or not text.
    """
    text = os.fspath(source)
    if is_text(source):
        return text
    text = os.path.join(text, "genome.json") if os.path.isdir(text) else text
    if os.path.basename(text) == "log.jsonl":
        raise NeurozooError(f"{text} has the numbers of a run. Give the run's folder, or its train.log.")
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

    They are a tuple or list of numbers, a JSON object, or a log, of which the last line `Current elite: (...)` counts.
    With `seeds`, a flat list of numbers means seeds of cshenton/neuroevolution.

    Returns:
        A genome, seeds, or the JSON object.

    Raises:
        NeurozooError: The text has none of these forms.
    """
    if MARK in text and not text.lstrip("\ufeff \t\r\n").startswith("{"):  # a text in a file may mention it
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
        problem = f"This is damaged JSON ({error})" if text.startswith("{") else "This is not a genome"
        raise NeurozooError(f"{problem}: {text[:80]!r}. {EXPECTED}") from error
    return value if isinstance(value, dict) else Genome.from_json(value)


def check_parameters(record: GenomeRecord, layout: Layout) -> None:
    """Refuses a genome whose source says that it was evolved for a network of another size."""
    if (said := record.facts.get("parameters")) not in (None, layout.parameter_count):
        raise NeurozooError(
            f"The genome was evolved for {said} parameters, but the network {record.model!r} with "
            f"{layout.num_actions} outputs has {layout.parameter_count:,}. Give the right network and game."
        )


def _record(facts: Mapping[str, Any], *, game: str | None, model: str | None) -> GenomeRecord:
    """Reads the object in a `genome.json`, completed by what the user says."""
    given = {"game": game, "model": model}
    found = {key: value for key, value in given.items() if value is not None} | dict(facts)
    needed = {"game", "model"} if "seeds" in found else {"game", "model", "genome"}
    if missing := needed - set(found):
        raise NeurozooError(
            f"The genome's file lacks {', '.join(sorted(missing))}. A genome file has game, model and genome."
        )
    genome, seeds, protocol = (found.get(key) for key in ("genome", "seeds", "protocol"))
    choices = {key: found.get(key) or None for key in ("action_set", "observation", "start_state")}
    return GenomeRecord(
        genome=None if genome is None else Genome.from_json(genome),
        game=found["game"],
        model=get_network(found["model"]).name,
        seeds=None if seeds is None else check_seeds(seeds),
        protocol=None if protocol is None else protocol_of(found["game"], protocol, **choices),
        facts=facts,
    )
