import json
import shutil

import pytest
from neurozoo import native
from neurozoo.errors import NeurozooError
from neurozoo.files import sha256_of
from neurozoo.native import check_ops, load_ops
from neurozoo.native.sources import SOURCES, hash_sources

OPS = ["evaluator", "reference", "hold", "parameters", "submit", "receive", "trace"]


@pytest.fixture
def library(ops, tmp_path):
    """A copy of the library with a build.json that fits; it must not be loaded: TensorFlow knows its ops already."""
    import tensorflow as tf

    path = tmp_path / "libneurozoo_ops.so"
    shutil.copyfile(ops, path)
    facts = {"tensorflow": tf.__version__, "march": "x86-64-v3", "sources_sha256": hash_sources(SOURCES)}
    write_facts(path, **facts, sha256=sha256_of(path))
    return path


def write_facts(library, **changes):
    path = library.with_name("build.json")
    facts = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(facts | changes))


def test_the_library_has_all_ops_and_is_loaded_once(ops):
    module = load_ops(ops)
    assert all(callable(getattr(module, f"neurozoo_{name}")) for name in OPS)
    assert load_ops(str(ops)) is module


def test_a_missing_library_says_how_to_build_it(tmp_path):
    with pytest.raises(NeurozooError, match=r"ops\.so is missing\. Build it: snakemake --cores all results/native/"):
        load_ops(tmp_path / "ops.so")


def test_a_missing_build_json_says_how_to_get_it(library):
    library.with_name("build.json").unlink()
    with pytest.raises(NeurozooError, match=r"build\.json is missing\. Build it again: snakemake .*--force results"):
        load_ops(library)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_a_damaged_build_json_says_how_to_mend_it(library, content):
    library.with_name("build.json").write_text(content)
    with pytest.raises(NeurozooError, match=r"build\.json .*Build it again: snakemake"):
        load_ops(library)


@pytest.mark.parametrize("sources_sha256", ["0" * 64, None])
def test_other_sources_are_noticed_before_anything_is_loaded(library, sources_sha256, monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(tf, "load_op_library", lambda path: pytest.fail("it was loaded"))
    write_facts(library, sources_sha256=sources_sha256)
    sentence = rf"{library} was built from other sources than those in {SOURCES}\. Build it again: snakemake .*--force "
    for function in (load_ops, check_ops):
        with pytest.raises(NeurozooError, match=sentence):
            function(library)


def test_a_build_json_from_before_there_was_a_hash_of_sources_counts_as_other_sources(library):
    path = library.with_name("build.json")
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "sources_sha256"}))
    with pytest.raises(NeurozooError, match="was built from other sources"):
        check_ops(library)


def test_a_library_that_fits_its_sources_passes_and_gives_its_facts(library):
    assert check_ops(library) == json.loads(library.with_name("build.json").read_text())


def test_where_there_are_no_sources_any_will_do(library, monkeypatch, tmp_path):
    monkeypatch.setattr(native, "SOURCES", tmp_path / "nowhere")
    write_facts(library, sources_sha256="0" * 64)
    assert check_ops(library)["sources_sha256"] == "0" * 64


@pytest.mark.parametrize("version", ["2.3.4", None])
def test_another_tensorflow_is_noticed_before_anything_is_loaded(library, version, monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(tf, "load_op_library", lambda path: pytest.fail("it was loaded"))
    write_facts(library, tensorflow=version)
    with pytest.raises(
        NeurozooError, match=rf"was built for TensorFlow {version}, but this is {tf.__version__}\. Build it again"
    ):
        load_ops(library)


@pytest.mark.parametrize(
    ("has", "remedy"),
    [({"avx", "avx2", "fma"}, "x86-64-v3"), ({"avx", "avx2"}, "x86-64-v2"), ({"sse4_2"}, "x86-64-v2")],
)
def test_a_processor_that_lacks_instructions_is_noticed_before_it_meets_them(library, monkeypatch, has, remedy):
    import tensorflow as tf

    monkeypatch.setattr(tf, "load_op_library", lambda path: pytest.fail("it was loaded"))
    monkeypatch.setattr(native, "processor_flags", lambda: has)
    needed = ["avx", "avx2", "avx512f", "fma"]
    write_facts(library, march="native", instructions=needed)
    missing = ", ".join(name for name in needed if name not in has)
    with pytest.raises(
        NeurozooError,
        match=f"was built for native, but this processor lacks {missing}. Set native.march in config.yaml to {remedy}",
    ):
        load_ops(library)


@pytest.mark.parametrize("flags", [{"avx"}, set()], ids=["has them", "features not known"])
def test_a_library_whose_instructions_are_there_is_loaded(library, monkeypatch, flags):
    import tensorflow as tf

    monkeypatch.setattr(native, "processor_flags", lambda: flags)
    monkeypatch.setattr(tf, "load_op_library", lambda path: f"loaded {path}")
    write_facts(library, march="native", instructions=["avx"])
    assert load_ops(library) == f"loaded {library}"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_cut_library_is_a_sentence_and_not_the_end_of_the_process(library, share):
    content = library.read_bytes()
    library.write_bytes(content[: int(share * len(content))])
    with pytest.raises(NeurozooError, match=r"is damaged: its SHA-256 is \w+, but \w+ was built\. Build it again"):
        load_ops(library)


def test_a_library_that_the_system_refuses_is_a_sentence(library):
    library.write_bytes(b"no library at all")
    write_facts(library, sha256=sha256_of(library))
    with pytest.raises(NeurozooError, match=r"cannot be loaded: .*Build it again: snakemake"):
        load_ops(library)


def test_a_library_that_was_built_again_is_looked_at_again(library, monkeypatch):
    import os

    import tensorflow as tf

    monkeypatch.setattr(tf, "load_op_library", lambda path: object())
    first = load_ops(library)
    assert load_ops(library) is first
    os.utime(library, ns=(1, 1))
    assert load_ops(library) is not first
