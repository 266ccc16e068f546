"""Genomes, the noise table that their indices point into, and the published formats of both."""
