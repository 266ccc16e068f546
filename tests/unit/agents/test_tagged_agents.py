"""Which generation a tag stands for, and where its weights come from; training/test_tags.py tells what is kept."""

import json

import pytest
import yaml
from neurozoo.agents.tagged_agents import frozen_tag_folder, reached_tags, tag_folder, tagged_agent
from neurozoo.errors import NeurozooError

IDENTITY = {"algo": "ga", "game": "frostbite", "model": "small", "run": 1, "protocol": "uber2018"}


@pytest.fixture
def run(agent, tmp_path):
    """A run's folder: `run([(frames, hours, score, test_score), ...], elite_rule=..., genomes=...)`."""
    from neurozoo.agents.checkpoint import write_checkpoint
    from neurozoo.genomes.noise_table import build_noise_table

    def make(generations, *, elite_rule="validated", genomes=True):
        records = [
            {
                "format": 1,
                "Iteration": number,
                "frames": frames,
                "TimeElapsedTotal": 3600 * hours,
                "score": score,
                "test_score": test_score,
                **({"TruncatedPopulationEliteSeeds": [number]} if genomes else {}),
                "TruncatedPopulationEliteTestRewMean": test_score,
            }
            for number, (frames, hours, score, test_score) in enumerate(generations, 1)
        ]
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        (tmp_path / "config.yaml").write_text(yaml.safe_dump({"format": 1, **IDENTITY, "elite_rule": elite_rule}))
        (tmp_path / "result.json").write_text(json.dumps({"format": 1, "iteration": len(records)}))
        write_checkpoint(tmp_path / "checkpoint.npz", agent("small", game="frostbite"))
        build_noise_table(tmp_path / "noise.f32", size=1_100_000)
        return tmp_path

    return make


def genome_at(run_dir, tag):
    return tagged_agent(run_dir, tag, noise=run_dir / "noise.f32")[1].to_json()


HISTORY = [(1000, 0.5, 10, 12.0), (2000, 1.0, 30, 5000.0), (3000, 1.5, 20, 5000.0), (4000, 2.0, 30, 5000.0)]


def test_a_tag_is_the_best_until_the_first_generation_that_reached_it(run):
    run_dir = run(HISTORY)
    assert {tag: genome_at(run_dir, tag) for tag in ("initial", "1K", "1.001K", "1HR", "human", "3K", "2HR")} == {
        "initial": [1],
        "1K": [1],
        "1.001K": [2],
        "1HR": [2],
        "human": [2],
        "3K": [2],  # generation 3 was worse
        "2HR": [2],  # generation 4 was only as good
    }


def test_where_the_latest_elite_is_the_result_it_is_the_tags_too(run):
    assert genome_at(run(HISTORY, elite_rule="racing"), "3K") == [3]


@pytest.mark.parametrize(
    ("tag", "answer"),
    [
        ("1B", "never reached 1B: it has 4,000 frames, up to generation 4"),
        ("10HR", r"never reached 10HR: it was trained for 2\.00 hours"),
        ("1X", "A tag should be initial"),
    ],
)
def test_the_message_for_a_tag_that_was_not_reached_says_how_far_the_run_came(run, tag, answer):
    run_dir = run(HISTORY)
    with pytest.raises(NeurozooError, match=answer):
        genome_at(run_dir, tag)


def test_human_says_both_scores(run):
    run_dir = run(HISTORY[:1])
    with pytest.raises(NeurozooError, match=r"never reached human: its best .* was 12, the human score is 4,335"):
        genome_at(run_dir, "human")


def test_weights_that_were_not_kept_are_named_and_the_last_ones_are_the_result(run, agent):
    run_dir = run(HISTORY, genomes=False)
    with pytest.raises(NeurozooError, match=r"reached 1K in generation 1, but its weights .* not kept.*zoo\.keep_tags"):
        genome_at(run_dir, "1K")
    checkpoint, genome, _ = tagged_agent(run_dir, "4K", noise=run_dir / "noise.f32")
    assert (genome.initial.theta == agent("small", game="frostbite").theta).all()
    assert checkpoint.game == "frostbite"


def test_the_result_of_a_smaller_budget_is_no_tag_of_a_run_that_goes_on(run):
    run_dir = run(HISTORY, genomes=False)
    log = (run_dir / "log.jsonl").read_text()
    (run_dir / "state").mkdir()
    (run_dir / "state" / "log.jsonl").write_text(log + log.splitlines()[-1].replace("4000", "9000") + "\n")
    with pytest.raises(NeurozooError, match=r"reached 9K .* but its weights at that point were not kept"):
        genome_at(run_dir, "9K")


def test_a_snapshot_of_another_generation_is_not_taken_for_a_tag(run, agent):
    from neurozoo.agents.checkpoint import write_checkpoint

    run_dir = run(HISTORY, genomes=False)
    (run_dir / "snapshots").mkdir()
    for frames, generation in ((1000, 1), (3000, 3)):
        facts = {"run_iteration": generation, "test_score": float(generation)}
        snapshot = agent("small", game="frostbite", seed=generation)
        write_checkpoint(run_dir / "snapshots" / f"{frames}.npz", snapshot, facts=facts)
    assert tagged_agent(run_dir, "initial", noise=run_dir / "noise.f32")[2]["test_score"] == 1
    assert tagged_agent(run_dir, "1.5HR", noise=run_dir / "noise.f32")[2]["test_score"] == 3
    with pytest.raises(NeurozooError, match="not kept"):
        genome_at(run_dir, "human")


def test_published_tags_that_were_reached_are_listed(run):
    reached = reached_tags(run(HISTORY), game="frostbite")
    assert {tag: moment.generation for tag, moment in reached.items()} == {"initial": 1, "human": 2, "1HR": 2, "2HR": 4}


def test_the_folder_of_a_tag_is_the_runs_own_for_its_result(tmp_path):
    assert tag_folder(tmp_path, "final") == frozen_tag_folder(tmp_path, "final") == tmp_path
    assert tag_folder(tmp_path, "400M") == tmp_path / "tags" / "400M"
    with pytest.raises(NeurozooError, match=r"A tag should be initial .*, but is '400Q'"):
        tag_folder(tmp_path, "400Q")
