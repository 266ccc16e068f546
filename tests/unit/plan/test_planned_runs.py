import itertools
from dataclasses import fields

import pytest
import yaml
from neurozoo.algorithms import spec
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import (
    PlannedRun,
    check_new_run,
    classified_games,
    filmed_runs,
    filter_files,
    import_choices,
    imported_runs,
    labels_of_runs,
    planned_runs,
    run_settings,
    runs_of_game,
    runs_with_layer,
    runs_with_lean,
    start_files,
)
from neurozoo.plan.products import games_in_grids

DEMO_EXPERIMENT = "algo: ga, games: [pong], models: [large]"
DEMO = f"experiments: {{demo: {{{DEMO_EXPERIMENT}}}}}\n"


def checked(text: str) -> dict:
    return check_config(yaml.safe_load(text))


def experiment(**changes: object) -> dict:
    return {"algo": "ga", "games": ["pong"], "models": ["large"]} | changes


def test_runs_are_listed_in_the_order_of_the_file_and_each_once():
    config = check_config(
        {
            "experiments": {
                "one": experiment(games=["pong", "frostbite"], models=["large"], runs=2),
                "two": experiment(games=["frostbite"], models=["small", "LargeModel"], runs=[2, 7]),
            }
        }
    )
    assert [(run.game, run.model, run.run) for run in planned_runs(config)] == [
        ("pong", "large", 1),
        ("pong", "large", 2),
        ("frostbite", "large", 1),
        ("frostbite", "large", 2),
        ("frostbite", "small", 2),
        ("frostbite", "small", 7),
        ("frostbite", "large", 7),
    ]
    assert planned_runs(config)[0] == PlannedRun("ga", "pong", "large", 1)


def test_what_a_learner_learns_is_the_first_word_of_its_label():
    def labels(**experiment):
        entry = {"algo": "impala", "games": ["pong"], "models": ["impala_shallow"], "runs": 1} | experiment
        return labels_of_runs(check_config({"experiments": {"one": entry}})).get("impala/pong/impala_shallow/1")

    assert labels(preset="impala_paper") is None
    assert labels(preset="neurozoo") == "PPO"
    assert labels(preset="neurozoo", label="slow") == "PPO, slow"
    assert labels(preset="neurozoo", label="PPO") == "PPO"
    assert labels(preset="neurozoo", overrides={"proximal_policy": "learning"}) == "decoupled PPO"


def test_labels_belong_to_the_runs_of_their_experiments():
    config = check_config(
        {
            "experiments": {
                "one": experiment(runs=2, label="bold"),
                "two": experiment(games=["frostbite"], runs=[7]),
                "three": experiment(runs=[2], label="brave"),
            }
        }
    )
    assert labels_of_runs(config) == {"ga/pong/large/1": "bold", "ga/pong/large/2": "bold / brave"}


def test_a_run_has_the_settings_of_its_experiment_and_any_other_run_those_of_its_algorithm():
    config = check_config(
        {
            "experiments": {"one": experiment(preset="uber2018", runs=[2], overrides={"frames": 1000})},
            "algorithms": {"ga": {"overrides": {"frames": 2000}}},
        }
    )
    inside = run_settings(config, algo="ga", game="pong", model="large", run="2")
    outside = run_settings(config, algo="ga", game="pong", model="large", run="3")
    assert (inside["frames"], inside["population_size"]) == (1000, 1000)
    assert (outside["frames"], outside["population_size"]) == (2000, ALGORITHMS["ga"].presets["demo"].population_size)
    assert run_settings(config, algo="rs", game="pong", model="large", run=1)["selection_threshold"] == 0
    assert set(inside) == {field.name for field in fields(GaSettings)}


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("runs/1/", "runs/1/checkpoint.npz"),  # a folder that need not exist yet
        ("of.old/", "of.old/checkpoint.npz"),
        ("population.json", "population.json"),
        ("population", "population"),
        ("'[[1]]'", None),  # the population itself
    ],
)
def test_what_a_run_starts_from_is_a_file(source, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of.old").mkdir()
    (tmp_path / "population").touch()
    config = checked(f"experiments: {{e: {{{DEMO_EXPERIMENT}, overrides: {{load_population: {source}}}}}}}")
    assert start_files(config, algo="ga", game="pong", model="large", run=1) == [file] * (file is not None)


def test_a_run_belongs_to_an_experiment_exactly_if_that_lists_it():
    config = checked(
        """
experiments:
  numbers: {algo: ga, games: [pong, ms_pacman], models: [LargeModel, small], runs: [2, 7], overrides: {seed: 5}}
  count: {algo: rs, games: [pong], models: [small], runs: 3, overrides: {seed: 5}}
"""
    )
    listed = planned_runs(config)
    assert len(listed) == 2 * 2 * 2 + 3
    for algo, game, model, run in itertools.product(
        ("ga", "rs"), ("pong", "ms_pacman", "alien"), ("large", "small"), range(9)
    ):
        seed = run_settings(config, algo=algo, game=game, model=model, run=run)["seed"]
        assert (seed == 5) == (PlannedRun(algo, game, model, run) in listed)


def test_the_cost_of_finding_settings_does_not_depend_on_the_number_of_runs(monkeypatch):
    calls = 0
    counted = spec.get_network

    def get_network(name):
        nonlocal calls
        calls += 1
        return counted(name)

    monkeypatch.setattr(spec, "get_network", get_network)
    costs = []
    for runs in (2, 200):
        text = f"experiments: {{demo: {{algo: ga, games: [pong, ms_pacman], models: [large], runs: {runs}}}}}"
        config, calls = checked(text), 0
        run_settings(config, algo="ga", game="pong", model="large", run=1)
        costs.append(calls)
    assert costs[0] == costs[1] > 0


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"algo": "gaa"}, "algorithm 'gaa' is unknown; did you mean 'ga'?"),
        ({"game": "pnog"}, "game 'pnog' is unknown; did you mean 'pong'?"),
        ({"model": "LargeModel"}, "'LargeModel' is the published name of 'large'; in a path, write large."),
    ],
)
def test_a_run_with_a_wrong_name_has_no_settings(names, sentence):
    names = {"algo": "ga", "game": "pong", "model": "large", "run": 1} | names
    with pytest.raises(NeurozooError) as caught:
        run_settings(checked(DEMO), **names)
    assert sentence in str(caught.value)


