"""Titles of result files on the pages, and which files the pages show; unknown files keep their own names."""

from collections.abc import Sequence

# A file's pattern, relative to the folder it belongs to, and its title. {} stands for what the asterisk matched. The
# page shows files in this order.
Titles = Sequence[tuple[str, str]]

MOVIES: Titles = (
    ("activation.mp4", "Activations of every layer"),
    ("landscape.mp4", "The landscape, cycle by cycle"),
    ("game.mp4", "The game"),
    ("layer_*.mp4", "Layer {}"),
    ("generations.mp4", "Generations side by side"),
    ("archive.mp4", "The archive, iteration after iteration"),
    ("what_if/*.mp4", "What if: {}"),
    ("*.mp4", "{}"),
)
GRIDS: Titles = (("*.mp4", "All agents side by side"),)
PICTURES: Titles = (
    ("heatmap.png", "Archive"),
    ("phases.png", "Phases: random play, training, tests"),
    ("lineage.png", "Lineage"),
    ("probes.png", "Probes: what layers tell of the game, and what the agent uses"),
    ("sparse_*.png", "Sparse features of {}"),
    ("what_if/grid.png", "What if: other actions at some moments"),
    ("filters/weights_*.png", "Weights of {}"),
    ("filters/patches_*.png", "What {} responds to"),
    ("filters/synthetic_*.png", "Synthetic inputs for {}"),
    ("filters/inversion_*.png", "Feature inversion of {}"),
    ("filters/guided_*.png", "Guided backpropagation from {}"),
    ("filters/attribution.png", "Attribution of the chosen actions"),
    ("filters/saliency.png", "Saliency of the chosen actions, and which methods pass its tests"),
    ("temporal_lean.png", "Temporal lean of the first layer"),
    ("learning_curves.png", "Learning curves"),
    ("archives.png", "Archives: QD score and coverage"),
    ("*.png", "{}"),
)
PAGES: Titles = (
    ("play.html", "The agent plays in your browser, in worlds that you can change"),
    ("causal.html", "What decides: the score when parts of the network are ablated"),
    ("archive.html", "Archive: the level in every cell, interactive"),
    ("filters/guided.html", "Guided backpropagation of all convolutions"),
    ("embedding.html", "Embedding, interactive"),
    ("population.html", "Populations in behaviour space, interactive"),
    ("provenance.html", "Provenance"),
    ("*.html", "{}"),
)
TABLES: Titles = (
    ("scores.csv", "Scores with intervals"),
    ("archives.csv", "Archives: QD score and coverage, reported and corrected"),
    ("archive_tests.csv", "Archives: statistical tests"),
    ("statistics.csv", "Statistics over runs and games"),
    ("imported_scores.csv", "Scores of imported genomes"),
    ("metrics.csv", "All reports of all runs"),
    ("*.csv", "{}"),
)
# Files of a run that are neither movies nor pictures nor pages.
RUN_FILES: Titles = (
    ("loop.webp", "Ten seconds that repeat, for a README or a link preview"),
    ("config.yaml", "All settings, with version and commit"),
    ("metrics.csv", "Every report as a table"),
    ("phases.csv", "Phases, in the columns of simple_dqn"),
    ("episodes.csv", "Every game of training"),
    ("evaluation.json", "Episodes of the result"),
    ("test.json", "Episodes with random actions"),
    ("robustness.json", "Solved worlds of the river crossing task"),
    ("robustness.csv", "Every world of the river crossing task"),
    ("genome.json", "The result in a few bytes"),
    ("train.log", "The log for people"),
    ("train.benchmark.tsv", "Time and memory"),
    ("frozen/model.json", "How to feed the frozen network"),
    ("lineage.pdf", "Lineage, for print"),
    ("lineage.svg", "Lineage, vector graphics"),
    ("causal.csv", "The score when parts of the network are ablated"),
    ("probes.csv", "What layers tell of the game, and what the agent uses"),
    ("sparse_*.csv", "Sparse features of {}, and what changes without them"),
    ("what_if/grid.json", "What if: scores and lengths after other actions"),
    ("filters/lean.csv", "Temporal lean of the first layer"),
    ("filters/saliency.csv", "What the tests say of each kind of saliency"),
    ("frozen/model.keras", "The network for Keras"),
    ("frozen/model.pb", "The network as a graph"),
    ("checkpoint.npz", "All parameters"),
    ("corrected.json", "The archive after its elites were evaluated again"),
    ("archive.npz", "The archive"),
    ("levels.parquet", "Every evaluated level"),
    ("rollout.npz", "A recorded episode"),
    ("lineage.parquet", "Parents and children"),
    ("log.jsonl", "The log, lossless"),
)
# Movies with one picture per frame where there is an emulator. In other environments they have one per step, like all
# other movies.
BY_FRAME = ("game.mp4",)
# Folders in a results folder whose files the pages show.
FOLDERS = (
    "runs/*/*/*/*", "runs/*/*/*/*/frozen", "runs/*/*/*/*/filters", "runs/*/*/*/*/what_if",
    "runs/*/*/*/*/tags/*", "figures", "tables", "movies",
    "comparisons/*",
)  # fmt: skip
# Suffixes of files that are copied into a bundle. Pages of a bundle only name the others.
BUNDLED = (".mp4", ".webp", ".png", ".svg", ".pdf", ".html", ".csv", ".tsv", ".json", ".yaml", ".txt")


def title_of(name: str, titles: Titles) -> tuple[int, str] | None:
    """Returns the position of a file in the order of the page, and its title; None if no pattern matches.

    `name` is its path relative to the folder that the titles are about, such as `filters/weights.png`.
    """
    for place, (pattern, title) in enumerate(titles):
        start, star, end = pattern.partition("*")
        if name == pattern or (star and name.startswith(start) and name.endswith(end)):
            part = name[len(start) : len(name) - len(end)] if star else ""
            words = title.format(part.replace("/", " ").replace("_", " ").strip()).strip(" :")
            return place, words[:1].upper() + words[1:]
    return None
