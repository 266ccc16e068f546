"""Imports genomes: each becomes a run's folder with genome and weights.

The folder has the same files as one of our own runs, so freezing, rollouts, movies and evaluation treat both alike.
"""

import os
from pathlib import Path
from typing import Any, Unpack

from neurozoo.agents.checkpoint import Checkpoint, check_reference
from neurozoo.agents.imported_run import ImportChoices, choose_folder, write_imported
from neurozoo.agents.playable_agent import IMPORTED, chosen_protocol, weights_of_seeds
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.genomes.reading import Format, GenomeRecord, check_parameters, naming_source, read_genome
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import Layout


def import_genome(
    source: str | os.PathLike,
    *,
    noise: str | os.PathLike,
    format: Format = "auto",
    **choices: Unpack[ImportChoices],
) -> Path:
    """Imports a published genome as a run's folder, which is returned: `config.yaml`, `genome.json`, `checkpoint.npz`.

    Source and format are as in `read_genome`; seeds need no noise.

    Raises:
        NeurozooError: The source is not a genome, does not fit the noise table, the game or the network, or the
            folder holds another agent.
    """
    run = choices.get("run", 1)
    if isinstance(run, bool) or not isinstance(run, int) or run < 1:
        raise NeurozooError(f"The run should be a whole number from 1, but is {run!r}.")
    game, model = choices.get("game"), choices.get("model")
    with naming_source(source):
        record = read_genome(source, game=game, model=model, format=format)
        _check_same(record, game=game, model=model)
        played = chosen_protocol(record, choices)
        layout = layout_of(record.game, record.model, played)
        _check_fit(record, played, layout)
        if record.seeds is not None:
            theta = weights_of_seeds(record, layout)
        else:
            assert record.genome is not None  # `_check_same` refuses a file without a genome
            theta = decode(record.genome, noise=open_noise_table(noise), layout=layout)
        check_reference(None, layout, source="The genome")

    checkpoint = Checkpoint(theta, IMPORTED, record.game, record.model, run, played, layout.num_actions)
    folder = choose_folder(checkpoint, choices)
    solution: dict[str, Any] = {"genome": None if record.genome is None else record.genome.to_json()}
    if record.seeds is not None:
        solution["seeds"] = list(record.seeds)
    write_imported(folder, checkpoint, source=record.facts.get("source"), solution=solution)
    return folder


def _check_same(record: GenomeRecord, *, game: str | None, model: str | None) -> None:
    """Refuses a source that contradicts the user, or holds no genome."""
    wanted_model = None if model is None else get_network(model).name
    for kind, said, wanted in (("game", record.game, game), ("network", record.model, wanted_model)):
        if wanted not in (None, said):
            raise NeurozooError(
                f"The genome was evolved for the {kind} {said!r}, not {wanted!r}. Leave out the {kind}."
            )
    if record.genome is None and record.seeds is None:
        raise NeurozooError(
            "The file holds no genome: its run's weights do not come from the noise table and are only in the "
            "checkpoint.npz beside it. Freeze or evaluate that run's folder instead."
        )


def _check_fit(record: GenomeRecord, played: Protocol, layout: Layout) -> None:
    """Refuses a genome that was evolved for another number of actions or parameters."""
    if record.protocol is not None:
        evolved, available = (len(output_names(record.game, protocol)) for protocol in (record.protocol, played))
        if evolved != available:
            raise NeurozooError(
                f"The genome was evolved for {evolved} actions, but {record.game!r} has {available} under "
                f"{played.name!r} with the action set {played.action_set!r}. Use the protocol that it was evolved with."
            )
    check_parameters(record, layout)
