"""Imports agents from other programs: the one entry point, which chooses the reader by the kind of file."""

import os
from pathlib import Path

from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.graph_import import import_graph
from neurozoo.agents.weights_import import import_weights

READERS = {".pb": import_graph, ".npz": import_weights}  # of files; whatever else there is must be a genome


def import_agent(source: str | os.PathLike, *, noise: str | os.PathLike, **choices) -> Path:
    """Imports an agent as a run's folder.

    Args:
        source: A frozen graph (`.pb`, see `import_graph`), arrays of weights (`.npz`, see `import_weights`), or
            anything that `import_genome` reads.
        noise: The noise table; opened for genomes only.
        choices: The other arguments of `import_genome`; graphs and arrays ignore `format`.

    Returns:
        The run's folder.

    Raises:
        NeurozooError: The reader of its kind refuses the source.
    """
    if read := READERS.get(Path(source).suffix):
        choices.pop("format", None)
        return read(source, **choices)
    return import_genome(source, noise=noise, **choices)
