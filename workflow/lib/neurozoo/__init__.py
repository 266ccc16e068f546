"""Grows agents for Atari and other small worlds, and looks inside them."""

__version__ = "0.1.0"
