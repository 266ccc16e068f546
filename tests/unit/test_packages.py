"""The lists of packages: what is declared is what is imported, and what is locked."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from neurozoo.algorithms.quality_diversity.correction import correct_archive
from neurozoo.errors import NeurozooError, needing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[2]
ENVS = PROJECT / "envs"
DYNAMIC = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["setuptools"]["dynamic"]
EXTRAS = DYNAMIC["optional-dependencies"]
# Packages whose modules have other names.
MODULES = {
    "dask-jobqueue": "dask_jobqueue", "imageio-ffmpeg": "imageio_ffmpeg", "nvidia-ml-py": "pynvml", "pillow": "PIL",
    "protobuf": "google", "pygame-ce": "pygame", "pyyaml": "yaml", "scikit-learn": "sklearn", "umap-learn": "umap",
}  # fmt: skip


def packages(files):
    """Returns the names of packages in lists, without versions, extras and conditions, in small letters."""
    lines = [line for file in files for line in (PROJECT / file).read_text().splitlines()]
    return {re.match(r"[\w-]+", line)[0].lower() for line in lines if re.match(r"\w", line)}


def imported():
    """Returns the names of all modules that the library imports, wherever they stand."""
    found = set()
    for path in (PROJECT / "workflow/lib/neurozoo").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found


def test_what_the_library_imports_is_declared():
    declared = packages(DYNAMIC["dependencies"]["file"])
    for extra in ("cloud", "cluster", "compare", "export", "levels", "play", "gpu"):
        declared |= packages(EXTRAS[extra]["file"])
    modules = {MODULES.get(name, name.replace("-", "_")).lower() for name in declared}
    # pydantic_core comes with pydantic, botocore with boto3. The loops in PyTorch are run by an interpreter that has it
    # and EnvPool (bench-learner, bench).
    loops = {path.stem for path in (PROJECT / "workflow/lib/neurozoo/benchmark").glob("torch_*.py")}
    here = {*sys.stdlib_module_names, *loops, "botocore", "envpool", "neurozoo", "pydantic_core", "torch"}
    assert {name.lower() for name in imported()} - {name.lower() for name in here} - modules == set()


def test_the_default_is_the_library_with_the_workflow_and_nothing_of_the_extras():
    default = packages(["envs/requirements-library.in", "envs/requirements-workflow.in"])
    locked = packages(["envs/requirements-cpu.txt"])
    assert default | {"tensorflow-cpu"} <= locked
    for extra in ("cloud", "cluster", "compare", "export", "levels"):
        assert packages(EXTRAS[extra]["file"]) - {"importlib-metadata"} & locked == set()
        assert packages(EXTRAS[extra]["file"]) <= packages([f"envs/requirements-{extra}.txt"])


@pytest.mark.parametrize("name", ["cpu", "cloud", "cluster", "compare", "export", "levels", "play", "gpu"])
def test_all_locks_have_the_versions_of_that_for_tests(name):
    def versions(file):
        return dict(re.findall(r"^([\w.-]+)==(\S+)", (ENVS / file).read_text(), re.MULTILINE))

    ours, tested = versions(f"requirements-{name}.txt"), versions("requirements-dev.txt")
    assert {package: version for package, version in ours.items() if tested.get(package, version) != version} == {}


def test_locked_packages_have_what_they_require():
    """`make setup` installs a list as it is, with --no-deps."""
    locked = {canonicalize_name(name) for name in packages(["envs/requirements-dev.txt"])}
    locked |= {canonicalize_name(name) for name in packages(["envs/overrides.in"])}
    found = [each for each in metadata.distributions() if canonicalize_name(each.name) in locked]
    assert len(found) > 200
    required = [Requirement(text) for each in found for text in each.requires or ()]
    needed = {canonicalize_name(each.name) for each in required if not each.marker or each.marker.evaluate()}
    assert needed - locked == set()


def test_snakemake_is_below_the_next_version_of_its_interfaces():
    assert "snakemake>=9.27,<10\n" in (ENVS / "requirements-workflow.in").read_text()


def test_a_missing_package_is_a_sentence_with_the_command_that_installs_it():
    with pytest.raises(NeurozooError) as caught, needing("compare", "The method umap"):
        import package_that_nobody_has  # noqa: F401
    assert str(caught.value) == (
        "The method umap needs the package package_that_nobody_has, which is not installed. Run: make setup "
        "EXTRAS=compare (without the project's folder: pip install 'neurozoo[compare]')"
    )


def test_correcting_an_archive_without_pyribs_names_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ribs", None)
    monkeypatch.delitem(sys.modules, "ribs.archives", raising=False)
    monkeypatch.delitem(sys.modules, "neurozoo.algorithms.quality_diversity.archives", raising=False)
    with pytest.raises(NeurozooError, match=r"A corrected archive needs the package ribs.*make setup EXTRAS=levels \("):
        correct_archive(tmp_path, tmp_path / "corrected.json")


def test_a_missing_module_of_ours_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError), needing("compare", "It"):
        import neurozoo.nothing  # noqa: F401