def test_imports_need_no_experiments_and_become_runs_of_their_own():
    first = "a: {game: pong, model: Model, genome: [1, [2, 0.1]]}"
    config = checked(f"imports: {{{first}, b: {{game: pong, model: small, file: x, run: 2}}}}")
    assert planned_runs(config) == []
    assert imported_runs(config) == [PlannedRun("imported", "pong", "small", run) for run in (1, 2)]
    choices = import_choices(config, game="pong", model="small", run="1")
    assert (choices["file"], choices["source"]) == (None, "[1, [2, 0.1]]")
    choices = import_choices(config, game="pong", model="small", run="2")
    assert (choices["file"], choices["source"], choices["format"]) == ("x", "x", "auto")
    with pytest.raises(NeurozooError, match="imported/pong/small/3; they make: pong/small/1, pong/small/2"):
        import_choices(config, game="pong", model="small", run="3")


def test_filters_are_shown_for_the_configured_experiments_where_they_have_a_meaning():
    assert filter_files(checked(DEMO)) == []
    text = """
experiments:
  atari: {algo: ga, games: [pong], models: [small]}
  river: {algo: ga, games: [river_crossing], models: [small], overrides: {protocol: river_faithful}}
  maze: {algo: ga, games: [hard_maze], models: [simple], overrides: {protocol: hard_maze}}
  other: {algo: rs, games: [pong], models: [small]}
filters: {experiments: [atari, river, maze], layers: [conv1], products: [weights, attribution, lean]}
"""
    config = checked(text)
    atari, river = (PlannedRun("ga", game, "small", 1) for game in ("pong", "river_crossing"))
    pictures = ("filters/weights_conv1.png", "filters/attribution.png")
    assert filter_files(config) == [
        *((atari, file) for file in (*pictures, "filters/lean.csv")),
        *((river, file) for file in pictures),
    ]
    assert runs_with_lean(config) == [atari, PlannedRun("rs", "pong", "small", 1)]


def test_layers_are_filmed_of_the_networks_that_have_them_and_grids_show_all_runs_of_a_game():
    config = checked(
        DEMO + "imports: {a: {game: pong, model: small, genome: [1]}}\nmovie: {layers: [conv3, fc], grids: [pong]}"
    )
    large, small = PlannedRun("ga", "pong", "large", 1), PlannedRun("imported", "pong", "small", 1)
    assert runs_with_layer(config, "conv3") == [large]
    assert runs_with_layer(config, "fc") == runs_of_game(config, "pong") == [large, small]
    with pytest.raises(NeurozooError, match="planned game 'frostbite' is unknown"):
        runs_of_game(config, "frostbite")


def test_grids_are_filmed_of_all_games_with_several_runs_unless_the_configuration_names_them():
    two = DEMO + "imports: {a: {game: pong, model: small, genome: [1]}}\n"
    assert games_in_grids(checked(two)) == ["pong"]
    assert games_in_grids(checked(DEMO)) == []  # a single run
    assert games_in_grids(checked(two + "movie: {grids: []}")) == []


def test_generations_are_filmed_for_the_configured_experiments():
    assert filmed_runs(checked(DEMO)) == []
    config = checked(DEMO + "generations: {experiments: [demo]}")
    assert filmed_runs(config) == planned_runs(config) == [PlannedRun("ga", "pong", "large", 1)]


@pytest.mark.parametrize(
    ("changes", "games"),
    [
        ({}, ["pong"]),
        ({"by": "model"}, ["frostbite"]),
        ({"by": "run"}, ["frostbite", "pong", "seaquest"]),
        ({"classify": False}, []),
    ],
)
def test_games_whose_runs_are_all_alike_are_not_classified(changes, games):
    config = checked(
        "comparisons: {games: [frostbite, pong, seaquest, asterix]}\n"
        "experiments:\n"
        "  a: {algo: ga, games: [frostbite], models: [small, LargeModel]}\n"
        "  b: {algo: ga, games: [pong, asterix], models: [large]}\n"
        "  c: {algo: es, games: [pong], models: [large]}\n"
        "  d: {algo: ga, games: [seaquest], models: [large], runs: 2}\n"
    )
    config["comparisons"] |= changes
    assert classified_games(config) == games


