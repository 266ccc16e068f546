import pytest
import yaml
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config
from neurozoo.plan.named_files import check_container, check_folders, check_folders_on_storage, check_named_files


def config_of(folder, curve="curve.csv", genome="genome.json"):
    return check_config(
        yaml.safe_load(
            f"""
            experiments: {{demo: {{algo: ga, games: [pong], models: [large]}}}}
            pathvars: {{results: {folder}/results}}
            figures: {{learning_curves: {{references: {{files: {{them: {{pong: {folder}/{curve}}}}}}}}}}}
            imports: {{elite: {{file: {folder}/{genome}, game: pong, model: LargeModel, run: 2}}}}
            """
        )
    )


def test_all_missing_files_are_listed_with_their_keys(tmp_path):
    with pytest.raises(NeurozooError) as caught:
        check_named_files(config_of(tmp_path))
    assert str(caught.value).splitlines() == [
        "The configuration names files that cannot be used:",
        f"  figures.learning_curves.references.files.them.pong: {tmp_path}/curve.csv is missing. Check the path, or "
        "remove the entry.",
        f"  imports.elite.file: {tmp_path}/genome.json is missing. Check the path, or remove the entry.",
    ]
    (tmp_path / "genome.json").mkdir()
    (tmp_path / "curve.csv").touch()
    with pytest.raises(NeurozooError) as caught:
        check_named_files(config_of(tmp_path))
    assert "curve.csv is empty. Copy it again, or remove the entry." in str(caught.value)
    assert "genome.json is a folder. Name the file in it, such as genome.json of a run, or remove" in str(caught.value)


def test_a_path_that_snakemake_would_take_for_a_pattern_is_named(tmp_path):
    (tmp_path / "{a}.json").touch()
    config = config_of(tmp_path)
    config["imports"]["elite"]["file"] = f"{tmp_path}/{{a}}.json"
    with pytest.raises(NeurozooError, match=r"^imports\.elite\.file: .*/\{a\}\.json has braces, which Snakemake takes"):
        check_named_files(config)
    with pytest.raises(NeurozooError, match=r"^container: \{a\}\.sif has braces"):
        check_named_files({**config_of(tmp_path), "container": "{a}.sif"})


def test_files_that_exist_or_that_a_rule_may_make_are_not_missed(tmp_path):
    (tmp_path / "genome.json").write_text("x")
    check_named_files(config_of(tmp_path, curve="results/runs/dqn/pong/small/1/phases.csv"))


def test_the_file_of_an_agent_that_is_imported_already_may_be_gone(tmp_path):
    (tmp_path / "curve.csv").write_text("x")
    config = config_of(tmp_path)
    with pytest.raises(NeurozooError, match=r"imports\.elite\.file"):
        check_named_files(config)
    run = tmp_path / "results/runs/imported/pong/large/2"
    run.mkdir(parents=True)
    (run / "checkpoint.npz").touch()
    check_named_files(config)


def test_folders_that_can_be_made_are_not_made_yet(tmp_path):
    check_folders([tmp_path / "a/b", tmp_path / "a/c", tmp_path])
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(NeurozooError) as caught:
        check_folders([tmp_path / "x", tmp_path / "a/b/c"])
    assert str(caught.value).startswith(f"{tmp_path}/a is a file, but a folder is needed: {tmp_path}/a/b/c. Move the")


def test_a_file_in_the_place_of_the_results_is_named_while_planning(tmp_path):
    for name in ("curve.csv", "genome.json", "results"):
        (tmp_path / name).touch()
    with pytest.raises(NeurozooError, match=r"/results is a file, but a folder is needed\. Move the file"):
        check_named_files(config_of(tmp_path))


def test_a_link_to_a_folder_that_is_not_mounted_is_named(tmp_path):
    (tmp_path / "results").symlink_to(tmp_path / "scratch")
    with pytest.raises(NeurozooError, match=r"/results is a link to \S+/scratch, which is missing\. Mount or make"):
        check_folders([tmp_path / "results" / "runs"], are_needed=False)
    (tmp_path / "scratch").mkdir()
    check_folders([tmp_path / "results" / "runs"])


def test_a_folder_of_somebody_else_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda place, mode: str(place) != str(tmp_path))  # root may write everywhere
    with pytest.raises(NeurozooError, match=r"may not be written by you, but .*/a/b should be made"):
        check_folders([tmp_path / "a/b"])
    check_folders([tmp_path / "a/b"], are_needed=False)  # who only plans may look


def test_jobs_run_in_a_container_only_if_there_is_an_image(tmp_path):
    with pytest.raises(NeurozooError, match=r"names no image\. Build one and set container: neurozoo\.sif"):
        check_container(None)
    file = tmp_path / "neurozoo.sif"
    with pytest.raises(NeurozooError, match=r"container: \S+neurozoo\.sif is missing\. Build it"):
        check_container(str(file))
    file.touch()
    check_container(str(file))
    check_container("docker://registry.example.org/neurozoo")


def search_with(tmp_path, decoder):
    search = {"algo": "cma_me", "games": ["mario"], "models": ["plain"], "preset": "mario_demo"}
    experiments = {"levels": search | {"overrides": {"decoder": str(decoder)}}}
    return check_config({"experiments": experiments, "pathvars": {"results": f"{tmp_path}/results"}})


def test_a_generator_of_levels_is_missed_and_read_while_planning(tmp_path):
    file = tmp_path / "generator.npz"
    with pytest.raises(NeurozooError, match=r"cma_me/mario/plain starts from a file .*: \S+generator.npz is missing"):
        check_named_files(search_with(tmp_path, file))
    check_named_files(search_with(tmp_path, tmp_path / "results/generators/demo/generator.npz"))  # which a rule makes
    file.write_text("no generator")
    with pytest.raises(NeurozooError, match=r"generator\.npz is not a generator of platform levels"):
        search_with(tmp_path, file)


def test_every_combination_of_a_sweep_is_looked_at(tmp_path):
    search = {"algo": "ga", "games": ["river_crossing"], "models": ["modular_evolved"], "preset": "jolley2018"}
    sweep = {"fixed_layers_of": [None, str(tmp_path / "nowhere.npz")]}
    config = check_config(
        {"experiments": {"some": search | {"sweep": sweep}}, "pathvars": {"results": f"{tmp_path}/results"}}
    )
    with pytest.raises(NeurozooError, match=r"ga/river_crossing/modular_evolved starts from .*nowhere\.npz is missing"):
        check_named_files(config)


def test_folders_on_a_storage_are_relative():
    check_folders_on_storage({"results": "results/mine", "noise": "<results>/noise"})
    with pytest.raises(NeurozooError, match=r"^pathvars\.results is /mnt/x, but results are on .* relative"):
        check_folders_on_storage({"noise": "noise", "results": "/mnt/x"})
