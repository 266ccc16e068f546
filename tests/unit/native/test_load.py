import json
import os
import shutil

import pytest
from neurozoo import native
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of
from neurozoo.native import check_library, load_core, load_ops
from neurozoo.native.image import LIBRARIES
from neurozoo.native.sources import SOURCES, hash_sources


@pytest.fixture
def library(core, tmp_path):
    """A copy of the core with a build.json that fits; beside it a file that stands for the ops."""
    import tensorflow as tf

    path = tmp_path / "libneurozoo_core.so"
    shutil.copyfile(core, path)
    path.with_name("libneurozoo_ops.so").write_bytes(b"no library at all")
    facts = {"tensorflow": tf.__version__, "march": "x86-64-v3", "sources_sha256": hash_sources(SOURCES)}
    write_facts(path, **facts, instructions=["avx"], sha256={name: sha256_of(tmp_path / name) for name in LIBRARIES})
    return path


@pytest.fixture
def is_not_loaded(monkeypatch):
    """Fails if something is loaded."""
    import tensorflow as tf

    monkeypatch.setattr(native, "open_functions", lambda path: pytest.fail("it was loaded"))
    monkeypatch.setattr(tf, "load_op_library", lambda path: pytest.fail("it was loaded"))


def write_facts(library, **changes):
    path = library.with_name("build.json")
    facts = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(facts | changes))


def test_a_missing_library_says_how_to_build_it(tmp_path):
    for load in (load_core, load_ops):
        with pytest.raises(NeurozooError, match=r"\.so is missing\. Build it: snakemake --cores all results/native/"):
            load(tmp_path / "libneurozoo_core.so")


def test_a_missing_build_json_says_how_to_get_it(library):
    library.with_name("build.json").unlink()
    with pytest.raises(NeurozooError, match=r"build\.json is missing\. Build it again: snakemake .*--force results"):
        load_core(library)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "instructions"])
def test_a_damaged_build_json_says_how_to_mend_it(library, content):
    if content == "instructions":
        write_facts(library, instructions=None)
    else:
        library.with_name("build.json").write_text(content)
    with pytest.raises(NeurozooError, match=r"(build\.json|is damaged).*Build it again: snakemake"):
        load_core(library)


@pytest.mark.parametrize("sources_sha256", ["0" * 64, None])
def test_other_sources_are_noticed_before_anything_is_loaded(library, sources_sha256, is_not_loaded):
    write_facts(library, sources_sha256=sources_sha256)
    sentence = rf"\.so was built from other sources than those in {SOURCES}\. Build it again: snakemake .*--force "
    for function in (load_core, load_ops, check_library):
        with pytest.raises(NeurozooError, match=sentence):
            function(library)


def test_a_library_that_fits_its_sources_passes_and_gives_its_facts(library):
    assert check_library(library) == json.loads(library.with_name("build.json").read_text())


def test_where_there_are_no_sources_any_will_do(library, monkeypatch, tmp_path):
    monkeypatch.setattr(native, "SOURCES", tmp_path / "nowhere")
    write_facts(library, sources_sha256="0" * 64)
    assert check_library(library)["sources_sha256"] == "0" * 64


@pytest.mark.parametrize("version", ["2.3.4", None])
def test_another_tensorflow_is_noticed_before_its_ops_are_loaded_and_does_not_matter_to_the_core(
    library, version, is_not_loaded, monkeypatch
):
    import tensorflow as tf

    write_facts(library, tensorflow=version)
    with pytest.raises(
        NeurozooError, match=rf"was built for TensorFlow {version}, but this is {tf.__version__}\. Build it again"
    ):
        load_ops(library)
    monkeypatch.setattr(native, "open_functions", lambda path: f"loaded {path}")
    assert load_core(library) == f"loaded {library}"


@pytest.mark.parametrize(
    ("has", "remedy"),
    [({"avx", "avx2", "fma"}, "x86-64-v3"), ({"avx", "avx2"}, "x86-64-v2"), ({"sse4_2"}, "x86-64-v2")],
)
def test_a_processor_that_lacks_instructions_is_noticed_before_it_meets_them(
    library, monkeypatch, is_not_loaded, has, remedy
):
    monkeypatch.setattr(native, "processor_flags", lambda: has)
    needed = ["avx", "avx2", "avx512f", "fma"]
    write_facts(library, march="native", instructions=needed)
    missing = ", ".join(name for name in needed if name not in has)
    sentence = f"was built for native, but this processor lacks {missing}. Set native.march in config.yaml to {remedy}"
    for load in (load_core, load_ops):
        with pytest.raises(NeurozooError, match=sentence):
            load(library)


@pytest.mark.parametrize("flags", [{"avx"}, set()], ids=["has them", "features not known"])
def test_a_library_whose_instructions_are_there_is_loaded(library, monkeypatch, flags):
    monkeypatch.setattr(native, "processor_flags", lambda: flags)
    write_facts(library, march="native", instructions=["avx"])
    assert load_core(library).make_atari_vector


def test_a_cut_library_is_a_sentence_and_not_the_end_of_the_process(library):
    content = library.read_bytes()
    library.write_bytes(content[: len(content) // 2])
    with pytest.raises(NeurozooError, match=r"is damaged: its SHA-256 is \w+, but \w+ was built\. Build it again"):
        load_core(library)


def test_a_library_that_the_system_refuses_is_a_sentence(library):
    library.write_bytes(b"no library at all")
    write_facts(library, sha256={name: sha256_of(library) for name in LIBRARIES})
    for load in (load_core, load_ops):
        with pytest.raises(NeurozooError, match=r"cannot be loaded: .*Build it again: snakemake"):
            load(library)


def test_a_library_that_was_built_again_is_looked_at_again(library, monkeypatch):
    monkeypatch.setattr(native, "open_functions", lambda path: object())
    first = load_core(library)
    assert load_core(library) is first
    os.utime(library, ns=(1, 1))
    assert load_core(library) is not first
