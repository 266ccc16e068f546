"""The pages' templates; whatever they print is escaped, because names come from files."""

from pathlib import Path

import jinja2

STATIC = Path(__file__).parent / "static"


def environment() -> jinja2.Environment:
    """Returns a new environment of the templates, to which filters may be added."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
