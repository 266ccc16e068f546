import pytest
import yaml


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "[frostbite,",
            "[frostbit,",
            "experiments.demo.games[0]: game 'frostbit' is unknown; did you mean 'frostbite'?",
        ),
        pytest.param(
            "\nmovie:",
            "\nmoive:",
            "key 'moive' is unknown; did you mean 'movie'? Known: algorithms, comparisons,",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_in_config_yaml_stops_before_the_dag_is_built(project, snakemake, old, new, sentence):
    path = project / "config.yaml"
    path.write_text(path.read_text().replace(old, new))
    run = snakemake("-n")
    assert run.returncode != 0
    assert "config.yaml has one problem:" in run.stdout
    assert sentence in run.stdout
    assert "Building DAG" not in run.stdout


def test_all_mistakes_in_a_file_are_listed_at_once(project, snakemake):
    config = yaml.safe_load((project / "config.yaml").read_text())
    config["experiments"]["demo"] |= {"games": ["pnog"], "models": ["lrge"], "preset": "dmeo"}
    (project / "mine.yaml").write_text(yaml.safe_dump(config))
    run = snakemake("-n", "--configfile", "mine.yaml")
    assert run.returncode != 0
    assert "mine.yaml has 3 problems:" in run.stdout
    for name in ("'pong'", "'large'", "'demo'"):
        assert f"did you mean {name}?" in run.stdout


def test_a_mistake_on_the_command_line_is_found_too(snakemake):
    run = snakemake("-n", "--config", "rollout={'max_steps': 'many'}")
    assert run.returncode != 0
    assert "rollout.max_steps should be a whole number, but is 'many'." in run.stdout


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("results/runs/ga/pnog/large/1/metrics.csv", "game 'pnog' is unknown; did you mean 'pong'? Known: adventure,"),
        pytest.param(
            "results/runs/ga/pong/lagre/1/metrics.csv",
            "network 'lagre' is unknown; did you mean 'large'?",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "results/runs/gaa/pong/large/1/activation.mp4",
            "algorithm 'gaa' is unknown; did you mean 'ga'? Known: cma_me,",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "results/runs/ga/pong/LargeModel/1/checkpoint.npz",
            "'LargeModel' is the published name of 'large'; in a path, write large.",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_in_a_target_is_explained_with_the_nearest_name(snakemake, target, sentence):
    run = snakemake("-n", target)
    assert run.returncode != 0
    assert sentence in run.stdout
