import pytest


@pytest.fixture(autouse=True)
def library(core, monkeypatch):
    """The working directory has the core where the workflow builds it."""
    monkeypatch.chdir(core.parents[2])
