"""Checks the files of a configuration before Snakemake reads them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from neurozoo.errors import NeurozooError, explained, plain_errors
from neurozoo.files import open_text
from neurozoo.files.yaml import check_written, parse_yaml

OPTIONS = ("--configfile", "--configfiles")


def check_config_file(path: str | os.PathLike) -> None:
    """Checks that a file is YAML with each key once: Snakemake names no line, and takes the last of two equal keys."""
    try:
        with open_text(path) as file:
            text = file.read()
        check_written(text)
        content = parse_yaml(text)
    except FileNotFoundError as error:
        raise NeurozooError(f"The configuration {path} is missing. Check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = explained(error, path) if isinstance(error, OSError) else f"{path} is not text in UTF-8."
        raise NeurozooError(str(reason)) from error
    except NeurozooError as error:
        raise NeurozooError(f"{path} cannot be read as YAML: {error}.") from error
    if not isinstance(content, dict):
        has = "is empty" if content is None else "has none"
        raise NeurozooError(f"{path} should have keys, such as experiments, but {has}. Copy one of config/.")
    _check_pathvars(path, content.get("pathvars", {}))


def _check_pathvars(path: str | os.PathLike, pathvars: object) -> None:
    # Snakemake needs them before the schema is read.
    if not isinstance(pathvars, dict) or not all(isinstance(part, str) for pair in pathvars.items() for part in pair):
        found = "empty" if pathvars is None else repr(pathvars)
        raise NeurozooError(
            f"{path}: pathvars should be names and folders, such as {{results: results/mine}}, but is {found}."
        )


def check_command_line(arguments: Sequence[str]) -> None:
    """Checks the configurations that Snakemake's command line names; a wrong one ends the process with a sentence.

    Snakemake reads them before the Snakefile. It takes all that follows `--configfile` for configurations.
    """
    files = list(config_files_of(arguments))
    with plain_errors():
        for path in files:
            if path is not files[0] and not Path(path).is_file():
                raise NeurozooError(
                    f"{path} is taken for a configuration, because it follows --configfile, but is missing. If it is a "
                    "target, write -- before it."
                )
            check_config_file(path)


def config_files_of(arguments: Sequence[str]) -> Iterable[str]:
    """Yields the values of `--configfile` on Snakemake's command line, as argparse reads them."""
    follows = False
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if argument.startswith("-") and argument != "-":
            follows = option in OPTIONS and not equals
            if option in OPTIONS and equals:
                yield value
        elif follows:
            yield argument
