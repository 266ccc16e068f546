"""Tests of frozen agents with random actions, under one protocol or several."""

import json

import pytest
from neurozoo.agents.scoring import ScoredEpisode
from neurozoo.errors import NeurozooError
from neurozoo.rollouts import epsilon_greedy
from neurozoo.rollouts.epsilon_greedy import as_table, play_epsilon_greedily


@pytest.fixture
def short(own_copy_under):
    """A frozen agent for breakout under uber2018 whose episodes have at most 40 steps."""
    return own_copy_under(max_frames=160)


def episodes_of(record):
    return [test["episodes"] for test in record["tests"]]


def test_episodes_are_whole_and_repeat_with_their_seed(short, tmp_path):
    record = play_epsilon_greedily(short, tmp_path / "test.json", episodes=3, seed=4)
    assert json.loads((tmp_path / "test.json").read_text()) == record
    assert (record["algo"], record["game"], record["model"], record["run"]) == ("ga", "breakout", "small", 1)
    assert (record["epsilon"], record["seed"]) == (0.05, 4)
    ((test,),) = (record["tests"],)
    assert [episode["steps"] for episode in test["episodes"]] == [40, 40, 40]
    assert all(1 <= episode["noops"] <= 30 for episode in test["episodes"])
    assert episodes_of(play_epsilon_greedily(short, episodes=3, seed=4)) == episodes_of(record)
    assert episodes_of(play_epsilon_greedily(short, episodes=3, seed=5)) != episodes_of(record)


@pytest.mark.long(seconds=15)
def test_without_random_actions_the_scores_are_those_of_the_rollout(short, tmp_path):
    from neurozoo.rollouts.rollout import record_rollout

    rollout = record_rollout(short, tmp_path / "rollout.npz", episodes=3, seed=4, streamlined=True)
    record = play_epsilon_greedily(short, epsilon=0.0, episodes=3, seed=4)
    assert [episode["score"] for episode in episodes_of(record)[0]] == list(rollout.scores)
    greedy, random = (play_epsilon_greedily(short, epsilon=chance, episodes=20) for chance in (0.0, 1.0))
    assert [e["score"] for e in episodes_of(greedy)[0]] != [e["score"] for e in episodes_of(random)[0]]


def test_action_rules_are_tested_side_by_side(short):
    record = play_epsilon_greedily(short, action_rules=["sampled", "greedy"], epsilon=0.0, episodes=2, seed=4)
    assert [test["action_rule"] for test in record["tests"]] == ["sampled", "greedy"]
    own = play_epsilon_greedily(short, epsilon=0.0, episodes=2, seed=4)
    assert [test["action_rule"] for test in own["tests"]] == ["greedy"]
    assert episodes_of(record)[1] == episodes_of(own)[0]
    lines = as_table(record).splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["actions", "sampled", "greedy"]


def test_continuous_actions_are_neither_drawn_nor_compared(short, monkeypatch):
    monkeypatch.setattr("neurozoo.agents.frozen.FrozenModel.is_continuous", True)
    with pytest.raises(NeurozooError, match="The action rule of ga/breakout/small/1 should be continuous, but is 'sam"):
        play_epsilon_greedily(short, action_rules=["sampled"])


def test_under_another_protocol_the_agent_keeps_its_observations_and_actions(short):
    record = play_epsilon_greedily(short, protocols=["uber2018", "machado2018"], steps=41)
    own, sticky = (test["protocol"] for test in record["tests"])
    assert (own["sticky_probability"], own["max_noops"], own["max_frames"]) == (0.0, 30, 160)
    assert (sticky["name"], sticky["sticky_probability"], sticky["max_noops"]) == ("machado2018", 0.25, 0)
    assert (sticky["max_frames"], sticky["action_set"], sticky["preprocessing"]) == (
        108_000,
        "minimal",
        "published_bilinear",
    )
    first, second = episodes_of(record)
    assert [episode["steps"] for episode in first] == [40, 40]  # 40 are too few, and the second is played to its end
    assert {episode["noops"] for episode in second} == {0}
    assert sum(e["steps"] for e in second) >= 41 > sum(e["steps"] for e in second[:-1])
    table = as_table(record).splitlines()
    assert table[0].split()[:6] == ["protocol", "actions", "sticky", "epsilon", "episodes", "mean"]
    assert table[1].split()[:5] == ["uber2018", "greedy", "0", "0.05", "2"]
    assert table[2].split()[:5] == ["machado2018", "greedy", "0.25", "0.05", str(len(second))]
    assert float(table[1].split()[5]) == pytest.approx(record["tests"][0]["summary"]["mean"], rel=1e-3)


def test_the_sticky_probability_can_be_chosen(short):
    (test,) = play_epsilon_greedily(short, sticky_probability=0.9, episodes=1)["tests"]
    assert test["protocol"]["sticky_probability"] == 0.9


@pytest.mark.long(seconds=10)
def test_a_test_under_simple_dqn_has_its_random_starts(short):
    record = play_epsilon_greedily(short, protocols=["simple_dqn"], episodes=10, steps=None, epsilon=1.0)
    noops = {episode["noops"] for episode in episodes_of(record)[0]}
    assert noops <= set(range(20, 125, 4))
    assert len(noops) > 3


def test_the_same_game_over_and_over_is_recognised(short, own_copy_under):
    own_copy_under(max_noops=0)
    greedy, random = (play_epsilon_greedily(short, epsilon=chance, episodes=4) for chance in (0.0, 0.5))
    assert greedy["tests"][0]["summary"]["standard_error"] is None
    *_, row, note = as_table(greedy).splitlines()
    assert row.split()[6] == "undefined"
    assert note.startswith("uber2018, greedy: All 4 episodes are the same game")
    assert "note" not in random["tests"][0]["summary"]


def test_the_same_game_may_be_chance_where_actions_are_drawn(short, monkeypatch):
    one = ScoredEpisode(0, 0, -21.0, 3056, 12224)
    monkeypatch.setattr(epsilon_greedy.Episode, "scored", one)
    record = play_epsilon_greedily(short, epsilon=0.0, action_rules=["greedy", "sampled"], episodes=3)
    greedy, sampled = (test["summary"] for test in record["tests"])
    assert (greedy["standard_error"], sampled["standard_error"]) == (None, 0.0)
    assert "note" not in sampled


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        ({"epsilon": 1.5}, r"epsilon should be a probability from 0 to 1, but is 1\.5\."),
        ({"sticky_probability": 2.0}, r"sticky_probability should be a probability from 0 to 1, but is 2\.0\."),
        ({"protocols": ["machado"]}, "did you mean 'machado2018'"),
        ({"protocols": ["hard_maze"]}, "'breakout' cannot be played under the protocol 'hard_maze'"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(short, choices, answer):
    with pytest.raises(NeurozooError, match=answer):
        play_epsilon_greedily(short, **choices)


def test_an_agent_of_another_game_or_a_missing_one_is_refused(short, tmp_path):
    record = json.loads((short / "model.json").read_text())
    record["game"] = "seaquest"  # 18 actions, of which the agent for breakout has 4
    (short / "model.json").write_text(json.dumps(record))
    with pytest.raises(NeurozooError, match=r"seaquest has 18 actions under uber2018, but the frozen model .* has 4"):
        play_epsilon_greedily(short)
    with pytest.raises(NeurozooError, match="A frozen model is a folder with"):
        play_epsilon_greedily(tmp_path / "nowhere")