def test_two_learners_of_one_algorithm_can_be_told_apart():
    config = checked(
        "comparisons: {games: [pong, seaquest]}\n"
        "experiments:\n"
        "  a: {algo: impala, games: [pong, seaquest], models: [impala_shallow], preset: neurozoo}\n"
        "  b: {algo: impala, games: [pong], models: [small_layer_norm], preset: pqn}\n"
        "  c: {algo: impala, games: [seaquest], models: [impala_shallow_layer_norm], preset: neurozoo}\n"
    )
    assert classified_games(config) == ["pong"]


@pytest.mark.parametrize(
    ("algo", "game", "model", "needed"),
    [
        ("dsage", "mario", "full", {"agent": "a_star", "evaluations": 300}),  # mario_demo
        ("cma_me", "mario", "plain", {"agent": "a_star", "evaluations": 300}),
        ("dsage", "maze", "full", {"agent": "wall_follower", "evaluations": 600}),
        ("dsage", "river_crossing", "full", {"agent": "shunting", "num_episodes": 1}),  # river_crossing_demo
        ("dqn", "river_crossing", "small", {"protocol": "river_fixed"}),
        ("dqn", "gym.PlatformerPixels-v0", "nature", {"protocol": "gymnasium", "dueling": True}),
        ("dqn", "pong", "linear", {"protocol": "machado2018", "dueling": False}),
        ("impala", "maze", "maze_recurrent", {"protocol": "maze", "objective": "vtrace"}),
        ("impala", "pong", "small_layer_norm", {"protocol": "machado2018", "objective": "pqn"}),
        ("ga", "hard_maze", "simple", {"protocol": None}),
    ],
)
def test_a_run_by_path_has_the_preset_that_its_game_and_network_need(tmp_path, algo, game, model, needed):
    run = {"algo": algo, "game": game, "model": model, "run": 1}
    config = checked(DEMO)
    check_new_run(config, tmp_path, **run)
    found = run_settings(config, **run)
    assert {name: found[name] for name in needed} == needed


@pytest.mark.parametrize(
    ("preset", "game", "model", "needed"),
    [
        ("maze", "pong", "impala_shallow", {"protocol": "nature2015", "objective": "ppo"}),
        ("neurozoo_pqn", "maze", "maze_recurrent", {"protocol": "maze", "objective": "ppo"}),
        ("neurozoo_decoupled", "pong", "small_layer_norm", {"objective": "pqn", "proximal_policy": "acting"}),
    ],
)
def test_other_presets_of_runs_by_path_fit_too(preset, game, model, needed):
    config = checked(DEMO + f"algorithms: {{impala: {{preset: {preset}}}}}")
    found = run_settings(config, algo="impala", game=game, model=model, run=1)
    assert {name: found[name] for name in needed} == needed


def test_settings_of_runs_by_path_that_fit_as_they_are_stay():
    config = checked(DEMO + "algorithms: {cma_me: {preset: demo, overrides: {agent: a_star}}}")
    found = run_settings(config, algo="cma_me", game="mario", model="plain", run=1)
    assert (found["agent"], found["evaluations"]) == ("a_star", 600)  # demo, not mario_demo


@pytest.mark.parametrize(
    ("algo", "game", "model", "reason"),
    [
        ("ns_es", "maze", "simple", r"ns_es/maze/simple/1 cannot be trained. Novelty needs a behaviour"),
        ("ga", "hard_maze", "large", "has no pictures as observations and needs a network of dense layers"),
        ("dqn", "pong", "recurrent_large", "dqn trains networks of convolutions and dense layers"),
        ("impala", "maze", "small_layer_norm", "its kernels do not fit into an observation of 5 x 5"),
        ("dqn", "hard_maze", "simple", "no setting lets it play 'hard_maze'"),
        ("dsage", "pong", "full", "domain of levels 'pong' is unknown"),
    ],
)
def test_a_run_by_path_that_nothing_fits_is_refused_with_the_reason(tmp_path, algo, game, model, reason):
    with pytest.raises(NeurozooError, match=reason):
        check_new_run(checked(DEMO), tmp_path, algo=algo, game=game, model=model, run=1)


def test_overrides_that_do_not_fit_a_run_by_path_are_named(tmp_path):
    config = checked(DEMO + "algorithms: {map_elites: {preset: demo, overrides: {agent: wall_follower}}}")
    mario = {"algo": "map_elites", "game": "mario", "model": "plain", "run": 1}
    with pytest.raises(NeurozooError, match=r"cannot be sent into.* it has the overrides of algorithms.map_elites"):
        check_new_run(config, tmp_path, **mario)
    (tmp_path / "config.yaml").touch()  # trained by hand, with other settings
    check_new_run(config, tmp_path, **mario)
