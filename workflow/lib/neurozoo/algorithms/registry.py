"""All algorithms by name. Every package beside this module is found by itself; its module `spec` must have `SPECS`."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType

import neurozoo.algorithms
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.errors import NeurozooError, unknown_name


class Registry(Mapping[str, AlgorithmSpec]):
    """The algorithms by name, in the order of their registration."""

    def __init__(self) -> None:
        self._specs: dict[str, AlgorithmSpec] = {}

    def register(self, spec: AlgorithmSpec) -> None:
        """Adds an algorithm.

        Raises:
            NeurozooError: Another algorithm has this name, or there is no preset `demo`.
        """
        if self._specs.setdefault(spec.name, spec) is not spec:
            raise NeurozooError(f"Two algorithms are called {spec.name!r}. Rename one of them.")
        if "demo" not in spec.presets:
            raise NeurozooError(f"The algorithm {spec.name!r} needs a preset 'demo', which runs in a minute or two.")

    def unregister(self, name: str) -> None:
        """Removes an algorithm, for tests that have added one."""
        del self._specs[name]

    def __getitem__(self, name: str) -> AlgorithmSpec:
        return self._specs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def specs_of(module: ModuleType) -> tuple[AlgorithmSpec, ...]:
    """Returns the algorithms that a module `spec` defines.

    Raises:
        NeurozooError: It has no tuple `SPECS`.
    """
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
        NeurozooError: The algorithm is unknown; the message suggests the most similar name, or an algorithm that has a
            preset of this name, such as `ppo`.
    """
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise unknown_algorithm(str(name))
    return ALGORITHMS[name]


def unknown_algorithm(name: str) -> NeurozooError:
    """Makes the error for an unknown algorithm, see `get_algorithm`."""
    if owner := next((algo for algo, spec in ALGORITHMS.items() if name in spec.presets), None):
        return NeurozooError(
            f"algorithm {name!r} is unknown, but {owner} has a preset of this name: choose algorithm {owner} and "
            f"preset {name}. Known: {', '.join(sorted(ALGORITHMS))}."
        )
    return unknown_name("algorithm", name, ALGORITHMS)
