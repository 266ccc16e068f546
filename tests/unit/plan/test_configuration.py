import inspect
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.attribution import draw_attribution
from neurozoo.feature_visualization.causal import measure_effects
from neurozoo.feature_visualization.patches import draw_patches
from neurozoo.feature_visualization.synthetic import Ascent
from neurozoo.interventions.intervention import Intervention
from neurozoo.plan.configuration import check_config
from neurozoo.plan.filter_products import PRODUCTS
from neurozoo.plan.planned_runs import imported_runs, planned_runs, run_settings
from neurozoo.plan.products import planned_products

PROJECT = Path(__file__).parents[3]
DEMO = "experiments: {demo: {algo: ga, games: [pong], models: [large]}}\n"


def checked(text: str) -> dict:
    return check_config(yaml.safe_load(text))


def experiment(**changes: object) -> dict:
    return {"algo": "ga", "games": ["pong"], "models": ["large"]} | changes


def test_what_is_left_out_gets_its_default():
    config = checked(DEMO + "rollout: {episodes: 3}")
    assert config["experiments"]["demo"] == experiment(preset="demo", runs=1, overrides={}, sweep={}, label="")
    assert (config["rollout"]["episodes"], config["rollout"]["max_steps"]) == (3, 2500)
    assert config["noise"]["size"] == 250_000_000
    assert config["algorithms"] == {name: {"preset": "demo", "overrides": {}} for name in ALGORITHMS}


def test_checking_does_not_change_what_the_user_wrote_and_nothing_is_shared():
    text = (
        DEMO + "algorithms: {ga: {overrides: {mutation_power: {type: constant, initial: 1}}}}\nmovie: {grids: [pong]}"
    )
    config = yaml.safe_load(text)
    found = check_config(config)
    found["algorithms"]["ga"]["overrides"]["mutation_power"]["initial"] = 2
    found["movie"]["grids"].append("frostbite")
    found["experiments"]["demo"]["games"].append("frostbite")
    assert config == yaml.safe_load(text)
    assert checked(DEMO)["movie"]["grids"] is None


def test_equal_sections_have_equal_texts_because_snakemake_compares_them():
    """Who writes out a default, or changes the order of keys, makes nothing again."""
    sections = [
        checked(DEMO + f"rollout: {{{keys}}}")["rollout"]
        for keys in ("seed: 1, max_steps: 20", "max_steps: 20, seed: 1", "episodes: 1, max_steps: 20, seed: 1")
    ]
    assert len({repr(section) for section in sections}) == 1
    assert repr(sections[0]) == (
        "{'episodes': 1, 'max_steps': 20, 'min_steps': 0, 'seed': 1, 'observation_noise': 0, 'parameter_noise': 0, "
        "'action_noise': 0, 'sticky_probability': None, 'streamlined': False}"
    )


def test_a_whole_number_with_an_exponent_becomes_an_integer():
    config = checked("experiments: {demo: {algo: ga, games: [pong], models: [large], overrides: {frames: 6.0e+9}}}")
    frames = run_settings(config, algo="ga", game="pong", model="large", run=1)["frames"]
    assert frames == 6_000_000_000
    assert isinstance(frames, int)


