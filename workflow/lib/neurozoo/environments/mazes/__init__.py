"""Mazes that agents are sent into: levels, endpoints, simulator and scripted agents."""
