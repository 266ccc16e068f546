from pathlib import Path

from neurozoo.__main__ import main
from neurozoo.agents.bundled_agents import unpack_agent
from neurozoo.agents.frozen import open_frozen

INDEX = Path(__file__).parents[2] / "config" / "agents" / "index.yaml"


def test_a_shipped_agent_becomes_a_run_that_is_frozen_once_and_listed(core, noise_table, tmp_path, capsys):
    engine = ["--core", str(core), "--noise", str(noise_table)]
    main(["zoo", "unpack", "ga-cartpole", "--results", str(tmp_path), *engine])
    folder = tmp_path / "runs/ga/gym.CartPole-v1/simple/1"
    assert capsys.readouterr().out.strip() == str(folder)
    assert open_frozen(folder / "frozen").title == "ga/gym.CartPole-v1/simple/1"
    before = (folder / "frozen" / "model.json").stat().st_mtime_ns
    assert unpack_agent("ga-cartpole", core=core, noise=noise_table, index=INDEX, results=tmp_path) == folder
    assert (folder / "frozen" / "model.json").stat().st_mtime_ns == before
    main(["zoo", "list", "--results", str(tmp_path)])
    assert "gym.CartPole-v1" in capsys.readouterr().out
