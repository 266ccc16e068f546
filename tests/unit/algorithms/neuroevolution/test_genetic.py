"""Small generations worked out by hand: every expected number follows from the scores that a test hands out."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.genomes.packing import BLOCK, pack
from neurozoo.records.published_log import GA_FIELDS
from searches import STANDARD, TIMES, by_rule, check_resuming, generation, parents_of, tell

PARAMETERS, TABLE_SIZE = 100, 1_000


def made(settings, *, run=1, parameters=PARAMETERS, table_size=TABLE_SIZE, protocol="uber2018"):
    layout = SimpleNamespace(parameter_count=parameters)
    return GeneticAlgorithm(
        settings,
        entropy=(settings.seed, run),
        layout=layout,
        noise=np.zeros(table_size, np.float32),
        protocol=get_protocol(protocol),
    )


def algorithm(**changes):
    protocol = changes.pop("protocol", "uber2018")
    settings = {
        "population_size": 4,
        "selection_threshold": 2,
        "validation_threshold": 3,
        "num_validation_episodes": 2,
        "num_test_episodes": 3,
        "mutation_power": 0.5,
        "episode_cutoff_mode": 100,
        "frames": 10_000,
    }
    return made(GaSettings(**settings | changes), protocol=protocol)


def players(batch):
    """Genomes in order, each once per run of equal ones."""
    genomes = [episode.genome for episode in batch.episodes]
    return [genome for i, genome in enumerate(genomes) if i == 0 or genome != genomes[i - 1]]


# ---- the first generation


def test_the_first_population_are_fresh_genomes_from_all_places_of_the_table_and_have_children_with_a_mutation():
    # 10 places, 400 draws: that one of the two ends is never drawn has the chance 2 * 0.9^400 < 1e-17.
    settings = GaSettings(population_size=400, selection_threshold=3, num_test_episodes=1, mutation_power=0.5)
    ga = made(settings, parameters=91, table_size=100)
    batch = ga.ask()
    assert batch.parents == ()
    assert all(episode.genome.mutations == () for episode in batch.episodes)
    assert {episode.genome.initial for episode in batch.episodes} == set(range(10))
    generation(ga)
    batch = ga.ask()
    assert {episode.genome.parent for episode in batch.episodes} == set(batch.parents)
    assert {mutation for e in batch.episodes for mutation in e.genome.mutations} == {(n, 0.5) for n in range(10)}


def test_the_best_are_validated_and_the_best_mean_wins_and_of_equals_the_earlier_one_comes_first():
    ga = algorithm()
    a, b, _, d = (episode.genome for episode in ga.ask().episodes)
    tell(ga, "population", [1, 3, 0, 3])
    assert [episode.genome for episode in ga.ask().episodes] == [b, b, d, d, a, a]
    tell(ga, "validation", [0, 1, 4, 6, 5, 5])  # means 0.5, 5, 5
    assert [episode.genome for episode in ga.ask().episodes] == [d] * 3
    tell(ga, "test", [0, 0, 0])


def test_a_generation_reports_what_the_published_code_does():
    ga = algorithm()
    genomes = [episode.genome for episode in ga.ask().episodes]
    assert tell(ga, "population", [1, 3, 0, 2], steps=[10, 20, 30, 40]) is None
    assert tell(ga, "validation", [0, 1, 4, 6, 5, 2], steps=5) is None
    report = tell(ga, "test", [9, 9, 12], steps=[1, 2, 4])
    assert report == {
        "frames": (4 * 10 - 1) + (4 * 20 - 1) + (4 * 30 - 1) + (4 * 40 - 1) + 6 * 19,
        "score": 5.0,
        "score_episodes": 2,
        "test_score": 10.0,
        "test_episodes": 3,
        "Iteration": 1,
        "MutationPower": 0.5,
        "PopulationEpRewMax": 3.0,
        "PopulationEpRewMean": 1.5,
        "PopulationEpCount": 4,
        "PopulationTimesteps": 100,
        "NumSelectedIndividuals": 2,
        "TruncatedPopulationRewMean": 2.0,  # 3, 2 and 1
        "TruncatedPopulationValidationRewMean": 3.0,  # 0.5, 5 and 3.5
        "TruncatedPopulationEliteValidationRewMean": 5.0,
        "TruncatedPopulationEliteIndex": 1,
        "TruncatedPopulationEliteSeeds": genomes[3].to_json(),
        "TruncatedPopulationEliteTestRewMean": 10.0,
        "TruncatedPopulationEliteTestEpCount": 3,
        "TruncatedPopulationEliteTestEpLenSum": 7,
        "ValidationTimestepsThisIter": 30,
        "ValidationTimestepsSoFar": 30,
        "TimestepsThisIter": 130,
        # Parents and candidates: birth, parent's birth, power, training score, validation mean, parent?, elite?
        "Lineage": [
            [1, 1, None, None, None, 3.0, 0.5, True, False],
            [1, 3, None, None, None, 2.0, 5.0, True, True],
            [1, 0, None, None, None, 1.0, 3.5, False, False],
        ],
        "TimestepsComputed": 100,
        "TimestepsSoFar": 130,
    }
    # All of the published fields, and nothing but the standard ones besides.
    assert set(report) == set(GA_FIELDS) - TIMES | STANDARD | {"Lineage"}
    json.dumps(report, allow_nan=False)  # plain numbers, no NumPy


# ---- the second generation


def after_one(scores=(1, 3, 0, 2), validation=(0, 1, 4, 6, 5, 2), **changes):
    """The algorithm after a generation, and its genomes by name: sorted b, d, a, c; the elite is d."""
    ga = algorithm(**changes)
    genomes = dict(zip("abcd", (episode.genome for episode in ga.ask().episodes), strict=True))
    tell(ga, "population", list(scores))
    tell(ga, "validation", list(validation))
    tell(ga, "test", [7, 7, 7])
    return ga, genomes


@pytest.mark.parametrize(
    ("last", "parents"),
    [((5, 2), "bd"), ((9, 9), "ab")],  # the elite is d, second of b, d, a, c; or a, which takes the place of d
)
def test_the_elite_is_a_parent_and_takes_a_place_only_if_it_is_not_among_the_top(last, parents):
    ga, genomes = after_one(validation=(0, 1, 4, 6, *last))
    assert parents_of(ga) == [genomes[name].to_json() for name in parents]


def test_the_previous_elite_can_stay_and_can_lose_its_place():
    for validation, index in (([3, 3, 1, 1, 3, 3], 0), ([3, 3, 4, 4, 0, 0], 1)):
        ga, genomes = after_one()
        offspring = [episode.genome for episode in ga.ask().episodes]
        tell(ga, "population", [0, 5, 6, 1])
        assert players(ga.ask()) == [genomes["d"], offspring[2], offspring[1]]
        tell(ga, "validation", validation)
        report = tell(ga, "test", [1, 1, 1])
        elite = (genomes["d"], offspring[2])[index]
        assert report["TruncatedPopulationEliteIndex"] == index
        assert report["TruncatedPopulationEliteSeeds"] == elite.to_json()
        # d's training score was 2; the others' are 6 and 5.
        assert report["TruncatedPopulationRewMean"] == pytest.approx(13 / 3)
        expected = [genomes["d"], offspring[2]] if index == 0 else [offspring[2], offspring[1]]
        assert parents_of(ga) == [genome.to_json() for genome in expected]


def test_the_best_solution_is_the_elite_with_the_best_validation_mean_and_keeps_its_test():
    ga, genomes = after_one()  # validation mean of d: 5; tests: 7
    assert (ga.best.genome, ga.best.validation_score, ga.best.test_score) == (genomes["d"], 5.0, 7.0)
    tell(ga, "population", [0, 5, 6, 1])
    tell(ga, "validation", [5, 5, 0, 0, 1, 1])  # as good as before, not better
    report = tell(ga, "test", [100, 100, 100])
    assert (ga.best.iteration, ga.best.test_score) == (1, 7.0)
    assert report["test_score"] == 7.0
    assert report["TruncatedPopulationEliteTestRewMean"] == 100.0
    best = ga.ask().episodes[0].genome
    tell(ga, "population", [9, 0, 0, 0])
    tell(ga, "validation", [0, 0, 6, 6, 0, 0])
    report = tell(ga, "test", [1, 1, 4])
    assert (ga.best.genome, ga.best.iteration, ga.best.validation_score, ga.best.frames) == (best, 3, 6.0, ga.frames)
    assert report["test_score"] == 2.0


# ---- episodes


def test_one_candidate_is_not_the_elite_for_ever():
    ga = algorithm(population_size=3, selection_threshold=1, validation_threshold=1, num_validation_episodes=1)
    generation(ga)
    offspring = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [0, 0, 9])
    assert players(ga.ask())[1:] == [offspring[2]]
    tell(ga, "validation", [2, 9])
    assert tell(ga, "test", [9, 9, 9])["score"] == 9


@pytest.mark.parametrize(("mode", "limit"), [("env_default", 400_000), (10**9, 400_000), ("adaptive:7,0.5,2", 28)])
def test_the_protocols_own_limit_is_never_exceeded(mode, limit):
    assert {episode.max_frames for episode in algorithm(episode_cutoff_mode=mode).ask().episodes} == {limit}


def test_every_episode_has_its_own_start_and_games_without_no_ops_have_none():
    ga = algorithm(population_size=60, num_validation_episodes=60, validation_threshold=1)
    noops = [episode.noops for episode in ga.ask().episodes]
    assert set(noops) <= set(range(1, 31))
    assert len(set(noops)) > 15
    tell(ga, "population", [0] * 60)
    validation = ga.ask().episodes
    assert len({(episode.noops, episode.seed) for episode in validation}) == 60
    machado = algorithm(protocol="machado2018", episode_cutoff_mode="env_default").ask()
    assert {episode.noops for episode in machado.episodes} == {0}
    assert {episode.max_frames for episode in machado.episodes} == {108_000}
    assert all(0 <= episode.seed < 2**31 for episode in validation)


def test_a_schedule_sets_the_power_of_the_generation_it_is_logged_with():
    power = {"type": "linear", "initial": 0.5, "final": 0.1, "length": 4}
    ga = algorithm(mutation_power=power)
    reports = [generation(ga) for _ in range(3)]
    assert [report["MutationPower"] for report in reports] == pytest.approx([0.5, 0.4, 0.3])
    assert [episode.genome.mutations[-1].power for episode in ga.ask().episodes] == pytest.approx([0.2] * 4)


# ---- random search


def test_random_search_draws_fresh_genomes_in_every_generation_and_carries_the_elite():
    ga, genomes = after_one(selection_threshold=0)
    batch = ga.ask()
    offspring = [episode.genome for episode in batch.episodes]
    assert all(genome.mutations == () for genome in offspring)
    assert not set(offspring) & set(genomes.values())
    assert batch.parents == (genomes["d"],)
    tell(ga, "population", [0, 5, 6, 1])
    assert players(ga.ask()) == [genomes["d"], offspring[2], offspring[1]]
    assert parents_of(ga) == []


# ---- the elite carried on its old score


def test_a_carried_elite_has_the_best_training_score_of_all_and_plays_no_validation():
    ga = algorithm(elite_rule="carried", selection_threshold=3)
    first = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [1, 9, 0, 3])
    report = tell(ga, "test", [1, 1, 4])
    unknown = {name for name in GA_FIELDS if name not in report} - TIMES
    assert len(unknown) == 3
    assert all("Validation" in name or name == "TruncatedPopulationRewMean" for name in unknown)
    assert set(ga.fields) == set(GA_FIELDS) - unknown
    assert (report["score"], report["test_score"], report["ValidationTimestepsSoFar"]) == (9.0, 2.0, 0)
    assert parents_of(ga) == [genome.to_json() for genome in (first[1], first[3], first[0])]
    second = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [8, 9, 7, 5])
    report = tell(ga, "test", [0, 0, 3])
    # 9 does not beat 9; the survivors are the elite and the best of the others.
    assert (report["score"], report["test_score"], report["TruncatedPopulationEliteIndex"]) == (9.0, 1.0, 0)
    assert parents_of(ga) == [genome.to_json() for genome in (first[1], second[1], second[0])]
    assert (ga.best.genome, ga.best.iteration, ga.best.test_score) == (first[1], 1, 1.0)
    third = [episode.genome for episode in ga.ask().episodes]
    tell(ga, "population", [1, 12, 2, 10])
    report = tell(ga, "test", [1, 1, 1])
    assert (report["score"], report["TruncatedPopulationEliteIndex"]) == (12.0, 1)  # the previous elite would be 0
    assert parents_of(ga) == [genome.to_json() for genome in (third[1], third[3], first[1])]
    assert (ga.best.genome, ga.best.iteration) == (third[1], 3)


# ---- the first generation as children of one


@pytest.mark.parametrize("threshold", [2, 0])
def test_the_first_generation_can_be_children_of_one_genome_and_in_random_search_all_are(threshold):
    ga = algorithm(first_generation="mutations", population_size=30, selection_threshold=threshold)
    (founder,) = ga.ask().parents
    for number in range(3):
        genomes = [episode.genome for episode in ga.ask().episodes]
        assert len(set(genomes)) > 15
        if number == 0 or threshold == 0:
            assert {genome.parent for genome in genomes} == {founder}
            assert {genome.mutations[0].power for genome in genomes} == {0.5}
        rows = generation(ga)["Lineage"]
        if number == 0:  # the parent was never selected, so it has no row of its own
            assert {tuple(row[2:4]) for row in rows} == {(0, 0)}
            assert {row[0] for row in rows} == {1}


# ---- racing


def test_a_race_halves_the_best_and_ends_with_one_and_the_elite():
    # 3 x 4 = 12 episodes: 4 challengers; rounds of 4, 2 and 1.
    ga = algorithm(elite_rule="racing", population_size=6, num_validation_episodes=4)
    _, _, c, d, e, f = (episode.genome for episode in ga.ask().episodes)
    tell(ga, "population", [1, 2, 3, 4, 5, 6])
    assert players(ga.ask()) == [f, e, d, c]
    tell(ga, "validation-1", [1, 4, 2, 3])  # 12 / 3 rounds / 4 players: 1 each
    assert players(ga.ask()) == [e, c]
    tell(ga, "validation-2", [0, 6, 7, 8])  # 8 / 2 rounds / 2 players: 2 each; means 10 / 3 and 18 / 3
    assert players(ga.ask()) == [c]
    tell(ga, "validation-3", [2, 2, 2, 4])  # the 4 that are left
    report = tell(ga, "test", [1, 1, 1])
    assert report["TruncatedPopulationEliteSeeds"] == c.to_json()
    assert report["score"] == report["TruncatedPopulationEliteValidationRewMean"] == 2.5  # of the last round only
    # Means over all episodes of the race, but the elite's: f 1, e 10/3, d 2, c 28/7.
    assert report["TruncatedPopulationValidationRewMean"] == pytest.approx((1 + 10 / 3 + 2 + 4) / 4)
    assert report["TruncatedPopulationEliteIndex"] == 3
    assert report["ValidationTimestepsThisIter"] == 12 * 10
    assert (ga.best.genome, ga.best.validation_score, ga.best.iteration) == (c, 2.5, 1)


def test_a_challenger_has_to_beat_all_that_the_elite_has_played_in_races():
    def second_race(duel):
        ga = algorithm(elite_rule="racing", num_validation_episodes=3)  # 9 episodes, 2 challengers
        _, b, _, _ = (episode.genome for episode in ga.ask().episodes)
        tell(ga, "population", [1, 2, 0, 0])
        tell(ga, "validation-1", [8, 8, 0, 0])  # 9 / 2 / 2: b 16 in 2
        tell(ga, "validation-2", [4, 4, 4, 4, 4])  # b alone: 20 in 5
        tell(ga, "test", [0, 0, 0])
        c, d, _, _ = (episode.genome for episode in ga.ask().episodes)
        tell(ga, "population", [2, 1, 0, 0])
        assert players(ga.ask()) == [c, d]
        tell(ga, "validation-1", [6, 6, 5, 5])
        assert players(ga.ask()) == [b, c]  # the elite first: of equals it stays
        tell(ga, "validation-2", duel)  # 5 / 1 / 2: 2 each
        report = tell(ga, "test", [9, 9, 9])
        return ga, report, b, c

    # The elite: 36 in 7, and 0 now: 36 / 9 = 4. The challenger: 12 in 2, and 5 now: 17 / 4 > 4.
    ga, report, b, c = second_race([0, 0, 2, 3])
    assert report["TruncatedPopulationEliteSeeds"] == c.to_json()
    assert report["score"] == 2.5
    assert (ga.best.genome, ga.best.validation_score, ga.best.iteration, ga.best.test_score) == (c, 2.5, 2, 9.0)
    # 12 in 2 and 4 now: 4 is not more than 4. The elite's last rounds: 20 in 5, 0 in 2.
    ga, report, b, c = second_race([0, 0, 2, 2])
    assert report["TruncatedPopulationEliteSeeds"] == b.to_json()
    assert report["score"] == pytest.approx(20 / 7)
    assert (ga.best.genome, ga.best.iteration, ga.best.test_score) == (b, 1, 9.0)
    assert ga.best.validation_score == pytest.approx(20 / 7)


def test_all_players_of_a_race_meet_the_same_starts_and_no_start_comes_twice():
    ga = algorithm(elite_rule="racing", population_size=8, num_validation_episodes=10)
    for _ in range(2):
        ga.tell([by_rule(episode) for episode in ga.ask().episodes])
        seen = []
        while (batch := ga.ask()).phase != "test":
            starts = {}
            for episode in batch.episodes:
                starts.setdefault(episode.genome, []).append((episode.noops, episode.seed))
            first, *others = starts.values()
            assert all(other == first for other in others)
            seen += first
            ga.tell([by_rule(episode) for episode in batch.episodes])
        assert len(set(seen)) == len(seen) > 5
        ga.tell([by_rule(episode) for episode in ga.ask().episodes])


# ---- lineage


@pytest.mark.parametrize("rule", ELITE_RULES)
@pytest.mark.parametrize("first", ["random", "mutations"])
def test_every_parent_of_a_lineage_was_selected_in_the_generation_before_its_child_was_born(rule, first):
    ga = algorithm(elite_rule=rule, first_generation=first, population_size=8, num_validation_episodes=4)
    parents = {0: {(0, 0)} if first == "mutations" else {(None, None)}}
    for iteration in range(1, 8):
        report = generation(ga)
        rows = report["Lineage"]
        parents[iteration] = {(row[0], row[1]) for row in rows if row[7]}
        assert len(parents[iteration]) == 2
        assert len({(row[0], row[1]) for row in rows}) == len(rows)
        assert sum(row[8] for row in rows) == 1
        for row in rows:
            assert (row[2], row[3]) in parents[row[0] - 1]
        (elite,) = (row for row in rows if row[8])
        assert elite[6] == (None if rule == "carried" else report["score"])


# ---- requirements of the evaluator


@pytest.mark.parametrize("threshold", [0, 1, 2, 4])
@pytest.mark.parametrize("rule", ELITE_RULES)
@pytest.mark.parametrize("first", ["random", "mutations"])
def test_every_genome_that_plays_is_a_parent_or_a_child_of_one_or_has_no_mutations(threshold, rule, first):
    ga = algorithm(selection_threshold=threshold, elite_rule=rule, first_generation=first)
    for _ in range(6):
        report = None
        while report is None:
            batch = ga.ask()
            parents = set(batch.parents)
            assert len(parents) == len(batch.parents)
            for episode in batch.episodes:
                genome = episode.genome
                assert genome in parents or genome.parent in parents or not genome.mutations
            assert ga.ask() == batch
            report = ga.tell([by_rule(episode) for episode in batch.episodes])


# ---- repeatable


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"selection_threshold": 0},
        {"episode_cutoff_mode": "adaptive:10,0.1,1.5,60"},
        {"mutation_power": {"type": "exponential", "initial": 0.1, "final": 0.01, "length": 300, "field": "steps"}},
        {"elite_rule": "carried"},
        {"elite_rule": "carried", "first_generation": "mutations"},
        {"elite_rule": "racing", "num_validation_episodes": 6},
        {"elite_rule": "racing", "first_generation": "mutations", "selection_threshold": 0},
    ],
    ids=["ga", "rs", "adaptive", "schedule", "carried", "cshenton", "racing", "racing-rs"],
)
def test_stopping_and_continuing_after_any_generation_equals_never_stopping(changes):
    check_resuming(lambda: algorithm(**changes), generations=6)


def test_a_state_hardly_grows_with_the_genomes():
    ga, sizes = algorithm(mutation_power=0.002), []
    founder = Genome(1, tuple(Mutation(number, 0.002) for number in range(400)))
    for stem in (Genome(1), founder, founder.mutated(1, 0.002)):
        ga.set_state({**algorithm().get_state(), "genomes": pack([stem] * 2)[0], "parent_births": [[1, 0], [1, 1]]},
                     pack([stem])[1])  # fmt: skip
        generation(ga)
        sizes.append(len(json.dumps(ga.get_state())))
    assert sizes[1] < sizes[0] + (400 - BLOCK) * 20


# ---- scores of other rules


@pytest.mark.parametrize("cutoff", [320, "adaptive:10,0.5,2,320"])
def test_the_result_is_the_last_elite_where_skill_grows_whatever_limit_earlier_scores_had(cutoff):
    def play(episode):  # a step costs a tenth of a point, and each mutation earns two; all play to the limit
        frames = episode.max_frames
        return EpisodeResult(2.0 * len(episode.genome.mutations) - frames / 40, frames // 4, frames)

    ga = algorithm(episode_cutoff_mode=cutoff, test_cutoff=320, frames=10**9)
    report = [generation(ga, play) for _ in range(8)][-1]
    assert ga.best.genome.to_json() == report["TruncatedPopulationEliteSeeds"]
    assert len(ga.best.genome.mutations) == 7
    assert report["test_score"] == report["TruncatedPopulationEliteTestRewMean"]
