"""Lets frozen agents play, and records what they see, do and compute."""
