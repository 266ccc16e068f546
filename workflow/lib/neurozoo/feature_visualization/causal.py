"""The causal report of a run: how its score changes when parts of its network are ablated, from common starts.

All agents, ablated or not, play from the same starts, so that differences are paired. Ablated agents are weights of
their own (`neurozoo.interventions.weights`), so the usual engine plays them.
"""

import contextlib
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neurozoo.agents.frozen import use_one_thread
from neurozoo.agents.frozen_check import stacked
from neurozoo.agents.playable_agent import PlayableAgent, read_agent
from neurozoo.agents.scoring import evaluation_start
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import has_continuous_outputs, output_names
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, Evaluator, Trace, make_evaluator, play
from neurozoo.feature_visualization.causal_effects import Effect, compare, compare_again, write_effects
from neurozoo.genomes.genome import Genome, Weights, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.interventions.activations import replacement_of
from neurozoo.interventions.intervention import INPUT, Intervention, With
from neurozoo.interventions.weights import ablated_layers, check_weights_do, intervened_weights
from neurozoo.networks.chains import Layout
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games, signed_rank_test

MOST_SINGLE = 64  # units of a dense layer that are ablated one by one; more are ablated in groups
GROUPS = 32  # of a larger layer
PARTS = ("input", "channel", "group")  # kinds of effects of single parts
HOPELESS = 0.2  # p-value after half of the games; a part above it plays no more
LONGEST = 2  # times the frames of the whole agent's longest episode, after which all others are cut off
TOP = 10  # parts that are ablated in pairs, too
STATES = 512  # recorded observations on which actions are compared
MOST_STEPS = 2_500  # of each episode that are recorded, 28 kB each
AT_ONCE = 8  # agents in the engine's memory, 16 MB each for `large`
CHUNK = 64  # observations per batch


