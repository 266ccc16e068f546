"""Network descriptions (layers, parameter layout, Keras models) and the catalogue of architectures."""
