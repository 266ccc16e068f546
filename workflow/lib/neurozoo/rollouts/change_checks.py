"""Whether another agent can take over in an episode."""

from neurozoo.agents.frozen import FrozenModel
from neurozoo.errors import NeurozooError


def check_successor(frozen: FrozenModel, other: FrozenModel) -> None:
    """Refuses another agent that cannot play on where this one stops.

    Raises:
        NeurozooError: It plays another game, or under another protocol.
    """
    for what, own, found in (
        ("game", frozen.game, other.game),
        ("protocol", frozen.protocol.name, other.protocol.name),
        ("protocol", frozen.protocol, other.protocol),
        ("actions", frozen.actions, other.actions),
    ):
        if own != found:
            told = f"{own}, but that of {other.title} is {found}"
            told = told if isinstance(own, str) else f"not that of {other.title}"
            raise NeurozooError(
                f"The {what} of {frozen.title} is {told}. An agent can take over only in the same game under the same "
                "protocol. Choose another."
            )
