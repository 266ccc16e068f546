"""Whole runs: what they write, what a kill leaves, and what happens to levels that fail."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from level_runs import RESULTS, TINY, killed, trained, trained_apart
from neurozoo.algorithms.quality_diversity.archives import make_archive
from neurozoo.algorithms.quality_diversity.correction import correct_archive
from neurozoo.algorithms.quality_diversity.dsage import DsageSession
from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession, Proposal
from neurozoo.algorithms.quality_diversity.variants import VARIANTS
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.results import read_archive
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.level_domains import get_level_domain
from neurozoo.environments.mazes.domain import MazeDomain
from neurozoo.environments.mazes.recurrent_agent import layout
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.records.level_table import read_levels
from neurozoo.records.run_result import read_run_result
from neurozoo.training import make_context
from ribs.emitters import EvolutionStrategyEmitter

MAZE = get_level_domain("maze")


def records(run_dir):
    return [json.loads(line) for line in (run_dir / "log.jsonl").read_text().splitlines()]


def check_same(first, second):
    for name in RESULTS:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return trained_apart(tmp_path_factory.mktemp("full"), "dsage", "full")


@pytest.mark.long(seconds=10)
def test_a_run_on_a_cluster_leaves_the_same_archive(tmp_path):
    alone = trained(tmp_path / "alone", "dsage", "basic")
    cluster = trained(tmp_path / "cluster", "dsage", "basic", distributed="local workers=2")
    check_same(alone, cluster)
    assert "Dask workers on this machine" in (cluster / "train.log").read_text()


# ---- what a run leaves


def test_an_archive_holds_what_its_levels_say(full):
    arrays, levels, log = read_archive(full / "archive.npz"), read_levels(full / "levels.parquet"), records(full)
    best = {}  # the slow twin of the archive
    for number, (walls, length, objective) in enumerate(
        zip(levels["walls"], levels["path_length"], levels["objective"], strict=True)
    ):
        cell = min(int(walls), 255) * 162 + min(int(length / 4), 161)
        if cell not in best or objective > levels["objective"][best[cell]]:
            best[cell] = number
    assert dict(zip(arrays["metadata_cell"].tolist(), arrays["metadata_evaluation"].tolist(), strict=True)) == best
    facts = read_run_result(full)
    assert facts["elites"] == len(best) == log[-1]["elites"]
    assert facts["qd_score"] == sum(float(levels["objective"][n]) for n in best.values()) == log[-1]["score"]
    assert facts["coverage"] == len(best) / (256 * 162)
    np.testing.assert_array_equal(arrays["solutions"], levels["solution"][arrays["metadata_evaluation"]])
    np.testing.assert_array_equal(MAZE.decode(levels["solution"]) == 1, levels["level"] == 1)


def test_the_measures_that_were_predicted_are_recorded_beside_the_true_ones(full):
    levels = read_levels(full / "levels.parquet")
    first = levels["iteration"] == 0
    assert np.isnan(levels["predicted"][first]).all()
    assert np.isfinite(levels["predicted"][~first]).all()
    assert np.isfinite(levels["predicted_occupancy"][~first]).all()


@pytest.mark.parametrize("algo", ["map_elites", "domain_randomization"])
def test_the_other_searches_spend_their_budget(tmp_path, algo):
    run_dir = trained(tmp_path, algo)
    assert [row["candidates"] for row in records(run_dir)] == [16, 16, 16, 2]
    facts = read_run_result(run_dir)
    assert (facts["kind"], facts["evaluations"], facts["protocol"]) == ("archive", 50, "maze_walls_path_length")
    assert 25 < facts["elites"] <= 50


# ---- exact continuation


@pytest.mark.parametrize(("method", "count"), [("propose", 3), pytest.param("save", 3, marks=pytest.mark.long)])
def test_a_killed_run_of_dsage_continues_to_the_same_bytes(tmp_path, full, method, count):
    run_dir = killed(tmp_path, "dsage", "full", method=method, count=count)
    assert not (run_dir / "archive.npz").exists()
    check_same(trained_apart(run_dir, "dsage", "full"), full)


@pytest.mark.parametrize("algo", ["map_elites", "cma_me"])
def test_a_killed_search_continues_to_the_same_bytes(tmp_path, algo):
    run_dir = killed(tmp_path / "killed", algo, "plain", method="propose", count=3)
    check_same(trained(run_dir, algo), trained(tmp_path / "whole", algo))


def test_a_state_of_another_surrogate_is_refused(tmp_path):
    run_dir = killed(tmp_path, "dsage", "basic", method="propose", count=3)
    (array,) = (run_dir / "state" / "arrays").glob("surrogate-weights-*.npy")
    np.save(array, np.zeros(7, np.float32))
    with pytest.raises(NeurozooError, match=r"state is damaged \(the surrogate has 7 weights\). Delete"):
        trained(run_dir, "dsage", "basic")


# ---- failures


def test_a_level_that_fails_takes_no_other_with_it(tmp_path, monkeypatch):
    evaluate = MazeDomain.evaluate

    def failing(self, levels, play, rngs):
        if (levels[:, 0, 0] == 1).any():
            raise TimeoutError("the agent is stuck")
        return evaluate(self, levels, play, rngs)

    monkeypatch.setattr(MazeDomain, "evaluate", failing)
    run_dir = trained(tmp_path, "domain_randomization")
    levels = read_levels(run_dir / "levels.parquet")
    is_bad = levels["solution"][:, 0] == 1
    assert 10 < is_bad.sum() < 40
    np.testing.assert_array_equal(levels["failed"], is_bad)
    assert set(levels["failure"][is_bad]) == {"TimeoutError: the agent is stuck"}
    assert set(levels["failure"][~is_bad]) == {""}
    arrays = read_archive(run_dir / "archive.npz")
    assert not is_bad[arrays["metadata_evaluation"]].any()
    assert records(run_dir)[-1]["failed_levels"] == is_bad.sum()


def test_an_emitter_learns_from_the_others_if_one_of_its_levels_fails(tmp_path, monkeypatch):
    evaluate, tell, told = MazeDomain.evaluate, EvolutionStrategyEmitter.tell, []

    def failing(self, levels, play, rngs):
        if (levels[:, 0, :3] == 1).all(axis=1).any():  # one of eight
            raise TimeoutError("the agent is stuck")
        return evaluate(self, levels, play, rngs)

    def noting(self, solution, objective, measures, add_info, **fields):
        told.append((objective, measures, add_info))
        return tell(self, solution, objective, measures, add_info, **fields)

    monkeypatch.setattr(MazeDomain, "evaluate", failing)
    monkeypatch.setattr(EvolutionStrategyEmitter, "tell", noting)
    run_dir = trained(tmp_path / "run", "cma_me", evaluations=64)
    levels = read_levels(run_dir / "levels.parquet")
    assert 0 < levels["failed"].sum() < 32
    assert len(told) == 8  # four times two emitters
    for number, (objective, measures, add_info) in enumerate(told):
        failed = levels["failed"][8 * number : 8 * number + 8]
        assert np.isfinite(objective).all()
        assert np.isfinite(measures).all()
        assert not add_info["status"][failed].any()
        for scores in (objective, add_info["value"]):
            assert not failed.any() or scores[failed].max() < scores[~failed].min()
    continued = killed_and_continued(tmp_path / "killed", monkeypatch)
    check_same(continued, run_dir)


def killed_and_continued(run_dir, monkeypatch):
    """Interrupts a run of four batches after two, and continues it."""
    evaluate, batches = LevelSearchSession._evaluate, []

    def interrupting(self, *arguments):
        batches.append(1)
        if len(batches) == 3:
            raise NeurozooError("stop here")
        return evaluate(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(LevelSearchSession, "_evaluate", interrupting)
        with pytest.raises(NeurozooError, match="stop here"):
            trained(run_dir, "cma_me", evaluations=64)
    return trained(run_dir, "cma_me", evaluations=64)


def test_a_threshold_that_no_level_passes_is_answered_in_a_sentence(tmp_path):
    mae = {"archive_learning_rate": 0.1, "threshold_min": 1.0}
    with pytest.raises(NeurozooError, match="threshold_min should be below 1, the best objective in 'maze', but is 1"):
        trained(tmp_path / "best", "cma_me", **mae)
    archive = make_archive(MAZE, resolve_settings("cma_me", preset="demo", overrides=mae | {"threshold_min": 0.9}))
    with pytest.raises(NeurozooError, match=r"no level has entered the archive yet\. Lower threshold_min"):
        archive.sample_elites(1)


def test_a_run_whose_levels_all_fail_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(MazeDomain, "evaluate", lambda *arguments: 1 / 0)
    with pytest.raises(NeurozooError, match="All 16 levels failed, the first one because of: ZeroDivisionError"):
        trained(tmp_path, "domain_randomization")


def test_predictions_that_are_not_finite_end_the_run(tmp_path):
    with pytest.raises(NeurozooError, match="predicts numbers that are not finite in iteration 2"):
        trained(tmp_path, "dsage", "basic", learning_rate=1e30)


# ---- trained agents


def write_agent(path, seed):
    network = layout(3)
    np.savez(path, **network.split(network.draw(np.random.default_rng(seed), "orthogonal")))


def test_a_trained_agent_is_sent_into_levels(tmp_path, core):
    agent = tmp_path / "agent.npz"
    write_agent(agent, seed=0)
    given = {"agent": str(agent), "evaluations": 6, "num_episodes": 2, "num_envs": 2}
    run_dirs = [
        trained(tmp_path / str(threads), "domain_randomization", core=core, threads=threads, **given)
        for threads in (1, 2)
    ]
    check_same(*run_dirs)
    levels = read_levels(run_dirs[0] / "levels.parquet")
    assert levels["path_length"].max() > 100  # random weights are lost
    assert not levels["failed"].any()
    corrected = correct_archive(run_dirs[0], tmp_path / "corrected.json", core=core)
    assert corrected["elites"] <= 6
    write_agent(agent, seed=1)
    with pytest.raises(NeurozooError, match=r"The agent .*agent\.npz has changed since .* was trained"):
        correct_archive(run_dirs[0], tmp_path / "corrected.json", core=core)
    with pytest.raises(NeurozooError, match=r"agent\.npz is played by the core, but none was given. Build it"):
        trained(tmp_path / "without", "domain_randomization", **given)
    agent.write_bytes(b"no agent")
    with pytest.raises(NeurozooError, match=r"agent\.npz is no agent for mazes"):
        MAZE.ways(levels["level"][:1], str(agent))
    with pytest.raises(NeurozooError, match=r"agent\.npz is no agent for mazes"):
        trained(tmp_path / "damaged", "domain_randomization", core=core, **given)
    assert not (tmp_path / "damaged" / "state" / "log.jsonl").exists()
    agent.unlink()
    with pytest.raises(NeurozooError, match=r"agent\.npz is missing\. Train it"):
        trained(tmp_path / "missing", "domain_randomization", core=core, **given)


def test_a_run_has_one_agent_from_its_beginning_to_its_end(tmp_path, core, monkeypatch):
    agent, evaluate, batches = tmp_path / "agent.npz", LevelSearchSession._evaluate, []
    write_agent(agent, seed=0)
    given = {"agent": str(agent), "evaluations": 8, "num_episodes": 2, "num_envs": 2, "batch_size": 2}

    def replacing(self, *arguments):
        batches.append(1)
        if len(batches) == 3:
            write_agent(agent, seed=1)
        return evaluate(self, *arguments)

    whole = trained(tmp_path / "whole", "domain_randomization", core=core, **given)
    with monkeypatch.context() as patch:
        patch.setattr(LevelSearchSession, "_evaluate", replacing)
        with pytest.raises(NeurozooError, match="has changed since this run began, and a run has one agent"):
            trained(tmp_path / "run", "domain_randomization", core=core, **given)
    write_agent(agent, seed=0)
    check_same(trained(tmp_path / "run", "domain_randomization", core=core, **given), whole)


def test_a_run_waits_for_its_agent_and_its_generator_and_a_trained_agent_needs_the_core():
    files = {"agent": "config/agents/walker.npz", "decoder": "results/generators/laptop/generator.npz"}
    assert resolve_settings("cma_me", preset="mario_demo", overrides=files).start_sources == tuple(files.values())
    paper = ALGORITHMS["map_elites"].presets["paper"]
    assert ALGORITHMS["map_elites"].needs == paper.needs_besides("maze") == ()
    assert paper.changed({"agent": files["agent"]}).needs_besides("maze") == ("core",)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("measures", np.zeros((3, 2)), r"has \d+ solutions, but 3 rows of measures"),
        ("objectives", np.full(1000, np.nan), "without finite measures or objective"),
        ("solutions", None, "lacks solutions"),
        ("metadata_level", np.array([{}], object), "is damaged"),
    ],
)
def test_a_damaged_archive_is_refused_in_a_sentence(full, tmp_path, name, array, message):
    with np.load(full / "archive.npz") as file:
        arrays = {each: file[each] for each in file.files}
    arrays.pop(name)
    if array is not None:
        rows = min(len(array), len(arrays["metadata_cell"]))
        arrays[name] = array[:rows]
    np.savez(tmp_path / "archive.npz", **arrays)
    with pytest.raises(NeurozooError, match=message):
        read_archive(tmp_path / "archive.npz")


# ---- variants and configurations


@pytest.mark.parametrize(
    ("variant", "most"),
    [
        ("basic", 20),
        pytest.param("random_sample", 9, marks=pytest.mark.long),
        pytest.param("only_downsampling", 20, marks=pytest.mark.long),
        ("only_ancillary", 20),
    ],
)
def test_variants_differ_in_their_candidates(tmp_path, variant, most):
    run_dir = trained(tmp_path, "dsage", variant)
    later = records(run_dir)[1:]
    assert max(row["candidates"] for row in later) <= most
    if variant in ("basic", "only_ancillary"):
        assert later[0]["candidates"] == min(later[0]["surrogate_elites"], 20)
    has_occupancy = "metadata_predicted_occupancy" in read_archive(run_dir / "archive.npz")
    assert has_occupancy == (variant in ("random_sample", "only_ancillary"))


def session_of(run_dir, algo, model, **settings):
    run = {"algo": algo, "game": "maze", "model": model, "run": 1, "run_dir": run_dir}
    return ALGORITHMS[algo].open_session(make_context(**run, settings=settings))


def test_long_variants_train_as_much_as_the_published_ones(tmp_path):
    models = ("basic", "basic_long", "only_ancillary_long")
    sessions = [session_of(tmp_path, "dsage", model, train_epochs=200) for model in models]
    assert [session.epochs for session in sessions] == [200, 6400, 5300]


def test_cma_mae_comes_to_the_best_level_of_each_cell(tmp_path):
    """Its own archive lets worse levels replace better ones."""
    changes = {"archive_learning_rate": 0.01, "threshold_min": 0.0, "ranker": "imp"}
    session = session_of(tmp_path, "cma_me", "plain", **TINY["cma_me"], **changes)
    for objective in (0.9, 0.5, 0.1):  # all in one cell
        batch = np.zeros(1, session.record_type)
        batch["objective"] = objective
        session._finish(batch)
    assert session.archive.data("objective").tolist() == [np.float32(0.1)]
    assert session.result().objectives.tolist() == [np.float32(0.9)]


def config(algo="dsage", game="maze", model="full", **overrides):
    experiment = {"algo": algo, "games": [game], "models": [model], "preset": "paper", "overrides": overrides}
    return check_config({"experiments": {"levels": experiment}})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"game": "mase"}, "did you mean 'maze'"),
        ({"model": "ful"}, "did you mean 'full'"),
        ({"algo": "map_elites"}, "map_elites has no variant 'full'"),
        ({"measures": ["walls", "explord"]}, "did you mean 'explored'"),
        ({"measures": ["walls", "walls"]}, "measures should name two different ones"),
        ({"cells": [3_000_000, 3_000_000]}, r"at most 10,000,000 cells, but cells .* are 9,000,000,000,000"),
        ({"coarse_cells": [32, 25]}, r"coarse_cells should divide the cells of the archive, \[256, 162\]"),
        ({"agent": "astar"}, "agent 'astar' cannot be sent into levels of 'maze'"),
        ({"evaluations": 0}, "evaluations should be at least 1, but is 0"),
        ({"algo": "cma_me", "model": "plain", "threshold_min": 0.0}, "belong together"),
    ],
)
def test_a_slip_in_a_configuration_gets_a_sentence(changes, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        config(**changes)


def test_a_random_sample_that_the_budget_cuts_short_is_still_a_sample_of_the_whole_archive():
    settings = resolve_settings("dsage", preset="paper")
    archive, walls = make_archive(MAZE, settings), np.arange(0, 256, dtype=np.float32)
    solutions = (np.arange(256) < walls[:, None]).astype(np.int8)
    archive.add(solutions, np.ones(256, np.float32), np.stack([walls, walls], 1), evaluation=np.arange(256))
    search = SimpleNamespace(
        settings=settings,
        domain=MAZE,
        variant=VARIANTS["random_sample"],
        iteration=5,
        context=SimpleNamespace(entropy=(0,)),
    )
    chosen = DsageSession._choose(search, archive)
    assert len(np.unique(chosen, axis=0)) == len(chosen) == min(settings.num_random, 256)
    assert 80 < Proposal(chosen).first(20).solutions.sum(axis=1).mean() < 176  # of 0 to 255; in their order: below 20
