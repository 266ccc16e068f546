"""The commands of `python -m neurozoo`, with a module for each group of commands.

A module adds its commands to the parser and defines their functions. Slow imports are inside these functions, so that
`--help` answers at once.
"""
