"""The formats that Neurozoo reads: a small example of each, and the code that reads it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "data"
RUN = "results/runs/ga/hard_maze/simple/1"
UNFINISHED = "results/runs/ga/hard_maze/simple/2"  # a run with a state, whose log would hide that of results
POPULATION = {"behaviour": "final_position", "game": "hard_maze", "algo": "ga"}


@dataclass(frozen=True)
class Format:
    """A format that is fuzzed.

    Attributes:
        name: Its row in docs/security.md.
        path: The example in the project that `make_project` makes.
        read: Reads the example as the program does: `read(project, path)`. It may write into `project / "out"`.
    """

    name: str
    path: str
    read: Callable[[Path, Path], object]

    def share(self, inputs: int) -> int:
        """Returns how many of the inputs of a format it gets: the seven of the gallery, which take long, are one."""
        return -(-inputs // 7) if self.name.startswith("gallery: ") else inputs


# ---- examples


def make_project(folder: Path) -> None:
    """Makes a folder with one small example of each format, without training and without the core."""
    from neurozoo.agents.checkpoint import Checkpoint, write_checkpoint
    from neurozoo.agents.freeze import freeze
    from neurozoo.environments.game_networks import layout_of
    from neurozoo.environments.protocols import protocol_of
    from neurozoo.evaluation import Trace
    from neurozoo.genomes.genome import Genome, Mutation
    from neurozoo.records.population_files import EvaluatedAgent, Population, write_population
    from neurozoo.records.run_result import write_run_result
    from neurozoo.rollouts.rollout import record_rollout

    run = folder / RUN
    run.mkdir(parents=True)
    protocol = protocol_of("hard_maze")
    layout = layout_of("hard_maze", "simple", protocol)
    random = np.random.default_rng(0)
    theta = random.standard_normal(layout.parameter_count).astype(np.float32)
    checkpoint = Checkpoint(theta, "ga", "hard_maze", "simple", 1, protocol, layout.num_actions)
    identity = {"algo": "ga", "game": "hard_maze", "model": "simple", "run": 1}
    facts = {**identity, **protocol.facts, "frames": 2000, "test_score": 2.0, "parameters": layout.parameter_count}
    genome = Genome(7, (Mutation(5, 0.5),))
    _write(run / "genome.json", {**facts, "genome": genome.to_json()})
    write_checkpoint(run / "checkpoint.npz", checkpoint, facts={**facts, "genome": genome.to_json()})
    record = {"mutation_power": 0.5, "population_size": 10}
    settings = {
        "format": 1,
        **identity,
        **protocol.facts,
        "protocol_record": asdict(protocol),
        "settings_record": record,
    }
    settings |= {"evaluation_record": {"episodes": 5}, "seed": 0, "frames": 3000}
    _write(run / "config.yaml", settings)
    _write_tables(folder, run, identity)
    write_run_result(run, kind="network", facts=facts, files=["checkpoint.npz", "genome.json"])

    planes = random.random((4, *layout.observation_shape)).astype(np.float32)
    outputs = layout.keras_model(theta)(planes, training=False).numpy()
    freeze(checkpoint, run / "frozen", trace=Trace(planes, outputs, np.zeros(4, np.float32)))
    record_rollout(run / "frozen", run / "rollout.npz", max_steps=6)
    _write_pictures(run)
    points = random.random((6, 2)).astype(np.float32)
    numbers = np.arange(6)
    write_population(
        run,
        Population(
            1, points=points, score=numbers * 1.0, steps=numbers, index=numbers, power=numbers * 0.5,
            parent=numbers.astype(np.int32), begins_with=EvaluatedAgent(points[0], 1.0),
            tested=EvaluatedAgent(points[1], 2.0),
            **POPULATION,
        ),
    )  # fmt: skip
    _write_state(folder / UNFINISHED, identity | {"run": 2})
    _write_others(folder, identity)


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _write_tables(folder: Path, run: Path, identity: dict) -> None:
    from neurozoo.feature_visualization.temporal_lean import COLUMNS
    from neurozoo.records.improvement import comparison_table
    from neurozoo.records.lineage import write_lineage
    from neurozoo.records.run_config import read_run_settings
    from neurozoo.records.run_log import parse_log
    from neurozoo.records.simple_dqn_csv import write_statistics
    from neurozoo.records.tables import merge_metrics, read_metrics, score_table

    lines, log = [], run / "log.jsonl"
    for number in (1, 2, 3):
        lineage = [[number, 0, number - 1 or None, 0, 0.5, 30.0, 12.0, True, True]]
        phases = {
            f"{phase}_{name}": number
            for phase in ("train", "test")
            for name in ("average_reward", "min_game_reward", "max_game_reward", "nr_games", "steps", "meancost",
                         "total_train_steps")
        }  # fmt: skip
        report = {"format": 1, "frames": 1000 * number, "score": 1.5 * number, "test_score": 1.0 * number,
                  "Iteration": number, "TimeElapsedTotal": 2.0 * number, "test_episodes": 5, "Lineage": lineage,
                  "Episodes": [[4 * number, 0, 0, number, 1.5, 1.0, 30, 1]],
                  "TruncatedPopulationEliteSeeds": [7, [number, 0.5]]}  # fmt: skip
        lines.append(json.dumps(report | phases))
    log.write_text("\n".join(lines) + "\n")
    parse_log(log, run / "metrics.csv", identity=read_run_settings(run / "config.yaml"))
    write_lineage(log, run / "lineage.parquet")
    write_statistics(log, run / "phases.csv", seed=1)
    tables = folder / "results/tables"
    other = run.parents[2] / "es.csv"
    other.write_text((run / "metrics.csv").read_text().replace("ga,", "es,"))
    merge_metrics([run / "metrics.csv", other], csv=tables / "metrics.csv", parquet=tables / "metrics.parquet")
    other.unlink()
    metrics = read_metrics(tables / "metrics.parquet")
    score_table(metrics, tables / "scores.csv", replications=100)
    comparison_table(metrics, tables / "comparison.csv", replications=100)
    values = {name: "1" for name in COLUMNS} | {"game": "frostbite", "algo": "ga", "model": "simple", "layer": "conv1"}
    (run / "filters").mkdir()
    rows = [COLUMNS, [values[name] for name in COLUMNS], [values[name] for name in COLUMNS]]
    (run / "filters/lean.csv").write_text("\n".join(map(",".join, rows)) + "\n")


def _write_pictures(run: Path) -> None:
    from neurozoo.movies.video import video_written_whole
    from PIL import Image

    Image.new("RGB", (64, 48), "white").save(run / "lineage.png")
    with video_written_whole(run / "activation.mp4", width=64, height=48, fps=60) as show:
        for step in range(8):
            show(np.full((48, 64, 3), 10 * step, np.uint8))


def _write_state(run: Path, identity: dict) -> None:
    from neurozoo.evaluation import EpisodeResult
    from neurozoo.genomes.genome import Genome, Mutation
    from neurozoo.genomes.packing import pack
    from neurozoo.training.heartbeat import Heartbeat
    from neurozoo.training.state import RunState

    state = RunState(run, identity=identity, budget=3000)
    state.report({"frames": 1000, "score": 1.0, "test_score": None, "Iteration": 1})
    packed, blocks = pack([Genome(7, (Mutation(5, 0.5),))])
    algorithm = {"parent_births": [[0, 1]], "genomes": packed}
    state.save(algorithm, {"counted": 1.0, "total": 2.0}, {"theta": np.zeros(9), **blocks}, progress=1000)
    behaviour = np.arange(8, dtype=np.float32)
    state.journal(2, "population", {0: EpisodeResult(1.0, 2, 3, sign_score=1.0, behaviour=behaviour)})
    with Heartbeat(run / "state") as heartbeat:
        heartbeat.continue_from(1000)
    shutil.move(run / "state/process.json", run / "state/process.json.made")
    facts = json.loads((run / "state/process.json.made").read_text())
    _write(run / "state/process.json", facts | {"ended": None})
    (run / "state/process.json.made").unlink()


def _write_others(folder: Path, identity: dict) -> None:
    from neurozoo.agents.graph import build_graph
    from neurozoo.files import sha256_of
    from neurozoo.genomes.noise_table import build_noise_table
    from neurozoo.native.sources import SOURCES, hash_sources
    from neurozoo.networks.catalogue import get_network

    run = folder / RUN
    layout = get_network("linear").layout(4)
    theta = layout.initialise(np.random.default_rng(0).standard_normal(layout.parameter_count).astype(np.float32))
    graph = folder / "BreakoutNoFrameskip-v4" / "model1_final.pb"
    graph.parent.mkdir()
    graph.write_bytes(build_graph(layout, theta, scope="ga").SerializeToString())
    record = json.loads((run / "frozen/model.json").read_text())["protocol"]
    episodes = [{"score": 10.0 * n, "noops": n, "seed": n, "steps": 5, "frames": 20} for n in range(3)]
    _write(
        run / "evaluation.json",
        {**identity, "seed": 0, "protocol": record, "summary": {"mean": 10.0}, "episodes": episodes},
    )
    library = folder / "native" / "libneurozoo_core.so"
    library.parent.mkdir()
    library.write_bytes(b"library")
    facts = {"sha256": {library.name: sha256_of(library)}, "sources_sha256": hash_sources(SOURCES), "march": "x"}
    _write(library.with_name("build.json"), facts)
    shutil.copy(DATA / "logs" / "gpu_ga.txt", folder / "published.txt")
    (folder / "genome.txt").write_text("Current elite: (1, (2, 0.002), (3, 0.002))\n")
    build_noise_table(folder / "noise.f32", size=10_000)
    experiment = {"algo": "ga", "preset": "demo", "games": ["frostbite"], "models": ["small"], "runs": 1}
    _write(folder / "config.yaml", {"experiments": {"demo": experiment}})
    agent = {**identity, "file": "a.npz", "sha256": 64 * "0", "licence": "MIT", "command": "a", "evaluation": "b"}
    _write(folder / "agents/index.yaml", {"agents": {"maze": agent | {"score": {"mean": 1.5, "low": 1, "count": 9}}}})
    _write(folder / ".snakemake/sge/7.json", {"time": 1.0, "token": "a", "output": ["x"]})
    runs = [{"title": "a", "algo": "ga", "model": "small", "run": 1, "protocol": "uber2018", "steps": 4}]
    about = {"game": "frostbite", "runs": runs, "keys": ["ram"], "methods": ["pca"], "explained": {"ram": [0.5, 0.2]},
             "left_out": {}, "stride": 1, "seed": 0}  # fmt: skip
    numbers = np.arange(4, dtype=np.int32)
    np.savez(
        folder / "embedding.npz", run=0 * numbers, step=numbers, episode=0 * numbers, score=numbers * 1.0,
        ram_pca=np.zeros((4, 2), np.float32), about=np.frombuffer(json.dumps(about).encode(), np.uint8),
    )  # fmt: skip


# ---- readers


def _config(project: Path, path: Path) -> None:
    from neurozoo.files.yaml import read_yaml
    from neurozoo.plan.configuration import check_config
    from neurozoo.plan.planned_runs import planned_runs

    planned_runs(check_config(read_yaml(path, "Mend it."), source=str(path)))


def _run_settings(project: Path, path: Path) -> None:
    from neurozoo.gallery.provenance_page import write_provenance
    from neurozoo.records.comparability import read_facts

    read_facts(path)
    write_provenance([path], html=project / "out/a.html", json=project / "out/a.json")


def _index(project: Path, path: Path) -> None:
    from neurozoo.agents.bundled_agents import as_table, as_text, read_index

    agents = read_index(path)
    as_table(agents, path)
    for name, agent in agents.items():
        as_text(name, agent)


def _genome(project: Path, path: Path) -> None:
    from neurozoo.agents.playable_agent import read_agent

    read_agent(path)


def _published_genome(project: Path, path: Path) -> None:
    from neurozoo.agents.genome_import import import_genome

    run = project / "out/run"
    import_genome(path, noise=project / "noise.f32", game="hard_maze", model="simple", run_dir=run)


def _result(project: Path, path: Path) -> None:
    from neurozoo.agents.frozen import outdated
    from neurozoo.records.run_result import read_run_result

    read_run_result(path.parent)
    outdated(path.parent)
    _list(project)


def _checkpoint(project: Path, path: Path) -> None:
    from neurozoo.agents.checkpoint import read_checkpoint, read_facts

    read_facts(path)
    read_checkpoint(path)


def _log(project: Path, path: Path) -> None:
    from neurozoo.agents.tagged_agents import reached_tags
    from neurozoo.records.lineage import write_lineage
    from neurozoo.records.run_log import parse_log, read_last_record

    read_last_record(path)
    identity = {"algo": "ga", "game": "pong", "model": "small", "run": 1, "protocol": "uber2018"}
    parse_log(path, project / "out/metrics.csv", identity=identity)
    write_lineage(path, project / "out/lineage.parquet")
    reached_tags(path.parent, game="pong")


def _published_log(project: Path, path: Path) -> None:
    from neurozoo.records.run_log import parse_log

    identity = {"algo": "ga", "game": "pong", "model": "small", "run": 1, "protocol": "uber2018"}
    parse_log(path, project / "out/metrics.csv", identity=identity)


def _phases_of_log(project: Path, path: Path) -> None:
    from neurozoo.records.simple_dqn_csv import write_statistics

    write_statistics(path, project / "out/phases.csv")


def _episodes_of_log(project: Path, path: Path) -> None:
    from neurozoo.records.episodes import write_episodes

    write_episodes(path, project / "out/episodes.csv")


def _phases(project: Path, path: Path) -> None:
    from neurozoo.records.simple_dqn_csv import read_reference

    read_reference(path, phase="test")


def _metrics(project: Path, path: Path) -> None:
    from neurozoo.records.improvement import comparison_table
    from neurozoo.records.tables import merge_metrics, read_metrics, score_table

    out = project / "out"
    merge_metrics([path], csv=out / "metrics.csv", parquet=out / "metrics.parquet", labels={"x": "y"})
    metrics = read_metrics(path)
    if metrics["test_score"].notna().any():
        score_table(metrics, out / "scores.csv", replications=20)
        comparison_table(metrics, out / "comparison.csv", replications=20)


def _merged_metrics(project: Path, path: Path) -> None:
    from neurozoo.figures.style import curve_labels
    from neurozoo.records.comparability import with_names
    from neurozoo.records.curves import best_so_far, median_curves, scores_to_draw
    from neurozoo.records.improvement import comparison_table
    from neurozoo.records.tables import read_metrics, score_table

    metrics = read_metrics(path)
    if metrics["test_score"].notna().any():
        score_table(metrics, project / "out/scores.csv", replications=20)
        comparison_table(metrics, project / "out/comparison.csv", replications=20)
    reports = with_names(scores_to_draw(metrics))
    if len(reports):
        reports = reports.assign(curve=curve_labels(reports, "algo"))
        best_so_far(reports)
        median_curves(reports, interval="mean", confidence=0.9, seed=0)


def _scores(project: Path, path: Path) -> None:
    from neurozoo.figures import aggregates
    from neurozoo.gallery.summary import describe_results

    describe_results(project / "results")
    aggregates._read_rows(path, needs=("human_normalised_iqm",), names=("variant", "played"))


def _lineage(project: Path, path: Path) -> None:
    from neurozoo.records.lineage import ancestors, individuals, parent_ages, read_lineage

    lineage = read_lineage(path)
    individuals(lineage)
    parent_ages(lineage)
    if lineage["is_elite"].any():
        ancestors(lineage)


def _lean(project: Path, path: Path) -> None:
    from neurozoo.feature_visualization.temporal_lean import read_leans
    from neurozoo.figures.style import curve_labels
    from neurozoo.figures.temporal_lean import mean_leans
    from neurozoo.records.comparability import with_names

    leans = read_leans([path])
    if len(leans):
        leans = with_names(leans)
        leans = leans.assign(curve=curve_labels(leans, "algo_model"))
        mean_leans(leans, confidence=0.9, seed=0)


def _frozen(project: Path, path: Path) -> None:
    from neurozoo.agents.frozen import open_frozen, outdated
    from neurozoo.movies.classic_frame import Canvas

    frozen = open_frozen(path.parent)
    outdated(path.parents[1])
    Canvas(frozen, screen_shape=(210, 160, 3), steps=10)
    _list(project)


def _list(project: Path) -> None:
    from neurozoo.agents.zoo_listing import as_table, as_text, facts_of, find_agents

    models = find_agents(project / "results")
    as_table(models)
    for model in models:
        facts_of(model)
        as_text(model)


def _keras(project: Path, path: Path) -> None:
    from neurozoo.agents.frozen import open_frozen

    frozen = open_frozen(path.parent)
    frozen.activations_model([layer.name for layer in frozen.layers])


def _graph(project: Path, path: Path) -> None:
    from neurozoo.agents import graph_import

    graph_import.CHECKED_STEPS = 3
    graph_import.import_graph(path, run_dir=project / "out/run")


def _rollout(project: Path, path: Path) -> None:
    from neurozoo.agents.frozen import open_frozen
    from neurozoo.rollouts.rollout_files import open_rollout, recognise

    frozen = open_frozen(path.parent / "frozen")
    with open_rollout(path, frozen) as rollout:
        for _ in rollout.rows("observations", "representation"):
            pass
        list(rollout.moments())
        recognise(rollout, frozen)


def _population(project: Path, path: Path) -> None:
    from neurozoo.records.population_files import read_population

    read_population(path)


def _state(project: Path, path: Path) -> None:
    from neurozoo.training.state import RunState, read_state_identity

    run = project / UNFINISHED
    identity = {"algo": "ga", "game": "hard_maze", "model": "simple", "run": 2}
    read_state_identity(run)
    state = RunState(run, identity=identity, budget=3000)
    state.arrays()
    state.finished_episodes(2, "population")
    state.last_report()


def _status(project: Path, path: Path) -> None:
    from neurozoo.plan.planned_runs import PlannedRun
    from neurozoo.status.run_files import read_run_files
    from neurozoo.status.run_state import status_of
    from neurozoo.status.workflow_files import WorkflowFiles

    run = PlannedRun("ga", "hard_maze", "simple", 2 if path.is_relative_to(project / UNFINISHED) else 1)
    workflow = WorkflowFiles(project, rule="train")
    evidence = read_run_files(run, results="results", workdir=project, workflow=workflow)
    status_of(run, evidence, budget=10**9, unit="frames", now=0.0)


def _build(project: Path, path: Path) -> None:
    from neurozoo.native import check_library

    check_library(path.with_name("libneurozoo_core.so"))


def _embedding(project: Path, path: Path) -> None:
    from neurozoo.comparison.page import read_embedding

    read_embedding(path)


def _movie(project: Path, path: Path) -> None:
    from neurozoo.gallery.video_facts import find_poster, read_video

    find_poster(path, read_video(path), project / "out/poster.png")


def _gallery(project: Path, path: Path) -> None:
    """Builds the pages: none of these files may stop them."""
    from neurozoo.gallery.pages import build_site

    manifest = build_site(project / "results", replications=20)
    assert manifest.runs[0].id == "ga/hard_maze/simple/1"


def _start(project: Path, path: Path) -> None:
    from neurozoo.algorithms.neuroevolution.warm_start import Fit, read_population, read_weights
    from neurozoo.environments.game_networks import layout_of
    from neurozoo.environments.protocols import protocol_of

    layout = layout_of("hard_maze", "simple", protocol_of("hard_maze"))
    fit = Fit("hard_maze", "simple", layout, 10_000)
    read = read_population if path.name == "state.json" else read_weights
    read(str(path), fit)


FORMATS = (
    Format("config.yaml of the workflow", "config.yaml", _config),
    Format("config.yaml of a run", f"{RUN}/config.yaml", _run_settings),
    Format("index.yaml of agents", "agents/index.yaml", _index),
    Format("genome.json", f"{RUN}/genome.json", _genome),
    Format("published genome", "genome.txt", _published_genome),
    Format("result.json", f"{RUN}/result.json", _result),
    Format("checkpoint.npz", f"{RUN}/checkpoint.npz", _checkpoint),
    Format("weights to start from", f"{RUN}/checkpoint.npz", _start),
    Format("population to start from", f"{UNFINISHED}/state/state.json", _start),
    Format("log.jsonl", f"{RUN}/log.jsonl", _log),
    Format("phases in log.jsonl", f"{RUN}/log.jsonl", _phases_of_log),
    Format("episodes in log.jsonl", f"{RUN}/log.jsonl", _episodes_of_log),
    Format("published log", "published.txt", _published_log),
    Format("metrics.csv", f"{RUN}/metrics.csv", _metrics),
    Format("metrics.parquet", "results/tables/metrics.parquet", _merged_metrics),
    Format("scores.csv", "results/tables/scores.csv", _scores),
    Format("lineage.parquet", f"{RUN}/lineage.parquet", _lineage),
    Format("phases.csv", f"{RUN}/phases.csv", _phases),
    Format("lean.csv", f"{RUN}/filters/lean.csv", _lean),
    Format("frozen/model.json", f"{RUN}/frozen/model.json", _frozen),
    Format("frozen/model.keras", f"{RUN}/frozen/model.keras", _keras),
    Format("graph to import", "BreakoutNoFrameskip-v4/model1_final.pb", _graph),
    Format("rollout.npz", f"{RUN}/rollout.npz", _rollout),
    Format("population/*.npz", f"{RUN}/population/00001.npz", _population),
    Format("state/state.json", f"{UNFINISHED}/state/state.json", _state),
    Format("state/journal.jsonl", f"{UNFINISHED}/state/journal.jsonl", _state),
    Format("state/arrays/*.npy", f"{UNFINISHED}/state/arrays/theta.npy", _state),
    Format("state/process.json", f"{UNFINISHED}/state/process.json", _status),
    Format("log in status", f"{RUN}/log.jsonl", _status),
    Format("records of jobs", ".snakemake/sge/7.json", _status),
    Format("build.json", "native/build.json", _build),
    Format("embedding.npz", "embedding.npz", _embedding),
    Format("movie", f"{RUN}/activation.mp4", _movie),
    *(
        Format(f"gallery: {name}", f"{RUN}/{name}", _gallery)
        for name in (
            "config.yaml",
            "metrics.csv",
            "evaluation.json",
            "frozen/model.json",
            "lineage.png",
            "activation.mp4",
            "rollout.npz",
        )
    ),
)
