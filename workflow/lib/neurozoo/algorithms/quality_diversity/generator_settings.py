"""The settings of a generator's training, and its presets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from neurozoo.algorithms.run_settings import Settings
from neurozoo.errors import unknown_name
from neurozoo.validation import Count, Number, Share, Whole, setting


@dataclass(frozen=True, kw_only=True)
class GeneratorSettings(Settings):
    """Settings of the generator of platform levels and its training. The defaults are the published ones.

    Sources: section 5.2 of the description of DSAGE; Gulrajani et al. 2017, arXiv:1704.00028.
    """

    seed: Whole = setting(0, "Seed of initial weights, batches and solutions.", ge=0)
    corpus: Whole = setting(6_000, "Levels to learn from, which the agent sorts out.", ge=100)
    corpus_seed: Whole = setting(1, "Seed of these levels.", ge=0)
    kind: Literal["wgan", "wgan_gp"] = setting(
        "wgan",
        "wgan (as published: clipped weights, RMSprop, a ramp after the last layer) or wgan_gp (gradient penalty, "
        "Adam, softmax).",
    )
    picture: Literal["square", "level"] = setting(
        "square",
        "What is generated: square (as published: 64 x 64 tiles, of which a level is the upper left corner) or level "
        "(16 x 56 tiles).",
    )
    channels: Count = setting(64, "Channels of the critic's first layer and before the generator's last one.")
    steps: Count = setting(63_000, "Updates of the generator. 63,000 are about the published 5,000 epochs.")
    batch_size: Whole = setting(32, "Levels of an update.", ge=2)
    critic_steps: Count = setting(5, "Updates of the critic before one of the generator.")
    more_critic_steps: Count = setting(100, "The same for the first 25 updates of the generator and for every 500th.")
    learning_rate: Number = setting(5e-5, "Learning rate of both networks.", gt=0)
    clip: Number = setting(0.01, "Largest weight of the critic; of wgan only.", gt=0)
    gradient_penalty: Number = setting(10.0, "Factor on the penalty of slopes that are not 1; of wgan_gp only.", ge=0)
    logit_penalty: Number = setting(
        0.0,
        "Factor on the mean square of the generator's outputs before the softmax, in its loss. Without it, rare tiles "
        "get probabilities without a slope early on, and never come back; of wgan_gp only.",
        ge=0,
    )
    rarity: Share = setting(
        0.0,
        "How much more often levels with rare tiles are drawn: the weight of a level is one through the share of "
        "levels that have its rarest tile, to this power. 0, as published, for all alike.",
    )
    averaging: Number = setting(
        0.0,
        "How much of a moving average of the generator's weights an update keeps; the average becomes the result. 0, "
        "as published, for the last weights.",
        ge=0,
        lt=1,
    )

    def critic_steps_before(self, step: int) -> int:
        """Returns how often the critic is updated before the generator's update `step`, which counts from 0."""
        return self.more_critic_steps if step < 25 or step % 500 == 0 else self.critic_steps


def generator_settings(preset: str, overrides: Mapping[str, Any]) -> GeneratorSettings:
    """Returns the settings of a preset, with some others, or raises `NeurozooError`."""
    if preset not in GENERATOR_PRESETS:
        raise unknown_name("preset of generators", preset, GENERATOR_PRESETS)
    return GENERATOR_PRESETS[preset].changed(overrides, from_yaml=True)


_PAPER = GeneratorSettings()
_PENALTY = replace(
    _PAPER, kind="wgan_gp", picture="level", steps=30_000, learning_rate=1e-4, critic_steps=5, more_critic_steps=5
)
GENERATOR_PRESETS: Mapping[str, GeneratorSettings] = {
    "paper": _PAPER,
    "wgan_gp": _PENALTY,
    "laptop": replace(
        _PENALTY,
        channels=32,
        learning_rate=4e-4,
        critic_steps=2,
        more_critic_steps=2,
        logit_penalty=0.03,
        rarity=0.5,
        averaging=0.998,
    ),
    "demo": replace(_PENALTY, channels=8, steps=20, critic_steps=1, more_critic_steps=1, corpus=200, batch_size=16),
}
