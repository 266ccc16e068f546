from neurozoo.agents.zoo_models import find_models


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
    models = find_models(tmp_path)
    assert [model.title for model in models] == [
        "es/frostbite/virtual_bn/1/human",
        "ga/frostbite/large/2",
        "ga/frostbite/large/2/400M",
        "ga/frostbite/large/10",
        "imported/pong/small/1",
    ]
    tagged = models[2]
    assert (tagged.algo, tagged.game, tagged.model, tagged.run, tagged.tag) == ("ga", "frostbite", "large", 2, "400M")
    assert tagged.folder == tmp_path / "runs/ga/frostbite/large/2"
    assert tagged.frozen == tmp_path / "runs/ga/frostbite/large/2/tags/400M/frozen"
    assert models[1].frozen == tmp_path / "runs/ga/frostbite/large/2/frozen"
    assert [model.tag for model in models].count("final") == 3


def test_folders_that_are_not_runs_or_not_frozen_are_skipped(tmp_path):
    make(
        tmp_path,
        "ga/frostbite/large/notes",
        "ga/frostbite/large/01",
        "ga/frostbite/large/²",
        "ga/frostbite/large/1/generations/3",
    )
    (tmp_path / "runs/ga/frostbite/large/5").mkdir()
    assert find_models(tmp_path) == []
    assert find_models(tmp_path / "nowhere") == []
