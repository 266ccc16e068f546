"""Deep Q-learning: plays with some chance at random, remembers, and learns from what it remembers."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from neurozoo.algorithms.base import Solution
from neurozoo.algorithms.dqn.phases import PhaseStatistics
from neurozoo.algorithms.dqn.playing import choose_actions, play_test
from neurozoo.algorithms.dqn.q_network import QNetwork
from neurozoo.algorithms.dqn.replay import Replay, Sample
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.randomness import MAX_SEED, Purpose, generator
from neurozoo.environments.vector_worlds import Step, VectorWorlds
from neurozoo.games import Protocol
from neurozoo.genomes import Genome, Weights
from neurozoo.networks import Layout

SAVE_STEPS = 10_000  # between two states, at most
STATES = 32  # behind `meanq`
RECENT = 100  # episodes of training behind `score`

Watch = Callable[[int, int], None]  # is told frames and steps since its last call


class DeepQLearner:
    """One run of deep Q-learning; see `neurozoo.algorithms.base.Learner`.

    Steps go in rounds, one step in each world. While the emulators play a round, the network learns from what was
    there before it. Where a minibatch comes only every few rounds, it is learned from in a thread of its own while they
    are played, with the weights from before it. So the two overlap, and results depend on no timing.

    Args:
        settings: What can be set.
        run: Number of the run; part of the seed.
        layout: The network.
        noise: Not used: weights are drawn.
        protocol: How episodes are played.
    """

    fields = (
        "Iteration", "frames", "score", "score_episodes", "test_score", "test_episodes", "train_last_exploration_rate",
        "train_replay_memory_count", "train_meanq", "train_meancost", "train_weight_updates", "TimestepsSoFar",
        "TimestepsThisIter", "TimestepsPerSecondThisIter", "TimeElapsedTotal",
    )  # fmt: skip

    def __init__(
        self, settings: DqnSettings, *, run: int, layout: Layout, noise: np.ndarray, protocol: Protocol
    ) -> None:
        self.settings = settings
        self.threads = 1
        self.iteration = self.steps = 0
        self.best: Solution | None = None
        self._layout = layout
        self._protocol = protocol
        self._entropy = (settings.seed, run)
        self._rounds = self._updates = self._frames_cut = 0
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._returns = np.zeros(settings.worlds, np.float64)
        self._waits = np.zeros(settings.worlds, np.int64)
        self._has_enough = False
        self._waited = 0  # decisions of `noop_steps`
        self._statistics: dict[str, PhaseStatistics] = {}
        self._states: np.ndarray | None = None
        self._saved: tuple[Mapping, Mapping] | None = None
        self._thread = ThreadPoolExecutor(1)
        self._learned: tuple[Future, Sample, PhaseStatistics] | None = None

    # ---- what a training asks

    @property
    def frames(self) -> int:
        """Frames of training so far."""
        return (self.steps + self._waited) * self._protocol.frame_skip

    @property
    def train_steps(self) -> int:
        """Steps so far, without those of the random phase."""
        return max(0, self.steps - self.settings.random_steps)

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; only asked between epochs."""
        return self.frames >= self.settings.frames

    @property
    def progress(self) -> tuple[str, int, int]:
        """The phase, its finished steps, and how many it has; the steps of a test do not count."""
        s = self.settings
        if self.steps < s.random_steps:
            return "random", self.steps, s.random_steps
        done = self.train_steps - self.iteration * s.epoch_steps
        return "test" if self.steps >= self._epoch_end() else "train", done, s.epoch_steps

    @property
    def parts(self) -> tuple[VectorWorlds, QNetwork, Replay]:
        """What plays, what learns and what remembers, once they are open."""
        return self._worlds, self._network, self._replay

    def open(self, game: str, *, folder: Path, remedy: str) -> list[str]:
        """Makes worlds, networks and memory, after `set_state` if there is one.

        Args:
            game: Game id such as `pong`.
            folder: Where the replay memory may keep files.
            remedy: What to do about damaged files.

        Returns:
            Sentences for the log.

        Raises:
            NeurozooError: Too little memory, files that do not fit, or a game or network that cannot be learned.
        """
        s = self.settings
        self._game = game
        _keep_to_threads(self.threads)
        self._worlds = VectorWorlds(game, self._protocol, count=s.worlds, threads=self.threads, seed_of=self._seed_of)
        self._replay = Replay(
            capacity=s.replay_size,
            worlds=s.worlds,
            history=4,
            steps=s.n_steps,
            discount=s.discount,
            reward_bounds=s.reward_bounds,
            windows=s.windows,
            prioritised=s.prioritised,
            exponent=s.priority_exponent,
            folder=folder if s.keep_replay else None,
            slack=2 * -(-SAVE_STEPS // s.worlds),  # a step may end an episode, and the next one begins with a row
            remedy=f"Bring it back, or set keep_replay to false to go on with an empty one. Or else: {remedy}",
        )
        self._network = QNetwork(self._layout, s, random=generator(self._entropy, Purpose.INITIAL_WEIGHTS))
        said = [self._replay.announcement]
        if self._saved:
            state, arrays = self._saved
            self._network.set_arrays(arrays)
            self._worlds.set_state(state["worlds"], arrays)
            self._replay.set_state(state["replay"], arrays)
            if len(self._replay) == 0 and self.steps:
                said.append("The replay memory was not kept: it begins empty, so that this run is not the undisturbed.")
                self._begin(np.arange(s.worlds))
            self._saved = None
        else:
            self._begin(np.arange(s.worlds))
        return said

    def close(self) -> None:
        """Ends threads and gives memory back."""
        self._thread.shutdown()
        self._worlds.close()

    def learn(self, watch: Watch) -> dict | None:
        """Goes on until the state should be saved.

        Args:
            watch: Called often; may raise to stop.

        Returns:
            The report after an epoch and its tests; None on the way.
        """
        s = self.settings
        if self.steps >= self._epoch_end():
            return self._finish_epoch(watch)
        stop = min(self._epoch_end(), (self.steps // SAVE_STEPS + 1) * SAVE_STEPS)
        rounds = 0
        while self.steps < stop:
            is_random = self.steps < s.random_steps
            started = time.perf_counter()
            played, waited = self._play_round()
            phase = "random" if is_random else "train"
            self._phase(phase).seconds += time.perf_counter() - started
            watch((played + waited) * self._protocol.frame_skip, played)
            rounds += 1
            if rounds * s.worlds >= SAVE_STEPS:  # waiting is playing, too
                break
        return None

    # ---- a round

    def _epoch_end(self) -> int:
        return self.settings.random_steps + (self.iteration + 1) * self.settings.epoch_steps

    def _seed_of(self, world: int, episode: int) -> int:
        return int(generator(self._entropy, Purpose.WORLD_EPISODE, world, episode).integers(MAX_SEED))

    def _phase(self, name: str) -> PhaseStatistics:
        return self._statistics.setdefault(name, PhaseStatistics())

    def _epsilon(self) -> float:
        s = self.settings
        if self.steps < s.random_steps:
            return 1.0
        share = min(self.train_steps / s.epsilon_steps, 1.0)
        return s.epsilon_start - share * (s.epsilon_start - s.epsilon_end)

    def _play_round(self) -> tuple[int, int]:
        """Plays one decision in each world, and learns meanwhile; returns steps, and decisions that were none."""
        s = self.settings
        epsilon = self._epsilon()
        phase = self._phase("random" if self.steps < s.random_steps else "train")
        is_waiting = self._waits > 0
        draws = generator(self._entropy, Purpose.EXPLORATION, self._rounds)
        values_of, stacks = self._network.acting_values, self._worlds.stacks
        actions = choose_actions(values_of, stacks, epsilon, draws, self._layout.num_actions)
        actions[is_waiting] = 0
        self._rounds += 1
        self._worlds.send(actions)
        played = int(np.sum(~is_waiting))
        self._learn_for(played, phase)
        step = self._worlds.receive()
        self._remember(actions, step, is_waiting, phase)
        self.steps += played
        self._waited += len(is_waiting) - played
        phase.steps += played
        phase.epsilon = epsilon
        return played, len(is_waiting) - played

    def _learn_for(self, played: int, phase: PhaseStatistics) -> None:
        """Learns as much as these steps are worth."""
        s = self.settings
        before = self.train_steps
        after = max(0, self.steps + played - s.random_steps)
        if self.steps < s.random_steps:
            return
        events = -(-after // s.train_frequency) - -(-before // s.train_frequency)
        is_new_target = s.target_steps and -(-after // s.target_steps) > -(-before // s.target_steps)
        if events or is_new_target:
            self._finish_learning()
        if is_new_target:
            self._network.update_target()
        if events:
            self._network.update_acting()
        for _ in range(events * s.train_repeat):
            if not self._can_learn():
                return
            sample = self._replay.sample(
                s.batch_size, generator(self._entropy, Purpose.MINIBATCH, self._updates), beta=self._correction()
            )
            self._learned = (self._thread.submit(self._network.update, sample), sample, phase)
            self._updates += 1
            if not s.plays_on:
                self._finish_learning()

    def _finish_learning(self) -> None:
        """Waits for the minibatch that is being learned from."""
        if self._learned is None:
            return
        (future, sample, phase), self._learned = self._learned, None
        errors = future.result()
        if self.settings.prioritised:
            self._replay.update(sample.rows, errors)
        phase.add_cost(float(np.mean(np.square(errors, dtype=np.float64))) / 2)

    def _can_learn(self) -> bool:
        if not self._has_enough:  # asking the memory is dear, and the answer stays the same
            self._has_enough = len(self._replay) > self.settings.batch_size and self._replay.can_sample
        return self._has_enough

    def _correction(self) -> float:
        share = min(self.steps / self.settings.priority_steps, 1.0)
        return self.settings.priority_correction + share * (1 - self.settings.priority_correction)

    def _remember(self, actions: np.ndarray, step: Step, is_waiting: np.ndarray, phase: PhaseStatistics) -> None:
        s = self.settings
        is_lost = step.is_life_lost if s.life_loss == "terminal" else np.zeros_like(step.is_over)
        worlds = np.flatnonzero(~is_waiting)
        terminals = step.is_over | is_lost
        self._replay.append(
            worlds, actions[worlds], step.rewards[worlds], self._worlds.screens[worlds], terminals[worlds]
        )
        self._returns[worlds] += step.rewards[worlds]
        phase.lives += int(np.sum(terminals[worlds]))
        ended = step.is_over | step.is_cut
        for world in np.flatnonzero(ended & ~is_waiting):
            phase.add_game(float(self._returns[world]))
            self._recent.append(float(self._returns[world]))
        self._returns[ended] = 0.0
        self._waits = np.maximum(self._waits - 1, 0)
        if ended.any():
            self._worlds.start_episodes(ended)
            self._begin(np.flatnonzero(ended))
        if s.noop_steps and (lost := is_lost & ~ended & ~is_waiting).any():
            self._wait(np.flatnonzero(lost))

    def _begin(self, worlds: np.ndarray) -> None:
        """Starts what is remembered of new episodes."""
        if self.settings.noop_steps:
            self._wait(worlds)
        if self.settings.windows == "padded":
            self._replay.begin(worlds, self._worlds.screens[worlds])
        else:
            self._replay.seam(worlds)

    def _wait(self, worlds: np.ndarray) -> None:
        least, most = self.settings.noop_steps
        for world in worlds:
            address = (int(world), self._rounds)
            self._waits[world] = generator(self._entropy, Purpose.WAIT, *address).integers(least, most + 1)

    # ---- between epochs

    def _finish_epoch(self, watch: Watch) -> dict:
        self._finish_learning()
        test = play_test(
            self._network.values,
            settings=self.settings,
            game=self._game,
            protocol=self._protocol,
            threads=self.threads,
            address=(self._entropy, self.iteration),
            num_actions=self._layout.num_actions,
            beat=lambda: watch(0, 0),
        )
        self.iteration += 1
        frames, before = self.frames, self.best.frames if self.best else 0
        scores = test.games or [test.unfinished]
        self.best = Solution(
            Genome(Weights.of(self._network.theta())), None, float(np.mean(scores)), self.iteration, frames
        )
        if self._states is None and self._replay.can_sample and len(self._replay) > STATES:
            random = generator(self._entropy, Purpose.MINIBATCH, MAX_SEED)  # no update comes so far
            self._states = self._replay.sample(STATES, random).screens[:, :4]
        meanq = 0.0 if self._states is None else float(self._network.values(self._states).max(axis=-1).mean())
        report = {
            "Iteration": self.iteration,
            "frames": frames,
            "score": float(np.mean(self._recent)) if self._recent else None,
            "score_episodes": len(self._recent),
            "test_score": self.best.test_score,
            "test_episodes": len(test.games),
        }
        own = {"total_train_steps": self.train_steps, "replay_memory_count": len(self._replay), "meanq": meanq}
        for phase, statistics in (*self._statistics.items(), ("test", test)):
            shared = own | {"weight_updates": self._updates}
            report |= {f"{phase}_{name}": value for name, value in statistics.columns(shared).items()}
        steps = (frames - before) // self._protocol.frame_skip
        self._statistics = {}
        return report | {
            "TimestepsThisIter": steps,
            "TimestepsSoFar": frames // self._protocol.frame_skip,
        }

    # ---- state

    def get_state(self) -> dict:
        """Returns what continuing depends on, as plain JSON; between two calls of `learn`."""
        best = self.best
        self._finish_learning()
        self._replay.flush()
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "waited": self._waited,
            "rounds": self._rounds,
            "updates": self._updates,
            "recent": list(self._recent),
            "returns": self._returns.tolist(),
            "waits": self._waits.tolist(),
            "statistics": {name: statistics.get_state() for name, statistics in self._statistics.items()},
            "has_states": self._states is not None,
            "best": best and [best.test_score, best.iteration, best.frames],
            "worlds": self._worlds.get_state(),
            "replay": self._replay.get_state(),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state; a name stands for one content forever."""
        own = {**self._network.get_arrays(), **self._worlds.get_arrays(), **self._replay.get_arrays()}
        arrays = {f"{name}-at-{self._rounds}-{self.iteration}": array for name, array in own.items()}
        if self._states is not None:
            arrays["states"] = self._states
        if self.best is not None:
            arrays[f"best-{self.best.iteration}"] = self.best.genome.initial.theta
        return arrays

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned; to be called before `open`.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: `state` is something else.
        """
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])
        self._waited, self._rounds, self._updates = (int(state[name]) for name in ("waited", "rounds", "updates"))
        self._recent.extend(float(score) for score in state["recent"])
        self._returns, self._waits = np.array(state["returns"], float), np.array(state["waits"], np.int64)
        if len(self._returns) != self.settings.worlds:
            raise ValueError(f"{len(self._returns)} worlds")
        self._statistics = {
            name: PhaseStatistics.from_state(statistics) for name, statistics in state["statistics"].items()
        }
        self._states = arrays["states"] if state["has_states"] else None
        if state["best"]:
            score, iteration, frames = state["best"]
            theta = arrays[f"best-{iteration}"]
            self.best = Solution(Genome(Weights.of(theta)), None, score, iteration, frames)
        end = f"-at-{self._rounds}-{self.iteration}"
        own = {name.removesuffix(end): array for name, array in arrays.items() if name.endswith(end)}
        self._saved = (state, own)


def _keep_to_threads(threads: int) -> None:
    """Gives each operation one thread, so that sums have one order, and several operations the cores.

    And lets TensorFlow compute with oneDNN, which `neurozoo` leaves out otherwise: two thirds of the time. Its sums
    have one order, too, but one for each kind of processor.
    """
    if "tensorflow" not in sys.modules:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        try:
            tf.config.threading.set_intra_op_parallelism_threads(1)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
        except RuntimeError:  # TensorFlow runs already, as in tests of several runs in one process
            return
