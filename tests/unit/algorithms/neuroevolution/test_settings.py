import dataclasses

import pytest
from neurozoo.algorithms.neuroevolution.presets import PRESETS
from neurozoo.algorithms.neuroevolution.settings import (
    EsSettings,
    GaNoveltySettings,
    GaSettings,
    NoveltySettings,
    NsraSettings,
)
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.errors import NeurozooError


def test_the_published_settings_are_the_published_ones():
    # Section 1.1 of the specification; 1.5e9 timesteps are 6e9 frames.
    assert dataclasses.asdict(resolve_settings("ga", preset="uber2018")) == {
        "population_size": 1000,
        "selection_threshold": 20,
        "validation_threshold": 10,
        "num_validation_episodes": 30,
        "num_test_episodes": 200,
        "test_cutoff": None,
        "mutation_power": 0.002,
        "elite_rule": "validated",
        "first_generation": "random",
        "load_population": None,
        "stage_threshold": None,
        "crossover": "none",
        "copied_parents": 0,
        "weight_limit": None,
        "target_score": None,
        "selection": "generations",
        "episodes_in_flight": None,
        "repeat_arrivals": None,
        "episode_cutoff_mode": 5000,
        "record_population": False,
        "frames": 6_000_000_000,
        "protocol": None,
        "action_set": None,
        "observation": None,
        "start_state": None,
        "seed": 0,
        "engine": "native",
        "snapshot_frames": None,
    }


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
    assert dataclasses.asdict(resolve_settings("es", preset="uber2018")) == {
        "population_size": 5000,
        "mutation_power": 0.02,
        "tied_ranks": "order",
        "return_proc_mode": "centered_rank",
        "load_from": None,
        "observation_statistics": 0.01,
        "action_noise": 0.0,
        "l2coeff": 0.005,
        "optimizer": "adam",
        "stepsize": 0.01,
        "num_test_episodes": 200,
        "test_cutoff": None,
        "episode_cutoff_mode": 5000,
        "record_population": False,
        "frames": 1_000_000_000,
        "protocol": None,
        "action_set": None,
        "observation": None,
        "start_state": None,
        "seed": 0,
        "engine": "native",
        "snapshot_frames": None,
    }
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
        (NoveltySettings, {"num_neighbours": 0}, "num_neighbours should be at least 1, but is 0"),
        (NoveltySettings, {"num_agents": 2.5}, r"num_agents should be a whole number, but is 2\.5"),
        (
            NoveltySettings,
            {"num_rollouts": 4},
            r"num_rollouts should be at most num_validation_episodes \(3\), but is 4",
        ),
        (NoveltySettings, {"selection": "roundrobin"}, "did you mean 'round_robin'"),
        (NoveltySettings, {"behaviour": "rma"}, "did you mean 'ram'"),
        (NoveltySettings, {"population_size": 3}, "population_size should be even"),
        (NsraSettings, {"reward_weight": 1.5}, r"reward_weight should be at most 1, but is 1\.5"),
        (NsraSettings, {"weight_step": -0.1}, r"weight_step should be at least 0, but is -0\.1"),
        (NsraSettings, {"patience": 0}, "patience should be at least 1, but is 0"),
        (GaNoveltySettings, {"archive_probability": 2}, "archive_probability should be at most 1, but is 2"),
        (GaNoveltySettings, {"num_neighbours": True}, "num_neighbours should be a whole number, but is True"),
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
        (
            "ga",
            "demo",
            {"populationsize": 5},
            "ga has no setting 'populationsize'; did you mean 'population_size'",
        ),
        ("ga", "demo", {"protocol": "uber2019"}, "did you mean 'uber2018'"),
        ("ga", "demo", {"action_set": "ful"}, "did you mean 'full'"),
        ("ga", "demo", {"observation": "pixel"}, "did you mean 'pixels'"),
        ("ga", "demo", {"observation": "pixels", "protocol": "uber2018"}, "cannot be chosen"),
        ("ga", "demo", {"start_state": "2019"}, "did you mean '2018'"),
        ("ga", "demo", {"episode_cutoff_mode": "never"}, "episode_cutoff_mode 'never' is none of"),
        ("es", "demo", {"test_cutoff": 0}, "test_cutoff should be at least 1, but is 0"),
        ("es", "demo", {"test_cutoff": "env_default"}, "test_cutoff should be a whole number"),
        ("ga", "demo", {"elite_rule": "raceing"}, "elite_rule: 'raceing' is not allowed; did you mean 'racing'"),
        ("ga", "demo", {"first_generation": "mutation"}, "did you mean 'mutations'"),
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
        ("es", "demo", {"return_proc_mode": "centred_rank"}, "did you mean 'centered_rank'"),
        ("es", "demo", {"optimizer": "adm"}, "did you mean 'adam'"),
        ("es", "demo", {"population_size": 41}, "population_size should be even, but is 41"),
        ("es", "demo", {"stepsize": float("nan")}, "stepsize should be a number, but is nan"),
        ("es", "demo", {"l2coeff": -0.1}, r"l2coeff should be at least 0, but is -0\.1"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_allowed(algo, preset, overrides, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        resolve_settings(algo, preset=preset, overrides=overrides)


COUNTS = [
    "population_size", "selection_threshold", "validation_threshold", "num_validation_episodes", "num_test_episodes",
    "frames", "seed",
]  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_is_too_small_is_refused(name):
    least = 0 if name in ("selection_threshold", "seed") else 1
    with pytest.raises(NeurozooError, match=f"^{name} should be at least {least}, but is {least - 1}"):
        GaSettings(**{name: least - 1})


@pytest.mark.parametrize("name", ["selection_threshold", "validation_threshold"])
def test_no_more_individuals_are_selected_than_there_are(name):
    GaSettings(population_size=30, **{"selection_threshold": 5, "validation_threshold": 5, name: 30})
    with pytest.raises(NeurozooError, match=rf"{name} should be at most population_size \(30\), but is 31"):
        GaSettings(population_size=30, **{"selection_threshold": 5, "validation_threshold": 5, name: 31})
