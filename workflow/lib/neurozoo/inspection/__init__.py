"""Looks inside agents: frozen models, rollouts and movies of their activations."""

from neurozoo.inspection.freeze import freeze_run
from neurozoo.inspection.generations import film_generations
from neurozoo.inspection.movie import render_activation_movie
from neurozoo.inspection.rollout import record_rollout

__all__ = ["film_generations", "freeze_run", "record_rollout", "render_activation_movie"]
