"""The commands of `python -m neurozoo`, a module for each group of them.

A module adds its commands to the parser and holds what they do. What takes long to import waits in there, so that
`--help` answers at once.
"""
