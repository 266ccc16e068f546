"""What a Dask worker does: one evaluator for each run, which all tasks of the process share."""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from distributed import get_worker

from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.genomes import Genome

MOST_PLAYERS = 4  # runs that share a worker, before the one that was idle longest is forgotten
RECEIVE_SECONDS = 1.0


@dataclass(frozen=True)
class World:
    """What is played, the same for a whole run.

    Attributes:
        key: Names the run.
        make: Makes the evaluator: `make(threads=...)`.
        reference: What virtual batch norm is computed from.
    """

    key: str
    make: Callable[..., Evaluator]
    reference: np.ndarray | None = None


@dataclass(frozen=True)
class Deck:
    """The genomes that are held while episodes of them and of their children are played.

    Attributes:
        key: Names these genomes within the run.
        genomes: Their recipes; weights only where there is no recipe.
    """

    key: int
    genomes: tuple[Genome, ...]


@dataclass(frozen=True)
class Part:
    """An episode in a few numbers.

    Attributes:
        number: Of the episode.
        base: Place of a genome in the deck; -1 for none.
        gene: The mutation that makes a child of it, or None; without a base the index of initial weights.
        noops: Single frames without action at the start.
        seed: Decides which actions stick.
        max_frames: Frames after which the episode is broken off.
    """

    number: int
    base: int
    gene: tuple[int, float] | int | None
    noops: int
    seed: int
    max_frames: int

    def episode(self, deck: Deck) -> Episode:
        """Returns the episode."""
        if self.base < 0:
            genome = Genome(self.gene)
        else:
            genome = deck.genomes[self.base]
            genome = genome if self.gene is None else genome.mutated(*self.gene)
        return Episode(genome, self.noops, self.seed, self.max_frames)


class Player:
    """Plays what several threads ask for with one evaluator, whose threads are then never idle.

    Whoever waits first receives for all. Genomes are exchanged only when nothing of the old ones is being played, so
    that any evaluator will do.

    Args:
        world: What is played.
        threads: Episodes at once.
    """

    def __init__(self, world: World, threads: int) -> None:
        self._evaluator = world.make(threads=threads)
        if world.reference is not None:
            self._evaluator.set_reference(world.reference)
        self._numbers = itertools.count()
        self._change = threading.Condition()
        self._deck: int | None = None
        self._open: set[int] = set()
        self._done: dict[int, EpisodeResult] = {}
        self._is_receiving = False
        self.used = time.monotonic()

    def play(self, deck: Deck, episodes: dict[int, Episode]) -> dict[int, EpisodeResult]:
        """Plays episodes and waits for all of them."""
        with self._change:
            self._hold(deck)
            own = {next(self._numbers): number for number in episodes}
            self._evaluator.submit(dict(zip(own, episodes.values(), strict=True)))
            self._open.update(own)
        while not self._are_done(own):
            self._receive()
        with self._change:
            self.used = time.monotonic()
            return {number: self._done.pop(place) for place, number in own.items()}

    def trace(self, deck: Deck, episode: Episode) -> Trace:
        """Plays one episode of a held genome and records all of it."""
        with self._change:
            self._hold(deck)
            return self._evaluator.trace(episode)

    def _hold(self, deck: Deck) -> None:
        while self._deck != deck.key and self._open:
            self._change.wait()
        if self._deck != deck.key:
            self._evaluator.hold(deck.genomes)
            self._deck = deck.key

    def _are_done(self, places: Iterable[int]) -> bool:
        """Tells it once this thread has to receive, or all is done."""
        with self._change:
            while self._is_receiving and not all(place in self._done for place in places):
                self._change.wait()
            done = all(place in self._done for place in places)
            if not done:
                self._is_receiving = True
            return done

    def _receive(self) -> None:
        news: dict[int, EpisodeResult] = {}
        try:
            news = self._evaluator.receive(timeout=RECEIVE_SECONDS)
        finally:
            with self._change:
                self._is_receiving = False
                self._done |= news
                self._open.difference_update(news)
                self._change.notify_all()

    def close(self) -> None:
        """Breaks off what runs."""
        self._evaluator.close()


_players: dict[tuple[str, str], Player] = {}
_lock = threading.Lock()


def play_parts(world: World, deck: Deck, parts: Sequence[Part]) -> list[tuple]:
    """Plays a few episodes; the task that a cluster is given.

    Returns:
        For each its number, score, steps, frames, seconds, sign score and behaviour.

    Raises:
        NeurozooError: Something is missing on this node, or a genome does not fit.
    """
    player, forget = _player_of(world)
    try:
        results = player.play(deck, {part.number: part.episode(deck) for part in parts})
    except BaseException:
        forget()  # it may be in any state
        raise
    return [(number, r.score, r.steps, r.frames, r.seconds, r.sign_score, r.behaviour) for number, r in results.items()]


def trace_part(world: World, deck: Deck, part: Part) -> Trace:
    """Plays one episode of a held genome and records all of it."""
    return _player_of(world)[0].trace(deck, part.episode(deck))


def _player_of(world: World) -> tuple[Player, Callable[[], None]]:
    worker = get_worker()
    key = (worker.id, world.key)
    with _lock:
        if key not in _players:
            idle = sorted((player.used, other) for other, player in _players.items() if other[0] == worker.id)
            for _, other in idle[: max(0, len(idle) - MOST_PLAYERS + 1)]:
                _players.pop(other).close()
            _players[key] = Player(world, worker.state.nthreads)
        return _players[key], lambda: _drop(key)


def _drop(key: tuple[str, str]) -> None:
    with _lock:
        player = _players.pop(key, None)
    if player is not None:
        player.close()


def forget(world_key: str) -> None:
    """Breaks off what a run has going on in this process, and frees its memory."""
    for key in [key for key in _players if key[1] == world_key]:
        _drop(key)


def same(value: object) -> object:
    """Returns what it got: as a task its result can be made again when the worker that has it is lost."""
    return value
