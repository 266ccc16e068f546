import pytest
import yaml
from neurozoo.errors import NeurozooError
from neurozoo.training import resume
from training_processes import SETTINGS, assert_same_results, reports


def test_a_run_continues_with_its_own_settings_to_a_larger_budget(runner, undisturbed, tmp_path):
    runner.finish(tmp_path, settings={"frames": 1500})
    assert len(reports(tmp_path)) < len(reports(undisturbed))
    resume(tmp_path, ops=runner.ops, noise=runner.noise, frames=SETTINGS["frames"], keep_tags=())
    assert_same_results(tmp_path, undisturbed)
    assert not (tmp_path / "superseded").exists()


def test_what_cannot_be_continued_is_refused(runner, undisturbed, tmp_path):
    engine = {"ops": runner.ops, "noise": runner.noise}
    with pytest.raises(NeurozooError, match="has a budget of 4,000 frames, which can grow, but 100 came"):
        resume(undisturbed, **engine, frames=100)
    with pytest.raises(NeurozooError, match=r"config\.yaml is missing"):
        resume(tmp_path, **engine)
    facts = yaml.safe_load((undisturbed / "config.yaml").read_text())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(facts))
    with pytest.raises(NeurozooError, match=r"has no state/state\.json to continue from"):
        resume(tmp_path, **engine)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({**facts, "algo": "imported"}))
    with pytest.raises(NeurozooError, match="algorithm 'imported' is unknown"):
        resume(tmp_path, **engine)
