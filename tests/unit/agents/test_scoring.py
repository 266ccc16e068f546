import csv
import json
from dataclasses import asdict

import pytest
from neurozoo.agents.genome_import import import_genome
from neurozoo.agents.playable_agent import PlayableAgent
from neurozoo.agents.scoring import ScoredEpisode, evaluate_run, score_agent, summary, write_evaluation_table
from neurozoo.environments.protocols import get_protocol, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Mutation


@pytest.fixture
def run_dir(small_noise_table, tmp_path):
    folder = tmp_path / "imported" / "frostbite" / "small" / "3"
    return import_genome(
        "(1, (2, 0.002))", noise=small_noise_table, game="frostbite", model="small", run=3, run_dir=folder
    )


def test_an_evaluation_holds_the_episodes_that_score_agent_plays(run_dir, core, small_noise_table):
    for threads in (1, 2):
        how = {"core": core, "noise": small_noise_table, "episodes": 3, "seed": 5, "threads": threads}
        evaluate_run(run_dir, run_dir / f"{threads}.json", **how)
    assert (run_dir / "1.json").read_bytes() == (run_dir / "2.json").read_bytes()
    record = json.loads((run_dir / "1.json").read_text())
    heard = []
    episodes = score_agent(
        PlayableAgent(Genome(1, (Mutation(2, 0.002),)), "frostbite", "small", protocol_of("frostbite")),
        episodes=3,
        core=core,
        noise=small_noise_table,
        seed=5,
        progress=lambda *news: heard.append(news),
    )
    assert record["episodes"] == [vars(episode) for episode in episodes]
    scores = [episode.score for episode in episodes]
    assert heard[-1] == (3, pytest.approx(sum(scores) / 3))
    assert record["summary"]["mean"] == pytest.approx(sum(scores) / 3)


def test_the_table_has_a_row_per_evaluation(tmp_path):
    files = []
    for run, start_state in ((1, "2018"), (2, "today")):
        path = tmp_path / "imported" / "frostbite" / "large" / str(run) / "evaluation.json"
        path.parent.mkdir(parents=True)
        record = {
            "game": "frostbite",
            "model": "large",
            "protocol": asdict(protocol_of("frostbite", start_state=start_state)),
            "summary": {"mean": 10.0 * run, "standard_error": 1.0},
            "episodes": [{"score": 10.0 * run + more} for more in range(-2, 4 - run)],
        }
        path.write_text(json.dumps(record))
        files.append(path)
    write_evaluation_table(files, tmp_path / "scores.csv")
    with open(tmp_path / "scores.csv") as file:
        rows = list(csv.DictReader(file))
    assert [(row["algo"], row["run"], row["start_state"], row["mean"], row["episodes"]) for row in rows] == [
        ("imported", "1", "2018", "10.0", "5"),
        ("imported", "2", "today", "20.0", "4"),
    ]
    assert [(row["protocol_action_set"], row["protocol_max_noops"]) for row in rows] == [("minimal", "30")] * 2
    assert [row["protocol_start_state"] for row in rows] == ["2018", "today"]
    assert 8 <= float(rows[0]["mean_low"]) < 10 < float(rows[0]["mean_high"]) <= 12  # of five
    assert (rows[1]["mean_low"], rows[1]["mean_high"]) == ("", "")  # of four
    with pytest.raises(NeurozooError, match="is missing"):
        write_evaluation_table([tmp_path / "nothing.json"], tmp_path / "scores.csv")


def episodes(*starts):
    return [ScoredEpisode(noops, seed, score, 100, 400) for noops, seed, score in starts]


SAME = episodes((0, 1, 7.0), (0, 2, 7.0), (0, 3, 7.0))


@pytest.mark.parametrize(
    ("played", "protocol", "draws_actions", "is_one"),
    [
        (SAME, "uber2018", False, True),
        (SAME, "uber2018", True, False),  # equal by chance
        (SAME, "machado2018", False, False),
        (episodes((1, 1, 7.0), (2, 1, 7.0)), "uber2018", False, False),  # other starts
        (SAME[:1], "uber2018", False, False),
    ],
)
def test_a_set_of_episodes_that_are_the_same_game_has_no_standard_error(played, protocol, draws_actions, is_one):
    figures = summary(played, get_protocol(protocol), draws_actions=draws_actions)
    assert ("note" in figures) == is_one
    assert (figures["mean"], figures["standard_error"]) == (7.0, None if is_one or len(played) == 1 else 0.0)
    if is_one:
        assert figures["note"].startswith("All 3 episodes are the same game, so the standard error and the interval")


def test_the_table_says_of_which_agents_the_interval_is_undefined(tmp_path):
    files = []
    for run, noops in ((1, 0), (2, 1)):
        path = tmp_path / "dqn" / "pong" / "nature" / str(run) / "evaluation.json"
        path.parent.mkdir(parents=True)
        played = [{"noops": noops * n, "seed": n, "score": 3.0, "steps": 9, "frames": 36} for n in range(30)]
        figures = {"mean": 3.0, "standard_error": 0.0, "median": 3.0}
        protocol = asdict(get_protocol("simple_dqn"))
        path.write_text(
            json.dumps(
                {"game": "pong", "model": "nature", "protocol": protocol, "summary": figures, "episodes": played}
            )
        )
        files.append(path)
    write_evaluation_table(files, tmp_path / "scores.csv")
    with open(tmp_path / "scores.csv") as file:
        one, several = csv.DictReader(file)
    assert (one["mean"], one["standard_error"], one["mean_low"], one["mean_high"]) == ("3.0", "", "", "")
    assert one["note"].startswith("All 30 episodes are the same game")
    assert (several["standard_error"], several["mean_low"], several["note"]) == ("0.0", "3.0", "")


def test_an_evaluation_under_simple_dqn_has_its_random_starts(core, small_noise_table):
    played = score_agent(
        PlayableAgent(Genome(1, (Mutation(2, 0.002),)), "breakout", "small", get_protocol("simple_dqn")),
        episodes=10,
        core=core,
        noise=small_noise_table,
        max_frames=40,
    )
    assert {episode.noops for episode in played} <= set(range(20, 125, 4))
    assert len({episode.noops for episode in played}) > 3


def test_no_ops_are_refused_where_there_are_none():
    agent = PlayableAgent(Genome(1), "hard_maze", "simple", protocol_of("hard_maze"))
    with pytest.raises(NeurozooError, match="'hard_maze' has no no-ops, which are for Atari games"):
        score_agent(agent, episodes=1, core="none", noise="none", noops=7)
