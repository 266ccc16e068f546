"""Properties of races for any scores, lengths and budgets; races worked out by hand are in test_genetic.py."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.elites import (
    ELITE_RULES,
    Elite,
    Individual,
    Race,
    RaceTotals,
    racing_candidates,
)
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome


def individual(number, *, generation=2):
    return Individual(Genome(number), (generation, number), None, 100.0 - number)


def elite(*, frames=40):
    return Elite(individual(0, generation=1), 5.0, RaceTotals(10, 50.0, 10 * frames, 10, 50.0))


def settings(population_size, count, episodes):
    return GaSettings(
        population_size=population_size,
        selection_threshold=0,
        validation_threshold=count,
        num_validation_episodes=episodes,
        elite_rule="racing",
    )


def run(race, play):
    """Plays a race to its end; returns its rounds and results."""
    rounds = []
    while contest := race.ask():
        results = [play(player, repeat) for player in contest.players for repeat in contest.repeats]
        race.tell(results)
        rounds.append((contest, results))
    return rounds


@pytest.mark.parametrize(
    ("episodes", "population", "expected"),
    [(300, 1000, 64), (300, 50, 32), (50, 80, 16), (9, 20, 2), (2, 20, 1), (300, 1, 1), (96, 32, 32), (95, 32, 16)],
)
def test_a_race_starts_with_a_third_of_its_episodes_rounded_down_to_a_power_of_two(episodes, population, expected):
    assert racing_candidates(episodes, population) == expected


@pytest.mark.parametrize("has_elite", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("episodes", [2, 3, 30])
@pytest.mark.parametrize("growth", [1, 4])
def test_no_race_has_more_episodes_than_the_published_rule_whatever_happens(has_elite, count, episodes, growth):
    random, population = np.random.default_rng(1), growth * count
    ranked = [individual(number) for number in range(1, population + 1)]
    race = Race(ranked, elite() if has_elite else None, settings(population, count, episodes))
    rounds = run(race, lambda *_: EpisodeResult(float(random.exponential()), 1, int(random.integers(1, 1000))))
    assert sum(len(results) for _, results in rounds) <= count * episodes
    sizes = [len(contest.players) for contest, _ in rounds]
    start = racing_candidates(count * episodes, population)
    assert sizes == [*(start >> n for n in range(len(sizes) - 1)), 1 + has_elite]
    assert [contest.phase for contest, _ in rounds] == [f"validation-{n + 1}" for n in range(len(sizes))]


def test_the_whole_budget_is_played_except_for_remainders():
    race = Race([individual(n) for n in range(1, 101)], elite(), settings(100, 10, 30))
    rounds = run(race, lambda player, repeat: EpisodeResult(1.0, 10, 40))
    assert [len(contest.players) for contest, _ in rounds] == [64, 32, 16, 8, 4, 2, 2]
    # By hand: 300 / 7 / 64 < 1; 236 / 6 / 32 = 1.2; 204 / 5 / 16 = 2.6; 172 / 4 / 8 = 5.4; 132 / 3 / 4 = 11;
    # 88 / 2 / 2 = 22; 44 / 1 / 2 = 22.
    assert [len(contest.repeats) for contest, _ in rounds] == [1, 1, 2, 5, 11, 22, 22]


def test_a_race_among_longer_players_is_shorter_than_its_episodes_would_allow():
    # The winners play 10 times as long as the elite and most of those that the published rule would validate.
    def play(player, repeat):
        best = player.birth[1] in (17, 18)
        return EpisodeResult(10.0 if best else 1.0, 10, 400 if best else 40)

    race = Race([individual(n) for n in range(1, 101)], elite(frames=40), settings(100, 10, 30))
    rounds = run(race, play)
    assert race.elite.individual.birth[1] == 17
    frames = sum(result.frames for _, results in rounds for result in results)
    assert sum(len(results) for _, results in rounds) < 300 - 44
    assert frames <= 300 * 40  # what the elite and the first nine would have needed


def test_lengths_that_vary_leave_the_mean_of_frames_at_or_below_the_published():
    random = np.random.default_rng(2)
    spent = []
    for _ in range(60):
        lengths = random.uniform(100, 300, 101)
        ranked = [individual(n) for n in range(1, 101)]

        def play(player, repeat, lengths=lengths):
            length = lengths[player.birth[1]] * random.uniform(0.2, 1.8)
            return EpisodeResult(float(length), 1, round(length))  # long episodes score well: the expensive case

        history = RaceTotals(20, 20 * lengths[0], round(20 * lengths[0]), 20, 20 * lengths[0])
        race = Race(ranked, Elite(individual(0, generation=1), lengths[0], history), settings(100, 10, 30))
        frames = sum(result.frames for _, results in run(race, play) for result in results)
        spent.append(frames / (30 * lengths[:10].sum()))
    assert np.mean(spent) < 1


def test_the_better_one_of_an_unlucky_pair_wins_the_race():
    random = np.random.default_rng(3)

    def wins(Rule):
        won = 0
        for _ in range(50):
            ranked = [individual(n) for n in range(1, 41)]  # the best one is 30th by its training score
            contest = Rule(ranked, None, settings(40, 10, 30))
            run(contest, lambda p, _: EpisodeResult((2.0 if p.birth[1] == 30 else 1.0) * random.exponential(), 1, 4))
            won += contest.elite.individual.birth[1] == 30
        return won

    assert wins(ELITE_RULES["validated"]) == 0
    assert wins(Race) > 15  # by luck: 50 / 32 = 2


def test_a_race_against_an_elite_whose_episodes_no_longer_count_takes_the_lengths_of_its_challengers():
    warnings.simplefilter("error")
    ranked = [individual(number) for number in range(20)]
    sizes = []
    for evidence in (elite(frames=1000).evidence, RaceTotals()):
        race = Race(ranked, replace(elite(), evidence=evidence), settings(20, 1, 30))
        rounds = run(race, lambda player, _: EpisodeResult(player.fitness, 100, 1000))
        sizes.append([len(contest.repeats) for contest, _ in rounds])
    assert sizes[0] == sizes[1]
