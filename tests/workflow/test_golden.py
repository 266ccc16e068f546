"""Whole runs have the same results as when `tests/data/golden.json` was made, so refactoring changes no result.

`make golden` makes the hashes anew, after a change that is meant to change results.
"""

import json

import golden
import pytest

EXPECTED = json.loads(golden.HASHES.read_text(encoding="utf-8"))
IS_SAME_PROCESSOR = golden.processor() == EXPECTED["processor"]


@pytest.mark.parametrize("run", golden.RUNS)
def test_a_run_still_has_the_same_weights_genome_and_log(run, core, noise_table, tmp_path):
    if run.startswith("impala") and not IS_SAME_PROCESSOR:
        pytest.skip(f"oneDNN sums in another order here than on {EXPECTED['processor']}")
    golden.train(run, tmp_path)
    assert golden.hashes(tmp_path) == EXPECTED["runs"][run]
