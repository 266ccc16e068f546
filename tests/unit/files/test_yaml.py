import os
import time

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.files.yaml import check_growth, parse_yaml, read_yaml
from neurozoo.plan.configuration import check_config


def bomb(levels, text):
    """Returns aliases of aliases that stand for 9 to the power of `levels` values; `text` makes one level of them."""
    lines = ["a0: &a0 {x: 1}"]
    lines += [
        f"a{level}: &a{level} " + text.replace("*", ", ".join([f"*a{level - 1}"] * 9)) for level in range(1, levels)
    ]
    return "\n".join(lines)


def test_merged_keys_and_aliases_are_read(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\nlist: [*base, *base]\n")
    base = {"a": 1, "b": 2}
    assert read_yaml(path, "Do this.") == {"base": base, "own": {"a": 1, "b": 3}, "list": [base, base]}


@pytest.mark.parametrize("text", ["[*]", "{<<: [*]}"], ids=["lists", "merges"])
def test_a_small_text_that_stands_for_a_billion_values_is_refused_at_once(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(bomb(10, text))
    start = time.process_time()
    with pytest.raises(NeurozooError, match=r"config\.yaml is damaged \(its aliases stand for more than .*Do this\."):
        read_yaml(path, "Do this.")
    assert time.process_time() - start < 2


def test_aliases_may_add_as_many_values_as_anybody_needs():
    lines = "base: &base [1, 2, 3, 4]\n" + "".join(f"e{number}: *base\n" for number in range(10_000))
    assert len(parse_yaml(lines)) == 10_001


def test_a_configuration_that_snakemake_has_read_is_counted_too():
    bombed = ["x"]
    for _ in range(12):
        bombed = [bombed] * 9
    with pytest.raises(NeurozooError, match=r"mine\.yaml cannot be used: its aliases stand for more than 100,000"):
        check_config({"experiments": {"demo": {"games": bombed}}}, source="mine.yaml")


def test_what_contains_itself_is_refused():
    circle = []
    circle.append({"again": circle})
    with pytest.raises(NeurozooError, match="a collection that contains it"):
        check_growth(circle)
    with pytest.raises(NeurozooError, match="a collection that contains it"):
        parse_yaml("a: &a [1, *a]")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{[", "is damaged"),
        ("a: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("a: " + "9" * 5000, "a whole number of 5,000 characters"),
        ("a: 2001-13-45", "month must be in 1..12"),
        ("? {a: 1}\n: 2", "is damaged"),
        ("a: " + "[" * 100_000, "more than 100 levels"),
        ("[1, 2]", "should be a mapping of names to values"),
        ("1: 2", "should be a mapping of names to values"),
        ("a: \0", "is damaged"),
    ],
    ids=["cut off", "code", "huge number", "month", "mapping as name", "deep", "list", "number as name", "null"],
)
def test_other_texts_are_refused_with_the_file_and_the_remedy(tmp_path, text, complaint):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(NeurozooError, match=f"config.yaml .*{complaint}.*Do this.") as caught:
        read_yaml(path, "Do this.")
    assert len(str(caught.value)) < 500 + len(str(path))


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(NeurozooError, match=r"config\.yaml should be a file, but is a pipe, a socket or a device"):
        read_yaml(tmp_path / "config.yaml", "Do this.")


def test_a_link_to_an_endless_device_is_refused(tmp_path):
    (tmp_path / "config.yaml").symlink_to("/dev/zero")
    with pytest.raises(NeurozooError, match=r"config\.yaml should be a file, but is a pipe, a socket or a device"):
        read_yaml(tmp_path / "config.yaml", "Do this.")