@pytest.mark.parametrize(
    ("config", "sentences"),
    [
        # structure
        ("", ["The file should be a mapping of keys to values, but is empty."]),
        ("{}", ["the key 'experiments' is missing."]),
        *(
            (
                DEMO + f"pathvars: {{results: {folder}}}",
                ["pathvars.results should be a plain path such as results/mine"],
            )
            for folder in ("results/x/", "./results", "~/results", '"results/{x}"', '"."', '"a, b"')
        ),
        (
            "experiments: {d: {algo: dqn, games: [pong], models: [small]}}\ngenerations: {experiments: [d]}",
            ["generations.experiments[0]: the logs of d have no genomes of generations. Runs of ga"],
        ),
        (
            "experiments: {j: {algo: ga, preset: jolley2018, games: [river_crossing], models: [modular]}}\n"
            "generations: {experiments: [j]}",
            ["generations.experiments[0]: the logs of j have no genomes of generations. Runs of ga"],
        ),
        (
            DEMO + "imports: {i: {genome: '(1, (2, 0.002))', game: gym.CartPole-v1, model: large}}",
            ["imports.i.model: "],
        ),
        (
            DEMO + "imports: {i: {genome: '(1, (2, 0.002', game: pong, model: small}}",
            ["imports.i.genome: A genome looks like (index, (index, power), ...), but got: (1, (2, 0.002"],
        ),
        (
            DEMO + "imports: {i: {genome: [x, y], game: pong, model: small}}",
            ["imports.i.genome: A genome looks like [index, [index, power], ...], but got: "],
        ),
        (
            "experiments: {1: {algo: ga, games: [pong], models: [small]}}",
            ["experiments: YAML reads the name 1 as no text. Write it in quotes."],
        ),
        (
            "experiments: {e: {algo: ga, games: [pong], models: [small], runs: [08]}}",
            [" YAML reads 08 as text; write 8."],
        ),
        (
            "experiments: {e: {algo: ga, games: [pong], models: [small], runs: ['0']}}",
            [" This is text: write 0 without quotes"],
        ),
        (
            "experiments: {e: {algo: dsage, games: [maze], models: [full]}}\ncomparisons: {games: [maze]}",
            ["No planned run results in a network that plays 'maze'. Plan one, or leave it out."],
        ),
        (
            DEMO + "moive: {}",
            ["key 'moive' is unknown; did you mean 'movie'? Known: algorithms, causal, comparisons, container,"],
        ),
        (
            DEMO + "movie: {fsp: 30}",
            [
                "movie: key 'fsp' is unknown; did you mean 'fps'? Known: fps, game, grids, layers, "
                "layout, max_steps, overlay, rows, theme."
            ],
        ),
        (DEMO + "movie: {fps: fast}", ["movie.fps should be a whole number, but is 'fast'."]),
        (DEMO + "movie: {fps: true}", ["movie.fps should be a whole number, but is True."]),
        (DEMO + "movie: {fps: 0}", ["movie.fps should be at least 1, but is 0."]),
        (
            DEMO + "site: {url: example.org}",
            ["site.url should look like https://example.org/results/site, but is 'example.org'."],
        ),
        (DEMO + "statistics: {confidence: 95}", ["statistics.confidence should be below 1, but is 95."]),
        (
            DEMO + "figures: {learning_curves: {interval: maen}}",
            ["figures.learning_curves.interval: 'maen' is not allowed; did you mean 'mean'? Allowed: mean,"],
        ),
        ("experiments: {}", ["experiments should have at least 1 entry, but is empty."]),
        ("experiments: {demo: }", ["experiments.demo should be a mapping of keys to values, but is empty."]),
        (
            "experiments: {a b: {algo: ga, games: [pong], models: [large]}}",
            ["experiments: the name 'a b' should consist"],
        ),
        (
            "experiments: [{algo: ga, games: [pong], models: [small]}]",
            ["Give each a name: experiments: {mine: {algo: ga, ...}}"],
        ),
        ({"games": []}, ["experiments.demo.games should have at least 1 entry, but is empty."]),
        ({"games": "pong"}, ["experiments.demo.games should be a list, but is 'pong'."]),
        ({"games": ["pong", 3]}, ["experiments.demo.games[1] should be text, but is 3."]),
        ({"games": ["pong", "pong"]}, ["experiments.demo.games should name everything once, but is ['pong', 'pong']."]),
        ({"runs": 0}, ["experiments.demo.runs should be at least 1, but is 0."]),
        ({"runs": [1, 0]}, ["experiments.demo.runs[1] should be at least 1, but is 0."]),
        ({"runs": "two"}, ["experiments.demo.runs should be a whole number or a list, but is 'two'."]),
        (
            {"overrides": {"popsize": 3}},
            ["experiments.demo.overrides: ga has no setting 'popsize'; did you mean 'population_size'? Known:"],
        ),
        (
            {"overrides": {"frames": "6e9"}},
            ["experiments.demo.overrides.frames should be a whole number, but is '6e9'.", "write 6_000_000_000."],
        ),
        (
            {"overrides": {"mutation_power": "2e-3"}},
            ["a number or a mapping", "is '2e-3'. YAML reads 2e-3 as", "write 0.002."],
        ),
        ({"overrides": {"frames": "nan"}}, ["should be a whole number, but is 'nan'."]),
        ({"overrides": {"frames": 1.5}}, ["experiments.demo.overrides.frames should be a whole number, but is 1.5."]),
        # meaning
        ({"algo": "gaa"}, ["experiments.demo.algo: algorithm 'gaa' is unknown; did you mean 'ga'? Known: "]),
        (
            {"algo": "ppo"},
            ["experiments.demo.algo: algorithm 'ppo' is unknown, but impala has a preset of this name: "],
        ),
        *(
            ({"label": label}, ["experiments.demo.label should be a line of at most 100 letters", repr(label[:60])])
            for label in (" ", "two\nlines", "bell\x07", "long " * 30 + "end", "\tx", "\rx")
        ),
        *(
            ({"label": label}, [f"experiments.demo.label should not begin with {label[0]!r}, which", repr(label)])
            for label in ("=2+3", "+1", "-x", "@f")
        ),
        ({"preset": "uber2081"}, ["experiments.demo.preset: ga has no preset 'uber2081'; did you mean 'uber2018'?"]),
        (
            {"games": ["pong", "mspacman"]},
            ["experiments.demo.games[1]: game 'mspacman' is unknown; did you mean 'ms_pacman'? Known: 10"],
        ),
        ({"models": ["lage"]}, ["experiments.demo.models[0]: network 'lage' is unknown; did you mean 'large'?"]),
        (
            {"overrides": {"protocol": "uber2081"}},
            ["experiments.demo.overrides: protocol 'uber2081' is unknown; did you mean 'uber2018'?"],
        ),
        (
            {"overrides": {"engine": "bached"}},
            ["experiments.demo.overrides.engine: 'bached' is not allowed; did you mean 'batched'? Allowed:"],
        ),
        (
            {"games": ["gym.CartPole-v1"], "models": ["simple"], "overrides": {"engine": "batched"}},
            ["demo.games[0]: The batched engine does not play 'gym.CartPole-v1'. Set engine to native."],
        ),
        (
            {"games": ["gym.CartPole-v1"], "models": ["simple", "large"]},
            ["demo.models[1]: 'gym.CartPole-v1' has no pictures as observations", "such as 'simple', but got 'large'."],
        ),
        (
            {"games": ["gym.PlatformerPixels-v0"], "models": ["small", "virtual_bn"]},
            ["demo.models[1]: Python plays 'gym.PlatformerPixels-v0'", "not normalised, but 'virtual_bn' has others."],
        ),
        (
            {"games": ["gym.PlatformerPixels-v0"], "models": ["mujoco"]},
            ["demo.models[0]: The network 'mujoco' scales observations by their statistics"],
        ),
        (
            {"overrides": {"mutation_power": {"type": "linar", "initial": 1, "final": 2, "length": 3}}},
            ["experiments.demo.overrides: schedule type 'linar' is unknown; did you mean 'linear'?"],
        ),
        (
            {"overrides": {"selection_threshold": 10_000}},
            ["experiments.demo.overrides: selection_threshold should be at most population_size"],
        ),
        (DEMO + "algorithms: {rss: {}}", ["algorithms: key 'rss' is unknown; did you mean 'rs'? Known: cma_me,"]),
        (
            DEMO + "algorithms: {dqn: {overrides: {noop_steps: [5, 3]}}}",
            ["algorithms.dqn.overrides.noop_steps should be [least, most] or empty, but is [5, 3]."],
        ),
        (
            {"overrides": {"mutation_power": {"type": "linear", "initial": 0}}},
            ["experiments.demo.overrides.mutation_power.initial should be above 0, but is 0."],
        ),
        (DEMO + "algorithms: {rs: {preset: dmeo}}", ["algorithms.rs.preset: rs has no preset 'dmeo';"]),
        (
            DEMO + "metrics: {columns: [Iteration, PopulationEpRewMx]}",
            ["metrics.columns[1]: field 'PopulationEpRewMx' is unknown; did you mean 'PopulationEpRewMax'?"],
        ),
        (DEMO + "generations: {experiments: [dmeo]}", ["generations.experiments[0]: experiment 'dmeo' is unknown;"]),
        (
            DEMO + "figures: {learning_curves: {references: {files: {simple_dqn: {pnog: pong.csv}}}}}",
            ["figures.learning_curves.references.files.simple_dqn: game 'pnog' is unknown; did you mean 'pong'?"],
        ),
        (
            DEMO + "filters: {experiments: [mine]}\nimports: {mine: {game: pong, model: small, genome: [1]}}",
            ["filters.experiments[0]: 'mine' is an import. Ask for its pictures by their paths"],
        ),
        (DEMO + "filters: {experiments: [dmeo]}", ["filters.experiments[0]: experiment 'dmeo' is unknown;"]),
        (DEMO + "filters: {layers: [conv9]}", ["filters.layers[0]: layer 'conv9' is unknown; did you mean 'conv"]),
        (
            DEMO + "causal: {experiments: [mine]}\nimports: {mine: {game: pong, model: small, genome: [1]}}",
            ["causal.experiments[0]: 'mine' is an import. Ask for its page by its path"],
        ),
        (DEMO + "causal: {layers: [conv9]}", ["causal.layers[0]: layer 'conv9' is unknown; did you mean 'conv"]),
        (
            DEMO + "causal: {experiments: [demo], layers: [recu1]}",
            ["causal: ga/pong/large/1 cannot have causal.html: layer 'recu1' is unknown"],
        ),
        (
            "experiments: {a: {algo: ga, games: [pong], models: [simple_dqn]}}\ncausal: {experiments: [a], with: mean}",
            ["causal: ga/pong/simple_dqn/1 cannot have causal.html: The layer 'fc' has no bias that could hold"],
        ),
        (DEMO + "causal: {with: patch}", ["causal.with: 'patch' is not allowed. Allowed: zero, mean."]),
        (DEMO + "interventions: {a: {layer: conv9}}", ["interventions.a.layer[0]: layer 'conv9' is unknown;"]),
        (DEMO + "interventions: {a: {with: zero}}", ["interventions.a: the key 'layer' is missing."]),
        (
            DEMO + "interventions: {a: {layer: conv1, factor: 2}}",
            ["interventions.a: factor belongs to with: scale, but with is zero. Leave factor out."],
        ),
        (DEMO + "what_if: {a: {step: 5}}", ["what_if.a: A what-if needs one change: action, ram,", "It has none."]),
        (DEMO + "what_if: {a: {action: LEFT}}", ["what_if.a: the key 'step' is missing."]),
        (DEMO + "what_if: {a: {step: 5, ram: [x]}}", ["what_if.a: ram should be ADDRESS=VALUE, such as 49=100,"]),
        (DEMO + "what_if: {a: {step: 5, pixels: '0,0,1,1=e'}}", ["what_if.a: pixels should be TOP,LEFT,BOTTOM,RIGHT"]),
        (DEMO + "what_if: {a: {step: 5, agent: ''}}", ["what_if.a: agent should be a run, ALGO/GAME/MODEL/RUN such"]),
        (DEMO + "what_if: {a: {step: 5, agent: '../../{x}'}}", ["what_if.a: agent should be a run", "'../../{x}'."]),
        (DEMO + "what_if: {a: {step: 5, agent: dnq/pong/small/1}}", ["what_if.a: algorithm 'dnq' is unknown; did you"]),
        (
            DEMO + "what_if: {a: {step: 5, agent: dqn/pnog/small/1}}",
            ["what_if.a: game 'pnog' is unknown; did you mean"],
        ),
        (DEMO + "what_if: {a: {step: 5, intervention: b}}", ["what_if.a: intervention 'b' is unknown."]),
        (DEMO + "what_if: {grid: {step: 5, action: LEFT}}", ["what_if.grid: this is the name of the grid of all act"]),
        (DEMO + "filters: {products: [weight]}", ["filters.products[0]: product 'weight' is unknown;"]),
        (
            DEMO + "test: {protocols: [machado]}",
            ["test.protocols[0]: protocol 'machado' is unknown; did you mean 'mach"],
        ),
        (DEMO + "zoo: {keep_tags: [human, 1X]}", ["zoo.keep_tags[1]: A tag should be initial", "but is '1X'."]),
        (DEMO + "rollout: {min_steps: 3000}", ["rollout.min_steps should be at most max_steps, 2500, but is 3000."]),
        (DEMO + "rollout: {action_noise: 2}", ["rollout.action_noise should be at most 1, but is 2."]),
        (
            DEMO + "movie: {layers: [conv9]}",
            ["movie.layers[0]: layer 'conv9' is unknown;", "Known: conv1, conv2, conv3, fc, out"],
        ),
        (DEMO + "movie: {grids: [pogn]}", ["movie.grids[0]: planned game 'pogn' is unknown; did you mean 'pong'?"]),
        (DEMO + "movie: {game: 1}", ["movie.game should be true or false, but is 1."]),
        (DEMO + "comparisons: {games: [pogn]}", ["comparisons.games[0]: planned game 'pogn' is unknown; did you mean"]),
        (
            DEMO + "comparisons: {seed: 5000000000}",
            ["comparisons.seed should be at most 4294967295, but is 5000000000"],
        ),
        (
            DEMO + "rollout: {streamlined: true}\nfilters: {experiments: [demo]}",
            ["rollout.streamlined should be false because filters.experiments needs patches, synthetic, inversion,"],
        ),
        (
            DEMO + "rollout: {streamlined: true}\ncomparisons: {games: [pong]}",
            ["rollout.streamlined should be false because comparisons.games compares recorded states"],
        ),
        (
            DEMO + "rollout: {parameter_noise: 0.1}\nfilters: {experiments: [demo]}",
            ["rollout.parameter_noise should be 0 because filters.experiments needs patches, synthetic, inversion,"],
        ),
        (
            DEMO + "rollout: {parameter_noise: 0.1}\ncausal: {experiments: [demo]}",
            ["rollout.parameter_noise should be 0 because causal.experiments needs pictures, which show the unpert"],
        ),
        (
            "experiments: {demo: {algo: ga, games: [pong, hard_maze], models: [simple]}}\nrollout: {action_noise: 0.1}",
            ["rollout.action_noise should be 0, but is 0.1: 'hard_maze' has continuous outputs"],
        ),
        (
            "experiments: {demo: {algo: ga, games: [pong, river_crossing], models: [small]}}\n"
            "rollout: {sticky_probability: 0.25}",
            ["rollout.sticky_probability should be empty, but is 0.25: 'river_crossing' has no emulator"],
        ),
        (DEMO + "comparisons: {keys: [rom]}", ["comparisons.keys[0]: 'rom' is not allowed; did you mean 'ram'?"]),
        *(
            ({"algo": algo, "models": [model], "games": [game]}, [f"games[0]: {algo} {answer}"])
            for algo, model, known in (
                ("dqn", "small", "river_crossing"),
                ("impala", "impala_deep", "maze, river_crossing"),
            )
            for game, answer in (
                (
                    "hard_maze",
                    f"plays Atari games, {known} and gym. games with images, and no setting lets it play 'hard_maze'. "
                    "Choose another game, or an",
                ),
                (
                    "gym.CartPole-v1",
                    "needs images and a list of actions, but 'gym.CartPole-v1' shows vectors. Choose another game, or",
                ),
            )
        ),
        (DEMO + "generations: {every: 0}", ["generations.every should be at least 1, but is 0."]),
        ("5: 6\n" + DEMO, ["YAML reads the name 5 as no text. Write it in quotes."]),
        (
            "imports: {a: {game: pong, model: small, genome: [2020-01-01]}}",
            ["imports.a.genome: A genome looks like [index, [index, power], ...], but got: ['2020-01-01']"],
        ),
        ("imports: {}", ["imports should have at least 1 entry, but is empty."]),
        ("imports: {a: {game: pong}}", ["imports.a: the key 'model' is missing. Network that it was evolved for"]),
        ("imports: {a: {game: pong, model: small}}", ["imports.a should have either file or genome, but has neither."]),
        (
            "imports: {a: {game: pong, model: small, file: x, genome: [1]}}",
            ["imports.a should have either file or genome, but has both."],
        ),
        ("imports: {a: {game: pnog, model: small, file: x}}", ["imports.a.game: game 'pnog' is unknown; did you mean"]),
        ("imports: {a: {game: pong, model: smal, file: x}}", ["imports.a.model: network 'smal' is unknown; did you"]),
        (
            "imports: {a: {game: pong, model: small, file: x, start_state: '2018'}}",
            ["imports.a: The start state of 2018 is not known for 'pong'"],
        ),
        (
            "imports: {a: {game: pong, model: small, file: x, start_state: 2018}}",
            ["imports.a.start_state should be text or empty, but is 2018."],
        ),
        (
            "imports: {a: {game: pong, model: small, file: x}, b: {game: pong, model: Model, genome: [1]}}",
            ["imports.a and imports.b both make the run 1 of one game and network"],
        ),
        # 8,224 + 32,832 + 36,928 + (7,744 + 1) x 512 + (512 + 1) x 18 weights and biases
        (DEMO + "noise: {size: 4052658}", ["noise.size should be above the 4,052,658 parameters of network 'large'"]),
    ],
)
def test_a_mistake_is_explained_with_its_place_what_is_allowed_and_the_nearest_name(config, sentences):
    config = {"experiments": {"demo": experiment(**config)}} if isinstance(config, dict) else yaml.safe_load(config)
    with pytest.raises(NeurozooError) as caught:
        check_config(config, source="mine.yaml")
    assert str(caught.value).startswith("mine.yaml has one problem:\n  ")
    for sentence in sentences:
        assert sentence in str(caught.value)


