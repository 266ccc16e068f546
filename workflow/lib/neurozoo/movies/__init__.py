"""Movies of activations, games, generations, and runs side by side."""
