"""Imports agents from other programs: the one entry point, which chooses the reader by the kind of file."""

import os
from pathlib import Path

from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.graph_import import import_graph


def import_agent(source: str | os.PathLike, *, noise: str | os.PathLike, **choices) -> Path:
    """Imports an agent as a run's folder.

    Args:
        source: A frozen graph (`.pb`, see `import_graph`), or anything that `import_genome` reads.
        noise: The noise table; not opened for a graph.
        choices: The other arguments of `import_genome`; a graph ignores `format`.

    Returns:
        The run's folder.

    Raises:
        NeurozooError: `import_graph` or `import_genome` refuses the source.
    """
    if os.fspath(source).endswith(".pb"):
        choices.pop("format", None)
        return import_graph(source, **choices)
    return import_genome(source, noise=noise, **choices)
