"""Looks inside agents: frozen models, rollouts and movies of their activations."""

from neurozoo.inspection.epsilon_greedy import play_epsilon_greedily
from neurozoo.inspection.freeze import freeze_run
from neurozoo.inspection.game_movie import film_game
from neurozoo.inspection.generations import film_generations
from neurozoo.inspection.grid import film_grid
from neurozoo.inspection.movie import render_activation_movie, render_layer_movie
from neurozoo.inspection.rollout import record_rollout

__all__ = [
    "film_game",
    "film_generations",
    "film_grid",
    "freeze_run",
    "play_epsilon_greedily",
    "record_rollout",
    "render_activation_movie",
    "render_layer_movie",
]
