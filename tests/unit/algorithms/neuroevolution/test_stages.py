"""Stages of the river crossing task: what counts, when the next stage begins, and that runs continue in theirs."""

import json

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic_search import Stages, levels_solved
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import get_protocol
from neurozoo.environments.river_agents import ShuntingAgent, play
from neurozoo.environments.river_crossing import RiverCrossing, RiverRules
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult

ANYWHERE = (3, 4)
RESOURCE_OF_3 = (18, 10)  # the resource behind a river of width 3: column 19 - floor((19 - 17) / 2), row 10


def result(*levels):
    """An episode with one attempt for each number of solved levels."""
    rows = [(*(RESOURCE_OF_3 if level == 4 else ANYWHERE), min(level, 3)) for level in levels]
    return EpisodeResult(float(sum(levels)), 50, 50, behaviour=np.array(rows, np.float32))


def test_an_attempt_solved_the_levels_before_its_last_and_the_last_if_it_ends_on_the_resource():
    assert levels_solved(result(0, 2, 3, 4)).tolist() == [0, 2, 3, 4]
    # At the same place in an earlier level there is no resource that ends the attempt.
    assert levels_solved(EpisodeResult(0.0, 1, 1, behaviour=np.array([(18, 10, 2)]))).tolist() == [2]


class Mortal:
    """A scripted agent that jumps off the grid on its way now and then, so that attempts end in all levels."""

    def __init__(self, seed):
        self._random, self._agent = np.random.default_rng(seed), ShuntingAgent()

    def __call__(self, river):
        if self._random.random() < 0.01:
            river.row, action = 0, 7
            return action
        return self._agent(river)


@pytest.mark.parametrize("seed", range(2))
def test_levels_solved_are_those_that_the_game_counts(seed):
    river = RiverCrossing(RiverRules())
    score, _ = play(river, Mortal(seed), seed=seed)
    found = levels_solved(EpisodeResult(score, 1, 1, behaviour=np.array(river.final_positions)))
    assert found.sum() == river.levels_solved == score
    assert len(set(found.tolist())) >= 3  # attempts of different ends


@pytest.mark.parametrize("stage", [0, 2])
def test_the_score_of_a_stage_is_that_of_an_episode_without_wider_rivers(stage):
    river = RiverCrossing(RiverRules())
    score, _ = play(river, ShuntingAgent(), seed=4)
    stages = Stages(0.8)
    stages.stage = stage
    (cut,) = stages.scored([EpisodeResult(score, 9, 9, behaviour=np.array(river.final_positions, np.float32))])
    assert cut.score == play(RiverCrossing(RiverRules(max_width=stage)), ShuntingAgent(), seed=4)[0]


@pytest.mark.parametrize(
    ("stage", "levels", "share", "after"),
    [
        (0, [[1] * 10, [1] * 5 + [0] * 5], 0.75, 0),
        (0, [[1] * 10, [1] * 6 + [0] * 4], 0.8, 1),
        (1, [[1] * 10], 0.0, 1),  # solved level 0 only
        (2, [[4] * 10], 1.0, 3),
        (3, [[4] * 10], 1.0, 3),  # the last one stays
        (0, [[1, 1, 1, 1]], 0.4, 0),  # a frame limit ended the episode: attempts that never began solved nothing
    ],
)
def test_the_next_stage_begins_when_the_threshold_is_reached(stage, levels, share, after):
    stages = Stages(0.8)
    stages.stage = stage
    stages.look_at([result(*each) for each in levels])
    assert stages.share == share
    assert stages.advance() == (after > stage)
    assert stages.stage == after


# ---- in the genetic algorithm


def made(**changes):
    settings = {
        "population_size": 2,
        "selection_threshold": 1,
        "validation_threshold": 1,
        "num_validation_episodes": 1,
        "num_test_episodes": 1,
        "stage_threshold": 0.8,
    }
    protocol = get_protocol("river_fixed", observation="greyscale")
    layout = layout_of("river_crossing", "cells", protocol)
    noise = np.zeros(layout.parameter_count + 1000, np.float32)
    return GeneticAlgorithm(
        GaSettings(**settings | changes), entropy=(0, 1), layout=layout, noise=noise, protocol=protocol
    )


def generation(ga, population, validation, test):
    ga.ask()
    assert ga.tell(population) is None
    assert ga.tell(validation) is None
    return ga.tell(test)


def test_selection_counts_the_stage_and_tests_count_everything():
    ga = made()
    assert ga.behaviour == "final_position"
    # Without stages, the first one would be the better of the two: 4 + 4 levels against 5.
    report = generation(ga, [result(4, 4), result(1, 1, 1, 1, 1)], [result(4, 4)], [result(4, 4)])
    assert report["PopulationEpRewMax"] == 5.0
    assert (report["score"], report["test_score"]) == (2.0, 8.0)
    assert (report["Stage"], report["StageSolvedShare"]) == (0, 7 / 20)
    assert [row[1] for row in report["Lineage"] if row[8]] == [1]


def test_a_stage_lasts_for_whole_generations_and_is_part_of_the_state():
    solved = result(*[2] * 10)
    through, first = made(), made()
    for ga in (through, first):
        report = generation(ga, [solved, solved], [solved], [solved])
        assert (report["Stage"], report["StageSolvedShare"], report["score"]) == (0, 1.0, 10.0)
    resumed = made()
    resumed.set_state(json.loads(json.dumps(first.get_state())), first.get_arrays())
    for ga in (through, resumed):
        report = generation(ga, [solved, solved], [solved, solved], [solved])
        assert (report["Stage"], report["score"]) == (1, 20.0)
        assert {"Stage", "StageSolvedShare"} <= set(ga.fields)


def test_a_better_elite_stays_when_a_stage_begins():
    """Its episodes of the stage before were cut, so they do not count against it."""
    better, others = result(*[2] * 10), result(*[2] * 5, *[1] * 5)  # 20 and 15 in stage 1, both 10 in stage 0
    ga = made(
        population_size=4, selection_threshold=2, validation_threshold=2, num_validation_episodes=6, elite_rule="racing"
    )
    first, stages = None, []
    for _ in range(3):
        report = None
        while report is None:
            batch = ga.ask()
            first = first or batch.episodes[0].genome  # the first of equals in generation 1
            report = ga.tell([better if episode.genome == first else others for episode in batch.episodes])
        stages.append((report["Stage"], report["score"]))
        assert ga._elite.individual.genome == first
    assert stages == [(0, 10.0), (1, 20.0), (1, 20.0)]


def test_stages_need_the_river_with_fixed_rules():
    GaSettings(stage_threshold=0.8).check_game("river_crossing")
    for game, protocol in (("pong", None), ("river_crossing", "river_faithful")):
        with pytest.raises(NeurozooError, match="stage_threshold is for river_crossing with fixed rules"):
            GaSettings(stage_threshold=0.8, protocol=protocol).check_game(game)


def test_a_result_of_an_earlier_stage_makes_way_because_its_score_counted_other_levels():
    ga = made()
    first, second = result(*[2] * 10), result(*[1] * 9)  # 10 and 9 levels in stage 0; 20 and 9 in stage 1
    generation(ga, [first, first], [first], [first])
    best = ga.best.genome
    generation(ga, [second, second], [second, second], [second])
    assert (ga.best.validation_score, ga.best.iteration) == (9.0, 2)
    assert ga.best.genome == best  # the elite, validated again: its equals do not take its place
