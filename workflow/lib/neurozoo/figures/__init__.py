"""Figures of runs: learning curves, aggregates, lineages, phases, temporal lean, and their common style."""
