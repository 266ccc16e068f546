"""Agents whose behaviour is where their first two weights are; expected numbers follow from what a test hands out."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.novelty_search import (
    AdaptiveNoveltyStrategy,
    NoveltyRewardStrategy,
    NoveltyStrategy,
    WeightSchedule,
)
from neurozoo.algorithms.neuroevolution.settings import NoveltySettings, NsraSettings
from neurozoo.environments.episode_seeds import is_for_test
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import decode
from neurozoo.records.published_log import NOVELTY_FIELDS
from searches import STANDARD, TIMES, check_resuming, generation, results
from searches import tell as tell_results

PARAMETERS, TABLE_SIZE = 5, 1_000
NOISE = np.random.default_rng(0).standard_normal(TABLE_SIZE, np.float32)
LAYOUT = SimpleNamespace(parameter_count=PARAMETERS, initialise=lambda noise: np.float32(0.5) * noise)
KINDS = {"ns_es": NoveltyStrategy, "nsr_es": NoveltyRewardStrategy, "nsra_es": AdaptiveNoveltyStrategy}


def algorithm(kind="ns_es", *, run=1, protocol="hard_maze", **changes):
    settings = {
        "population_size": 4,
        "num_test_episodes": 2,
        "mutation_power": 0.5,
        "episode_cutoff_mode": 100,
        "frames": 10_000,
        "optimizer": "sgd",
        "stepsize": 1.0,
        "l2coeff": 0.0,
        "num_agents": 2,
        "num_neighbours": 2,
        "num_rollouts": 1,
        "num_validation_episodes": 2,
    }
    make = NsraSettings if kind == "nsra_es" else NoveltySettings
    made = make(**settings | changes)
    entropy = (made.seed, run)
    return KINDS[kind](made, entropy=entropy, layout=LAYOUT, noise=NOISE, protocol=get_protocol(protocol))


def tell(search, phase, scores, positions=None, **options):
    return tell_results(search, phase, scores, positions=positions or [(0, 0)] * len(scores), **options)


def by(rule):
    """Plays by the weights: the first two are the position at the end."""

    def play(episode):
        weights = decode(episode.genome, noise=NOISE, layout=LAYOUT)
        steps = 1 + episode.seed % episode.max_frames
        return EpisodeResult(float(rule(weights)), steps, steps, behaviour=weights[None, :2])

    return play


crooked = by(lambda weights: np.round(np.sin(97 * weights).sum(), 1))


def thetas(search):
    return [search.get_arrays()[name].copy() for name in sorted(search.get_arrays()) if "theta" in name]


# ---- the phases


@pytest.mark.parametrize("kind", ["ns_es", "nsr_es", "nsra_es"])
def test_only_tests_are_played_in_worlds_of_tests(kind):
    search = algorithm(kind, protocol="river_split")
    found = {}
    while "test" not in found:
        batch = search.ask()
        found[batch.phase] = {is_for_test(episode.seed) for episode in batch.episodes}
        search.tell([EpisodeResult(1.0, 10, 10, behaviour=np.zeros((10, 3), np.float32)) for _ in batch.episodes])
    assert found == {"initial": {False}, "population": {False}, "rollouts": {False}, "test": {True}}


def test_every_agent_plays_first_and_then_one_is_perturbed_and_played_and_tested():
    search = algorithm(selection="round_robin", num_validation_episodes=3, num_rollouts=2)
    batch = search.ask()
    first, second = batch.parents
    assert (batch.phase, batch.is_counted) == ("initial", True)
    assert [episode.genome for episode in batch.episodes] == [first, first, second, second]
    assert {episode.max_frames for episode in batch.episodes} == {100}
    assert len({episode.seed for episode in batch.episodes}) == 4
    tell(search, "initial", [0] * 4)
    batch = search.ask()
    assert (batch.phase, batch.parents, batch.is_counted) == ("population", (first,), True)
    assert {episode.genome.parent for episode in batch.episodes} == {first}
    powers = [episode.genome.mutations[0].power for episode in batch.episodes]
    assert powers == [0.5, -0.5, 0.5, -0.5]
    tell(search, "population", [1, 2, 3, 4], [(1, 0), (2, 0), (3, 0), (4, 0)])
    batch = search.ask()
    (moved,) = batch.parents
    assert (batch.phase, batch.is_counted, len(batch.episodes)) == ("rollouts", True, 3)
    assert {episode.genome for episode in batch.episodes} == {moved}
    assert moved not in (first, second)
    assert {episode.max_frames for episode in batch.episodes} == {100}
    tell(search, "rollouts", [0, 0, 0])
    batch = search.ask()
    assert (batch.phase, batch.is_counted, batch.parents, len(batch.episodes)) == ("test", False, (moved,), 2)
    assert {episode.max_frames for episode in batch.episodes} == {400}
    tell(search, "test", [0, 0])
    assert search.ask().parents == (second,)


def test_a_share_of_the_budget_is_spent_on_everything_but_tests():
    search = algorithm(frames=4 * 145 - 8)
    tell(search, "initial", [0, 0], steps=10)
    tell(search, "population", range(4), steps=20)
    tell(search, "rollouts", [0, 0], steps=[30, 15])
    report = tell(search, "test", [0, 0], steps=1000)
    assert report["frames"] == search.frames == 4 * (2 * 10 + 4 * 20 + 45) - 8
    assert report["TimestepsThisIter"] == report["TimestepsSoFar"] == search.steps == 145
    assert report["EpisodesThisIter"] == report["EpisodesSoFar"] == 8
    assert search.is_done


# ---- who moves


@pytest.mark.parametrize("stepsize", [1e38, 1e39])
def test_weights_that_leave_all_numbers_end_the_run_in_a_sentence(stepsize):
    search = algorithm(stepsize=stepsize, l2coeff=10.0)

    def move():
        for _ in range(20):
            count = len(search.ask().episodes)
            search.tell(results(range(count), positions=[(number, number) for number in range(count)]))

    with np.errstate(all="ignore"), pytest.raises(NeurozooError, match="The weights have grown beyond all numbers in"):
        move()


@pytest.mark.parametrize(
    ("places", "nearest", "shares"),
    [
        # The two nearest of each are 0, 0 and 0, 3: the third agent is the only novel one.
        ((0, 0, 3), 2, (0, 0, 1)),
        ((0, 1, 4), 3, (5 / 16, 4 / 16, 7 / 16)),  # sums of the distances to all: 5, 4 and 7
        ((2, 2, 2), 2, (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_more_novel_agents_move_more_often(places, nearest, shares):
    chosen = []
    for run in range(150):
        search = algorithm(num_agents=3, num_neighbours=nearest, run=run)
        agents = search.ask().parents
        tell(search, "initial", [0, 0, 0], [(place, 0) for place in places])
        chosen.append(agents.index(*search.ask().parents))
    # Three standard deviations of a share of 150 draws are 0.125 at most.
    np.testing.assert_allclose(np.bincount(chosen, minlength=3) / 150, shares, atol=0.125)


def test_an_agent_is_as_novel_as_its_newest_behaviour():
    search = algorithm(num_agents=1)
    tell(search, "initial", [0], [(0, 0)])
    novelties = []
    for place in ((0, 1), (3, 4), (9, 9)):
        tell(search, "population", range(4))
        tell(search, "rollouts", [0, 0], [place, place])
        novelties.append(tell(search, "test", [0, 0])["AgentNovelty"])
    # At (0, 0) alone; at (0, 1), the second nearest 1 away; at (3, 4), the second nearest is (0, 1).
    assert novelties == [0, 0.5, pytest.approx(np.sqrt(18) / 2)]


# ---- weights of the gradient


def step_of(search):
    """Moves an agent; returns its step and the two slices of noise. Scores and novelties have other ranks."""
    tell(search, "initial", [0, 0])
    (center,) = search.ask().parents
    first, _, second, _ = (episode.genome.mutations[0].index for episode in search.ask().episodes)
    # Novelty against an archive of two origins: 4, 2, 1, 3. Ranks: 3, 1, 0, 2; of the scores: 0, 1, 2, 3.
    tell(search, "population", [5, 6, 7, 8], [(4, 0), (0, 2), (1, 0), (0, 3)])
    (moved,) = search.ask().parents
    slices = [NOISE[index : index + PARAMETERS] for index in (first, second)]
    return moved.initial.theta - center.initial.theta, *slices


@pytest.mark.parametrize(
    ("kind", "changes", "first", "second"),
    [
        # Differences of a pair's ranks by 3: novelty 2/3 and -2/3, scores -1/3 and -1/3.
        ("ns_es", {}, 2 / 3, -2 / 3),
        ("nsr_es", {}, (2 / 3 - 1 / 3) / 2, (-2 / 3 - 1 / 3) / 2),
        ("nsra_es", {}, -1 / 3, -1 / 3),
        ("nsra_es", {"reward_weight": 0.25}, 0.75 * 2 / 3 - 0.25 / 3, -0.75 * 2 / 3 - 0.25 / 3),
    ],
)
def test_novelty_and_rewards_weigh_the_step(kind, changes, first, second):
    step, one, two = step_of(algorithm(kind, **changes))
    np.testing.assert_allclose(step, (first * one + second * two) / 4, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "scores", "weights"),
    [
        # 5 is the first best score; 3 generations later 0.05 is gone, and after 3 more again.
        ({}, [5, 5, 4, 5, 1, 2, 5, 0], [1, 1, 1, 0.95, 0.95, 0.95, 0.9, 0.9]),
        ({}, [1, 0, 0, 0, 0, 0, 2, 0, 0, 3, 4], [1, 1, 1, 0.95, 0.95, 0.95, 1, 1, 1, 1, 1]),
        ({"reward_weight": 0.5}, [1, 2, 0, 0, 3], [0.55, 0.6, 0.6, 0.6, 0.65]),
        ({"patience": 1, "weight_step": 0.3}, [0] * 8, [1, 0.7, 0.4, 0.1, 0, 0, 0, 0]),
        ({"patience": 1}, [0] * 22, [*(round(1 - 0.05 * n, 9) for n in range(21)), 0.0]),  # 20 steps: exactly 0
        # After "|", scores have another limit of steps: the weight stays, and later ones are compared with that one.
        ({"patience": 2, "reward_weight": 0.5}, [5, "|", 1, 2, 1, 1], [0.55, 0.55, 0.6, 0.6, 0.55]),
    ],
)
def test_the_weight_of_rewards_rises_with_every_new_best_score_and_falls_after_a_while_without_one(
    changes, scores, weights
):
    schedule, found = WeightSchedule(NsraSettings(**{"patience": 3} | changes)), []
    for before, score in zip(["", *scores], scores, strict=False):
        if score != "|":
            schedule.tell(score, is_comparable=before != "|")
            found.append(schedule.weight)
    assert found == weights


def test_the_result_and_the_weight_see_the_skill_that_grows_although_the_limit_does():
    cutoff = "adaptive:10,0.5,2,320"
    search = algorithm("nsra_es", episode_cutoff_mode=cutoff, test_cutoff=320, patience=2, reward_weight=0.5)
    weights = []
    for skill in range(10):

        def play(episode, skill=skill):  # a step costs a tenth of a point; all play to the limit
            steps = episode.max_frames
            return EpisodeResult(skill - 0.1 * steps, steps, steps, behaviour=np.zeros((1, 2)))

        weights.append(generation(search, play)["RewardWeight"])
    assert search.best.iteration == 10
    assert weights == sorted(weights)


def test_the_weight_is_adapted_to_the_rollouts_and_logged_as_it_was_used():
    search = algorithm("nsra_es", patience=1)
    logged = []
    tell(search, "initial", [99, 99])
    for score in (5, 4, 5, 6):
        tell(search, "population", [100, 2, 3, 4])
        tell(search, "rollouts", [score, score])
        logged.append(tell(search, "test", [100, 100])["RewardWeight"])
    assert logged == [1, 1, 0.95, 0.9]
    assert search.get_state()["reward_weight"]["weight"] == 0.95


# ---- archive, report, result


def test_the_archive_gets_the_mean_of_an_agents_rollouts():
    search = algorithm(num_rollouts=2, num_validation_episodes=3)
    tell(search, "initial", [0] * 4, [(0, 0), (2, 4), (5, 5), (5, 5)])
    tell(search, "population", range(4), [(9, 9)] * 4)
    tell(search, "rollouts", [0, 0, 0], [(1, 1), (3, 3), (100, 100)])
    assert tell(search, "test", [0, 0], [(50, 50)] * 2)["ArchiveSize"] == 3
    archive = {name: array.tolist() for name, array in search.get_arrays().items() if "archive" in name}
    assert archive == {"archive-00000": [[1, 2], [5, 5]], "archive-00001": [[2, 2]]}


def test_a_generation_reports_its_fields():
    search = algorithm("nsr_es", num_agents=1, num_neighbours=1, num_validation_episodes=4)
    tell(search, "initial", [7], [(0, 0)], steps=5)
    tell(search, "population", [1, 2, 5, 0], [(1, 0), (0, 2), (0, 0), (0, 5)], steps=[10, 20, 30, 40])
    tell(search, "rollouts", [3, 5, 6, 0], steps=[1, 2, 3, 2])
    report = tell(search, "test", [9, 12], steps=[1, 2])
    assert report.pop("Norm") > 0
    assert report.pop("GradNorm") > 0
    assert report.pop("UpdateRatio") > 0
    assert report == {
        "frames": 4 * 113 - 9,
        "score": 3.5,
        "score_episodes": 4,
        "test_score": 10.5,
        "test_episodes": 2,
        "Iteration": 1,
        "ParentId": 0,
        "AgentNovelty": 0.0,
        "MutationPower": 0.5,
        "RewardWeight": 0.5,
        "TimestepLimitPerEpisode": 100,
        "EpRewMax": 5.0,
        "EpRewMean": 2.0,
        "EpRewStd": pytest.approx(np.sqrt(3.5)),  # squares 1, 0, 9 and 4
        "EpLenMean": 25.0,
        "NoveltyMax": 5.0,
        "NoveltyMean": 2.0,
        "EvalEpRewMean": 3.5,
        "EvalEpRewStd": pytest.approx(np.sqrt(5.25)),  # squares 0.25, 2.25, 6.25 and 12.25
        "EvalEpLenMean": 2.0,
        "EvalPopRank": 0.625,  # 3, 3, 4 and 0 of the 4 are worse
        "EvalEpCount": 4,
        "TestRewMean": 10.5,
        "TestEpCount": 2,
        "TestEpLenSum": 3,
        "ArchiveSize": 2,
        "EpisodesThisIter": 9,
        "EpisodesSoFar": 9,
        "TimestepsThisIter": 113,
        "TimestepsSoFar": 113,
    }
    assert {*report, "Norm", "GradNorm", "UpdateRatio"} == set(NOVELTY_FIELDS) - TIMES | STANDARD
    json.dumps(report, allow_nan=False)  # plain numbers, no NumPy


def test_the_result_is_the_agent_with_the_best_mean_of_rollouts_and_keeps_its_test():
    search = algorithm()
    tell(search, "initial", [1000, 1000])
    kept = []
    for rollouts, test in (([4, 6], 7), ([5, 5], 100), ([0, 12], 1), ([6, 6], 50)):
        tell(search, "population", range(4))
        kept.append(search.ask().parents[0])
        tell(search, "rollouts", rollouts)
        report = tell(search, "test", [test, test])
    assert search.best.genome == kept[2]
    assert (search.best.validation_score, search.best.test_score, search.best.iteration) == (6.0, 1.0, 3)
    assert report["test_score"] == 1.0
    assert (
        search.best.frames == 4 * (2 * 10 + 3 * 6 * 10) - 20
    )  # the first episodes, then 4 and 2 in each of three generations


def test_novelty_alone_leads_away_from_where_one_has_been():
    search = algorithm(population_size=40, mutation_power=0.1, stepsize=0.1, num_neighbours=5)
    start = np.abs(np.array(thetas(search))[:, :2]).max()
    for _ in range(60):
        generation(search, crooked)
    archive = np.concatenate([rows for name, rows in search.get_arrays().items() if "archive" in name])
    assert np.abs(archive).max() > 3 * start


# ---- repeatable


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("ns_es", {"optimizer": "adam"}),
        ("ns_es", {"selection": "round_robin", "num_agents": 3, "num_rollouts": 2}),
        ("nsr_es", {"episode_cutoff_mode": "adaptive:10,0.1,1.5,60"}),
        ("nsra_es", {"patience": 1}),
    ],
)
def test_stopping_and_continuing_after_any_generation_equals_never_stopping(kind, changes):
    check_resuming(lambda: algorithm(kind, **changes), crooked)
