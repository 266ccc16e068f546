"""Compares runs of one game: embeddings of their states, a page to explore them, and a classifier of states."""

from neurozoo.comparison.classification import classify_states
from neurozoo.comparison.embedding import embed_states, ram_to_bits
from neurozoo.comparison.page import write_embedding_page

__all__ = ["classify_states", "embed_states", "ram_to_bits", "write_embedding_page"]
