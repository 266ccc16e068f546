"""Whether a change fits the agent whose episode it changes."""

from neurozoo.agents.frozen import FrozenModel
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.interventions.change import Change

RAM_BYTES = 128  # of the console


def check_change(change: Change, frozen: FrozenModel) -> None:
    """Refuses a change that this agent's game cannot have.

    Raises:
        NeurozooError: The game has no such action or no memory, or an address or a value is out of range.
    """
    if change.action is not None and frozen.is_continuous:
        raise NeurozooError(
            f"{frozen.game} has continuous outputs and no actions by name. Change something else: pixels, intervention "
            "or agent."
        )
    if change.action is not None and change.action not in frozen.actions:
        raise unknown_name("action", change.action, frozen.actions)
    if change.ram and frozen.protocol.world != "atari":
        raise NeurozooError(
            f"{frozen.game} has no console memory that could be changed. Change something else: action, pixels, "
            "intervention or agent."
        )
    for address, value in change.ram:
        if not (0 <= address < RAM_BYTES and 0 <= value < 256):
            raise NeurozooError(
                f"ram {address}={value}: the console has the addresses 0 to {RAM_BYTES - 1} with values from 0 to 255. "
                "Choose among them."
            )


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
