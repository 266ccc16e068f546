"""Reads what TensorFlow's profiler writes: who did what, and when.

The messages are those of xplane.proto (openxla/xla, xla/tsl/profiler/protobuf), with the fields that we read.
TensorFlow has classes for them, but in modules that are private and have moved before. Unknown fields are skipped.
"""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "neurozoo.xplane"
_KIND = descriptor_pb2.FieldDescriptorProto
_FIELDS: dict[str, list[tuple[str, int, str]]] = {  # name, number, and type: a message's name begins with a capital
    "XSpace": [("planes", 1, "XPlane*")],
    "XPlane": [("name", 2, "text"), ("lines", 3, "XLine*"), ("event_metadata", 4, "Named*")],
    "Named": [("key", 1, "number"), ("value", 2, "XEventMetadata")],  # an entry of a map
    "XEventMetadata": [("id", 1, "number"), ("name", 2, "text")],
    "XLine": [("name", 2, "text"), ("events", 4, "XEvent*")],
    "XEvent": [("metadata_id", 1, "number"), ("offset_ps", 2, "number"), ("duration_ps", 3, "number")],
}


def read_profile(profile: bytes) -> Any:
    """Reads an `.xplane.pb`.

    Args:
        profile: The content of the file.

    Returns:
        A message with `planes` (devices). Each has `lines` (threads) with a `name` and `events`, whose `offset_ps` and
        `duration_ps` are picoseconds since the line began, and `event_metadata`: `key` is an event's `metadata_id`, and
        `value.name` its name.

    Raises:
        google.protobuf.message.DecodeError: The file is damaged.
    """
    return _message_class().FromString(profile)


@cache
def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="neurozoo/xplane.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, number, kind in fields:
            field = described.field.add(name=name, number=number, label=_KIND.LABEL_OPTIONAL)
            if kind.endswith("*"):
                field.label = _KIND.LABEL_REPEATED
            if kind[0].isupper():
                field.type, field.type_name = _KIND.TYPE_MESSAGE, f".{_PACKAGE}.{kind.rstrip('*')}"
            else:
                field.type = _KIND.TYPE_STRING if kind == "text" else _KIND.TYPE_INT64
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.XSpace"))
