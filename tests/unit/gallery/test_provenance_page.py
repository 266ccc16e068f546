import json

import pytest
from neurozoo import __version__
from neurozoo.errors import NeurozooError
from neurozoo.gallery.provenance_page import find_settings, write_provenance


def test_provenance_names_configuration_versions_machine_protocols_and_runs(results):
    config = results / "runs/ga/frostbite/small/1/config.yaml"
    config.write_text(config.read_text() + "protocol_record: {name: uber2018, max_noops: 30}\n")
    build = results / "build.json"
    build.write_text(json.dumps({"tensorflow": "2.0", "compiler": "c++ <12>", "march": "x86-64-v3"}))
    page, facts_file = results / "provenance.html", results / "provenance.json"
    configuration = {"experiments": {"demo": {"algo": "ga", "note": "<script>"}}}
    write_provenance(find_settings(results), html=page, json=facts_file, build=build, configuration=configuration)
    facts = json.loads(facts_file.read_text())
    assert facts["made_by"]["neurozoo"] == __version__
    assert facts["library"]["march"] == "x86-64-v3"
    assert facts["machine"]["cores"] >= 1
    assert facts["protocols"] == {"uber2018": [{"name": "uber2018", "max_noops": 30}]}
    assert facts["configuration"] == configuration
    runs = {(run["algo"], run["game"], run["run"]): run for run in facts["runs"]}
    assert len(runs) == 5
    assert runs["ga", "frostbite", 1]["commit"] == "0123abc"
    text = page.read_text()
    for words in ("max noops", "c++ &lt;12&gt;", "&lt;script&gt;", "0123abc", "300,000"):
        assert words in text
    assert "<script" not in text
    assert "http" not in text


def test_a_folder_without_runs_has_no_provenance(tmp_path):
    with pytest.raises(NeurozooError, match="holds no run"):
        find_settings(tmp_path)
