"""Looks inside agents: frozen models, rollouts and movies of their activations."""