def test_lists_of_games_stand_for_their_games():
    config = check_config({"experiments": {"demo": experiment(games=["atari5", "qbert", "pong"])}})
    games = ["battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert", "pong"]
    assert config["experiments"]["demo"]["games"] == games
    assert [run.game for run in planned_runs(config)] == games


def test_networks_that_deep_q_learning_cannot_train_are_told_before_anything_runs():
    wrong = ["recurrent_large", "virtual_bn", "linear"]
    with pytest.raises(NeurozooError, match="has 3 problems") as caught:
        check_config({"experiments": {"one": experiment(algo="dqn", preset="neurozoo", models=["large", *wrong])}})
    for number, network in enumerate(wrong[:2], start=1):
        told = f"models[{number}]: dqn trains networks of convolutions and dense layers, but {network!r} has the layer"
        assert told in str(caught.value)
    assert "models[3]: A dueling head needs a hidden layer that it can halve, but 'linear' has none" in str(
        caught.value
    )
    check_config({"experiments": {"one": experiment(algo="dqn", preset="simple_dqn", models=["large", "linear"])}})


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("{algo: PPO, games: [pong], models: [small]}", ["choose algorithm impala and preset ppo"]),
        ("{algo: dqn, preset: ppo, games: [pong], models: [small]}", ["Known: demo, ", "It is a preset of impala."]),
        ("{algo: impala, preset: ppo, games: [pong], models: [large]}", ["such as impala_shallow, or one of action"]),
        ("{algo: ga, games: [pong], models: [impala_shallow]}", ["as impala needs it", "such as 'large' or 'small'"]),
        (
            "{algo: ga, games: [pong], models: [small], overrides: {populationsize: 3, frame: 4}}",
            [
                "has 2 problems",
                "did you mean 'population_size'?",
                "did you mean 'frames'?",
                "python -m neurozoo settings",
            ],
        ),
        (
            "{algo: ga, games: pong, models: small}",
            ["should be a list, but is 'pong'. Write [pong].", "Write [small]."],
        ),
        (
            "{algo: ga, games: [Labyrinth-v0], models: [simple]}",
            ["write gym.MODULE:Labyrinth-v0 (docs/your_environment"],
        ),
        ("{algo: ga, games: [pong], models: [small], sweep: {model: [large]}}", ["list them under models."]),
        ("{algo: ga, games: [pong], models: [small], sweep: {preset: [demo]}}", ["write an experiment for each."]),
        (
            "{algo: dqn, games: [pong], models: [small], overrides: {learning_rate: [0.1, 0.2]}}",
            ["should be a number, but is [0.1, 0.2]. For several values, write it under sweep."],
        ),
        ("{algo: ga, games: [pong], models: [small]}}\nresults: {a: b", ["under pathvars: {results: results/mine}."]),
        (
            "{algo: ga, games: [pong], models: [small], runs: 1, seed: 3}",
            ["The number of a run decides its seed: write runs: [7] for run 7."],
        ),
        (
            "{algo: ga, games: [pong], models: [small], runs: 1, population_size: 10}",
            ["This is a setting of the algorithm: write it under overrides."],
        ),
        (
            "{algo: ga, games: [pong], models: [small], runs: '3'}",
            ["is '3'. This is text: write 3 without quotes, in a --configfile"],
        ),
        (
            "{algo: map_elites, games: [maze], models: [plain], overrides: {measures: [wals, path_length]}}",
            ["\n  experiments.demo: maze has no measure 'wals'; did you mean 'walls'"],  # not blamed on the game
        ),
        (
            "{algo: es, games: [gym.Pendulum-v1], models: [simple], overrides: {protocol: gymnasium}}}\n"
            "test: {action_rules: [sampled]",
            ["test.action_rules should be [], but is ['sampled']"],  # outputs are continuous
        ),
        # What training would refuse.
        (
            "{algo: impala, games: [gym.PlatformerPixels-v0], models: [maze_recurrent], "
            "overrides: {protocol: gymnasium}}",
            ["models[0]: 'maze_recurrent' sees mazes"],
        ),
        ("{algo: impala, games: [pong], models: [maze_recurrent]}", ["models[0]: 'maze_recurrent' sees mazes"]),
        (
            "{algo: dqn, games: [river_crossing], models: [cells], "
            "overrides: {observation: objects, protocol: river_split}}",
            ["games[0]: Learners see 84 x 84 x 4 pixels, but 'river_crossing' shows 20 x 20 x 6. Set observation"],
        ),
        (
            "{algo: ga, games: [river_crossing], models: [nature], overrides: {observation: objects}}",
            ["models[0]: The network 'nature' has no padding"],
        ),
        *(
            (
                f"{{algo: {algo}, games: [gym.CartPole-v1], models: [simple]}}",
                ["games[0]: Novelty needs a behaviour, but games under the protocol 'gymnasium' give none. Choose ga"],
            )
            for algo in ("ga_ns", "ns_es", "nsr_es", "nsra_es")
        ),
        ("{algo: ga, games: [pong], models: [small]}}\nfigures: {color_by: algo", ["written under learning_curves."]),
    ],
)
def test_a_mistake_that_people_make_is_answered_with_what_to_write(text, sentences):
    with pytest.raises(NeurozooError) as caught:
        check_config(yaml.safe_load(f"experiments: {{demo: {text}}}"))
    for sentence in sentences:
        assert sentence in str(caught.value)


