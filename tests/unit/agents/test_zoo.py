"""The list of agents, and their export."""

import json
import shutil

import pytest
from neurozoo.agents.export import export_zoo
from neurozoo.agents.zoo_listing import as_table, as_text, facts_of, find_agents, named_agent, select_agents
from neurozoo.agents.zoo_names import game_of, gym_id
from neurozoo.errors import NeurozooError

RECORDS = [
    {"format": 1, "Iteration": 1, "frames": 100, "score": 1.5, "test_score": 1.0, "TimeElapsedTotal": 7.0},
    {"Iteration": 2, "frames": 200, "score": 2.5, "test_score": 2.0, "TimeElapsedTotal": 9.0},
]


@pytest.fixture
def results(frozen_folder, tmp_path):
    """Two runs of one agent, one of them with a tag, a log and a rollout."""
    run = tmp_path / "results" / "runs" / "ga" / "ms_pacman" / "small" / "2"
    for place in (run, run / "tags" / "400M", run.with_name("1")):
        shutil.copytree(frozen_folder("small"), place / "frozen")
    (run / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (run / "rollout.npz").write_bytes(b"a rollout")
    return tmp_path / "results"


def test_the_list_says_scores_and_names_what_is_damaged(results):
    (results / "runs/ga/ms_pacman/small/1/frozen/model.json").write_text("{")
    first, second, third = find_agents(results)
    facts = facts_of(second)
    assert (facts["score"], facts["protocol"], facts["made"]) == (7.0, "uber2018", ["rollout.npz"])
    assert "is damaged" in facts_of(first)["problem"]
    head, *rows, problem = as_table([first, second, third]).splitlines()
    assert head.split()[:8] == ["algo", "game", "network", "run", "tag", "frames", "score", "episodes"]
    assert rows[0].split() == ["ga", "ms_pacman", "small", "1", "final", "damaged"]
    assert rows[1].split() == ["ga", "ms_pacman", "small", "2", "final", "7", "uber2018", "rollout"]
    assert rows[2].split() == ["ga", "ms_pacman", "small", "2", "400M", "7", "uber2018"]
    assert problem.startswith("ga/ms_pacman/small/1: ")
    assert as_table([]) == "No frozen agent matches."


def test_an_agent_is_found_by_its_name_or_its_folder(results):
    tagged = named_agent(results, "ga/ms_pacman/small/2/400M")
    assert tagged.tag == "400M"
    assert named_agent(results, str(tagged.place)) == tagged
    assert named_agent(results, "ga/ms_pacman/small/2/final") == named_agent(results, "ga/ms_pacman/small/2")
    with pytest.raises(NeurozooError, match=r"small/9 is not a frozen agent in .*\. Frozen agents: ga/ms_pacman"):
        named_agent(results, "ga/ms_pacman/small/9")


def test_an_agent_says_how_to_feed_it_and_which_tags_its_run_has(results):
    text = as_text(named_agent(results, "ga/ms_pacman/small/2"))
    for words in ("float32 [None, 84, 84, 4], from 0 to 1", "model.pb: X_t", "conv1, conv, 21 x 21 x 16"):
        assert words in text
    assert "tags        initial (generation 1)" in text


def test_an_imported_agent_has_the_score_of_its_evaluation(results):
    model = named_agent(results, "ga/ms_pacman/small/1")
    record = json.loads((model.frozen / "model.json").read_text())
    (model.frozen / "model.json").write_text(json.dumps({**record, "scores": {}}))
    assert facts_of(model)["score"] is None
    (model.place / "evaluation.json").write_text(json.dumps({"summary": {"mean": 12.5}, "episodes": [{}, {}]}))
    assert (facts_of(model)["score"], facts_of(model)["episodes"]) == (12.5, 2)
    assert "score       12.5, the mean of 2 test episodes under uber2018" in as_text(model)
    (model.place / "evaluation.json").write_text("{}")
    assert "is not an evaluation" in facts_of(model)["problem"]


def test_agents_are_selected_by_their_names(results):
    assert [m.title for m in select_agents(results, run=2, tag="final")] == ["ga/ms_pacman/small/2"]
    assert len(select_agents(results, algo="ga", game="ms_pacman", model="small")) == 3
    assert select_agents(results, run=1, tag="400M") == []
    with pytest.raises(NeurozooError, match=r"results has no frozen agent with game 'ms_pacma'; did you mean 'ms_pac"):
        select_agents(results, game="ms_pacma")


def test_the_export_has_the_atari_zoos_folders_and_names(results, tmp_path):
    import tensorflow as tf

    root = tmp_path / "rlzoo"
    files = export_zoo(select_agents(results, run=2), root)
    game = "ga/MsPacmanNoFrameskip-v4"
    names = {"model2_final.pb", "model2_final_rollout.npz", "model2_400M.pb"}
    logs = ("ga/checkpoints/MsPacmanNoFrameskip-v4_2", "ga/checkpoints/MsPacmanNoFrameskip-v4_2_log")
    assert {str(f.relative_to(root)) for f in files} == {f"{game}/{n}" for n in names} | {f"{log}.json" for log in logs}
    assert all(file.exists() for file in files)
    index = json.loads((root / f"{logs[0]}.json").read_text())
    assert {entry["criteria"]: entry["best_checkpoint"] for entry in index} == {
        "final": "model2_final.pb",
        "400M": "model2_400M.pb",
    }
    log = json.loads((root / f"{logs[1]}.json").read_text())
    assert log[1] == {"time": 9.0, "frames": 200, "score": 2.5, "iteration": 2}

    definition = tf.compat.v1.GraphDef()  # as the zoo loads it
    definition.ParseFromString((root / game / "model2_final.pb").read_bytes())
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        observation = tf.compat.v1.placeholder(tf.float32, (1, 84, 84, 4))
        tf.import_graph_def(definition, {"X_t": observation}, name="import")
        zeros = {observation: [[[[0.0] * 4] * 84] * 84]}
        activation, outputs = session.run(["import/ga/conv1/relu:0", "import/ga/out/signal:0"], zeros)
        kernel = session.run("import/ga/conv1/w:0")
    assert (activation.shape, outputs.shape, kernel.shape) == ((1, 21, 21, 16), (1, 4), (1, 8, 8, 4, 16))


def test_two_agents_of_one_name_are_not_mixed_up(results, tmp_path):
    shutil.copytree(results / "runs/ga/ms_pacman/small", results / "runs/ga/ms_pacman/large")
    with pytest.raises(NeurozooError, match=r"ga/ms_pacman/large/1 and ga/ms_pacman/small/1 would both be .*--model"):
        export_zoo(find_agents(results), tmp_path / "rlzoo")
    with pytest.raises(NeurozooError, match=r"large/2/400M and ga/ms_pacman/small/2 would both be model2 of ms_pacman"):
        export_zoo(
            [m for m in find_agents(results) if (m.model, m.tag) in (("large", "400M"), ("small", "final"))], "x"
        )
    assert not (tmp_path / "rlzoo").exists()
    with pytest.raises(NeurozooError, match="no frozen agent to export"):
        export_zoo([], tmp_path / "rlzoo")


def test_an_agent_that_was_frozen_without_its_graph_says_how_to_make_it(results, tmp_path):
    (results / "runs/ga/ms_pacman/small/2/tags/400M/frozen/model.pb").unlink()
    with pytest.raises(NeurozooError, match=r"small/2/400M was frozen without .* --tag 400M --forms graph"):
        export_zoo(select_agents(results, run=2), tmp_path / "rlzoo")
    assert not (tmp_path / "rlzoo").exists()


def test_another_networks_agent_in_the_root_is_not_overwritten(results, tmp_path):
    root, runs = tmp_path / "rlzoo", results / "runs/ga/ms_pacman"
    shutil.copytree(runs / "small", runs / "large")
    export_zoo(select_agents(results, model="small"), root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(NeurozooError, match=r"'large', but lists final of 'small'.* of its own\. Give another ROOT"):
        export_zoo(select_agents(results, model="large"), root)
    index = root / "ga/checkpoints/MsPacmanNoFrameskip-v4_1.json"
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    index.write_text('[{"criteria": "final"}]')  # the Atari Zoo's own
    with pytest.raises(NeurozooError, match="of 'a network that it does not name'"):
        export_zoo(select_agents(results, model="small"), root)
    for damaged in ("[", '{"a": 1}', "7"):
        index.write_text(damaged)
        with pytest.raises(NeurozooError, match=r"_1\.json is not an index of tags .* Delete it"):
            export_zoo(select_agents(results, model="small"), root)


def test_tags_are_exported_one_after_the_other(results, tmp_path):
    for tag in ("400M", "final", "400M"):
        export_zoo(select_agents(results, run=2, tag=tag), tmp_path / "rlzoo")
    index = json.loads((tmp_path / "rlzoo/ga/checkpoints/MsPacmanNoFrameskip-v4_2.json").read_text())
    assert [(entry["criteria"], entry["network"]) for entry in index] == [("final", "small"), ("400M", "small")]


def test_games_have_the_names_of_gym(published_games):
    assert gym_id("ms_pacman") == "MsPacmanNoFrameskip-v4"
    assert gym_id("up_n_down") == "UpNDownNoFrameskip-v4"
    assert gym_id("river_crossing") == "RiverCrossing"
    assert gym_id("gym.CartPole-v1") == "CartPole-v1"
    for game in published_games:
        assert game_of(gym_id(game)) == game_of(game) == game
    with pytest.raises(NeurozooError, match="'Sequest' is not the name of a game"):
        game_of("Sequest")


def test_gym_knows_these_names(published_games):
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    assert [game for game in published_games if gym_id(game) not in gymnasium.registry] == []


def make(results, *places):
    for place in places:
        (results / "runs" / place / "frozen").mkdir(parents=True)
        (results / "runs" / place / "frozen" / "model.json").write_text("{}")


def test_models_are_found_by_run_and_tag_and_sorted_with_the_result_first(tmp_path):
    make(
        tmp_path,
        "ga/frostbite/large/10",
        "ga/frostbite/large/2",
        "ga/frostbite/large/2/tags/400M",
        "imported/pong/small/1",
        "es/frostbite/virtual_bn/1/tags/human",
    )
    models = find_agents(tmp_path)
    assert [model.title for model in models] == [
        "es/frostbite/virtual_bn/1/human",
        "ga/frostbite/large/2",
        "ga/frostbite/large/2/400M",
        "ga/frostbite/large/10",
        "imported/pong/small/1",
    ]
    assert models[2].folder == tmp_path / "runs/ga/frostbite/large/2"
    assert models[2].frozen == tmp_path / "runs/ga/frostbite/large/2/tags/400M/frozen"


def test_folders_that_are_not_runs_or_not_frozen_are_skipped(tmp_path):
    make(
        tmp_path,
        "ga/frostbite/large/notes",
        "ga/frostbite/large/01",
        "ga/frostbite/large/²",
        "ga/frostbite/large/1/generations/3",
    )
    (tmp_path / "runs/ga/frostbite/large/5").mkdir()
    assert find_agents(tmp_path) == []
    assert find_agents(tmp_path / "nowhere") == []
