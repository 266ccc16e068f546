import json

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.records.run_config import read_identity

IDENTITY = {"algo": "ga", "game": "pong", "model": "large", "run": 1, "protocol": "uber2018"}


def test_the_identity_comes_from_the_runs_config(tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps({"format": 1, "seed": 0, **IDENTITY, "frames": 400_000}))
    assert read_identity(tmp_path / "config.yaml") == IDENTITY


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing"),
        ("{[", "is damaged"),
        ("{format: 1, algo: ga}", "lacks game, model, run, protocol"),
        (json.dumps(IDENTITY), "has format 0"),
    ],
)
def test_a_run_config_that_cannot_be_used_says_why(tmp_path, content, message):
    if content is not None:
        (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(NeurozooError, match=message):
        read_identity(tmp_path / "config.yaml")
