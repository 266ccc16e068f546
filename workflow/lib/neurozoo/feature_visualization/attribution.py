"""Integrated gradients: how much each pixel of an observation contributed to an output.

Unlike gradients, the contributions add up: their sum is the output minus the output for a black observation.

Source: Sundararajan et al. 2017, arXiv:1703.01365.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.environments.observations import brightest
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization import saliency
from neurozoo.feature_visualization.layers import check_pictures
from neurozoo.feature_visualization.pictures import Row, framed, newest_plane, planes_of, signed, write_sheet
from neurozoo.feature_visualization.recordings import choose_observations, open_recording
from neurozoo.feature_visualization.saliency import ExplainedNetwork, Question

CELL = 168  # approximate size of a picture, in pixels
SHARE = 99.5  # percentile of the absolute contributions that gets the full colour


@dataclass(frozen=True)
class Attribution:
    """Contributions of pixels to outputs."""

    contributions: np.ndarray  # float32, shape (batch, height, width, channels)
    outputs: np.ndarray  # shape (batch,): the explained output for each observation
    baselines: np.ndarray  # shape (batch,): the same output for a black observation

    @property
    def gaps(self) -> np.ndarray:
        """Outputs minus baselines minus the sums of the contributions, shape (batch,); 0 for infinitely many points."""
        sums = self.contributions.astype(np.float64).sum(axis=(1, 2, 3))
        return self.outputs - self.baselines - sums


def integrated_gradients(
    frozen: FrozenModel, observations: np.ndarray, outputs: Sequence[int], *, points: int = 64
) -> Attribution:
    """Attributes outputs, one index per observation, to the numbers of observations, (batch, height, width, channels).

    Gradients are taken at the middles of so many `points` on the straight path from a black observation.

    Raises:
        NeurozooError: The network has no such output, or its outputs also depend on earlier actions.
    """
    if wrong := [output for output in outputs if not 0 <= output < len(frozen.actions)]:
        raise NeurozooError(f"{frozen.title} has outputs 0 to {len(frozen.actions) - 1}, but got {wrong[0]}.")
    network = ExplainedNetwork(frozen.activations_model([frozen.layers[-1].name]))
    observations = np.asarray(observations, np.float32)
    contributions = saliency.integrated_gradients(Question(network, observations, np.asarray(outputs)), points=points)
    at_observations, at_black = (
        network.explained(seen, (), np.asarray(outputs)) for seen in (observations, np.zeros_like(observations))
    )
    return Attribution(contributions, at_observations, at_black)


def draw_attribution(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    at: Sequence[int] | None = None,
    observations: int = 6,
    points: int = 64,
) -> Attribution:
    """Draws how much each pixel added to the output of the chosen action, at some steps of a rollout.

    The steps are those in `at`, or as many as `observations` says, spread evenly. See `integrated_gradients`.

    Raises:
        NeurozooError: A step does not exist, the agent does not see pictures or sees more than these, or the rollout
            comes from another agent.
    """
    import keras

    frozen = check_pictures(open_frozen(frozen_folder))
    if frozen.has_history:
        raise NeurozooError(
            f"{frozen.title} also sees earlier actions and rewards, so its outputs cannot be attributed to the "
            "observation alone. Try filters guided or patches."
        )
    with open_recording(frozen, rollout) as recording:
        steps, seen = choose_observations(recording, at, observations)
    (values,) = keras.tree.flatten(frozen.activations_model([frozen.layers[-1].name])(seen, training=False))
    chosen = np.asarray(values).argmax(axis=-1).tolist()
    attribution = integrated_gradients(frozen, seen, chosen, points=points)
    shape, high = frozen.shape, brightest(frozen.protocol)
    rows = []
    for i, (step, action) in enumerate(zip(steps, chosen, strict=True)):
        planes = [attribution.contributions[i][..., channels].sum(axis=-1) for channels in planes_of(shape).values()]
        full = float(np.percentile(np.abs(planes), SHARE)) or float(np.abs(planes).max())
        pictures = [newest_plane(seen[i], shape, high), *(signed(plane, full) for plane in planes)]
        label = (
            f"step {step}\n{frozen.actions[action]}\noutput {attribution.outputs[i]:+.2f}\n"
            f"black {attribution.baselines[i]:+.2f}\ngap {abs(attribution.gaps[i]):.1g}"
        )
        rows.append(Row(label, framed(pictures, CELL)))
    write_sheet(
        output,
        title=f"{frozen.title}: integrated gradients",
        note=(
            "Recorded observations (newest frame; black is 0, white "
            f"{high:g}), and what each pixel added to the chosen action's output (red) or took from it (blue), "
            "frame by frame; white is nothing. Contributions sum to the output minus the output for a black "
            f"observation, up to the gap. Full colour: the strongest {100 - SHARE:g} % of each row."
        ),
        headers=["observation", *(f"added by {name}" if name == "colours" else name for name in planes_of(shape))],
        rows=rows,
        blocks=2 if len(rows) > 3 and len(rows[0].cells) <= 2 else 1,
    )
    return attribution