def test_all_mistakes_are_listed_at_once():
    wrong = experiment(games=["pnog"], models=["lage"], preset="dmeo")
    with pytest.raises(NeurozooError, match="has 4 problems") as caught:
        check_config({"experiments": {"one": wrong, "two": experiment(algo="g")}})
    assert len(str(caught.value).splitlines()) == 5


def test_a_billion_runs_are_not_planned():
    with pytest.raises(NeurozooError, match=r"one should have at most 1,000,000 runs, but has 2,000,000,000"):
        check_config({"experiments": {"one": experiment(games=["pong", "qbert"], runs=10**9)}})
    swept = {"mutation_power": [n / 1e4 for n in range(1, 1001)]}
    with pytest.raises(NeurozooError, match=r"but has 10,400,000"):
        check_config({"experiments": {"one": experiment(games=["all"], models=["small"], runs=100, sweep=swept)}})


def test_of_a_long_list_of_mistakes_the_first_are_shown():
    with pytest.raises(NeurozooError, match=r"has more than 50 problems") as caught:
        check_config({"experiments": {"one": experiment(models=[0] * 50_000, runs=0)}})
    _, *shown, last = str(caught.value).splitlines()
    assert (len(shown), last) == (50, "  ...")


def test_two_experiments_may_not_give_one_run_different_settings():
    experiments = {
        "one": experiment(runs=3),
        "two": experiment(
            games=["frostbite", "pong"], models=["LargeModel"], runs=[3], overrides={"frames": 77, "seed": 5}
        ),
    }
    with pytest.raises(
        NeurozooError, match=r"experiments\.one and experiments\.two both contain the run ga/pong/large/3, but di"
    ) as e:
        check_config({"experiments": experiments})
    assert "differ in frames, seed." in str(e.value)
    experiments["two"]["runs"] = [4]
    check_config({"experiments": experiments})


