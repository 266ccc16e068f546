import shutil

import pytest
import yaml
from neurozoo.errors import NeurozooError
from neurozoo.training import resume, resuming
from training_processes import PATIENCE, SETTINGS, reports


def test_what_cannot_be_continued_is_refused(runner, uninterrupted, tmp_path):
    engine = {"core": runner.core, "noise": runner.noise}
    with pytest.raises(
        NeurozooError, match=r"has spent 4,\d+ frames of 4,000, but 100 was given\. Give a budget above"
    ):
        resume(uninterrupted, **engine, budget=100)
    with pytest.raises(NeurozooError, match=r"config\.yaml is missing"):
        resume(tmp_path, **engine)
    (tmp_path / "genome.json").write_text("{}")
    with pytest.raises(NeurozooError, match=r"has an agent, but no state .* begin another .*load_population"):
        resume(tmp_path, **engine)
    facts = yaml.safe_load((uninterrupted / "config.yaml").read_text())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(facts))
    with pytest.raises(NeurozooError, match=r"has no state/state\.json to continue from"):
        resume(tmp_path, **engine)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({**facts, "algo": "imported"}))
    with pytest.raises(NeurozooError, match="was imported, so there is no training to continue"):
        resume(tmp_path, **engine)


def test_a_run_continues_without_the_outputs_that_snakemake_deleted(uninterrupted, tmp_path, monkeypatch):
    contexts = []
    monkeypatch.setattr(resuming, "train", lambda context, **choices: contexts.append(context))
    monkeypatch.setattr(resuming, "make_context", lambda **facts: facts)
    shutil.copytree(uninterrupted / "state", tmp_path / "state")
    (tmp_path / "genome.json").write_text("{}")  # Snakemake does not know it
    resume(tmp_path)
    resume(uninterrupted)
    assert contexts[0]["settings"] == contexts[1]["settings"]
    (tmp_path / "state" / "config.yaml").unlink()  # a kill came before it was written
    with pytest.raises(NeurozooError, match=r"has a state, but no config\.yaml: .* give the snakemake command"):
        resume(tmp_path)


def test_a_budget_that_was_too_large_can_be_lowered_to_what_is_not_spent(runner, tmp_path):
    process = runner.start(tmp_path, crash="after a report and before the state", settings={"frames": 10**12})
    process.join(timeout=PATIENCE)
    resume(tmp_path, core=runner.core, noise=runner.noise, budget=SETTINGS["frames"], keep_tags=())
    assert reports(tmp_path)[-1]["frames"] >= SETTINGS["frames"]
    assert not (tmp_path / "superseded").exists()
