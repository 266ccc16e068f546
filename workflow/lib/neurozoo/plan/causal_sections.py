"""The sections of config.yaml about interventions in networks."""

from typing import Annotated, Literal

from pydantic import Field

from neurozoo.interventions.intervention import With
from neurozoo.plan.config_sections import Names, Section, Seed, StickyProbability
from neurozoo.validation import Number, Unique, Whole

Place = Annotated[Whole, Field(ge=0)]


class InterventionSection(Section):
    """What changes inside a network while its agent plays, docs/causal.md."""

    layer: str = Field(min_length=1, description="Layer, such as conv2, or observation for the input.")
    channels: Annotated[Unique[Place], Field(min_length=1)] | None = Field(
        default=None, description="Channels, or units of a dense layer, counted from 0; empty for all."
    )
    with_: With = Field(
        default="zero",
        alias="with",
        description="What replaces their activations: zero; constant (value); their mean; scale (factor times "
        "their value); resample "
        "(those at a random step of rollout.npz, another one in each step); patch (those at its step).",
    )
    factor: Number = Field(default=1, description="Factor of scale.")
    region: Annotated[list[Place], Field(min_length=4, max_length=4)] | None = Field(
        default=None,
        description="First row, first column, last row and last column of the map that changes; empty for all of it.",
    )
    step: Whole = Field(default=0, ge=0, description="Step of rollout.npz for patch.")
    value: Number = Field(default=0, description="Value of constant.")


class WhatIfSection(Section):
    """What changes in the episode of rollout.npz from one of its steps on, docs/causal.md: one kind of change."""

    step: Whole = Field(ge=0, description="Step of rollout.npz, from 0, at which the change begins.")
    duration: Annotated[Whole, Field(ge=1)] | None = Field(
        default=None,
        description="Steps for which it lasts; empty for 1 (action, ram) or until the end of the episode (others).",
    )
    action: str | None = Field(default=None, description="This action is played, such as LEFT.")
    ram: Names = Field(default=[], description="The console's memory is written: ADDRESS=VALUE, such as 49=100.")
    pixels: str | None = Field(
        default=None,
        description="The agent sees another rectangle: TOP,LEFT,BOTTOM,RIGHT=VALUE of the observation, or =mean.",
    )
    intervention: str | None = Field(default=None, description="One of the interventions, by name.")
    agent: str | None = Field(
        default=None, description="Another run plays on, such as dqn/pong/small/1: the same game and protocol."
    )


class Probes(Section):
    """How much layers tell of the variables of a game, and what happens without them, docs/causal.md#probes."""

    episodes: Whole = Field(default=20, ge=1, description="Episodes in the recording for probes and sparse features.")
    max_steps: Whole = Field(default=5_000, ge=1, description="Longest recording in steps, all episodes together.")
    sticky_probability: StickyProbability = Field(
        default=0.25,
        description="Probability, per frame, that the previous action is repeated, in all these games; empty for that "
        "of the protocol.",
    )
    seed: Seed = Field(default=0, description="Seed of the recording; the games without a variable have the next one.")
    starts: Whole = Field(
        default=10, ge=0, description="Games that are played without each variable; fewer than 5 give no intervals."
    )
    steps: Whole = Field(default=500, ge=1, description="Longest of these games in steps.")


class Causal(Section):
    """What happens to the score when parts of a network are ablated, docs/causal.md."""

    experiments: Names = Field(
        default=[],
        description="Experiments whose runs get causal.html; for other runs, request it by its path.",
    )
    episodes: Whole = Field(default=20, ge=1, description="Number of starts, the same for all parts.")
    with_: Literal["zero", "mean"] = Field(
        default="zero", alias="with", description="What replaces activations: zero, or their mean."
    )
    layers: Names = Field(
        default=[],
        description="Layers whose channels are ablated, or observation for the input; an empty list for all.",
    )
    sticky_probability: Annotated[Number, Field(ge=0, le=1)] = Field(
        default=0.25,
        description="Probability, per frame, that the previous action is repeated; the protocol's, if that is higher. "
        "With 0, a deterministic agent plays few different games.",
    )
    seed: Seed = Field(default=0, description="Seed of the starts.")
