"""Worlds of the river crossing task as levels: repair, a planner, a simulator of many at once, and agents."""
