"""IMPALA: a thread learns from a rollout while the environments play the next one; in one process or several."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from neurozoo.algorithms.impala.minibatches import Lesson, minibatches, proximal_of, unrolls
from neurozoo.algorithms.impala.native_network import NativeActorCritic
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.player import Collector, DeviceRollout, Game, Player, SharedPlayer, make_policy
from neurozoo.algorithms.impala.rollouts import Rollout, prefixed, unprefixed
from neurozoo.algorithms.impala.settings import PLAYERS, ImpalaSettings
from neurozoo.algorithms.impala.statistics import EpochStatistics
from neurozoo.algorithms.impala.team import Team
from neurozoo.algorithms.learner import Learner, LearnerTask, ReportedNetwork, Watch, restoring
from neurozoo.algorithms.session import Report
from neurozoo.compute.mpi import LEADER
from neurozoo.environments.observations import byte_scale
from neurozoo.randomness import Purpose, generator

SAVE_STEPS = 50_000  # steps between two saved states, at most


class ImpalaLearner(Learner):
    """One run of IMPALA, or one of its learners.

    A rollout is one unroll of each environment. While the environments play a rollout, a thread learns from the one
    before it; then the weights are handed over. So rollout n is played with weights that have learned from the rollouts
    up to n - 2, whatever is faster: the policy lag is exactly one rollout, and results do not depend on timing.

    With several learners, each has environments of its own. They add up their gradients at every update, so that their
    weights stay equal. Rank 0 leads: it tests, reports and saves the state of all. The others call `follow`.
    """

    settings: ImpalaSettings

    def __init__(self, task: LearnerTask) -> None:
        super().__init__(task)
        s, self._ranks = self.settings, task.ranks
        self._frame_skip = task.protocol.frame_skip
        self._team = Team(s.learners, s.actors, s.num_envs)
        self._actors = self._team.actors_of(self._ranks.index)
        self._players = self._team.players_of(self._ranks.index)
        self._learned = 0  # rollouts
        self._statistics = EpochStatistics()
        self._player: Player | SharedPlayer | Collector
        self._is_ordered = False  # whether the other ranks have been told to play the current rollout
        self._learning: Future[float] | None = None
        self._idle_since: float | None = None

    # ---- for training

    @property
    def progress(self) -> tuple[str, int, int, str]:
        """The phase, how much of it is done, how much it has, and in what unit."""
        s = self.settings
        if self._test_done is not None:
            return "test", self._test_done, s.num_test_episodes, "episodes of test"
        done = self.steps - self.iteration * s.epoch_steps
        return "train", min(done, s.epoch_steps), s.epoch_steps, "steps of train"

    def open(self, *, network_core: Path | None = None, threads: int = 1) -> None:
        """Makes environments and `network`, in the native core or with Keras. If there is a state, set it before."""
        s, scale = self.settings, byte_scale(self._protocol)
        make: Callable[..., ActorCritic | NativeActorCritic] = (
            partial(NativeActorCritic, core=network_core, threads=threads)
            if network_core
            else partial(ActorCritic, learners=self._ranks.group(range(s.learners)))
        )
        random = generator(self._task.entropy, Purpose.INITIAL_WEIGHTS)
        self.network = make(self._layout, s, random=random, byte_scale=scale)
        if self._actors:
            self._player = Collector(s, layout=self._layout, ranks=self._ranks, actors=self._actors)
        else:
            self._player = self._make_player(self._team.environments_of(self._ranks.index), engine=s.engine)
        if self._saved:
            state, arrays = self._saved
            with restoring():
                self.network.set_arrays(unprefixed("network", arrays))
                self._player.set_state(state["player"], unprefixed("player", arrays))
        if self._ranks.is_leader:
            with restoring():
                self._begin_together()
        self._saved = None

    def _make_player(self, environments: range, *, engine: str) -> Player | SharedPlayer:
        make = partial(Player, self._task, self.network.act)
        if engine != "batched":
            return make(environments)
        size = len(environments) // PLAYERS
        shares = [environments[first : first + size] for first in range(0, len(environments), size)]
        return SharedPlayer([make(share, kind=DeviceRollout) for share in shares])

    def close(self) -> None:
        """Ends the threads, closes the environments, and lets the other ranks end."""
        self._thread.shutdown()
        self._player.close()
        self._order("stop")

    def learn(self, watch: Watch) -> Report | None:
        """Plays and learns until the state should be saved, or finishes an epoch and reports it."""
        if self._is_epoch_over:
            return self._finish_epoch(watch)
        stop = (self.steps // SAVE_STEPS + 1) * SAVE_STEPS
        self._idle_since = time.perf_counter()
        try:
            while True:
                if self._player.is_rollout_over:
                    self._order("finish")
                    self._finish_rollout()
                    if self.steps >= stop or self._is_epoch_over:
                        began = time.perf_counter()
                        self._finish_learning()  # what comes next waits for it anyway; here the wait is timed
                        self._statistics.seconds += time.perf_counter() - began
                        return None
                self._play_step(watch)
        finally:
            self._idle_since = None

    # ---- playing and learning

    @property
    def _is_epoch_over(self) -> bool:
        return self._player.step == 0 and self.steps >= (self.iteration + 1) * self.settings.epoch_steps

    def _play_step(self, watch: Watch) -> None:
        began = time.perf_counter()
        if not self._is_ordered:
            self._order("play")
            self._is_ordered = True
        before = self._player.step
        games = self._player.play_step()
        steps = (self._player.step - before) * self._team.all_environments
        self.steps += steps
        self._count(games)
        self._statistics.seconds += time.perf_counter() - began
        watch(steps * self._frame_skip, steps)

    def _count(self, games: Sequence[Game]) -> None:
        s = self.settings
        rank = self._ranks.index
        for game in games:
            self._recent.append(game.score)
            self._statistics.scores.append(game.score)
            steps = self._player.rollouts * s.unroll_length + game.last_step + 1  # of each environment
            frames = steps * self._team.all_environments * self._frame_skip
            where = (rank, self._players[game.environment], rank * s.num_envs + game.environment)
            self._statistics.add_episode([frames, *where, game.score, game.clipped_return, game.steps])

    def _finish_rollout(self) -> None:
        """Hands the weights over, and starts to learn from the rollout that has been played."""
        began = time.perf_counter()
        self._finish_learning()
        self.network.hand_over()
        rollout = self._player.next_rollout(self._learned)
        for rank in self._actors:
            self._ranks.send(rank, {"version": self._learned}, {"theta": self.network.theta()})
        self._is_ordered = False
        now = time.perf_counter()
        if self._idle_since is not None:
            self._statistics.waited += now - self._idle_since
        self._statistics.seconds += now - began
        self._learning = self._thread.submit(self._learn_from, rollout)

    def _learn_from(self, rollout: Rollout) -> float:
        """Learns from a rollout, in the thread; returns when it was done."""
        self._statistics.lags.append(self._learned - rollout.version)
        lesson = self._lesson(rollout)
        updates = range(self._updates, self._updates + len(lesson.parts))
        rates = [self.settings.learning_rate_after(number, self._frame_skip) for number in updates]
        for figures in self.network.learn(lesson, learning_rates=rates):
            self._updates += 1
            self._check_finite(list(figures.values()))
            self._statistics.add(figures)
        self._learned += 1
        return time.perf_counter()

    def _lesson(self, rollout: Rollout) -> Lesson:
        s, proximal = self.settings, None
        if not s.has_minibatches:
            return unrolls(rollout, s)
        if s.proximal_policy == "learning":
            proximal = proximal_of(make_policy(s, self._layout, self.network.ask), rollout)
        return minibatches(rollout, s, generator(self._task.entropy, Purpose.MINIBATCH, self._learned), proximal)

    def _finish_learning(self) -> None:
        """Waits for the rollout that is being learned from."""
        learning, self._learning = self._learning, None
        if learning is not None:
            self._idle_since = learning.result()

    # ---- between epochs

    def _finish_epoch(self, watch: Watch) -> Report:
        s = self.settings
        self._finish_learning()
        iteration, frames = self.iteration + 1, self.frames
        before = self.reported.frames if self.reported else 0
        scores: list[float] | None = None
        if frames >= s.frames or (s.test_period > 0 and iteration % s.test_period == 0):
            test = self._test(make_policy(s, self._layout, self.network.ask, in_test=True), watch)
            scores = [test.scores[number] for number in range(s.num_test_episodes)]
        statistics, recent = self._statistics_of_all()
        self.iteration = iteration
        steps = (frames - before) // self._frame_skip
        fields: dict[str, object] = {
            "update": self._updates,
            "steps": self.steps,
            "compat_counter": s.compat_counter(self._updates),
            "learning_rate": s.learning_rate_after(self._updates, self._frame_skip),
            **({"epsilon": s.epsilon(self.steps)} if s.objective == "pqn" else {}),
            **statistics.columns(steps=steps, frames=frames - before),
            "queue_len": 0,  # a rollout is learned from as soon as it is played
            "learners": s.learners,
            "actors": s.actors or s.learners,
            "TimestepsThisIter": steps,
            "TimestepsSoFar": self.steps,
        }
        self._statistics = EpochStatistics()
        score, episodes = (None, None) if scores is None else (float(np.mean(scores)), len(scores))
        return self._report(self.network.theta(), recent, fields, score=score, episodes=episodes)

    # ---- with other ranks

    def follow(self) -> None:
        """Does what rank 0 orders, until it lets this rank end; for the other learners."""
        ranks = self._ranks
        self.open()
        state, arrays = ranks.receive(LEADER)
        self.network.set_arrays(unprefixed("network", arrays))
        if state:
            self._take(state)
            self._player.set_state(state["player"], unprefixed("player", arrays))
        while (order := ranks.next_order()) != "stop":
            match order:
                case "play":
                    self._idle_since = self._idle_since or time.perf_counter()
                    self._count(self._player.play_rollout())
                case "finish":
                    self._finish_rollout()
                case "report":
                    self._finish_learning()
                    ranks.send(LEADER, asdict(self._statistics) | {"recent": list(self._recent)}, {})
                    self._statistics = EpochStatistics()
                    self._idle_since = None  # rank 0 may test now, which is no waiting for data
                case "state":
                    ranks.send(LEADER, *self._own_state())
        self._thread.shutdown()
        self._player.close()

    def _order(self, order: str) -> None:
        if self._ranks.is_leader:
            self._ranks.order(order)

    def _begin_together(self) -> None:
        """Sends the other ranks their state, and the weights and slots of the optimizer to all."""
        state, arrays = self._saved or ({}, {})
        network = prefixed("network", self.network.get_arrays())
        for rank in range(1, self._ranks.size):
            own = unprefixed(f"rank{rank}", arrays)
            self._ranks.send(rank, state["ranks"][rank - 1] if state else {}, network | own)

    def _statistics_of_all(self) -> tuple[EpochStatistics, list[float]]:
        """Returns the statistics of all learners together, and the scores of their last games."""
        self._order("report")
        statistics, recent = self._statistics, list(self._recent)
        for rank in range(1, self._ranks.size):
            if self._team.is_learner(rank):
                told, _ = self._ranks.receive(rank)
                recent += told.pop("recent")
                statistics = statistics.with_other(EpochStatistics(**told))
        return statistics, recent

    # ---- state

    def _own_state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns what only this learner knows; weights and slots of the optimizer are equal in all of them."""
        self._finish_learning()
        state = {
            "steps": self.steps,
            "updates": self._updates,
            "learned": self._learned,
            "recent": list(self._recent),
            "statistics": asdict(self._statistics),
            "player": self._player.get_state(),
        }
        return state, prefixed("player", self._player.get_arrays())

    def get_state(self) -> dict:
        """Returns what continuing depends on, as plain JSON; between two steps of the environments."""
        own, self._arrays = self._own_state()
        self._arrays |= prefixed("network", self.network.get_arrays())
        others = []
        self._order("state")
        for rank in range(1, self._ranks.size):
            facts, arrays = self._ranks.receive(rank)
            others.append(facts)
            self._arrays |= prefixed(f"rank{rank}", arrays)
        reported = self.reported and self.reported.to_json()
        return own | {"iteration": self.iteration, "reported": reported, "ranks": others}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state; a name is never used for another content. Call `get_state` before."""
        end = f"-at-{self._player.rollouts}-{self._player.step}-{self.iteration}"
        arrays = {f"{name}{end}": array for name, array in self._arrays.items()}
        if self.reported is not None:
            arrays[self.reported.array_name] = self.reported.weights
        return arrays

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned; call it before `open`."""
        self.iteration = int(state["iteration"])
        self._take(state)
        player = state["player"]
        if state["reported"]:
            self.reported = ReportedNetwork.from_json(state["reported"], arrays)
        self._saved = state, self._at(f"-at-{player['rollouts']}-{player['step']}-{self.iteration}", arrays)

    def _take(self, state: Mapping) -> None:
        self.steps, self._updates, self._learned = (int(state[name]) for name in ("steps", "updates", "learned"))
        self._recent.extend(float(score) for score in state["recent"])
        self._statistics = EpochStatistics(**state["statistics"])
