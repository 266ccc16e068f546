"""The algorithms: their specs, settings, sessions and results."""
