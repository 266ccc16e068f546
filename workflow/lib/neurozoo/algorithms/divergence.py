"""Ends a training whose numbers are no longer finite."""

import numpy as np
from numpy.typing import ArrayLike

from neurozoo.errors import NeurozooError


def check_finite(values: ArrayLike, *, update: int, learning_rate: float) -> None:
    """Refuses to go on after an update whose losses or errors are infinite or NaN.

    Args:
        values: What the update tells: losses, norms or errors, of any shape.
        update: Number of updates by then.
        learning_rate: That of the settings, for the message.

    Raises:
        NeurozooError: A value is not finite.
    """
    if not np.isfinite(values).all():
        raise NeurozooError(
            f"The training diverges: after {update:,} updates its loss is not finite. Lower learning_rate "
            f"({learning_rate:g}), or make rewards smaller with reward_scale. The state that was saved before is "
            "unchanged."
        )
