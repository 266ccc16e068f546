"""Loads the templates of the HTML pages. They escape all values, because names come from files."""

from pathlib import Path

import jinja2

STATIC = Path(__file__).parents[1] / "data" / "static"


def environment() -> jinja2.Environment:
    """Returns a new Jinja environment for the templates. Callers may add filters."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parents[1] / "data" / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