def measure_effects(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    episodes: int = 20,
    with_: With = "zero",
    layers: Sequence[str] = (),
    sticky_probability: float = 0.25,
    seed: int = 0,
    interventions: Mapping[str, Mapping[str, Any]] | None = None,
    replications: int = 50_000,
    confidence: float = 0.95,
    threads: int = 1,
) -> list[Effect]:
    """Ablates every channel of a run's network, and writes how the score changes as a CSV file.

    Units of large dense layers are ablated in groups. A part that shows nothing in the first half of the games plays no
    more; that cannot make chance look like an effect. The ten parts whose ablation changes the score most play again
    from other starts, alone and in pairs. Pairs whose joint effect is not the sum of both replace each other (more
    harm) or depend on each other (less harm), if the score falls without each of them.

    Args:
        run_dir: Folder of the run, or another source of `read_agent`. Its network is a chain of layers.
        output: The CSV file.
        core: The native core.
        noise: The noise table.
        episodes: Common starts.
        with_: `zero` or `mean`, see `Intervention`.
        layers: Layers whose channels are ablated, or `observation` for the input; all that can be if there are none.
        sticky_probability: Per frame, of Atari games; the protocol's own if that is higher. Without it, a deterministic
            agent plays one of few games from all starts. 0.25 is that of Machado et al. 2018, arXiv:1709.06009.
        seed: Of the starts.
        interventions: More of them by name, see `Intervention.from_config`; what no weights do to
            this network is left out.
        replications: Bootstrap resamples per interval.
        confidence: Of the intervals.
        threads: Episodes played at a time. They change no number.

    Returns:
        The effects in the order of the table, without interventions first.

    Raises:
        NeurozooError: As `read_agent`; or no weights do this to the network, see `intervened_weights`.
    """
    if with_ not in ("zero", "mean"):
        raise NeurozooError(f"with should be zero or mean, but is {with_!r}. Other interventions have names.")
    agent = read_agent(run_dir)
    layout = layout_of(agent.game, agent.model, agent.protocol)
    if agent.protocol.world == "atari":
        sticky = max(sticky_probability, agent.protocol.sticky_probability)
        agent = replace(agent, protocol=replace(agent.protocol, sticky_probability=sticky))
    effects = list_ablations(layout, with_=with_, layers=layers, named=interventions or {})
    theta = decode(agent.genome, noise=open_noise_table(noise), layout=layout)
    agent = replace(agent, genome=Genome(Weights.of(theta)))
    starts = [evaluation_start(agent, number, seed=seed) for number in range(2 * episodes)]

    def intervals(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        options = {"replications": replications, "seed": seed}
        return bootstrap_intervals([rows], {"": mean_over_games}, confidence=confidence, **options)[""]

    with make_evaluator(
        core=core, noise=noise, layout=layout, game=agent.game, protocol=agent.protocol, threads=threads
    ) as evaluator:
        evaluator.pin([agent.genome])
        recorded = _record(evaluator, agent, layout, theta, starts[:episodes])
        recorded.describe(effects)
        engine = _Engine(evaluator, layout, theta, recorded.means)
        has_chance = agent.protocol.has_chance
        half = episodes // 2 if has_chance else episodes
        none, *others = effects
        again = [Effect("none", "none", ())]
        engine.play([none], starts[:episodes])
        engine.play(again, starts[episodes:])
        limit = LONGEST * engine.longest  # an agent that stands still may play for ever
        starts = [replace(start, max_frames=min(start.max_frames, limit)) for start in starts]
        engine.play(others, starts[:half])
        for silent in (each for each in others if each.is_silent):
            silent.scores, silent.steps = none.scores, none.steps
        lasting = [each for each in others if not signed_rank_test(each.scores[:half] - none.scores[:half]) > HOPELESS]
        engine.play(lasting, starts[half:episodes])
        compare(effects, intervals, has_chance=has_chance)
        effects = [none, *sorted(others, key=lambda effect: -abs(effect.numbers["change"]))]
        top = [each for each in effects if each.kind in PARTS and each in lasting and each.numbers["change"]][:TOP]
        again += [Effect(each.kind, each.name, each.interventions) for each in top]
        pairs = [
            Effect("pair", f"{one.name} + {other.name}", one.interventions + other.interventions)
            for one, other in itertools.combinations(top, 2)
        ]
        engine.play([*again[1:], *pairs], starts[episodes:])
    compared = compare_again(effects, again, pairs, intervals, has_chance=has_chance)
    effects += sorted(compared, key=lambda pair: pair.numbers["excess"])
    write_effects(output, effects, agent.protocol.sticky_probability, with_=with_, episodes=episodes)
    return effects


def list_ablations(
    layout: Layout, *, with_: With, layers: Sequence[str] = (), named: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Effect]:
    """Lists what is ablated: nothing, whole layers, their channels or groups of units, and named interventions.

    Raises:
        NeurozooError: As `ablated_layers` and `Intervention.from_config`.
    """
    sizes = {INPUT: layout.observation_shape[2]} | {p.layer.name: p.out_shape[2] for p in layout.layers}
    found = [Effect("none", "none", ())]
    for name in ablated_layers(layout, with_=with_, layers=layers):
        whole, size = Intervention(name, with_=with_), sizes[name]
        found.append(Effect("layer", f"{name}, all", (whole,)))
        is_dense = name == INPUT or len(layout.shapes[f"{name}/w"]) == 2
        parts = np.array_split(np.arange(size), GROUPS if is_dense and size > MOST_SINGLE else size)
        for part in map(tuple, (part.tolist() for part in parts)):
            kind = "input" if name == INPUT else "group" if len(part) > 1 else "channel"
            label = f"{part[0]}-{part[-1]}" if len(part) > 1 else f"{part[0]}"
            found.append(Effect(kind, f"{name} {label}", (replace(whole, channels=part),)))
    for name, entry in (named or {}).items():
        intervention = Intervention.from_config(entry)
        with contextlib.suppress(NeurozooError):  # no weights do this, or the network has no such layer or channel
            check_weights_do(layout, intervention)
            found.append(Effect("named", name, (intervention,)))
    return found


class _Engine:
    """Plays agents with interventions, some at a time."""

    def __init__(
        self, evaluator: Evaluator, layout: Layout, theta: np.ndarray, means: Mapping[str, np.ndarray]
    ) -> None:
        self._evaluator = evaluator
        self.longest = 0  # frames of the longest episode so far
        self._make = lambda effect: Weights.of(intervened_weights(layout, theta, effect.interventions, means=means))

    def play(self, effects: Sequence[Effect], starts: Sequence[Episode]) -> None:
        """Adds scores and steps from these starts to effects, except for silent ones."""
        playing = [effect for effect in effects if not effect.is_silent] if starts else []
        for first in range(0, len(playing), AT_ONCE):
            batch = playing[first : first + AT_ONCE]
            genomes = [Genome(self._make(effect)) for effect in batch]
            self._evaluator.pin(genomes)
            episodes = [replace(start, genome=genome) for genome in genomes for start in starts]
            results = play(self._evaluator, dict(enumerate(episodes)))
            self.longest = max(self.longest, *(result.frames for result in results.values()))
            rows = np.array([(results[n].score, results[n].steps) for n in range(len(episodes))], float)
            for effect, (scores, steps) in zip(batch, rows.reshape(len(batch), -1, 2).swapaxes(1, 2), strict=True):
                effect.scores, effect.steps = np.append(effect.scores, scores), np.append(effect.steps, steps)


@dataclass
class _Recorded:
    """What the agent saw without interventions, and its activations then."""

    layout: Layout
    theta: np.ndarray
    states: np.ndarray  # observations, evenly spread: (states, height, width, channels)
    is_whole: bool  # whether all steps of all episodes were recorded
    is_continuous: bool
    means: dict[str, np.ndarray]  # by layer: (channels,)
    largest: dict[str, np.ndarray]  # absolute values, over all steps and places, by layer: (channels,)

    def describe(self, effects: Sequence[Effect]) -> None:
        """Gives effects their activation, the share of actions that they change, and whether they are silent."""
        import keras

        model = self.layout.keras_model(self.theta)
        actions = model.predict(self.states, batch_size=CHUNK, verbose=0).argmax(-1)
        of_layer: dict[str, list[Effect]] = {}
        for effect in effects[1:]:
            of_layer.setdefault(effect.interventions[0].layer, []).append(effect)
        for name, those in of_layer.items():
            head = keras.Model(model.input, model.get_layer(name).output) if name != INPUT else None
            values = self.states if head is None else head.predict(self.states, batch_size=CHUNK, verbose=0)
            is_last = name == self.layout.layers[-1].layer.name  # Keras makes no model without layers
            tail = model if head is None or is_last else keras.Model(model.get_layer(name).output, model.output)
            for effect in those:
                (intervention,) = effect.interventions
                chosen = intervention.mask(values.shape[1:]).any(axis=tuple(range(values.ndim - 2)))
                effect.activation = float(self.means[name][chosen].mean())
                if self.is_whole and effect.kind in ("channel", "group"):
                    effect.is_silent = not self.largest[name][chosen].any()
                if self.is_continuous:
                    continue
                factor, value = replacement_of(intervention, values.shape[1:], self.means[name][None])(_NEVER)
                changed = values * factor + value
                outputs = changed if is_last else tail.predict(changed, batch_size=CHUNK, verbose=0)
                effect.changed_actions = float((outputs.argmax(-1) != actions).mean())


_NEVER = np.random.default_rng(0)  # of interventions that draw nothing


def _record(
    evaluator: Evaluator, agent: PlayableAgent, layout: Layout, theta: np.ndarray, starts: Sequence[Episode]
) -> _Recorded:
    """Plays the agent from all starts, records what it saw, and surveys its activations."""
    import keras

    use_one_thread()
    shape = observation_shape(agent.game, agent.protocol)
    whole = layout.keras_model(theta)
    names = [placed.layer.name for placed in layout.layers]
    model = keras.Model(whole.input, [whole.get_layer(name).output for name in names])
    sums = {name: np.zeros(()) for name in (INPUT, *names)}
    largest = dict(sums)
    kept, steps, is_whole = [], 0, True
    limit = MOST_STEPS * agent.protocol.frame_skip
    each = -(-STATES // len(starts))  # states of an episode
    for start in starts:
        trace: Trace = evaluator.trace(replace(start, max_frames=min(start.max_frames, limit)))
        is_whole &= len(trace.actions) < MOST_STEPS
        steps += len(trace.actions)
        wanted = set(np.linspace(0, len(trace.actions) - 1, each).astype(int).tolist())
        for first, seen in zip(itertools.count(0, CHUNK), stacked(trace.planes, CHUNK, shape), strict=False):
            kept += [one for number, one in enumerate(seen, first) if number in wanted]
            for name, values in zip((INPUT, *names), (seen, *model.predict_on_batch(seen)), strict=True):
                axes = tuple(range(1, values.ndim - 1))
                sums[name] = sums[name] + values.mean(axes, np.float64).sum(0)
                largest[name] = np.maximum(largest[name], np.abs(values).max((0, *axes)))
    is_continuous = has_continuous_outputs(agent.protocol, output_names(agent.game, agent.protocol))
    means = {name: total / steps for name, total in sums.items()}
    return _Recorded(layout, theta, np.stack(kept), is_whole, is_continuous, means, largest)
