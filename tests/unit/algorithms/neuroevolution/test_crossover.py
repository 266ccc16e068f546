"""Children of two parents: small generations worked out by hand."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution import genetic_search
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic_search import child_of, crossed, crossed_by_neuron
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.algorithms.neuroevolution.tournaments import TournamentAlgorithm
from neurozoo.algorithms.neuroevolution.warm_start import read_population
from neurozoo.algorithms.settings import fitting_settings
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.records.lineage import COLUMNS
from neurozoo.records.published_log import ELITE_GENOME
from neurozoo.records.run_log import read_log
from neurozoo.training import make_context, train
from searches import check_resuming, generation, tell

PARAMETERS = 5
CROSSING = {"crossover": "one_point", "copied_parents": 1, "weight_limit": 1.0, "selection_threshold": 2}

TOURNAMENTS = {
    "selection": "tournaments", "crossover": "neurons", "copied_parents": 0, "population_size": 7,
    "selection_threshold": 5, "validation_threshold": 2,
}  # fmt: skip


def algorithm(kind=GeneticAlgorithm, *, start=(), **changes):
    settings = {
        "population_size": 4, "validation_threshold": 2, "num_validation_episodes": 1, "num_test_episodes": 1,
        "mutation_power": 0.05, "episode_cutoff_mode": 100, "frames": 10_000,
    }  # fmt: skip
    neurons = [np.array([0, 1]), np.array([2, 3, 4])]
    layout = SimpleNamespace(
        parameter_count=PARAMETERS, initialise=lambda noise: noise * np.float32(0.5), neurons=neurons
    )
    noise = np.linspace(-4, 4, 60, dtype=np.float32)
    settings = GaSettings(**settings | CROSSING | changes)
    protocol = get_protocol("uber2018")
    return kind(settings, entropy=(0, 1), layout=layout, noise=noise, protocol=protocol, start=start)


def tournaments(**changes):
    return algorithm(TournamentAlgorithm, **TOURNAMENTS | changes)


def by_weights(episode):
    theta = episode.genome.initial.theta
    steps = 1 + episode.seed % (episode.max_frames // 4)
    return EpisodeResult(float(np.float64(theta[0] * 100).round()), steps, 4 * steps)


class Drawn:
    """Gives what a test wants in place of random numbers."""

    def __init__(self, *integers):
        self._integers = list(integers)

    def integers(self, _, size=None):
        return np.array([self._integers.pop(0) for _ in range(size)]) if size else self._integers.pop(0)

    def normal(self, mean, power):
        return mean + 2 * power


def test_a_child_has_the_start_of_one_parent_and_the_end_of_the_other():
    first, second = np.arange(4, dtype=np.float32), np.arange(10, 14, dtype=np.float32)
    assert crossed(first, second, is_reversed=False, random=Drawn(0)).tolist() == [0, 11, 12, 13]
    assert crossed(first, second, is_reversed=False, random=Drawn(3)).tolist() == [0, 1, 2, 3]
    assert crossed(first, second, is_reversed=True, random=Drawn(1)).tolist() == [13, 12, 1, 0]


def test_one_weight_mutates_and_none_goes_beyond_the_limit():
    first, second = (Genome(Weights.of(np.full(3, value, np.float32))) for value in (0.95, 0.25))
    fixed = np.full(3, np.nan, np.float32)
    child = child_of(first, second, GaSettings(**CROSSING), fixed=fixed, neurons=(), power=0.5, random=Drawn(0, 2))
    assert child.initial.theta.tolist() == [np.float32(0.95), 0.25, 1.0]


def test_children_are_made_of_the_weights_that_evolve():
    thetas = np.array([0.5, 7, -3, 0.25, 0.75]), np.array([-0.5, 7, -3, -0.25, -0.75])
    first, second = (Genome(Weights.of(theta)) for theta in thetas)
    fixed = np.array([np.nan, 7, -3, np.nan, np.nan], np.float32)
    for crossover, expected in (
        ("one_point", [0.5, 7, -3, 0.25, 0.25]),
        ("reversed_one_point", [-0.75, 7, -3, 0.25, 1]),  # fixed ones stay in their places, and know no limit
    ):
        settings, random = GaSettings(**CROSSING | {"crossover": crossover}), Drawn(1, 2)
        child = child_of(first, second, settings, fixed=fixed, neurons=(), power=0.5, random=random)
        assert child.initial.theta.tolist() == expected


@pytest.mark.parametrize("kind", [algorithm, tournaments])
def test_fixed_layers_stay_and_others_evolve_as_always(kind, monkeypatch):
    monkeypatch.setattr(genetic_search, "MUTATED_WEIGHTS", 0.5)
    fixed = np.array([np.nan, np.nan, 3, 5, -2], np.float32)  # the second neuron of two
    make = partial(kind, start=(Genome(Weights.of(fixed)),))
    ga = make()
    first = {episode.genome.initial.theta[:2].tobytes() for episode in ga.ask().episodes}
    for _ in range(3):
        generation(ga, by_weights)
    thetas = [episode.genome.initial.theta for episode in ga.ask().episodes]
    assert all(theta[2:].tolist() == [3, 5, -2] for theta in thetas)
    assert {theta[:2].tobytes() for theta in thetas} - first  # some are new
    check_resuming(make, by_weights)


def test_a_neuron_has_the_weights_of_one_parent_and_one_in_twenty_those_of_both():
    first, second = np.zeros(6, np.float32), np.ones(6, np.float32)
    neurons = [np.array([0, 2, 4]), np.array([1, 3, 5])]
    random = np.random.default_rng(1)
    children = np.array([crossed_by_neuron(first, second, neurons=neurons, random=random) for _ in range(20_000)])
    kinds = children.reshape(-1, 3, 2).swapaxes(1, 2).reshape(-1, 3).astype(int)
    values, counts = np.unique(kinds @ [1, 2, 4], return_counts=True)
    shares = dict(zip(values.tolist(), (counts / len(kinds)).tolist(), strict=True))
    assert {*shares} == {0b000, 0b111, 0b110, 0b001, 0b100, 0b011}  # whole, or cut once
    assert shares[0b000] + shares[0b111] == pytest.approx(0.95, abs=0.003)
    assert shares[0b000] == pytest.approx(shares[0b111], abs=0.01)
    assert abs(np.corrcoef(children[:, 0], children[:, 1])[0, 1]) < 0.03  # neurons choose alone


def test_with_neurons_few_weights_mutate_and_evenly_up_to_the_power():
    parents = [Genome(Weights.of(np.zeros(20_000, np.float32)))] * 2
    settings = GaSettings(**CROSSING | {"crossover": "neurons"})
    random = np.random.default_rng(2)
    fixed = np.full(20_000, np.nan, np.float32)
    child = child_of(*parents, settings, fixed=fixed, neurons=[np.arange(20_000)], power=0.4, random=random)
    theta = child.initial.theta
    changed = theta[theta != 0]
    assert 5 <= len(changed) <= 45  # 0.1 % of 20,000 are 20
    assert 0.1 < np.abs(changed).max() <= 0.4
    assert changed.min() < 0 < changed.max()


def test_the_best_play_again_and_children_come_from_parents():
    ga = algorithm(mutation_power=1e-9)
    first = [episode.genome for episode in ga.ask().episodes]
    assert all(np.abs(genome.initial.theta).max() <= 1 for genome in first)
    tell(ga, "population", [1, 9, 0, 3])
    tell(ga, "validation", [5, 2])  # of the second and the fourth
    report = tell(ga, "test", [4])
    assert ELITE_GENOME not in report
    batch = ga.ask()
    second = [episode.genome for episode in batch.episodes]
    assert second[0] == first[1]
    assert set(second) <= set(batch.parents)
    starts = {genome.initial.theta[0] for genome in (first[1], first[3])}
    assert {genome.initial.theta[0] for genome in second} <= starts


def test_the_worst_of_three_makes_way_for_a_child_of_the_others():
    ga = tournaments()
    episodes = ga.ask().episodes
    first = [episode.genome for episode in episodes]
    starts = [(episode.noops, episode.seed) for episode in episodes]
    assert starts[0] == starts[1] == starts[2] != starts[3] == starts[4] == starts[5]
    tell(ga, "population", [5, 1, 9, 2, 2, 2, 0])  # of equals, the last is the worst; the seventh is left over
    tell(ga, "validation", [3, 4])
    report = tell(ga, "test", [4])
    assert report["NumSelectedIndividuals"] == 5
    second = [episode.genome for episode in ga.ask().episodes]
    for place in (2, 0, 3, 4, 6):
        second.remove(first[place])  # they play again

    def is_child(genome, *places):
        return np.any([genome.initial.theta == first[place].initial.theta for place in places], axis=0).all()

    assert sorted((is_child(child, 2, 0), is_child(child, 3, 4)) for child in second) == [(False, True), (True, False)]


def test_who_is_left_over_stays_and_others_meet_in_the_next_generation():
    ga = tournaments(population_size=8, selection_threshold=6, mutation_power=1e-9)
    first = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [5, 9, 1, 2, 2, 1, 0, 0])
    tell(ga, "validation", [3, 4])
    tell(ga, "test", [4])
    second = [episode.genome for episode in ga.ask().episodes]
    assert {first[6], first[7]} < {*second}
    assert not {first[2], first[5]} & {*second}
    assert [genome for genome in second if genome in first] != [first[place] for place in (1, 0, 3, 4, 6, 7)]


@pytest.mark.parametrize("make", [algorithm, tournaments])
def test_a_run_continues_exactly(make):
    check_resuming(make, by_weights)


def test_a_run_with_tournaments_keeps_two_of_three(small_noise_table, tmp_path):
    settings = TOURNAMENTS | {
        "num_validation_episodes": 1, "num_test_episodes": 2, "test_cutoff": 20, "mutation_power": 0.4,
        "episode_cutoff_mode": 20, "frames": 300,
    }  # fmt: skip
    game = {"algo": "ga", "game": "gym.CartPole-v1", "model": "simple", "run": 1}
    files = {"core": tmp_path / "none.so", "noise": small_noise_table, "run_dir": tmp_path / "run"}
    train(make_context(**game, **files, settings=settings), terminal="lines")
    reports = [report["Lineage"] for report in read_log(tmp_path / "run" / "log.jsonl")]
    assert len(reports) >= 2
    for lineage in reports:
        parents = [row[:2] for row in lineage if row[COLUMNS.index("is_parent")]]
        assert len(parents) == 5
        assert {place // 3 for _, place in parents} == {0, 1, 2}  # of both tournaments, and who was left over


def test_a_run_ends_at_its_target():
    ga = algorithm(target_score=-200.0)
    assert not ga.is_done
    generation(ga, by_weights)
    assert ga.is_done


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"copied_parents": 3}, "copied_parents is for crossover, but crossover is none. Leave copied_parents out"),
        ({"fixed_layers_of": "runs/1"}, "fixed_layers_of is for crossover, but crossover is none"),
        ({"crossover": "one_point", "selection_threshold": 1}, "needs two parents"),
        ({"crossover": "one_point", "selection": "asynchronous"}, "Leave out selection"),
        ({"selection": "tournaments"}, "but crossover is none. Choose a crossover"),
        ({**TOURNAMENTS, "copied_parents": 1}, "copied_parents is 1, but .* Set copied_parents to 0"),
        ({**TOURNAMENTS, "population_size": 8}, "threshold is 5, but tournaments of 8 .* 6 parents. Set it to 6"),
        (
            {**TOURNAMENTS, "population_size": 2, "selection_threshold": 2},
            "population_size is 2, but 3 individuals meet",
        ),
        ({"crossover": "one_point", "load_population": "runs/1"}, "Leave out load_population"),
    ],
)
def test_settings_that_do_not_fit_crossover_are_refused(settings, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        GaSettings(**settings)


def test_another_run_cannot_start_from_the_weights_of_a_run_with_crossover(tmp_path):
    state = {"format": 1, "identity": {"algo": "ga"}, "algorithm": {"parent_births": [0], "genomes": "genes-1"}}
    (tmp_path / "state.json").write_text(json.dumps(state))
    with pytest.raises(NeurozooError, match="has crossover: its parents are weights, from which no run can start"):
        read_population(str(tmp_path / "state.json"), fit=None)


@pytest.mark.parametrize(
    ("algo", "game", "complaint"),
    [
        ("ga", "pong", "'modular' is for the game river_crossing with observation: objects"),
        ("dqn", "river_crossing", "dqn trains networks of convolutions and dense layers"),
    ],
)
def test_modular_agents_are_refused_where_they_do_not_fit(algo, game, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        fitting_settings(algo, game, "modular", preset="demo", overrides={}).check_model("modular")


def test_a_modular_agent_that_nobody_configured_sees_objects():
    assert fitting_settings("ga", "river_crossing", "modular", preset="demo", overrides={}).observation == "objects"
