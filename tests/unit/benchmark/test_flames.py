"""Flame graphs."""

import functools
import time

import pytest
from neurozoo.benchmark.flames import PYTHON, nested_seconds, read_profile, record_flames, with_all_levels, write_flames

SECOND = 10**12  # picoseconds


def test_an_event_within_another_is_taken_out_of_it():
    events = [(0, 10 * SECOND, "outer"), (1 * SECOND, 4 * SECOND, "inner"), (2 * SECOND, 1 * SECOND, "innermost")]
    events += [(5 * SECOND, 2 * SECOND, "next"), (20 * SECOND, 1 * SECOND, "later")]
    assert dict(nested_seconds(reversed(events), thread="t")) == {
        ("t", "outer"): pytest.approx(10 - 4 - 2),
        ("t", "outer", "inner"): pytest.approx(4 - 1),
        ("t", "outer", "inner", "innermost"): pytest.approx(1),
        ("t", "outer", "next"): pytest.approx(2),
        ("t", "later"): pytest.approx(1),
    }


def test_levels_hold_what_is_inside():
    assert with_all_levels({("a",): 1.0, ("a", "b"): 2.0, ("c", "b"): 4.0}) == {
        ("a",): 3.0, ("a", "b"): 2.0, ("c",): 4.0, ("c", "b"): 4.0,
    }  # fmt: skip


def test_python_and_tensorflow_are_both_seen_on_a_page_without_network(tmp_path):
    import tensorflow as tf

    took = []

    def busy(least):
        begin = time.perf_counter()
        product = tf.function(lambda a: tf.matmul(a, a))
        while time.perf_counter() < begin + least:
            product(tf.ones((256, 256))).numpy()
        took.append(time.perf_counter() - begin)

    for least in (0.3, 3, 30):  # a busy machine looks seldom
        seconds = record_flames(functools.partial(busy, least))
        python = sum(own for stack, own in seconds.items() if stack[0] == PYTHON and stack[1:2] and "busy" in stack[1])
        if is_right := took[-1] / 2 < python < 2 * took[-1]:
            break
    assert is_right
    assert any("MatMul" in stack[-1] for stack in seconds)
    write_flames(tmp_path / "flames.html", seconds, title="Busy")
    page = (tmp_path / "flames.html").read_text()
    assert "test_flames.py" in page
    assert 'src="http' not in page


def varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(128 | number & 127)
        number >>= 7
    return bytes([*parts, number])


def part(number: int, content: int | bytes) -> bytes:
    """Encodes a field as protobuf does: a number, or something with a length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_a_profile_is_read_and_unknown_fields_are_skipped():
    event = part(1, 7) + part(2, 5 * 10**12) + part(3, 3_000) + part(4, b"statistics")
    line = part(1, 1) + part(2, b"tf_worker") + part(3, 12345) + part(4, event) + part(11, b"shown")
    named = part(1, 7) + part(2, part(1, 7) + part(2, b"MatMul") + part(3, b"?"))
    plane = part(1, 9) + part(2, b"/host:CPU") + part(3, line) + part(4, named)
    profile = read_profile(part(1, plane) + part(4, b"a host"))
    (plane,) = profile.planes
    assert plane.name == "/host:CPU"
    assert {entry.key: entry.value.name for entry in plane.event_metadata} == {7: "MatMul"}
    (line,) = plane.lines
    assert line.name == "tf_worker"
    assert [(each.metadata_id, each.offset_ps, each.duration_ps) for each in line.events] == [(7, 5 * 10**12, 3_000)]
