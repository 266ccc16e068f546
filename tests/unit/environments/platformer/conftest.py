import pytest


@pytest.fixture(autouse=True)
def library(ops, monkeypatch):
    """The working directory has the op where the workflow builds it."""
    monkeypatch.chdir(ops.parents[2])
