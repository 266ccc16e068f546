"""The last stage of a wide movie: each action with its name, value and bar; the chosen one is marked."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.movies.lettering import fitted, width_of, write
from neurozoo.movies.themes import Theme, packed
from neurozoo.networks.keras_networks import Q_VALUES

Meaning = Literal["probabilities", "Q-values", "output values", "outputs"]
_DIRECTIONS = {
    "UPRIGHT": "↗ up right",
    "UPLEFT": "↖ up left",
    "DOWNRIGHT": "↘ down right",
    "DOWNLEFT": "↙ down left",
    "UP": "↑ up",
    "DOWN": "↓ down",
    "LEFT": "← left",
    "RIGHT": "→ right",
}
# Of Gymnasium's environments, which have no names themselves (their documentation has).
ACTIONS_OF = {
    "gym.CartPole-v0": ("← left", "→ right"),
    "gym.CartPole-v1": ("← left", "→ right"),
    "gym.MountainCar-v0": ("← left", "do nothing", "→ right"),
    "gym.Acrobot-v1": ("− torque", "no torque", "+ torque"),
}
ROW, LEAST_ROW = 46, 22  # pixels of an action at 720 rows, at most and at least


def meaning_of(frozen: FrozenModel) -> Meaning:
    """Returns what a network's outputs are."""
    if frozen.is_continuous:
        return "outputs"
    if frozen.action_rule == "sampled":
        return "probabilities"
    spec = ALGORITHMS.get(frozen.algo)
    if any(layer.name == Q_VALUES for layer in frozen.layers[-1:]):
        return "Q-values"
    return "Q-values" if spec is not None and spec.outputs_are_returns else "output values"


def action_titles(frozen: FrozenModel) -> list[str]:
    """Returns the names of an agent's actions as people write them."""
    named = ACTIONS_OF.get(frozen.game, ())
    return list(named) if len(named) == len(frozen.actions) else [action_title(name) for name in frozen.actions]


def action_title(name: str) -> str:
    """Returns the name of an action as people write it, such as "↗ + fire" for UPRIGHTFIRE."""
    if name == "NOOP":
        return "do nothing"
    for button in ("", "FIRE", "+HANDS"):
        move = name.upper().removesuffix(button)
        if move in _DIRECTIONS and f"{move}{button}" == name.upper():
            return f"{_DIRECTIONS[move][0]} + {button.strip('+').lower()}" if button else _DIRECTIONS[move]
    return name.replace("_", " ").lower()


def shown_values(outputs: np.ndarray, meaning: Meaning) -> np.ndarray:
    """Returns what the bars show: probabilities for the logits of a policy, otherwise the outputs themselves.

    Both have the shape (..., actions).
    """
    outputs = np.asarray(outputs, np.float64)
    if meaning != "probabilities":
        return outputs
    weights = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


class OutputCard:
    """Draws the outputs as bars, one below the other, `shown` of them; more do not fit.

    The `actions` are named as by `action_titles`. `width` is exact, `height` the most that the card may have; it then
    has its own. `unit` is the number of pixels of the movie per pixel of one with 720 rows.
    """

    def __init__(self, actions: Sequence[str], meaning: Meaning, *, width: int, height: int, unit: float):
        self._meaning, self._unit = meaning, unit
        self.width = width
        self.shown = min(len(actions), int(height // (LEAST_ROW * unit)))
        if self.shown < len(actions):
            self.shown -= 1  # the last row says how many are left out
        self._left_out = len(actions) - self.shown
        rows = self.shown + (self._left_out > 0)
        self._row = min(round(ROW * unit), height // rows)
        self.height = rows * self._row
        size = round(12 * unit) if self._row >= 30 * unit else round(10.5 * unit)
        self._size, self._pad = size, round(9 * unit)
        self._room = width_of("+0.000", size, bold=True)
        self._names = [
            fitted(name, size, width - 2 * self._pad - round(4 * unit) - self._room, bold=True)
            for name in actions[: self.shown]
        ]

    def draw(
        self, image: np.ndarray, theme: Theme, values: np.ndarray, chosen: int | None, *, limits: tuple[float, float]
    ) -> None:
        """Draws the card into packed pixels, uint32, shape (`height`, `width`).

        `values` are one per action, as `shown_values` returns them; `chosen` is None where outputs are continuous.
        `limits` are the smallest and the largest output of the movie.
        """
        low, high = limits
        if self._meaning == "probabilities":
            low, high = 0.0, 1.0
        elif self._meaning == "outputs":
            low, high = -max(abs(low), abs(high)), max(abs(low), abs(high))
        span = (high - low) or 1.0
        image[:] = packed(theme.card)
        unit, pad, row = self._unit, self._pad, self._row
        thick = max(3, round(6 * unit))
        track = self.width - 2 * pad
        zero = pad + round(min(max(-low / span, 0.0), 1.0) * track)  # bars start at 0 if it lies between the limits
        for place, (name, value) in enumerate(zip(self._names, values, strict=False)):
            is_chosen, top = place == chosen, place * row
            paper = theme.chosen_card if is_chosen else theme.card
            strong = is_chosen or chosen is None
            ink, colour = (theme.ink if strong else theme.quiet), (theme.chosen if strong else theme.bar)
            if is_chosen:
                image[top : top + row] = packed(paper)
                image[top : top + row, : max(3, round(4 * unit))] = packed(theme.chosen)
            middle = top + (row - thick - round(5 * unit)) // 2
            write(image, name, pad, middle, self._size, ink=ink, paper=paper, bold=is_chosen)
            number, right = self._number(value, span), self.width - pad
            write(image, number, right, middle, self._size, ink=ink, paper=paper, align="right", bold=is_chosen)
            bar = slice(top + row - thick - round(5 * unit), top + row - round(5 * unit))
            image[bar, pad : self.width - pad] = packed(theme.line)
            share = min(max((float(value) - low) / span, 0.0), 1.0)
            end = pad + round(share * track)
            image[bar, min(zero, end) : max(zero, end, min(zero, end) + 1)] = packed(colour)
        if self._left_out:
            middle = self.shown * row + row // 2
            write(image, f"and {self._left_out} more", pad, middle, self._size, ink=theme.quiet, paper=theme.card)

    def _number(self, value: float, span: float) -> str:
        if self._meaning == "probabilities":
            return f"{100 * value:.0f} %"
        digits = min(max(2 - int(np.floor(np.log10(span))), 0), 3)
        text = f"{value:+.{digits}f}".replace("-", "−")
        return text if any(digit in text for digit in "123456789") else text[1:]
