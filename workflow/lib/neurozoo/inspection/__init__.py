"""Looks inside agents: frozen models, rollouts and movies of their activations."""

from neurozoo.inspection.freeze import freeze_run
from neurozoo.inspection.movie import render_activation_movie
from neurozoo.inspection.rollout import record_rollout

__all__ = ["freeze_run", "record_rollout", "render_activation_movie"]
