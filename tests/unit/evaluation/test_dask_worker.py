"""What the tasks of one worker process share."""

import threading
import time
from dataclasses import dataclass, field

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.evaluation.players import Deck, Part, Player, World
from neurozoo.genomes import Genome

OLD, NEW = Deck(1, (Genome(1),)), Deck(2, (Genome(2),))


@dataclass
class SlowEvaluator:
    """Scores an episode with its seed, and with a thousand for each genome held while it was played."""

    threads: int
    held: tuple = ()
    queue: list = field(default_factory=list)
    holds: int = 0

    def hold(self, genomes):
        assert not self.queue, "genomes were exchanged while episodes of the old ones were being played"
        self.held, self.holds = tuple(genomes), self.holds + 1

    def submit(self, episodes):
        self.queue += episodes.items()

    def receive(self, *, timeout):
        time.sleep(0.01)
        if not self.queue:
            return {}
        number, episode = self.queue.pop(0)
        if episode.seed == 13:
            raise NeurozooError("thirteen")
        return {number: EpisodeResult(episode.seed + 1000 * self.held[0].initial, 1, 4)}

    def close(self):
        self.queue.clear()


def episodes(seeds):
    return {seed: Episode(Genome(1), 0, seed, 100) for seed in seeds}


def played(player, requests):
    """Plays several requests at once, each in a thread."""
    results = [None] * len(requests)

    def play(place, deck, seeds):
        results[place] = player.play(deck, episodes(seeds))

    threads = [threading.Thread(target=play, args=(n, *request)) for n, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()
    return results


def test_every_task_gets_its_own_results_although_all_share_one_evaluator():
    player = Player(World("run", SlowEvaluator), threads=4)
    requests = [(OLD, range(start, start + 5)) for start in (0, 20, 40, 60)]
    for (_, seeds), results in zip(requests, played(player, requests), strict=True):
        assert {number: result.score for number, result in results.items()} == {seed: seed + 1000 for seed in seeds}
    assert player._evaluator.holds == 1


def test_genomes_are_exchanged_only_between_episodes():
    player = Player(World("run", SlowEvaluator), threads=4)
    requests = [(deck, range(start, start + 4)) for start, deck in enumerate([OLD, NEW, OLD, NEW, NEW])]
    for (deck, seeds), results in zip(requests, played(player, requests), strict=True):
        assert {n: r.score for n, r in results.items()} == {seed: seed + 1000 * deck.key for seed in seeds}


def test_what_an_evaluator_complains_about_reaches_the_task():
    player = Player(World("run", SlowEvaluator), threads=1)
    with pytest.raises(NeurozooError, match="thirteen"):
        player.play(OLD, episodes([12, 13, 14]))


@pytest.mark.parametrize(
    ("base", "gene", "genome"),
    [
        (0, None, Genome(1)),
        (0, (7, 0.5), Genome(1).mutated(7, 0.5)),
        (-1, 9, Genome(9)),
    ],
)
def test_a_part_names_a_held_genome_or_its_child_or_new_weights(base, gene, genome):
    assert Part(3, base, gene, 2, 5, 100).episode(OLD) == Episode(genome, 2, 5, 100)
