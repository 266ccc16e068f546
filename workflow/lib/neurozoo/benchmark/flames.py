"""Flame graphs: where a function spends its time, in Python and in TensorFlow's C++ threads."""

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from neurozoo.errors import needing
from neurozoo.files import write_text

Stack = tuple[str, ...]  # outermost first

INTERVAL = 0.002  # seconds between two samples of Python's stacks
LEAST_SHARE = 0.001  # share of the whole time below which a stack is not shown
PYTHON = "Python"  # the thread that calls `record_flames`
IDLE = ("Threadpool", "ExecutorDone", "end: ")  # TensorFlow's events that are not work

# What TensorFlow's profiler writes: the messages of xplane.proto (openxla/xla, xla/tsl/profiler/protobuf), with the
# fields that we read. TensorFlow has classes for them, but in private modules that have moved before.
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


def record_flames(run: Callable[[], object]) -> dict[Stack, float]:
    """Calls a function and records where its time goes.

    Python's threads are sampled every two milliseconds, whether they wait or not. TensorFlow's own profiler traces its
    threads, operation by operation. Emulator threads are not recorded; Python's wait for them is.

    Returns:
        Seconds by stack. The seconds of longer stacks that begin with it are not included. The first name is the
        thread's.
    """
    import tensorflow as tf

    seconds: dict[Stack, float] = defaultdict(float)
    ended, depth = threading.Event(), len(list(_frames(sys._getframe())))
    sampler = threading.Thread(target=_sample, args=(seconds, threading.get_ident(), depth, ended), daemon=True)
    with TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
        sampler.start()
        tf.profiler.experimental.start(folder, options=options)
        try:
            run()
        finally:
            tf.profiler.experimental.stop()
            ended.set()
            sampler.join()
        for path in Path(folder).rglob("*.xplane.pb"):
            for stack, own in _traced(path.read_bytes()):
                seconds[stack] += own
    return dict(seconds)


def _sample(seconds: dict[Stack, float], watched: int, depth: int, ended: threading.Event) -> None:
    """Samples Python's threads until the end; the stacks of the one that is watched start at a depth."""
    before = time.perf_counter()
    while not ended.wait(INTERVAL):
        now = time.perf_counter()
        threads = {each.ident: each.name for each in threading.enumerate() if each is not threading.current_thread()}
        for number, frame in sys._current_frames().items():
            if number == watched:
                seconds[PYTHON, *list(_frames(frame))[depth:]] += now - before
            elif number in threads:
                seconds[f"Python: {threads[number]}", *_frames(frame)] += now - before
        before = now


def _frames(frame) -> Iterable[str]:
    names = []
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        names.append(f"{frame.f_code.co_qualname} ({file.parent.name}/{file.name}:{frame.f_lineno})")
        frame = frame.f_back
    return reversed(names)


def _traced(profile: bytes) -> Iterator[tuple[Stack, float]]:
    """Yields the stacks of a TensorFlow profile with their own seconds, thread by thread."""
    for plane in read_profile(profile).planes:
        names = {entry.key: _readable(entry.value.name) for entry in plane.event_metadata}
        lines = [line for line in plane.lines if line.name.startswith("tf_")]
        for number, line in enumerate(lines, start=1):
            events = [
                (event.offset_ps, event.duration_ps, names[event.metadata_id])
                for event in line.events
                if event.duration_ps and not names[event.metadata_id].startswith(IDLE)
            ]
            yield from nested_seconds(events, thread=f"TensorFlow, thread {number}")


def nested_seconds(events: Iterable[tuple[int, int, str]], *, thread: str) -> Iterator[tuple[Stack, float]]:
    """Turns the events of a thread into stacks: an event is inside another one that begins before and ends after it.

    Events are start and length in picoseconds, and name. The seconds of a stack are without those of the events inside.
    """
    open_events: list[list] = []  # end, stack, own picoseconds
    for start, length, name in sorted(events, key=lambda event: (event[0], -event[1])):
        while open_events and open_events[-1][0] <= start:
            _, stack, own = open_events.pop()
            yield stack, 1e-12 * own
        if open_events:
            open_events[-1][2] -= length
        outer = open_events[-1][1] if open_events else (thread,)
        open_events.append([start + length, (*outer, name), length])
    for _, stack, own in open_events:
        yield stack, 1e-12 * own


def read_profile(profile: bytes) -> Any:
    """Reads the content of an `.xplane.pb` into a message with `planes` (devices).

    Each has `lines` (threads) with a `name` and `events`, whose `offset_ps` and `duration_ps` are picoseconds since the
    line began, and `event_metadata`: `key` is an event's `metadata_id`, and `value.name` its name.
    """
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
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.XSpace")).FromString(profile)


def _readable(name: str) -> str:
    """Names an operation by its kind and its layer: `Conv2DBackpropFilter: conv1/convolution`."""
    scope, colon, kind = name.rpartition(":")
    if not colon or scope.endswith(":"):  # a C++ name, such as ExecutorState::Process
        return name
    parts = [part for part in scope.split("/") if part not in ("gradient_tape", kind)]
    return f"{kind.removeprefix('_MklNative').removeprefix('_Mkl')}: {'/'.join(parts[-2:])}"


def with_all_levels(seconds: Mapping[Stack, float]) -> dict[Stack, float]:
    """Returns the seconds of all stacks and of their beginnings, including everything inside them."""
    whole: dict[Stack, float] = defaultdict(float)
    for stack, own in seconds.items():
        for depth in range(1, len(stack) + 1):
            whole[stack[:depth]] += own
    return dict(whole)


def write_flames(path: str | os.PathLike, seconds: Mapping[Stack, float], *, title: str) -> None:
    """Writes seconds by stack as a page that needs no network. A click on a part enlarges it."""
    with needing("compare", "A flame graph"):
        import plotly.graph_objects as go

    whole = with_all_levels(seconds)
    total = sum(own for stack, own in whole.items() if len(stack) == 1)
    shown = {stack: own for stack, own in sorted(whole.items()) if own >= LEAST_SHARE * total}
    chart = go.Icicle(
        ids=["\t".join(stack) for stack in shown],
        labels=[stack[-1] for stack in shown],
        parents=["\t".join(stack[:-1]) for stack in shown],
        values=list(shown.values()),
        branchvalues="total",
        tiling={"orientation": "v"},
        hovertemplate="%{label}<br>%{value:.3f} s, %{percentParent:.1%} of its caller<extra></extra>",
        textinfo="label+percent root",
    )
    figure = go.Figure(chart, layout={"title": title, "height": 1100, "margin": {"l": 10, "r": 10, "t": 50, "b": 10}})
    write_text(path, figure.to_html(include_plotlyjs=True, full_html=True))
