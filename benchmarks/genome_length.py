"""Does the work per child grow with the generations? Time to make its weights, and the bytes of its genome.

    python benchmarks/genome_length.py          a minute or two on one core; docs/results/genome_length/

A genome gets longer by a mutation per generation. Three ways to make a child's weights are measured: as workers here
make them, from the weights of its parent in memory; from the whole genome, as when a worker is new; and from seeds, as
in cshenton/neuroevolution, where every seed needs a stream of random numbers. Networks have 4 million weights: `large`,
and `cshenton` with 18 actions, as Frostbite has.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.evaluation.pinned_weights import PinnedWeights
from neurozoo.figures.style import categorical_colours, figure_theme, save_figure
from neurozoo.genomes.cshenton import decode_seeds
from neurozoo.genomes.genome import Genome, Mutation, decode
from neurozoo.genomes.noise_table import open_noise_table

FOLDER = Path("docs/results/genome_length")
NOISE = Path("results/noise/table.f32")
LENGTHS = (1, 3, 10, 30, 100, 300, 1000)
MOST_SEEDS = 30  # longer lists of seeds take minutes
REPETITIONS = 5
GAME = "frostbite"


def seconds_of(work: Callable[[], object], *, repetitions: int = REPETITIONS) -> float:
    """Returns the shortest processor time of some repetitions."""
    times = []
    for _ in range(repetitions):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def measure() -> pd.DataFrame:
    """Returns columns length, how, seconds, and bytes of the genome as text."""
    noise, layout = open_noise_table(NOISE, verify=False), layout_of(GAME, "large", protocol_of(GAME))
    most, rng = len(noise) - layout.parameter_count, np.random.default_rng(0)
    rows = []
    decode_seeds([1], 18)  # TensorFlow starts for the first weights
    with ThreadPoolExecutor(1) as threads:
        for length in LENGTHS:
            genome = Genome(int(rng.integers(most)))
            for _ in range(length):
                genome = Genome(genome.initial, (*genome.mutations, Mutation(int(rng.integers(most)), 0.002)))
            weights = PinnedWeights(noise, layout)
            weights.pin([genome.parent], threads)
            seeds = rng.integers(2**32, size=length).tolist()
            whole = len(genome.to_text())
            rows += [
                (length, "parent's weights", seconds_of(weights.maker(genome)), np.nan),
                (
                    length,
                    "whole genome",
                    seconds_of(partial(decode, genome, noise=noise, layout=layout)),
                    whole,
                ),
            ]
            if length <= MOST_SEEDS:
                seconds = seconds_of(partial(decode_seeds, seeds, 18), repetitions=1)
                rows.append((length, "seeds, as in cshenton's code", seconds, len(json.dumps(seeds))))
    return pd.DataFrame(rows, columns=["length", "how", "seconds", "bytes"])


def draw(table: pd.DataFrame) -> None:
    """Draws the seconds over the lengths."""
    figure = (
        p9.ggplot(table, p9.aes("length", "seconds", colour="how"))
        + p9.geom_line(size=1.1)
        + p9.geom_point(size=2)
        + p9.scale_x_log10()
        + p9.scale_y_log10()
        + p9.labs(
            title="A child costs the same in every generation",
            x="Mutations of the genome",
            y="Processor time for the weights of a child (s)",
            colour="made from",
        )
        + p9.scale_colour_manual(values=categorical_colours(table["how"].nunique()))
        + figure_theme((7.0, 4.4), has_legend=True)
    )
    save_figure(figure, [FOLDER / "genome_length.png"])


def main() -> None:
    """Measures, and writes table and figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    table = measure()
    table.round(6).to_csv(FOLDER / "genome_length.csv", index=False)
    draw(table)
    print(table.pivot(index="length", columns="how", values=["seconds", "bytes"]).to_string())


if __name__ == "__main__":
    main()
