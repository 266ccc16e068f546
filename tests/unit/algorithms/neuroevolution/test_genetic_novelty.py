"""Small generations worked out by hand, as in `test_genetic`; behaviours are points on a line."""

import json
from types import SimpleNamespace

import numpy as np
from neurozoo.algorithms.neuroevolution.genetic_novelty import NoveltyGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.settings import GaNoveltySettings
from neurozoo.environments.protocols import get_protocol
from searches import check_resuming, generation, parents_of, results, tell


def algorithm(*, protocol="hard_maze", **changes):
    settings = {
        "population_size": 4,
        "selection_threshold": 2,
        "validation_threshold": 1,
        "num_validation_episodes": 2,
        "num_test_episodes": 2,
        "mutation_power": 0.5,
        "episode_cutoff_mode": 100,
        "frames": 10_000,
        "num_neighbours": 1,
        "archive_probability": 0.0,
    }
    return NoveltyGeneticAlgorithm(
        GaNoveltySettings(**settings | changes),
        entropy=(0, 1),
        layout=SimpleNamespace(parameter_count=100),
        noise=np.zeros(1000, np.float32),
        protocol=get_protocol(protocol),
    )


def finish(ga, scores, places):
    """Tells a population and whatever follows; returns the report."""
    tell(ga, "population", scores, positions=[(place, 0) for place in places])
    return generation(ga, lambda _: results([1])[0])


def test_parents_are_the_most_novel_and_the_result_is_the_best():
    ga = algorithm()
    genomes = [episode.genome for episode in ga.ask().episodes]
    # Distances to the nearest other: 1, 1, 3 and 16.
    report = finish(ga, [9, 8, 1, 2], [0, 1, 4, 20])
    assert parents_of(ga) == [genomes[3].to_json(), genomes[2].to_json()]
    assert ga.best.genome == genomes[0]
    assert (report["NoveltyMax"], report["NoveltyMean"], report["ArchiveSize"]) == (16.0, 5.25, 0)
    assert report["PopulationEpRewMax"] == 9.0
    assert {"NoveltyMax", "NoveltyMean", "ArchiveSize"} <= set(ga.fields)
    json.dumps(report, allow_nan=False)
    assert set(ga.ask().parents) == {genomes[3], genomes[2], genomes[0]}


def test_of_equally_novel_ones_the_better_comes_first():
    ga = algorithm(selection_threshold=1)
    genomes = [episode.genome for episode in ga.ask().episodes]
    finish(ga, [1, 2, 4, 3], [0, 0, 0, 0])
    assert parents_of(ga) == [genomes[2].to_json()]


def test_what_is_in_the_archive_is_no_longer_novel():
    ga = algorithm(archive_probability=1.0, selection_threshold=1)
    assert finish(ga, [0, 0, 0, 0], [0, 10, 20, 30])["ArchiveSize"] == 4
    genomes = [episode.genome for episode in ga.ask().episodes]
    # Nearest in population and archive: 0 (archive), 2 (archive: 30), 0 (archive), 5 (archive: 10).
    report = finish(ga, [9, 9, 9, 9], [10, 32, 20, 15])
    assert parents_of(ga) == [genomes[3].to_json()]
    assert report["NoveltyMean"] == (0 + 2 + 0 + 5) / 4
    assert report["ArchiveSize"] == 8
    assert ga.get_arrays()["archive-00001"].tolist() == [[10, 0], [32, 0], [20, 0], [15, 0]]


def test_about_the_wanted_share_goes_into_the_archive():
    # 1000 draws of 0.3: three standard deviations are 43.
    ga = algorithm(population_size=1000, archive_probability=0.3)
    assert abs(finish(ga, [0] * 1000, range(1000))["ArchiveSize"] - 300) < 43


def test_the_carried_rule_takes_parents_from_this_generation_only():
    ga = algorithm(elite_rule="carried")
    finish(ga, [99, 0, 0, 0], [0, 1, 4, 20])
    genomes = [episode.genome for episode in ga.ask().episodes]
    finish(ga, [1, 2, 3, 4], [0, 1, 4, 20])
    assert parents_of(ga) == [genomes[3].to_json(), genomes[2].to_json()]


def test_stopping_and_continuing_after_any_generation_equals_never_stopping():
    check_resuming(lambda: algorithm(archive_probability=0.5))
