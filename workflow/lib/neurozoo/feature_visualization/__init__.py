"""Shows what the units of a frozen network respond to, from the frozen model and a rollout alone."""
