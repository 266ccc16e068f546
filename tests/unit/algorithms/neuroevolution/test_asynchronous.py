"""The genetic algorithm without generations: pretended workers, and a slow and simple twin."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.asynchronous import AsynchronousGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.settings import GaNoveltySettings, GaSettings
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from searches import by_rule

SETTINGS = {
    "population_size": 8,
    "selection_threshold": 3,
    "validation_threshold": 2,
    "num_validation_episodes": 2,
    "num_test_episodes": 3,
    "mutation_power": 0.5,
    "episode_cutoff_mode": 100,
    "frames": 100_000,
    "selection": "asynchronous",
    "episodes_in_flight": 5,
}


def made(kind=AsynchronousGeneticAlgorithm, **changes):
    return kind(
        GaSettings(**SETTINGS | changes),
        entropy=(0, 1),
        layout=SimpleNamespace(parameter_count=100),
        noise=np.zeros(1_000_000, np.float32),
        protocol=get_protocol("uber2018"),
    )


def at_random(seed):
    random = np.random.default_rng(seed)
    return lambda flights: int(random.choice(sorted(flights)))


def until_report(ga, choose, *, seen=None):
    """Lets episodes arrive one by one until there is a report; `seen` collects them."""
    while True:
        flights = ga.draw()
        number = choose(flights)
        result = by_rule(flights[number])
        if seen is not None:
            seen.append((number, flights[number], result))
        if (report := ga.arrive(number, result)) is not None:
            return report


def test_there_are_always_as_many_episodes_in_flight_and_numbers_count_up():
    ga, choose, drawn = made(), at_random(1), set()
    for _ in range(200):
        flights = dict(ga.draw())
        assert len(flights) == 5
        assert ga.draw() == flights
        drawn |= set(flights)
        number = choose(flights)
        ga.arrive(number, by_rule(flights[number]))
    assert drawn == set(range(len(drawn)))


def test_the_first_children_are_the_first_generation_of_the_algorithm_with_generations():
    closed = made(GeneticAlgorithm, selection="generations", episodes_in_flight=None)
    flights = made(episodes_in_flight=8).draw()
    assert list(flights.values()) == list(closed.ask().episodes)


def is_test(episode):
    return episode.max_frames == get_protocol("uber2018").max_frames


def test_children_are_of_the_best_of_the_last_arrivals_at_the_moment_they_are_drawn():
    ga, choose = made(elite_rule="carried"), at_random(2)
    arrived, elite, since, tests_left, num_mutated = [], None, 0, 0, 0  # children as (genome, score), oldest first
    flights = dict(ga.draw())
    for _ in range(400):
        number = choose(flights)
        episode = flights.pop(number)
        result = by_rule(episode)
        ga.arrive(number, result)
        if was_contest := tests_left > 0:
            tests_left -= is_test(episode)
        if not is_test(episode):
            arrived.append((episode.genome, result.score))
            since += 1
        if not was_contest and since >= 8:
            since, tests_left = 0, 3
            best = max(arrived[-8:], key=lambda entry: entry[1])
            elite = best if elite is None or best[1] > elite[1] else elite
        top = sorted(arrived[-8:], key=lambda entry: -entry[1])[:3]
        if elite and elite[0] not in [genome for genome, _ in top]:
            top = [elite, *top[:2]]
        ((new, drawn),) = ((n, e) for n, e in ga.draw().items() if n not in flights)
        flights[new] = drawn
        if is_test(drawn):
            assert drawn.genome == elite[0]
        elif len(arrived) < 8:
            assert not drawn.genome.mutations
        else:
            assert drawn.genome.parent in [genome for genome, _ in top]
            num_mutated += 1
    assert num_mutated > 200


def test_the_order_of_arrival_decides_everything():
    first, again, other = [], [], []
    a, b, c = made(), made(), made()
    reports = [until_report(a, at_random(3), seen=first) for _ in range(6)]
    recorded = iter([number for report in reports for number in report["Arrivals"]])
    assert [until_report(b, lambda _: next(recorded), seen=again) for _ in range(6)] == reports
    assert again == first
    assert [until_report(c, at_random(4), seen=other) for _ in range(6)] != reports


@pytest.mark.parametrize("rule", ["validated", "racing", "carried"])
def test_a_search_continues_exactly_after_any_report(rule):
    whole, seen = made(elite_rule=rule), []
    choose, picks = at_random(5), []

    def pick(flights):
        picks.append(choose(flights))
        return picks[-1]

    reports, states = [], []
    for _ in range(5):
        reports.append(until_report(whole, pick, seen=seen))
        states.append((json.dumps(whole.get_state()), whole.get_arrays(), len(picks)))
    for done, (state, arrays, count) in enumerate(states[:-1], start=1):
        continued, rest = made(elite_rule=rule), iter(picks[count:])
        continued.set_state(json.loads(state), arrays)
        later = [until_report(continued, lambda _, rest=rest: next(rest)) for _ in range(5 - done)]
        assert later == reports[done:]
        assert json.dumps(continued.get_state()) == states[-1][0]


def test_a_report_counts_every_episode_once_and_only_tests_are_not_in_the_budget():
    ga, seen = made(), []
    reports = [until_report(ga, at_random(6), seen=seen) for _ in range(4)]
    last = reports[-1]
    tests = [r for _, e, r in seen if is_test(e)]
    assert len(tests) == 4 * 3
    counted = [r for _, e, r in seen if not is_test(e)]
    assert last["frames"] == sum(r.frames for r in counted)
    assert last["TimestepsSoFar"] == sum(r.steps for r in counted)
    assert last["TimestepsSoFar"] == last["TimestepsComputed"] + last["ValidationTimestepsSoFar"]
    children = sum(report["PopulationEpCount"] for report in reports)
    assert children + 4 * 2 * 2 + len(tests) == len(seen) == sum(len(report["Arrivals"]) for report in reports)
    assert children >= 4 * 8


def test_all_ancestors_are_in_the_lineage():
    ga = made()
    rows = [row for _ in range(12) for row in until_report(ga, at_random(7))["Lineage"]]
    births = {tuple(row[:2]) for row in rows}
    parents = {tuple(row[2:4]) for row in rows if row[2] is not None}
    assert parents <= births
    assert len(parents) > 5


def test_what_is_pinned_is_enough_to_play_all_episodes_in_flight():
    ga, choose = made(elite_rule="racing"), at_random(8)
    for _ in range(300):
        flights = ga.draw()
        used = set(ga.genomes_in_use())
        for episode in flights.values():
            genome = episode.genome
            assert genome in used or genome.parent in used or not genome.mutations
        number = choose(flights)
        ga.arrive(number, by_rule(flights[number]))
    assert len(used) <= 4 + 5


@pytest.mark.parametrize(
    ("kind", "changes", "sentence"),
    [
        (GaSettings, {"selection_threshold": 0}, "random search"),
        (GaSettings, {"stage_threshold": 0.8}, "stage_threshold is compared"),
        (GaSettings, {"record_population": True}, "record_population keeps whole"),
        (GaSettings, {"selection": "generations"}, "episodes_in_flight is for selection: asynchronous"),
        (
            GaSettings,
            {"selection": "generations", "episodes_in_flight": None, "repeat_arrivals": "x"},
            "repeat_arrivals is for selection: asynchronous",
        ),
        (GaSettings, {"episodes_in_flight": 0}, "episodes_in_flight"),
        (GaSettings, {"selection": "asynchron"}, "selection"),
        (GaNoveltySettings, {}, "choose the algorithm ga"),
    ],
)
def test_settings_that_do_not_fit_are_explained(kind, changes, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        kind(**SETTINGS | changes)


def test_a_quarter_of_the_population_is_in_flight_unless_the_settings_say_otherwise():
    assert GaSettings(**SETTINGS).num_in_flight == 5
    assert GaSettings(**SETTINGS | {"episodes_in_flight": None}).num_in_flight == 2
    assert GaSettings(**SETTINGS | {"episodes_in_flight": None, "population_size": 3}).num_in_flight == 1


def test_children_drawn_with_an_earlier_limit_do_not_hold_the_limit_back():
    ga = made(population_size=12, episodes_in_flight=5, episode_cutoff_mode="adaptive:10,0.9,2,100000")
    limits = []
    for _ in range(5):
        report = None
        while report is None:
            number, episode = next(iter(ga.draw().items()))
            report = ga.arrive(number, EpisodeResult(1.0, episode.max_frames // 4, episode.max_frames))
        limits.append(ga.get_state()["cutoff_limit"])
    assert limits == [20, 40, 80, 160, 320]  # as with generations: all children play to their limit