@pytest.mark.parametrize("path", sorted((PROJECT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_of_the_project_are_right(path):
    if path.stem == "humanoid":
        pytest.importorskip("mujoco", reason="needs MuJoCo: .venv/bin/pip install mujoco==4.0.0")
    config = check_config(yaml.safe_load(path.read_text()))
    assert planned_runs(config) or imported_runs(config)


def test_config_yaml_spells_out_every_key_with_its_default():
    """Users who copy the file see everything that can be set."""

    def keys(value: object, place: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {place}
        return {key for name, part in value.items() for key in keys(part, f"{place}.{name}")} | {place}

    written = yaml.safe_load((PROJECT / "config.yaml").read_text())
    assert keys(written) == keys(check_config(written))


def test_settings_of_filters_are_those_of_the_functions():
    wanted = checked(DEMO)["filters"]
    assert set(wanted["products"]) == set(PRODUCTS)
    ascent = {field.name for field in fields(Ascent)}
    assert ascent | {"objective"} == set(wanted["synthetic"])
    assert set(wanted["inversion"]) <= ascent | {"observations"}
    for section, function in (("patches", draw_patches), ("attribution", draw_attribution)):
        defaults = {name: value.default for name, value in inspect.signature(function).parameters.items()}
        assert {key: defaults[key] for key in wanted[section]} == wanted[section]
    assert asdict(Ascent()) == {key: wanted["synthetic"][key] for key in ascent}


def test_settings_of_the_causal_report_are_those_of_the_function():
    wanted = checked(DEMO)["causal"]
    defaults = {name: value.default for name, value in inspect.signature(measure_effects).parameters.items()}
    assert {key: defaults[key] for key in ("episodes", "sticky_probability", "seed")}.items() <= wanted.items()
    assert (defaults["with_"], list(defaults["layers"])) == (wanted["with"], wanted["layers"])
    entry = checked(DEMO + "interventions: {a: {layer: fc, channels: [3], with: mean}}")["interventions"]["a"]
    assert Intervention.from_config(entry) == Intervention("fc", (3,), with_="mean")


def test_runs_whose_networks_weights_can_ablate_get_a_causal_report():
    experiments = (
        "experiments:\n"
        "  a: {algo: ga, games: [pong], models: [small]}\n"
        "  b: {algo: impala, games: [pong], models: [impala_shallow]}\n"
        "  c: {algo: es, games: [pong], models: [virtual_bn]}\n"
        "causal: {experiments: [a, b, c]}\n"
    )
    pages = [path for path in planned_products(checked(experiments)) if path.endswith("causal.html")]
    assert pages == ["<results>/runs/ga/pong/small/1/causal.html"]


def test_runs_and_imports_whose_agents_can_play_in_a_browser_get_a_page():
    experiments = (
        "experiments:\n"
        "  a: {algo: ga, games: [river_crossing], models: [modular, small], preset: jolley2018}\n"
        "  b: {algo: dsage, games: [maze], models: [full]}\n"
        "imports: {c: {game: river_crossing, model: modular_rgb, genome: [1], observation: objects}}\n"
    )
    pages = [path for path in planned_products(checked(experiments)) if path.endswith("play.html")]
    runs = ("ga/river_crossing/modular/1", "imported/river_crossing/modular_rgb/1")
    assert pages == [f"<results>/runs/{run}/play.html" for run in runs]


def test_a_dask_cluster_is_read_and_a_mistake_in_it_is_found():
    assert checked(DEMO)["distributed"] is None
    assert checked(DEMO + "distributed: local workers=2")["distributed"] == "local workers=2"
    with pytest.raises(NeurozooError, match="distributed: key 'worker' is unknown; did you mean 'workers'"):
        checked(DEMO + "distributed: {cluster: slurm, worker: 3}")


def test_noise_and_streamlined_rollouts_are_allowed_beside_products_that_need_no_rollout():
    others = "\nfilters: {experiments: [demo], products: [weights, lean]}\ncomparisons: {games: [pong]}"
    assert checked(DEMO + "rollout: {parameter_noise: 0.1, action_noise: 0.1, sticky_probability: 0.1}" + others)
    assert checked(DEMO + "rollout: {streamlined: true}" + others.partition("\ncomparisons")[0])


def test_every_configuration_has_a_folder_of_results_of_its_own():
    """Else the tables of one would replace those of another."""
    paths = sorted((PROJECT / "config").rglob("*.yaml"))
    found = [yaml.safe_load(path.read_text()) for path in paths]
    folders = [config.get("pathvars", {}).get("results") for config in found if "experiments" in (config or {})]
    assert None not in folders
    assert len(set(folders)) == len(folders)
