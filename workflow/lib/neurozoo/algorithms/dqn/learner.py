"""Deep Q-learning: plays epsilon-greedily, stores transitions in a replay memory, and learns from them."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path

import numpy as np

from neurozoo.agents.policies import EpsilonGreedy, Greedy, NetworkOutputs, PolicyInputs, State
from neurozoo.algorithms.dqn.native_q_network import AnyQNetwork, make_q_network
from neurozoo.algorithms.dqn.phases import PhaseStatistics
from neurozoo.algorithms.dqn.replay import Replay, Sample
from neurozoo.algorithms.dqn.settings import HISTORY, DqnSettings
from neurozoo.algorithms.learner import Learner, LearnerTask, ReportedNetwork, Watch, restoring
from neurozoo.algorithms.session import Report
from neurozoo.environments.vector import Step, VectorEnvironment
from neurozoo.randomness import MAX_SEED, Purpose, generator

SAVE_STEPS = 10_000  # steps between two saved states, at most
STATES = 32  # states of whose values `meanq` is the mean

ValuesOf = Callable[[np.ndarray], np.ndarray]  # from states, uint8, to action values, (batch, actions)


def epsilon_greedy(values_of: ValuesOf, *, epsilon: float, num_actions: int) -> EpsilonGreedy:
    """Returns the policy of deep Q-learning. It asks for no values when all actions of a step are random."""

    def forward(inputs: PolicyInputs, state: State) -> tuple[NetworkOutputs, State]:
        return NetworkOutputs(values_of(inputs.observation)), state

    return EpsilonGreedy(Greedy(forward), epsilon=epsilon, num_actions=num_actions, is_lazy=True)


class DeepQLearner(Learner):
    """One run of deep Q-learning.

    Steps are made in rounds, one step in each environment. While the emulators play a round, the network learns from
    transitions stored before it. If a minibatch is due only every few rounds, a thread learns from it during these
    rounds, and actions are chosen with the weights from before. So playing and learning overlap, but results do not
    depend on timing, nor on the number of threads.
    """

    settings: DqnSettings

    def __init__(self, task: LearnerTask) -> None:
        super().__init__(task)
        settings = self.settings
        self._rounds = 0
        self._waited = 0  # decisions of `noop_steps`
        # Of each environment:
        self._returns = np.zeros(settings.num_envs, np.float64)
        self._has_played = np.zeros(settings.num_envs, np.bool_)  # a step that counts in its game
        self._waits = np.zeros(settings.num_envs, np.int64)
        self._seen = np.ones(settings.num_envs, np.int64)  # screens of this life, at most those of a state
        self._masks = settings.masks_lost_lives and (settings.life_loss, settings.windows) == ("terminal", "padded")
        self._can_learn = False
        self._statistics: dict[str, PhaseStatistics] = {}
        self._states: np.ndarray | None = None
        self._learning: tuple[Future, Sample, PhaseStatistics] | None = None

    # ---- for training

    @property
    def frames(self) -> int:
        """Frames of training so far."""
        return (self.steps + self._waited) * self._protocol.frame_skip

    @property
    def train_steps(self) -> int:
        """Steps so far, without those of the random phase."""
        return max(0, self.steps - self.settings.learning_starts)

    @property
    def progress(self) -> tuple[str, int, int, str]:
        """The phase, how much of it is done, how much it has, and in what unit."""
        s = self.settings
        if self._is_random:
            return "random", self.steps, s.learning_starts, "steps of random"
        if self._test_done is not None:
            total, unit = (s.num_test_episodes, "episodes") if s.test_steps is None else (s.test_steps, "steps")
            return "test", min(self._test_done, total), total, f"{unit} of test"  # a last episode ends after test_steps
        done = self.train_steps - self.iteration * s.epoch_steps
        return "train", min(done, s.epoch_steps), s.epoch_steps, "steps of train"

    @property
    def parts(self) -> tuple[VectorEnvironment, AnyQNetwork, Replay]:
        """The environments, the network and the replay memory; only after `open`."""
        return self._environments, self._network, self._replay

    def open(self, *, folder: Path, remedy: str, network_core: Path | None = None, threads: int = 1) -> list[str]:
        """Makes environments, networks and replay memory, and returns sentences for the log.

        If there is a state, call `set_state` before. The replay memory may keep files in `folder`; `remedy` is what the
        user can do if they are damaged. `network_core` computes the network in `threads` threads; if there is none,
        Keras does.

        Raises:
            NeurozooError: There is too little memory, files do not fit, or the game or network cannot be learned.
        """
        s = self.settings
        self._environments = self._task.make_environments(s.num_envs, self._task.seed_of)
        self._replay = Replay(
            capacity=s.replay_size,
            num_envs=s.num_envs,
            history=HISTORY,
            steps=s.n_steps,
            discount=s.discount,
            reward_scale=s.reward_scale,
            reward_bounds=s.reward_bounds,
            windows=s.windows,
            masks_terminals=self._masks,
            prioritised=s.prioritised,
            exponent=s.priority_exponent,
            folder=folder if s.keep_replay else None,
            slack=2 * -(-SAVE_STEPS // s.num_envs),  # a step may end an episode, and the next one begins with a row
            remedy=f"Restore it, or set keep_replay to false to continue with an empty one. If not: {remedy}",
        )
        random = generator(self._task.entropy, Purpose.INITIAL_WEIGHTS)
        self._network = make_q_network(self._layout, s, random=random, core=network_core, threads=threads)
        said = [self._replay.announcement]
        if self._saved:
            (state, arrays), self._saved = self._saved, None
            with restoring():
                self._network.set_arrays(arrays)
                self._replay.set_state(state["replay"], arrays)
            self._environments.set_state(state["worlds"], arrays)
            if len(self._replay) == 0 and self.steps:
                said.append(
                    "The replay memory was not kept and begins empty, so this run will differ from one that was never "
                    "interrupted."
                )
                self._begin(np.arange(s.num_envs))
        else:
            self._begin(np.arange(s.num_envs))
        return said

    def close(self) -> None:
        """Ends the threads and closes the environments."""
        self._thread.shutdown()
        self._environments.close()

    def learn(self, watch: Watch) -> Report | None:
        """Plays and learns until the state should be saved, or plays the test of a finished epoch and reports it."""
        s = self.settings
        end = s.learning_starts + (self.iteration + 1) * s.epoch_steps
        if self.steps >= end:
            return self._finish_epoch(watch)
        stop = min(end, (self.steps // SAVE_STEPS + 1) * SAVE_STEPS)
        rounds = 0
        while self.steps < stop and rounds * s.num_envs < SAVE_STEPS:  # decisions of `noop_steps` take time, too
            played = self._play_round()
            watch(s.num_envs * self._protocol.frame_skip, played)
            rounds += 1
        return None

    # ---- a round

    @property
    def _is_random(self) -> bool:
        return self.steps < self.settings.learning_starts

    def _play_round(self) -> int:
        """Makes a decision in each environment and learns meanwhile; returns how many are steps, and do not wait."""
        started = time.perf_counter()
        phase = self._statistics.setdefault("random" if self._is_random else "train", PhaseStatistics())
        phase.epsilon = self.settings.epsilon(self.steps)
        is_waiting = self._waits > 0
        draws = generator(self._task.entropy, Purpose.EXPLORATION, self._rounds)
        num_actions = self._layout.num_actions
        policy = epsilon_greedy(self._network.acting_values, epsilon=phase.epsilon, num_actions=num_actions)
        actions = policy.step(PolicyInputs.without_history(self._stacks()), (), draws).action
        actions[is_waiting] = 0
        self._rounds += 1
        self._environments.send(actions)
        played = int(np.sum(~is_waiting))
        self._learn_for(played, phase)
        self._remember(actions, self._environments.receive(), is_waiting, phase)
        self.steps += played
        self._waited += len(is_waiting) - played
        phase.steps += played
        phase.seconds += time.perf_counter() - started
        return played

    def _stacks(self) -> np.ndarray:
        """Returns what the network sees: uint8, (num_envs, HISTORY, height, width)."""
        stacks = self._environments.stacks
        if not self._masks or self._seen.min() == HISTORY:
            return stacks
        is_older = np.arange(HISTORY) < HISTORY - self._seen[:, np.newaxis]
        return np.where(is_older[..., np.newaxis, np.newaxis], np.uint8(0), stacks)

    def _learn_for(self, played: int, phase: PhaseStatistics) -> None:
        """Learns from as many minibatches as these steps require."""
        if self._is_random:
            return
        s = self.settings
        events = self._count_due(played, s.train_frequency)
        is_new_target = s.target_update_period > 0 and self._count_due(played, s.target_update_period) > 0
        if events or is_new_target:
            self._finish_learning()
        if is_new_target:
            self._network.update_target()
        if events:
            self._network.update_acting()
        for _ in range(events * s.train_repeat):
            if not self._can_learn:  # asking the memory takes long, and a yes stays a yes
                self._can_learn = len(self._replay) > s.batch_size and self._replay.can_sample
                if not self._can_learn:
                    return
            draws = generator(self._task.entropy, Purpose.MINIBATCH, self._updates)
            sample = self._replay.sample(s.batch_size, draws, beta=s.importance(self.steps))
            self._learning = (self._thread.submit(self._network.update, sample), sample, phase)
            self._updates += 1
            if not s.plays_on:
                self._finish_learning()

    def _count_due(self, played: int, period: int) -> int:
        """Returns how many periods begin within the next `played` training steps."""
        return -(-(self.train_steps + played) // period) - -(-self.train_steps // period)

    def _finish_learning(self) -> None:
        """Waits for the minibatch that is being learned from."""
        if self._learning is None:
            return
        (future, sample, phase), self._learning = self._learning, None
        errors = future.result()
        self._check_finite(errors)
        self._replay.update(sample.rows, errors)
        phase.add_cost(float(np.mean(np.square(errors, dtype=np.float64))) / 2)

    def _remember(self, actions: np.ndarray, step: Step, is_waiting: np.ndarray, phase: PhaseStatistics) -> None:
        s = self.settings
        is_lost = step.is_life_lost if s.life_loss == "terminal" else np.zeros_like(step.is_over)
        environments = np.flatnonzero(~is_waiting)
        terminals = (step.is_over | is_lost)[environments]
        rewards, screens = step.rewards[environments], self._environments.screens[environments]
        self._replay.append(environments, actions[environments], rewards, screens, terminals)
        self._seen[environments] = np.where(terminals, 1, np.minimum(self._seen[environments] + 1, HISTORY))
        self._returns[environments] += rewards
        phase.lives += int(np.sum(terminals))
        ended = step.is_over | step.is_cut
        self._has_played[environments] = True
        # A game can end within the no-ops after a lost life; one that ends within its first no-ops was not played.
        scores = self._returns[ended & self._has_played].tolist()
        phase.games += scores
        self._recent += scores
        self._returns[ended], self._has_played[ended] = 0.0, False
        self._waits = np.maximum(self._waits - 1, 0)
        if ended.any():
            self._environments.start_episodes(ended)
            self._begin(np.flatnonzero(ended))
        self._wait(np.flatnonzero(is_lost & ~ended & ~is_waiting))

    def _begin(self, environments: np.ndarray) -> None:
        """Starts new episodes in the replay memory."""
        self._seen[environments] = 1
        self._wait(environments)
        self._replay.begin(environments, self._environments.screens[environments])

    def _wait(self, environments: np.ndarray) -> None:
        if self.settings.noop_steps:
            least, most = self.settings.noop_steps
            for environment in environments.tolist():
                draws = generator(self._task.entropy, Purpose.WAIT, environment, self._rounds)
                self._waits[environment] = draws.integers(least, most + 1)

    # ---- between epochs

    def _finish_epoch(self, watch: Watch) -> Report:
        self._finish_learning()
        s, started = self.settings, time.perf_counter()
        policy = epsilon_greedy(self._network.values, epsilon=s.test_epsilon, num_actions=self._layout.num_actions)
        found = self._test(
            policy, watch, steps=s.test_steps, finishes=s.finishes_test, noop_steps=s.noop_steps, has_planes=True
        )
        games = list(found.scores.values())
        test = PhaseStatistics(found.steps, games, epsilon=s.test_epsilon, unfinished=found.unfinished)
        test.seconds = time.perf_counter() - started
        self.iteration += 1
        frames, before = self.frames, self.reported.frames if self.reported else 0
        if self._states is None and self._replay.can_sample and len(self._replay) > STATES:
            random = generator(self._task.entropy, Purpose.MINIBATCH, MAX_SEED)  # no update has this number
            self._states = self._replay.sample(STATES, random).screens[:, :HISTORY]
        meanq = 0.0 if self._states is None else float(self._network.values(self._states).max(axis=-1).mean())
        # After the last update, nothing else has looked at what it made of the network.
        self._check_finite(meanq)
        shared = {"total_train_steps": self.train_steps, "replay_memory_count": len(self._replay), "meanq": meanq}
        shared["weight_updates"] = self._updates
        fields = {
            f"{phase}_{name}": value
            for phase, statistics in (*self._statistics.items(), ("test", test))
            for name, value in statistics.columns(shared).items()
        }
        fields["TimestepsThisIter"] = (frames - before) // self._protocol.frame_skip
        fields["TimestepsSoFar"] = frames // self._protocol.frame_skip
        self._statistics = {}
        score = float(np.mean(games or [test.unfinished]))
        return self._report(self._network.theta(), self._recent, fields, score=score, episodes=len(games))

    # ---- state

    def get_state(self) -> dict:
        """Returns what continuing depends on, as plain JSON; only between two rounds."""
        self._finish_learning()
        self._replay.flush()
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "waited": self._waited,
            "rounds": self._rounds,
            "updates": self._updates,
            "recent": list(self._recent),
            "returns": self._returns.tolist(),
            "has_played": self._has_played.tolist(),
            "waits": self._waits.tolist(),
            "seen": self._seen.tolist(),
            "statistics": {name: asdict(statistics) for name, statistics in self._statistics.items()},
            "has_states": self._states is not None,
            "reported": self.reported and self.reported.to_json(),
            "worlds": self._environments.get_state(),
            "replay": self._replay.get_state(),
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state; a name is never used for another content."""
        own = {**self._network.get_arrays(), **self._environments.get_arrays(), **self._replay.get_arrays()}
        arrays = {f"{name}-at-{self._rounds}-{self.iteration}": array for name, array in own.items()}
        if self._states is not None:
            arrays["states"] = self._states
        if self.reported is not None:
            arrays[self.reported.array_name] = self.reported.weights
        return arrays

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned; call it before `open`."""
        self.iteration, self.steps, self._waited, self._rounds, self._updates = (
            int(state[name]) for name in ("iteration", "steps", "waited", "rounds", "updates")
        )
        self._recent.extend(state["recent"])
        self._returns[:], self._has_played[:] = state["returns"], state["has_played"]
        self._waits[:], self._seen[:] = state["waits"], state["seen"]
        self._statistics = {name: PhaseStatistics(**each) for name, each in state["statistics"].items()}
        self._states = arrays["states"] if state["has_states"] else None
        if state["reported"]:
            self.reported = ReportedNetwork.from_json(state["reported"], arrays)
        self._saved = (state, self._at(f"-at-{self._rounds}-{self.iteration}", arrays))
