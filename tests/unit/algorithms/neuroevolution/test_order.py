from neurozoo.algorithms.neuroevolution.order import LongestFirst
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome

PARENTS = {"short": Genome(1), "long": Genome(2), "unknown": Genome(3)}
CHILDREN = {name: parent.mutated(7, 0.1) for name, parent in PARENTS.items()}


def episode(genome):
    return Episode(genome, 1, 0, 1000)


def taught():
    order = LongestFirst()
    order.learn(4, [episode(PARENTS["short"]), episode(PARENTS["long"])], [result(10), result(90)])
    return order


def result(steps):
    return EpisodeResult(0.0, steps, 4 * steps)


def test_episodes_of_unknown_length_come_first_and_then_the_longest():
    assert taught().genomes(PARENTS.values()) == [PARENTS[name] for name in ("unknown", "long", "short")]


def test_children_are_expected_to_play_as_long_as_their_parents_until_they_have_played():
    order = taught()
    episodes = {5: episode(CHILDREN["short"]), 6: episode(CHILDREN["long"]), 7: episode(CHILDREN["short"])}
    assert list(order.episodes(episodes)) == [6, 5, 7]
    order.learn(5, [episode(CHILDREN["short"])], [result(95)])
    assert list(order.episodes(episodes)) == [5, 7, 6]


def test_genomes_of_two_generations_ago_are_forgotten():
    order = taught()
    order.learn(5, [], [])
    assert order.genomes(PARENTS.values())[0] == PARENTS["unknown"]
    order.learn(6, [], [])
    assert order.genomes(PARENTS.values()) == list(PARENTS.values())


def test_the_last_episode_counts():
    order = taught()
    order.learn(4, [episode(PARENTS["long"])], [result(5)])
    assert order.genomes(PARENTS.values())[1] == PARENTS["short"]
