"""Sets runs of one game beside each other: joint embeddings of their states, a page for them, who made a state."""

from neurozoo.comparing.classification import classify_states
from neurozoo.comparing.embedding import embed_states, ram_to_bits
from neurozoo.comparing.page import write_embedding_page

__all__ = ["classify_states", "embed_states", "ram_to_bits", "write_embedding_page"]
