"""Filters: what the units of a frozen network look for, from the frozen model and a rollout alone."""
