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
    assert "common.smk" not in run.stdout  # no lines of ours around the sentence


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
        ("results/runs/ga/pnog/large/1/metrics.csv", "game 'pnog' is unknown; did you mean 'pong'? Known: 10"),
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
        (
            "results/figures/learning_curve.pdf",
            "No rule makes results/figures/learning_curve.pdf; did you mean results/figures/learning_curves.pdf?",
        ),
        pytest.param(
            "results/runs/ga/pong/large/1/layer_conv9.mp4",
            "large has no layer 'conv9'; did you mean 'conv3'?",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_in_a_target_is_explained_with_the_nearest_name(snakemake, target, sentence):
    run = snakemake("-n", target)
    assert run.returncode != 0
    assert sentence in run.stdout
    assert "Traceback" not in run.stdout


@pytest.mark.parametrize("arguments", [(), pytest.param(("--configfile", "config.yaml"), marks=pytest.mark.long)])
def test_a_bracket_that_is_never_closed_is_named_with_its_line(project, snakemake, arguments):
    path = project / "config.yaml"
    lines = path.read_text().splitlines()
    number = next(n for n, line in enumerate(lines) if "games: [frostbite" in line)
    lines[number] = lines[number].replace("]", "")
    path.write_text("\n".join(lines))
    run = snakemake("-n", *arguments)
    assert run.returncode != 0
    assert "config.yaml cannot be read as YAML: line " in run.stdout
    assert "did not find expected ',' or ']'" in run.stdout
    assert "Traceback" not in run.stdout


def test_a_target_that_follows_configfile_is_told_from_a_configuration(snakemake):
    run = snakemake("-n", "--configfile", "config.yaml", "results/tables/scores.csv")
    assert run.returncode == 1
    assert "If it is a target, write -- before it." in run.stdout
    assert "Traceback" not in run.stdout


@pytest.mark.parametrize("place", ["ga", pytest.param("ga/frostbite/large/1", marks=pytest.mark.long)])
def test_a_file_in_the_place_of_a_runs_folder_is_named_by_the_plan(project, snakemake, place):
    file = project / "results" / "runs" / place
    file.parent.mkdir(parents=True)
    file.touch()
    run = snakemake("-n")
    assert run.returncode != 0
    assert f"results/runs/{place} is a file, but a folder is needed: results/runs/ga/frostbite/large/1." in run.stdout
    assert "Traceback" not in run.stdout
