from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from neurozoo.__main__ import main
from neurozoo.agents.bundled_agents import CHECKPOINT, check_file, read_index, unpack_agent
from neurozoo.agents.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from neurozoo.agents.playable_agent import read_agent
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of

SHIPPED = Path(__file__).parents[3] / "config" / "agents" / "index.yaml"
AGENTS = read_index(SHIPPED)


@pytest.mark.parametrize("name", AGENTS)
def test_a_shipped_agent_is_the_file_that_was_measured_and_holds_what_the_index_says(name):
    agent = AGENTS[name]
    path = SHIPPED.parent / agent.file
    check_file(path, agent.sha256)
    assert path.stat().st_size <= 20_000_000
    assert agent.score.low is None or agent.score.low <= agent.score.mean <= agent.score.high
    assert agent.score.low is not None or agent.score.note  # why there is none
    if path.suffix == CHECKPOINT:
        found = read_checkpoint(path)
        assert f"{found.algo}/{found.game}/{found.model}/{found.run}" == agent.title
    else:
        found = read_agent(path)
        assert (found.game, found.model) == (agent.game, agent.model)


def test_every_file_beside_the_index_is_in_it():
    files = {path.name for path in SHIPPED.parent.iterdir()} - {"index.yaml"}
    assert files == {agent.file for agent in AGENTS.values() if "/" not in agent.file}


@pytest.fixture
def shop(tmp_path):
    """Writes an index with one agent of the hard maze, changed as a test wants; returns its path."""
    game, model = "hard_maze", "simple"
    protocol = protocol_of(game, None)
    layout = layout_of(game, model, protocol)
    theta = np.linspace(-1, 1, layout.parameter_count, dtype=np.float32)
    checkpoint = Checkpoint(theta, "ga", game, model, 3, protocol, layout.num_actions)
    facts = {"algo": "ga", "game": game, "model": model, "run": 3, "frames": 1000, "test_score": -5.0, "genome": None}
    write_checkpoint(tmp_path / "maze.npz", checkpoint, facts=facts)
    entry = {
        "file": "maze.npz", "sha256": sha256_of(tmp_path / "maze.npz"), "licence": "MIT",
        "algo": "ga", "game": game, "model": model, "run": 3, "command": "train it",
        "score": {"mean": -5.25, "low": -6, "high": -4.5, "count": 30}, "evaluation": "evaluate it",
    }  # fmt: skip

    def write(others=None, **changes):
        (tmp_path / "index.yaml").write_text(yaml.safe_dump({"agents": {"maze": entry | changes, **(others or {})}}))
        return tmp_path / "index.yaml"

    write.entry = entry
    return write


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sha256": "12"}, "agents.maze.sha256 should look like the output of sha256sum, but is '12'."),
        ({"licence": ""}, "agents.maze.licence should be text, but is empty."),
        ({"licens": "MIT"}, "agents.maze: key 'licens' is unknown; did you mean 'licence'?"),
        ({"score": {"mean": 3}}, "agents.maze.score: the key 'count' is missing. Number of episodes, or of runs."),
        (
            {"file": "maze.pb"},
            "the file of maze should be a checkpoint (.npz) of a run, or a genome with the algo imported",
        ),
        ({"algo": "imported"}, "the file of maze should be a checkpoint"),
        ({"algo": "../escaped"}, "maze.algo should look like ga or another name of an algorithm, but is '../"),
        ({"algo": "/tmp/escaped"}, "maze.algo should look like ga or another name of an algorithm, but is '/tmp/escap"),
        ({"run": 0}, "agents.maze.run should be at least 1, but is 0."),
    ],
)
def test_a_wrong_entry_is_refused_with_a_sentence(shop, changes, sentence):
    with pytest.raises(NeurozooError) as error:
        read_index(shop(**changes))
    assert sentence in str(error.value)


def test_two_agents_of_one_name_and_a_missing_index_are_refused(shop, tmp_path):
    with pytest.raises(NeurozooError, match="maze and twin are both ga/hard_maze/simple/3"):
        read_index(shop({"twin": shop.entry}))
    with pytest.raises(NeurozooError, match="name an index: --index FILE"):
        read_index(tmp_path / "nowhere.yaml")


def unpack(index, **choices):
    given = {"name": "maze", "core": "no", "noise": "no", "results": index.parent, **choices}
    return unpack_agent(**given, index=index)


def test_a_file_that_is_not_the_one_of_the_index_is_not_unpacked(shop):
    with pytest.raises(NeurozooError, match=r"should hold ga/hard_maze/simple/4, but holds ga/hard_maze/simple/3"):
        unpack(shop(run=4))
    index = shop()
    path = index.parent / "maze.npz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(NeurozooError, match=r"maze.npz should have the SHA-256 .*, but has .* git checkout -- "):
        unpack(index)
    path.unlink()
    with pytest.raises(NeurozooError, match=r"maze.npz is missing\. Get it again"):
        unpack(index)
    with pytest.raises(NeurozooError, match=r"trained agent 'mase' is unknown; did you mean 'maze'\?"):
        unpack(index, name="mase")
    assert not (index.parent / "runs").exists()


def test_an_agent_is_not_unpacked_outside_of_the_results(shop):
    with pytest.raises(NeurozooError, match=r"maze is ga/\.\./\.\./\.\./escaped/simple/3, which is no folder in"):
        unpack(shop(game="../../../escaped"))
    index = shop()
    evil = replace(read_checkpoint(index.parent / "maze.npz"), algo="../../../escaped")
    write_checkpoint(index.parent / "maze.npz", evil)
    with pytest.raises(NeurozooError, match=r"'\.\./\.\./\.\./escaped' should be a name"):
        unpack(shop(sha256=sha256_of(index.parent / "maze.npz")))
    assert {path.name for path in index.parent.iterdir()} == {"index.yaml", "maze.npz"}


def test_another_agent_in_the_folder_is_named_with_what_to_do(shop):
    index = shop()
    earlier = read_checkpoint(index.parent / "maze.npz")
    folder = index.parent / "runs" / "ga" / "hard_maze" / "simple" / "3"
    folder.mkdir(parents=True)
    write_checkpoint(folder / "checkpoint.npz", replace(earlier, theta=earlier.theta + 1))
    with pytest.raises(NeurozooError, match=r"another agent than the index\. Move the folder away"):
        unpack(index)


def test_the_command_lists_agents_with_score_interval_size_hash_licence_and_command(shop, capsys):
    index = shop()
    main(["zoo", "--index", str(index)])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "hard_maze" in line)
    size, digest = f"{(index.parent / 'maze.npz').stat().st_size:,}", shop.entry["sha256"]
    assert line.split() == [
        "maze",
        "ga/hard_maze/simple/3",
        "-5.25",
        "[-6,",
        "-4.5]",
        "30",
        "1",
        size,
        "MIT",
        digest[:16],
    ]
    main(["zoo", "--index", str(index), "show", "maze"])  # an option before the action counts
    said = capsys.readouterr().out
    assert digest in said
    assert "train it" in said
    assert "-5.25 [-6, -4.5] in 30 episodes" in said
