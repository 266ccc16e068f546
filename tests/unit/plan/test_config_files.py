import pytest
from neurozoo.errors import NeurozooError
from neurozoo.plan.config_files import check_command_line, check_config_file

GOOD = "base: &base {a: 1}\nown:\n  <<: *base\n  a: 2\nlist: [*base, *base, 0, -0, 0.5, 0x1F, '1:30', 1e3, 10]\n"


def written(folder, text, name="mine.yaml"):
    path = folder / name
    path.write_text(text)
    return path


def test_aliases_and_merged_keys_are_no_mistakes(tmp_path):
    check_config_file(written(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "demo:\n  runs: 1\n  algo: ga\n  runs: 3\n",
            "line 4: the key 'runs' stands here and in line 2, but can have one",
        ),
        ("a: 1\nlist:\n  - {b: 1, b: 2}\n", "line 3: the key 'b' stands twice, but can have one value. Remove one"),
        ("a: 1\ngames: [pong\nmodels: [large]\n", "line 3, column 7: did not find expected ',' or ']'"),
        ("a:\n\tb: 1\n", "line 2, column 1: a tab is not allowed here; indent with spaces."),
        ("a:\n  runs: 1:30\n", "line 2: 1:30 means 90 in YAML. Write 90, or '1:30' for the text."),
        ("a: [7, 1:30.5]\n", "line 1: 1:30.5 means 90.5 in YAML. Write 90.5"),
        ("seed: 010\n", "line 1: 010 means 8 in YAML. Write 8, or '010' for the text."),
        ("a: !mine 1\n", "could not determine a constructor for the tag '!mine'"),
        ("a: &a [*a]\n", "an alias stands for a collection that contains it."),
        ("a: 2026-13-01\n", "ValueError: month must be in 1..12"),
    ],
    ids=["twice", "in one line", "bracket", "tabulator", "minutes", "seconds", "octal", "tag", "itself", "month"],
)
def test_a_mistake_in_yaml_is_named_with_its_line(tmp_path, text, sentence):
    path = written(tmp_path, text)
    with pytest.raises(NeurozooError) as caught:
        check_config_file(path)
    assert str(caught.value).startswith(f"{path} cannot be read as YAML: {sentence}")


def test_a_missing_or_unreadable_configuration_is_a_sentence(tmp_path):
    with pytest.raises(NeurozooError, match=r"none\.yaml is missing\. Check the path\.$"):
        check_config_file(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(NeurozooError, match=r"bytes\.yaml is not text in UTF-8\.$"):
        check_config_file(tmp_path / "bytes.yaml")


@pytest.mark.parametrize(
    ("pathvars", "found"),
    [
        ("results/mine", "'results/mine'"),
        ("[results/mine]", "['results/mine']"),
        ("{results: }", "{'results': None}"),
        ("{1: results}", "{1: 'results'}"),
        ("", "empty"),
    ],
)
def test_folders_that_snakemake_would_stumble_over_are_a_sentence(tmp_path, pathvars, found):
    path = written(tmp_path, f"demo: 1\npathvars: {pathvars}\n")
    with pytest.raises(NeurozooError) as caught:
        check_config_file(path)
    assert str(caught.value) == (
        f"{path}: pathvars should be names and folders, such as {{results: results/mine}}, but is {found}."
    )
    check_config_file(written(tmp_path, "demo: 1\npathvars: {results: results/mine}\n"))


@pytest.mark.parametrize("option", [["--configfile"], ["--configfiles"]])
def test_a_target_behind_a_configuration_is_told_from_it(tmp_path, capsys, option):
    good = written(tmp_path, GOOD)
    with pytest.raises(SystemExit) as caught:
        check_command_line(["snakemake", "-n", *option, str(good), "results/x.pdf"])
    assert caught.value.code == 1
    message = capsys.readouterr().err
    assert message == (
        "neurozoo: results/x.pdf is taken for a configuration, because it follows --configfile, but is missing. If it "
        "is a target, write -- before it.\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["--configfile", "{good}", "--", "results/x.pdf"],
        ["results/x.pdf", "--configfile", "{good}", "-n"],
        ["--configfile={good}", "results/x.pdf"],
        ["--config", "a=1", "results/x.pdf"],
        ["--configfile", "{good}", "{good}"],
    ],
)
def test_command_lines_that_snakemake_understands_pass(tmp_path, arguments):
    good = str(written(tmp_path, GOOD))
    check_command_line(["snakemake", *(argument.format(good=good) for argument in arguments)])


@pytest.mark.parametrize(("text", "has"), [("", "is empty"), ("# later\n", "is empty"), ("- a\n", "has none")])
def test_a_configuration_without_keys_is_named(tmp_path, text, has):
    with pytest.raises(NeurozooError, match=rf"mine\.yaml should have keys, such as experiments, but {has}\. Copy one"):
        check_config_file(written(tmp_path, text))


def test_the_first_bad_configuration_of_a_command_line_ends_the_process(tmp_path, capsys):
    bad = written(tmp_path, "a: [1\n", "bad.yaml")
    with pytest.raises(SystemExit):
        check_command_line(["snakemake", f"--configfile={bad}"])
    assert f"neurozoo: {bad} cannot be read as YAML: line 2, column 1" in capsys.readouterr().err
