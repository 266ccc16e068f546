"""Interventions in networks: what is ablated, scaled or replaced inside an agent while it plays."""
