"""What a shared machine asks of us: to take only the GPUs that nobody uses."""
