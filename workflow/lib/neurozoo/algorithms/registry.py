"""All algorithms by name. Every package beside this module is found by itself; its module `spec` must have `SPECS`."""

import importlib
import pkgutil
from types import ModuleType

import neurozoo.algorithms
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.errors import NeurozooError, unknown_name


class Registry(dict[str, AlgorithmSpec]):
    """The algorithms by name, in the order of their registration."""

    def register(self, spec: AlgorithmSpec) -> None:
        """Adds an algorithm, or raises `NeurozooError` if its name is taken or it has no preset `demo`."""
        if self.setdefault(spec.name, spec) is not spec:
            raise NeurozooError(f"Two algorithms are called {spec.name!r}. Rename one of them.")
        if "demo" not in spec.presets:
            raise NeurozooError(f"The algorithm {spec.name!r} needs a preset 'demo', which runs in a minute or two.")


def specs_of(module: ModuleType) -> tuple[AlgorithmSpec, ...]:
    """Returns the algorithms that a module `spec` defines, or raises `NeurozooError` if it has no tuple `SPECS`."""
    specs = getattr(module, "SPECS", None)
    if not isinstance(specs, tuple):
        raise NeurozooError(
            f"{module.__file__} should have SPECS, a tuple of one AlgorithmSpec or more, but has not. Add it: "
            "SPECS = (AlgorithmSpec(...),)"
        )
    return specs


ALGORITHMS = Registry()

for _package in pkgutil.iter_modules(neurozoo.algorithms.__path__):
    if _package.ispkg:
        for _spec in specs_of(importlib.import_module(f"neurozoo.algorithms.{_package.name}.spec")):
            ALGORITHMS.register(_spec)


def get_algorithm(name: str) -> AlgorithmSpec:
    """Finds an algorithm.

    Raises:
        NeurozooError: It is unknown; the message suggests the most similar name, or who has a preset of this name.
    """
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise unknown_algorithm(str(name))
    return ALGORITHMS[name]


def unknown_algorithm(name: str) -> NeurozooError:
    """Makes the error for an unknown algorithm, see `get_algorithm`."""
    preset = name.lower()
    if owner := _owner_of(preset):
        return NeurozooError(
            f"algorithm {name!r} is unknown, but {owner} has a preset of this name: choose algorithm {owner} and "
            f"preset {preset}. Known: {', '.join(sorted(ALGORITHMS))}."
        )
    return unknown_name("algorithm", name, ALGORITHMS)


def unknown_preset(name: str, algo: str) -> NeurozooError:
    """Makes the error for an unknown preset of a known algorithm."""
    error = unknown_name("preset", name, ALGORITHMS[algo].presets, owner=algo)
    owner = _owner_of(name)
    return NeurozooError(f"{error} It is a preset of {owner}.") if owner else error


def unknown_setting(name: str, algo: str) -> NeurozooError:
    """Makes the error for an unknown setting of a known algorithm."""
    error = unknown_name("setting", name, ALGORITHMS[algo].settings.schema()["properties"], owner=algo)
    return NeurozooError(f"{error} What they mean: python -m neurozoo settings {algo}")


def _owner_of(preset: str) -> str | None:
    """Returns an algorithm that has a preset."""
    return next((algo for algo, spec in ALGORITHMS.items() if preset in spec.presets), None)
