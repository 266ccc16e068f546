import dataclasses

import pytest
from neurozoo.algorithms.neuroevolution.presets import PRESETS
from neurozoo.algorithms.neuroevolution.settings import EsSettings, GaNoveltySettings, GaSettings, NoveltySettings
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.errors import NeurozooError


def test_the_published_settings_are_the_published_ones():
    # Section 1.1 of the specification; 1.5e9 timesteps are 6e9 frames.
    published = {
        "population_size": 1000, "selection_threshold": 20, "validation_threshold": 10, "num_validation_episodes": 30,
        "num_test_episodes": 200, "test_cutoff": None, "mutation_power": 0.002, "elite_rule": "validated",
        "first_generation": "random", "selection": "generations", "crossover": "none", "episode_cutoff_mode": 5000,
        "frames": 6_000_000_000, "protocol": None,
    }  # fmt: skip
    settings = dataclasses.asdict(resolve_settings("ga", preset="uber2018"))
    assert settings | published == settings


@pytest.mark.parametrize(
    ("preset", "published"),
    [
        # Section 1.7 of the specification: 5000 episodes, 10 survivors, the best one carried, no validation.
        ("uber2017", (5000, 10, 0.005, "carried", "random", 5000, "uber2017", 1_000_000_000)),
        # Section 7: 5000, 50 elites, strength 0.005, 20,000 steps, `-v4`, 1 billion frames.
        ("cshenton", (5000, 50, 0.005, "carried", "mutations", 20_000, "gym_v4", 1_000_000_000)),
    ],
)
def test_the_settings_of_2017_and_of_cshenton_are_the_published_ones(preset, published):
    settings = resolve_settings("ga", preset=preset)
    names = ("population_size", "selection_threshold", "mutation_power", "elite_rule", "first_generation",
             "episode_cutoff_mode", "protocol", "frames")  # fmt: skip
    assert tuple(getattr(settings, name) for name in names) == published


def test_the_published_evolution_strategies_are_the_published_ones():
    # Section 1.1 of the specification (es_atari_config); 250e6 timesteps are 1e9 frames.
    published = {
        "population_size": 5000, "mutation_power": 0.02, "tied_ranks": "order", "return_proc_mode": "centered_rank",
        "l2coeff": 0.005, "optimizer": "adam", "stepsize": 0.01, "num_test_episodes": 200, "test_cutoff": None,
        "episode_cutoff_mode": 5000, "frames": 1_000_000_000, "protocol": None,
    }  # fmt: skip
    settings = dataclasses.asdict(resolve_settings("es", preset="uber2018"))
    assert settings | published == settings
    # Section 1.7 (frostbite_es): noise of 0.005; 1 % of 5000 episodes were played without noise.
    assert resolve_settings("es", preset="uber2017") == dataclasses.replace(
        EsSettings(), mutation_power=0.005, num_test_episodes=50, protocol="uber2017"
    )


def test_the_published_novelty_strategies_are_the_published_ones():
    # Section 1.7 of the specification (frostbite_nses, frostbite_nsres); eval_prob 0.03 of 100 and 0.1 of 1000.
    published = {
        "population_size": 100,
        "num_validation_episodes": 3,
        "mutation_power": 0.02,
        "l2coeff": 0.005,
        "optimizer": "adam",
        "stepsize": 0.01,
        "episode_cutoff_mode": 5000,
        "record_population": False,
        "num_neighbours": 10,
        "num_agents": 3,
        "num_rollouts": 1,
        "selection": "novelty_prob",
    }
    for algo, changes in (("ns_es", {}), ("nsr_es", {"population_size": 1000, "num_validation_episodes": 100})):
        settings = dataclasses.asdict(resolve_settings(algo, preset="uber2017"))
        assert settings | published | changes == settings
    # ... and of the paper's adaptive form.
    settings = dataclasses.asdict(resolve_settings("nsra_es", preset="uber2017"))
    assert settings | {"reward_weight": 1.0, "weight_step": 0.05, "patience": 50} == settings
    settings = dataclasses.asdict(resolve_settings("ga_ns", preset="hard_maze"))
    assert settings | {"num_neighbours": 25, "archive_probability": 0.01} == settings


@pytest.mark.parametrize(
    ("make", "changes", "complaint"),
    [
        (
            NoveltySettings,
            {"num_rollouts": 4},
            r"num_rollouts should be at most num_validation_episodes \(3\), but is 4",
        ),
        (NoveltySettings, {"behaviour": "rma"}, "did you mean 'ram'"),
        (NoveltySettings, {"population_size": 3}, "population_size should be even"),
        (GaNoveltySettings, {"behaviour": "final_positions"}, "did you mean 'final_position'"),
    ],
)
def test_settings_of_novelty_search_are_checked(make, changes, complaint):
    make()
    with pytest.raises(NeurozooError, match=complaint):
        make(**changes)


def test_random_search_differs_from_the_ga_by_having_no_parents():
    for preset in PRESETS["rs"]:
        ga, rs = (resolve_settings(algo, preset=preset) for algo in ("ga", "rs"))
        assert rs == dataclasses.replace(ga, selection_threshold=0)
        assert ga.selection_threshold > 0


@pytest.mark.parametrize(
    ("algo", "preset", "overrides", "complaint"),
    [
        ("gaa", "demo", {}, "algorithm 'gaa' is unknown; did you mean 'ga'"),
        ("ga", "dmo", {}, "ga has no preset 'dmo'; did you mean 'demo'"),
        ("ga", "demo", {"populationsize": 5}, "ga has no setting 'populationsize'; did you mean 'population_size'"),
        ("ga", "demo", {"protocol": "uber2019"}, "did you mean 'uber2018'"),
        ("ga", "demo", {"action_set": "ful"}, "did you mean 'full'"),
        ("rs", "demo", {"selection_threshold": 2}, r"random search \(rs\) has no parents. Leave it out, or choose"),
        ("ga", "demo", {"observation": "pixel"}, "did you mean 'pixels'"),
        ("ga", "demo", {"observation": "pixels", "protocol": "uber2018"}, "cannot be chosen"),
        ("ga", "demo", {"start_state": "2019"}, "did you mean '2018'"),
        ("ga", "demo", {"episode_cutoff_mode": "never"}, "episode_cutoff_mode 'never' is none of"),
        ("ga", "demo", {"load_population": "p.json", "selection_threshold": 0}, "which means random search"),
        (
            "ga",
            "demo",
            {"load_population": "p.json", "first_generation": "mutations"},
            "Both load_population and first",
        ),
        (
            "ga",
            "demo",
            {"elite_rule": "racing", "validation_threshold": 1, "num_validation_episodes": 1},
            "A race needs at least two episodes",
        ),
        ("es", "demo", {"selection_threshold": 5}, "es has no setting 'selection_threshold'"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_allowed(algo, preset, overrides, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        resolve_settings(algo, preset=preset, overrides=overrides)


@pytest.mark.parametrize("name", ["selection_threshold", "validation_threshold"])
def test_no_more_individuals_are_selected_than_there_are(name):
    GaSettings(population_size=30, **{"selection_threshold": 5, "validation_threshold": 5, name: 30})
    with pytest.raises(NeurozooError, match=rf"{name} should be at most population_size \(30\), but is 31"):
        GaSettings(population_size=30, **{"selection_threshold": 5, "validation_threshold": 5, name: 31})
