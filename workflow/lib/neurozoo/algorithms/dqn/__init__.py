"""Deep Q-learning: what was seen is kept, drawn again at random, and learnt from."""
