"""`python -m neurozoo settings`: what can be set for an algorithm."""

import json
import textwrap
from dataclasses import asdict

from neurozoo.cli.arguments import Commands, add_command, add_json
from neurozoo.errors import NeurozooError

WIDTH = 110


def add_settings_command(commands: Commands) -> None:
    """Adds the list of settings."""
    settings = add_command(commands, "settings", _settings, "list the settings of an algorithm, and what they mean")
    settings.add_argument("algo", nargs="?", help="such as dqn; default: list the algorithms and their presets")
    settings.add_argument("--preset", help="show the values of a preset in the place of the defaults")
    add_json(settings, "the JSON schema, or the values of the preset")


def _settings(options):
    from neurozoo.algorithms.registry import ALGORITHMS, get_algorithm
    from neurozoo.algorithms.run_settings import Settings
    from neurozoo.algorithms.settings import resolve_settings
    from neurozoo.plan.catalogue_pages import as_yaml
    from neurozoo.plan.reference import entries

    if options.algo is None and options.preset:
        raise NeurozooError(
            f"--preset {options.preset} needs an algorithm, because presets belong to one. Name it: "
            f"python -m neurozoo settings ALGO --preset {options.preset}"
        )
    if options.algo is None:
        for name, spec in ALGORITHMS.items():
            print(f"{name}: {spec.title}. Presets: {', '.join(spec.presets)}")
        return
    kind: type[Settings] = get_algorithm(options.algo).settings
    schema = kind.schema()
    values = asdict(resolve_settings(options.algo, preset=options.preset)) if options.preset else {}
    if options.json:
        print(json.dumps(values or schema, indent=1))
        return
    for entry in entries(schema):
        value = as_yaml(values[entry.name]) if values else entry.default.strip("`")
        print(f"{entry.name} = {value}")
        limits = f"{entry.type}, {entry.bounds}" if entry.bounds else entry.type
        indent = " " * 4
        print(textwrap.fill(f"{entry.description} ({limits})", WIDTH, initial_indent=indent, subsequent_indent=indent))
