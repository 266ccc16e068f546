"""Profiles of TensorFlow, read by our own description of their messages."""

import pytest
from google.protobuf.message import DecodeError
from neurozoo.benchmark.xplane import read_profile


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


def test_what_is_no_profile_is_refused():
    with pytest.raises(DecodeError):
        read_profile(b"\x0a\xff\xff")
