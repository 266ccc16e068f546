"""Mistakes stop the real Snakemake with one sentence; `tests/unit/plan` tests the sentences themselves."""

import pytest


@pytest.fixture
def refused(snakemake):
    """Plans in a copy of the project, and returns what is said: `refused(*arguments)`."""

    def plan(*arguments):
        run = snakemake("-n", *arguments)
        assert run.returncode == 1
        for noise in ("Traceback", "common.smk", "Building DAG"):
            assert noise not in run.stdout
        return run.stdout

    return plan


def test_mistakes_in_config_yaml_and_on_the_command_line_stop_before_the_dag_is_built(project, refused):
    path = project / "config.yaml"
    path.write_text(path.read_text().replace("[frostbite,", "[frostbit,"))
    said = refused("--config", "rollout={'max_steps': 'many'}")
    assert "rollout.max_steps should be a whole number, but is 'many'." in said
    said = refused()
    assert "config.yaml has one problem:" in said
    assert "experiments.demo.games[0]: game 'frostbit' is unknown; did you mean 'frostbite'?" in said


@pytest.mark.parametrize("arguments", [(), pytest.param(("--configfile", "config.yaml"), marks=pytest.mark.long)])
def test_a_bracket_that_is_never_closed_is_named_with_its_line(project, refused, arguments):
    path = project / "config.yaml"
    path.write_text(path.read_text().replace("games: [frostbite, ms_pacman]", "games: [frostbite, ms_pacman"))
    said = refused(*arguments)
    assert "config.yaml cannot be read as YAML: line " in said
    assert "did not find expected ',' or ']'" in said


def test_a_target_that_follows_configfile_is_told_from_a_configuration(refused):
    said = refused("--configfile", "config.yaml", "results/tables/scores.csv")
    assert "If it is a target, write -- before it." in said


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("runs/ga/pnog/large/1/metrics.csv", "game 'pnog' is unknown; did you mean 'pong'? Known: 10"),
        pytest.param(
            "figures/learning_curve.pdf",
            "No rule makes results/figures/learning_curve.pdf; did you mean results/figures/learning_curves.pdf?",
            marks=pytest.mark.long(seconds=3),
        ),
    ],
)
def test_a_mistake_in_a_target_is_explained_with_the_nearest_name(snakemake, target, sentence):
    run = snakemake("-n", f"results/{target}")
    assert run.returncode != 0
    assert sentence in run.stdout
    assert "Traceback" not in run.stdout
