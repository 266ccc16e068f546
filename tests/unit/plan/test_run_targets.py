import pytest
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import PlannedRun
from neurozoo.plan.run_targets import check_run_targets, runs_of_targets


def answer(target, **experiment):
    entry = {"algo": "ga", "games": ["pong"], "models": ["small"], "runs": 1} | experiment
    config = check_config({"experiments": {"one": entry}}, source="config.yaml")
    try:
        check_run_targets(config, [target])
    except NeurozooError as error:
        return str(error)
    return ""


def test_the_runs_of_targets_are_known_if_nothing_else_is_wanted():
    config = check_config({"experiments": {"one": {"algo": "ga", "games": ["pong"], "models": ["small"], "runs": 1}}})
    first, second = (f"results/runs/ga/pong/small/{run}" for run in (1, 2))
    assert runs_of_targets(
        config, [f"{first}/tags/human/rollout.npz", f"{first}/result.json", f"{second}/loop.webp"]
    ) == [PlannedRun("ga", "pong", "small", 1), PlannedRun("ga", "pong", "small", 2)]
    for more in (
        "all",
        "results/figures/learning_curves.pdf",
        "results/runs/ga/pong",
        "elsewhere/runs/ga/pong/small/1/a",
    ):
        assert runs_of_targets(config, [f"{first}/result.json", more]) is None
    assert runs_of_targets(config, []) is None


@pytest.mark.parametrize(
    "target",
    [
        "results/figures/learning_curves.pdf",
        "results/runs/ga/pong/small/1/activation.mp4",
        "results/runs/ga/pong/small/1/tags/human/rollout.npz",
        "results/runs/ga/pong/small/9/filters/weights_conv1.png",
        "results/runs/ga/pong/small/9/filters/synthetic_fc.csv",
        "results/runs/ga/pong/small/9/filters/guided.html",
        "results/runs/ga/pong/small/9/filters/lean.csv",
        "results/runs/dsage/maze/full/1/archive.html",
        "results/runs/ga/pong/small/9/lineage.svg",
        "results/runs/rs/pong/small/9/lineage.parquet",
        "results/runs/rs/pong/small/9/generations.mp4",
        "results/runs/dqn/pong/small/9/phases.csv",
        "results/runs/impala/pong/impala_shallow/9/episodes.csv",
        "results/runs/imported/pong/small/1/rollout.npz",
        "results/runs/imported/pong/small/1/causal.html",
        "results/runs/ga/river_crossing/modular_rgb/9/play.html",
        "results/runs/impala/pong/impala_shallow/9/what_if/grid.png",
        "results/runs/ga/hard_maze/simple/1/what_if/left.mp4",
        "results/runs/ga/hard_maze/simple/1/tags/initial/rollout.npz",
        "results/runs/ga/pong/small/1/rollouts/probes.npz",
        "results/runs/ga/river_crossing/modular/1/landscape.mp4",
        "results/runs/imported/river_crossing/modular/1/what_if/grid.json",
        "results/generators/demo/generator.npz",
        "elsewhere/runs/dsage/maze/full/1/activation.mp4",
    ],
)
def test_what_a_run_can_have_passes(target):
    assert answer(target) == ""


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("dsage/maze/full/1/activation.mp4", "dsage comes to an archive, so its runs have no activation.mp4. Ask for"),
        ("impala/pong/impala_shallow/1/evaluation.json", "impala_shallow is a Keras network. Ask for test.json"),
        (
            "impala/pong/impala_shallow/1/causal.html",
            "Only networks that the core can run have causal.html, and impala_shallow is a Keras network. Ask for",
        ),
        ("ga/amidar/small/1/sparse_out.png", "The layer 'out' gives the outputs. Choose one of conv1, conv2, fc."),
        ("es/gym.CartPole-v1/simple/1/sparse_fc1.png", "they are those of agents without a memory that see pictures"),
        ("impala/pong/impala_shallow_lstm/1/sparse_fc.png", "they are those of agents without a memory that see pict"),
        ("ga/amidar/small/1/sparse_conv9.csv", "layer 'conv9' is unknown; did you mean 'conv2'?"),
        ("ga/amidar/small/1/probes.png", "No variables of amidar are known that probes could look for. Known games: b"),
        (
            "es/pong/virtual_bn/1/causal.csv",
            "es/pong/virtual_bn/1 cannot have causal.html: The network 'virtual_bn' scales",
        ),
        (
            "imported/river_crossing/modular/1/causal.html",
            "cannot have causal.html: No weights change 'landscape' alone",
        ),
        (
            "ga/river_crossing/small/1/play.html",
            "ga/river_crossing/small/1 cannot play in a browser: play.html is for modular agents of river_crossing",
        ),
        ("ga/hard_maze/simple/1/tags/human/rollout.npz", "No human score is known for 'hard_maze', so ga/hard_maze/si"),
        (
            "es/pong/virtual_bn/1/tags/30K/rollout.npz",
            "es/pong/virtual_bn/1 would not keep its weights at 30K. Add 30K",
        ),
        ("ga/pong/small/1/tags/400M/rollout.npz", "frames, so it will not reach 400M. Ask for an earlier tag"),
        ("ga/pong/small/1/tags/4XR/rollout.npz", "A tag should be initial (after the first generation), human (above"),
        ("ga/hard_maze/simple/1/rollouts/probes.npz", "No variables of hard_maze are known that probes could look for"),
        ("ga/hard_maze/simple/1/what_if/grid.png", "which asks why one action is chosen and not another: the outputs"),
        (
            "ga/river_crossing/small/1/landscape.mp4",
            "landscape.mp4 shows the landscape of a modular agent, and small",
        ),
        ("../generators/nosuch/generator.npz", "preset of generators 'nosuch' is unknown"),
        ("impala/pong/impala_shallow/1/play.html", "cannot play in a browser"),
        ("map_elites/maze/plain/1/play.html", "comes to an archive, so its runs have no play.html."),
        ("map_elites/river_crossing/plain/1/robustness.json", "comes to an archive, so its runs have no robustness.js"),
        ("map_elites/maze/plain/1/what_if/left.mp4", "comes to an archive, so its runs have no what_if/left.mp4."),
        ("map_elites/maze/plain/1/causal.html", "comes to an archive, so its runs have no causal.html."),
        ("ga/pong/small/1/archive.html", "ga comes to a network, so its runs have no archive.html. Ask for activation"),
        ("ga/pong/small/9/filters/weights_nope.png", "small has no filters/weights_nope.png in pong. It has filters/w"),
        ("ga/pong/small/9/filters/weights_fc.png", "It has filters/weights_conv1.png, filters/weights_conv2.png (docs"),
        ("ga/gym.CartPole-v1/simple/1/filters/synthetic_fc.png", "Its observations are vectors, so it has no pictures"),
        (
            "dqn/pong/small/1/lineage.png",
            "dqn has no family tree, so its runs have no lineage.png. These have it: ga, ga_ns.",
        ),
        ("es/pong/virtual_bn/1/generations.mp4", "The log of es/pong/virtual_bn/1 has no genomes of generations, so"),
        ("rs/pong/small/1/phases.png", "rs has no phases of play, training and tests, so its runs have no ph"),
        ("ga/pong/small/1/episodes.csv", "ga has no single games of training in its log, so its runs have no e"),
        ("impala/pong/impala_shallow/1/profile.json", "so its runs have no profile.json. These have it: dqn."),
        ("dqn/pong/small/1/population.html", "dqn has no populations to keep, so its runs have no population.html."),
        ("map_elites/maze/plain/1/checkpoint.npz", "comes to an archive, so its runs have no checkpoint.npz."),
        ("ga/hard_maze/simple/1/filters/lean.csv", "Its observations are vectors, so it has no pictures"),
        ("ga/pong/small/1/robustness.json", "only runs of river_crossing have it, not those of pong."),
        ("imported/pong/small/1/metrics.csv", "Imported agents were not trained here, so their runs have no metrics.c"),
        ("imported/pong/small/1/heatmap.png", "imported comes to a network, so its runs have no heatmap.png."),
        ("ga/pong/small/1/population.html", "ga/pong/small/1 keeps no populations, so there is no population.html."),
    ],
)
def test_what_a_run_can_never_have_is_refused_before_it_is_trained(target, complaint):
    assert complaint in answer(f"results/runs/{target}")


