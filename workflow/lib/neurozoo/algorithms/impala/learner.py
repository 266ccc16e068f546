"""IMPALA in one process: a thread learns from a rollout while the environments play the next one."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.policies import Sampled
from neurozoo.algorithms.impala.actor import Actor
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.playing import MakeEnvironments, play_test
from neurozoo.algorithms.impala.rollouts import Rollout
from neurozoo.algorithms.impala.schedule import Schedule
from neurozoo.algorithms.impala.settings import ImpalaSettings
from neurozoo.algorithms.impala.statistics import EpochStatistics
from neurozoo.algorithms.session import Report
from neurozoo.networks.keras_networks import KerasLayout
from neurozoo.randomness import MAX_SEED, Entropy, Purpose, generator

SAVE_STEPS = 50_000  # steps between two saved states, at most
RECENT = 100  # training games of which `score` is the mean

Watch = Callable[[int, int], None]  # gets the frames and steps since its last call


@dataclass(frozen=True)
class ReportedNetwork:
    """The network after an epoch.

    Attributes:
        weights: float32, shape (parameters,).
        score: Mean score of the epoch's test; None if there was none.
        iteration: Finished epochs.
        frames: Frames of training by then.
    """

    weights: np.ndarray
    score: float | None
    iteration: int
    frames: int


class ImpalaLearner:
    """One run of IMPALA.

    A rollout is one unroll of each environment. While the environments play a rollout, a thread learns from the one
    before it; then the weights are handed over. So rollout n is played with weights that have learned from the rollouts
    up to n - 2, whatever is faster: the policy lag is exactly one rollout, and results do not depend on timing.

    Args:
        settings: The settings.
        entropy: What all random numbers depend on, see `run_entropy`.
        layout: The network.
        frame_skip: Frames per step.
        make_environments: Makes environments from their number and the seeds of their episodes.
    """

    def __init__(
        self,
        settings: ImpalaSettings,
        *,
        entropy: Entropy,
        layout: KerasLayout,
        frame_skip: int,
        make_environments: MakeEnvironments,
    ) -> None:
        self.settings = settings
        self.iteration = self.steps = 0
        self.reported: ReportedNetwork | None = None
        self._layout = layout
        self._frame_skip = frame_skip
        self._make_environments = make_environments
        self._entropy = entropy
        self._schedule = Schedule(settings, frame_skip)
        self._updates = self._rollouts = self._step = 0  # of the current rollout, so many steps are played
        self._learned = 0  # rollouts
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._statistics = EpochStatistics()
        self._saved: tuple[Mapping, Mapping] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._learning: Future[float] | None = None
        self._idle_since: float | None = None

    # ---- for training

    @property
    def frames(self) -> int:
        """Frames of training so far."""
        return self.steps * self._frame_skip

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between epochs."""
        return self.frames >= self.settings.frames

    @property
    def progress(self) -> tuple[str, int, int]:
        """The phase, its finished steps, and how many it has; the steps of a test do not count."""
        s = self.settings
        done = min(self.steps - self.iteration * s.epoch_steps, s.epoch_steps)
        return "test" if self._is_epoch_over else "train", done, s.epoch_steps

    @property
    def parts(self) -> tuple[ActorCritic, Actor, Rollout]:
        """The network, the actor and the rollout that is played; only after `open`."""
        return self._network, self._actor, self._rollout

    def open(self) -> None:
        """Makes environments and network. If there is a state, call `set_state` before.

        Raises:
            NeurozooError: The environments cannot be made, or no longer play as in the state.
        """
        s = self.settings
        self._environments = self._make_environments(s.num_envs, self._seed_of)
        self._network = ActorCritic(self._layout, s, random=generator(self._entropy, Purpose.INITIAL_WEIGHTS))
        self._actor = Actor(
            self._environments,
            Sampled(self._network.act, state_shapes=self._layout.state_shapes),
            ends_with_lives=s.life_loss == "terminal",
        )
        self._rollout, self._other = (
            Rollout(
                length=s.unroll_length,
                num_envs=s.num_envs,
                observation_shape=self._layout.observation_shape,
                num_actions=self._layout.num_actions,
                state_shapes=self._layout.state_shapes,
            )
            for _ in range(2)
        )
        if self._saved:
            state, arrays = self._saved
            self._network.set_arrays(_of("network", arrays))
            self._environments.set_state(state["environments"], _of("environments", arrays))
            self._actor.set_state(state["actor"], _of("actor", arrays))
            self._rollout.set_arrays(self._step, _of("rollout", arrays))
            self._rollout.version = int(state["version"])
            self._saved = None
        else:
            self._actor.begin(self._rollout)

    def close(self) -> None:
        """Ends the threads and closes the environments."""
        self._thread.shutdown()
        self._environments.close()

    def learn(self, watch: Watch) -> Report | None:
        """Plays and learns until the state should be saved, or finishes an epoch.

        Args:
            watch: Called after every step of all environments; may raise to stop.

        Returns:
            The report of a finished epoch, otherwise None.
        """
        if self._is_epoch_over:
            return self._finish_epoch(watch)
        stop = (self.steps // SAVE_STEPS + 1) * SAVE_STEPS
        self._idle_since = time.perf_counter()
        try:
            while True:
                if self._step == self.settings.unroll_length:
                    self._finish_rollout()
                    if self.steps >= stop or self._is_epoch_over:
                        return None
                self._play_step(watch)
        finally:
            self._idle_since = None

    # ---- playing and learning

    @property
    def _is_epoch_over(self) -> bool:
        return self._step == 0 and self.steps >= (self.iteration + 1) * self.settings.epoch_steps

    def _seed_of(self, environment: int, episode: int) -> int:
        return int(generator(self._entropy, Purpose.WORLD_EPISODE, environment, episode).integers(MAX_SEED))

    def _play_step(self, watch: Watch) -> None:
        began = time.perf_counter()
        s = self.settings
        draws = generator(self._entropy, Purpose.EXPLORATION, self._rollouts, self._step)
        games = self._actor.play(self._rollout, self._step, draws)
        self._step += 1
        self.steps += s.num_envs
        for game in games:
            self._recent.append(game.score)
            self._statistics.scores.append(game.score)
        self._statistics.seconds += time.perf_counter() - began
        watch(s.num_envs * self._frame_skip, s.num_envs)

    def _finish_rollout(self) -> None:
        """Hands the weights over, and starts to learn from the rollout that has been played."""
        began = time.perf_counter()
        self._finish_learning()
        self._network.hand_over()
        self._rollout, self._other = self._other, self._rollout
        self._rollout.begin_after(self._other)
        self._rollout.version = self._learned
        self._rollouts += 1
        self._step = 0
        now = time.perf_counter()
        if self._idle_since is not None:
            self._statistics.waited += now - self._idle_since
        self._statistics.seconds += now - began
        self._learning = self._thread.submit(self._learn_from, self._other)

    def _learn_from(self, rollout: Rollout) -> float:
        """Learns from a rollout, in the thread; returns when it was done."""
        s = self.settings
        self._statistics.lags.append(self._learned - rollout.version)
        for number in range(s.updates_per_rollout):
            batch = rollout.batch(slice(number * s.batch_size, (number + 1) * s.batch_size))
            rate = self._schedule.learning_rate(self._updates)
            self._statistics.add(self._network.update(batch, learning_rate=rate))
            self._updates += 1
        self._learned += 1
        return time.perf_counter()

    def _finish_learning(self) -> None:
        """Waits for the rollout that is being learned from."""
        if self._learning is not None:
            learning, self._learning = self._learning, None
            self._idle_since = learning.result()

    # ---- between epochs

    def _finish_epoch(self, watch: Watch) -> Report:
        s = self.settings
        self._finish_learning()
        iteration, frames = self.iteration + 1, self.frames
        before = self.reported.frames if self.reported else 0
        is_tested = frames >= s.frames or (s.test_period > 0 and iteration % s.test_period == 0)
        scores = self._test(watch) if is_tested else []
        test_score = float(np.mean(scores)) if scores else None
        self.iteration = iteration
        self.reported = ReportedNetwork(self._network.theta(), test_score, iteration, frames)
        steps = (frames - before) // self._frame_skip
        fields: dict[str, object] = {
            "update": self._updates,
            "steps": self.steps,
            "compat_counter": self._schedule.compat_counter(self._updates),
            "learning_rate": self._schedule.learning_rate(self._updates),
            **self._statistics.columns(steps=steps, frames=frames - before),
            "queue_len": 0,  # a rollout is learned from as soon as it is played
            "learners": 1,
            "actors": 1,
            "TimestepsThisIter": steps,
            "TimestepsSoFar": self.steps,
        }
        self._statistics = EpochStatistics()
        return Report(
            iteration=iteration,
            progress=frames,
            score=float(np.mean(self._recent)) if self._recent else None,
            score_episodes=len(self._recent),
            test_score=test_score,
            test_episodes=len(scores) if is_tested else None,
            fields=fields,
        )

    def _test(self, watch: Watch) -> list[float]:
        return play_test(
            Sampled(self._network.ask, state_shapes=self._layout.state_shapes),
            self._make_environments,
            games=self.settings.num_test_episodes,
            cutoff=self.settings.test_cutoff,
            address=(self._entropy, self.iteration),
            num_actions=self._layout.num_actions,
            beat=lambda: watch(0, 0),
        )

    # ---- state

    @property
    def _moment(self) -> str:
        """The end of the names of arrays that change with every step."""
        return f"-at-{self._rollouts}-{self._step}-{self.iteration}"

    def get_state(self) -> dict:
        """Returns what continuing depends on, as plain JSON; between two steps of the environments."""
        self._finish_learning()
        reported = self.reported
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "updates": self._updates,
            "rollouts": self._rollouts,
            "learned": self._learned,
            "step": self._step,
            "version": self._rollout.version,
            "recent": list(self._recent),
            "statistics": self._statistics.get_state(),
            "reported": reported and [reported.score, reported.iteration, reported.frames],
            "actor": self._actor.get_state(),
            "environments": self._environments.get_state(),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state; a name is never used for another content. Call `get_state` before."""
        parts = {
            "network": self._network.get_arrays(),
            "actor": self._actor.get_arrays(),
            "environments": self._environments.get_arrays(),
            "rollout": self._rollout.get_arrays(self._step),
        }
        arrays = {f"{part}-{name}{self._moment}": array for part, own in parts.items() for name, array in own.items()}
        if self.reported is not None:
            arrays[f"reported-{self.reported.iteration}"] = self.reported.weights
        return arrays

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned; call it before `open`.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: `state` is something else.
        """
        self.iteration, self.steps, self._updates, self._rollouts, self._learned, self._step = (
            int(state[name]) for name in ("iteration", "steps", "updates", "rollouts", "learned", "step")
        )
        self._recent.extend(float(score) for score in state["recent"])
        self._statistics = EpochStatistics.from_state(state["statistics"])
        if len(state["actor"]["scores"]) != self.settings.num_envs:
            raise ValueError(f"{len(state['actor']['scores'])} environments")
        if state["reported"]:
            score, iteration, frames = state["reported"]
            self.reported = ReportedNetwork(arrays[f"reported-{iteration}"], score, iteration, frames)
        end = self._moment
        self._saved = (state, {name.removesuffix(end): each for name, each in arrays.items() if name.endswith(end)})


def _of(part: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the arrays of one part of the learner by their own names."""
    return {name.removeprefix(f"{part}-"): each for name, each in arrays.items() if name.startswith(f"{part}-")}
