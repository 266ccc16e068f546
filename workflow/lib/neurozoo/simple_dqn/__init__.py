"""The command line of tambetm/simple_dqn."""

from neurozoo.simple_dqn.commands import translate

__all__ = ["translate"]