def test_after_crossover_weights_need_a_tag_that_is_kept_and_there_are_no_generations_but_a_family_tree():
    crossed = {"preset": "jolley2018", "games": ["river_crossing"], "models": ["modular"]}
    run = "results/runs/ga/river_crossing/modular/1"
    assert "would not keep its weights at 3M" in answer(f"{run}/tags/3M/rollout.npz", **crossed)
    assert "has no genomes of generations, so there is no generations.mp4" in answer(
        f"{run}/generations.mp4", **crossed
    )
    for possible in ("tags/400M/rollout.npz", "tags/1B/rollout.npz", "lineage.parquet", "lineage.png"):
        assert answer(f"{run}/{possible}", **crossed) == ""


def test_a_population_that_is_kept_or_there_has_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "results/runs/ga/hard_maze/simple/1/population.html"
    kept = {"games": ["hard_maze"], "models": ["simple"], "overrides": {"record_population": True}}
    assert answer(page, **kept) == ""
    (tmp_path / "results/runs/ga/pong/small/1/population").mkdir(parents=True)
    assert answer("results/runs/ga/pong/small/1/population.html") == ""


def test_games_with_nothing_to_tell_apart_are_not_classified():
    page = "results/comparisons/pong/classification.png"
    assert answer(page) == (
        "All runs of pong are of one algo, so there is nothing to tell apart. Set comparisons.by to another of algo, "
        "model and run, or plan more runs (docs/comparing.md)."
    )
    assert answer(page, sweep={"mutation_power": [0.1, 0.2]}) == ""  # two variants of one algorithm


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tables/archives.csv", "search for levels"),
        ("figures/archive_rows.png", "search for levels"),
        ("figures/predictions.pdf", "search that predicts levels"),
        ("tables/imported_scores.csv", "imported agent"),
    ],
)
def test_tables_and_figures_without_runs_are_refused_before_others_are_trained(name, what):
    assert answer(f"results/{name}").startswith(f"The configuration plans no {what}")
    search = {"algo": "dsage", "games": ["maze"], "models": ["full"]}
    assert answer(f"results/{name}", **search) == "" or what == "imported agent"
    assert "plans no run with a network" in answer("results/figures/learning_curves.png", **search)
