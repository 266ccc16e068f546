"""The neuroevolution family: genetic algorithms, evolution strategies and novelty search."""
