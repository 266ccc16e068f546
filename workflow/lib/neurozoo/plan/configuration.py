"""Checks a configuration and fills in defaults; explains every mistake in one sentence.

This module takes dictionaries; the workflow reads the files. TensorFlow is not imported, so that a dry run stays quick.
"""

from collections.abc import Mapping
from itertools import islice

from neurozoo.environments.gymnasium_games import trust_module_of
from neurozoo.errors import NeurozooError
from neurozoo.files.yaml import check_growth
from neurozoo.plan.config_problems import config_problems
from neurozoo.plan.structure import SHOWN_PROBLEMS, check_structure


def check_config(config: Mapping, *, source: str = "The configuration") -> dict:
    """Finds every mistake before any work starts, and fills in defaults.

    Returns:
        A copy with all defaults. Whole numbers that were written as floats (6.0e+9) are integers, except under
        `overrides` and `sweep`, which `run_settings` reads.

    Raises:
        NeurozooError: Lists the first `SHOWN_PROBLEMS` problems of the `source`, one per line: the place, such as
            `experiments.demo.games[1]`, the value, what is allowed and the most similar name. Names of games, networks
            and settings are checked only if the structure is right. Or its aliases stand for too much.
    """
    try:
        check_growth(config)
    except NeurozooError as error:
        raise NeurozooError(f"{source} cannot be used: {error}.") from error
    checked, problems = check_structure(config)
    if not problems:
        _trust_environments(checked)
    problems = problems or list(islice(config_problems(checked), SHOWN_PROBLEMS + 1))
    if problems:
        count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
        shown = [f"  {line}" for line in problems[:SHOWN_PROBLEMS]]
        if len(problems) > SHOWN_PROBLEMS:
            count = f"more than {SHOWN_PROBLEMS} problems"
            shown.append("  ...")
        raise NeurozooError("\n".join([f"{source} has {count}:", *shown]))
    return checked


def _trust_environments(config: Mapping) -> None:
    """Lets Gymnasium import the modules of environments that the configuration names."""
    for experiment in config["experiments"].values():
        for game in experiment["games"]:
            trust_module_of(game)
    for entry in config.get("imports", {}).values():
        trust_module_of(entry["game"])
