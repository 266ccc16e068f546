"""Imports agents from other programs: the one entry point, which chooses the reader by the kind of file."""

import os
from pathlib import Path
from typing import Unpack

from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.graph_import import import_graph
from neurozoo.agents.imported_run import ImportChoices
from neurozoo.agents.weights_import import SUFFIXES, import_weights
from neurozoo.genomes.reading import Format, is_text


def import_agent(
    source: str | os.PathLike, *, noise: str | os.PathLike, format: Format = "auto", **choices: Unpack[ImportChoices]
) -> Path:
    """Imports an agent as a run's folder, and returns the folder.

    The source is a frozen graph (`.pb`, see `import_graph`), arrays of weights (`.npz`, see `import_weights`), or
    anything that `import_genome` reads; only that needs `noise` and `format`.

    Raises:
        NeurozooError: The reader of its kind refuses the source.
    """
    suffix = "" if is_text(source) else Path(source).suffix
    if suffix == ".pb":
        return import_graph(source, **choices)
    if suffix in SUFFIXES:
        return import_weights(source, **choices)
    return import_genome(source, noise=noise, format=format, **choices)
