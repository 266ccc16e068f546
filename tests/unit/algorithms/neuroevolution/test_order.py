from neurozoo.algorithms.neuroevolution.session import LongestFirst
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome

SHORT, LONG, UNKNOWN = PARENTS = [Genome(1), Genome(2), Genome(3)]
CHILD_OF_SHORT, CHILD_OF_LONG = SHORT.mutated(7, 0.1), LONG.mutated(7, 0.1)


def learn(order, generation, **steps):
    genomes = {"short": SHORT, "long": LONG, "child": CHILD_OF_SHORT}
    episodes = [Episode(genomes[name], 1, 0, 1000) for name in steps]
    order.learn(generation, episodes, [EpisodeResult(0.0, count, 4 * count) for count in steps.values()])


def test_unknown_lengths_come_first_and_then_the_longest_of_this_generation_and_the_one_before():
    order = LongestFirst()
    learn(order, 4, short=10, long=90)
    assert order.genomes(PARENTS) == [UNKNOWN, LONG, SHORT]
    learn(order, 4, long=5)  # the last episode counts
    assert order.genomes(PARENTS) == [UNKNOWN, SHORT, LONG]
    learn(order, 5)
    assert order.genomes(PARENTS)[0] == UNKNOWN
    learn(order, 6)
    assert order.genomes(PARENTS) == PARENTS  # forgotten


def test_children_are_expected_to_play_as_long_as_their_parents_until_they_have_played():
    order = LongestFirst()
    learn(order, 4, short=10, long=90)
    genomes = {5: CHILD_OF_SHORT, 6: CHILD_OF_LONG, 7: CHILD_OF_SHORT}
    episodes = {number: Episode(genome, 1, 0, 1000) for number, genome in genomes.items()}
    assert list(order.episodes(episodes)) == [6, 5, 7]
    learn(order, 5, child=95)
    assert list(order.episodes(episodes)) == [5, 7, 6]
