"""Damages files, each time in another way, by a seeded choice: `damage(path, random)` returns what it did.

What is done depends on the file's suffix. Values of JSON, YAML and tables are replaced by hostile ones, members of
`.npz` lie about their sizes, nodes of graphs are rewired. Every file is also cut off, its bits are flipped, and it
becomes a link, a folder or a pipe.
"""

import io
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import yaml

HOLE = "0f4a1b7c-hole"  # stands for a hostile value until the text is written
DEEP = 100_000
VALUES = (  # JSON in place of a value
    "null", "true", "false", "0", "-1", "1", "1.5", "-0.0", "1e308", "-1e308", "1e999", "NaN", "Infinity", "-Infinity",
    str(2**31), str(2**63), str(-(2**63)), str(10**30), "9" * 5_000, '""', '"x"', '"1"', '"nan"', '"\\u0000"',
    '"\\ud800"', '"../../../../etc/passwd"', '"/dev/zero"', '"gym.evil.module:X-v0"', '"<script>alert(1)</script>"',
    '"' + "x" * 100_000 + '"', "[]", "{}", "[0]", "[[0]]", '{"a": 0}', "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "0" + "}" * DEEP, "[" + "0," * 50_000 + "0]", "!!python/object/apply:os.system [id]",
)  # fmt: skip
CELLS = (
    "", "x", "-1", "1.5", "nan", "inf", "-inf", "1e999", "1e18", str(2**63), str(10**30), "9" * 5_000, "True", "\0",
    '"', "'", "a,b", "\n", "x" * 100_000, "<script>", "../../x", "2001-01-01", "0x10", "1_000", "١",
)  # fmt: skip
OPERATIONS = (
    "Relu", "Tanh", "Fill", "Reshape", "Conv2D", "MatMul", "Cast", "Range", "ReadFile", "PyFunc", "", "Pack",
    "Transpose", "Squeeze", "StridedSlice", "ExpandDims", "Identity", "Const", "Gather", "ArgMax", "Mul",
)  # fmt: skip
SIZES = (0, 1, 2, -1, 7, 2**20, 2**31, 2**40, 2**62, 2**63)


def damage(path: Path, random: Random) -> str:
    """Damages a file in one way, or in up to three.

    Args:
        path: The file.
        random: Makes all choices.

    Returns:
        What was done, in words.
    """
    own = _BY_SUFFIX.get(path.suffix, ())
    kind = random.random()
    if kind < 0.1:
        return _replaced(path, random)
    if kind < 0.35 or not own:
        data = path.read_bytes()
        done = []
        for _ in range(random.randint(1, 3)):
            change = random.choice(_BYTES)
            data = change(data, random)
            done.append(change.__name__.strip("_"))
        path.write_bytes(data)
        return " and ".join(done)
    change = random.choice(own)
    try:
        path.write_bytes(change(path.read_bytes(), random))
    except (UnicodeError, ValueError, RecursionError, OverflowError) as error:
        path.write_bytes(b"")
        return f"{change.__name__.strip('_')} failed ({type(error).__name__}), so the file is empty"
    return change.__name__.strip("_")


# ---- the file as a whole


def _replaced(path: Path, random: Random) -> str:
    kind = random.choice(["folder", "pipe", "link to /dev/zero", "link to itself", "link to nothing", "missing"])
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "missing":
        path.symlink_to({"link to /dev/zero": "/dev/zero", "link to itself": path.name}.get(kind, "nowhere"))
    return kind


# ---- bytes


def _cut_off(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _flipped(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 4, 64]) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _overwritten(data: bytes, random: Random) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + random.randbytes(random.randint(1, 64)) + data[start + 64 :]


def _without_a_part(data: bytes, random: Random) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start + random.randint(1, 1 + len(data) // 4) :]


def _doubled(data: bytes, random: Random) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + data[start // 2 :]


def _with_numbers(data: bytes, random: Random) -> bytes:
    """Writes an extreme number over four or eight bytes, which may be a length."""
    start, width = random.randrange(len(data) + 1), random.choice([4, 8])
    number = random.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]) << random.choice([0, 8 * (width - 4)])
    return data[:start] + number.to_bytes(width, random.choice(["little", "big"])) + data[start + width :]


_BYTES = (_cut_off, _flipped, _overwritten, _without_a_part, _doubled, _with_numbers)


# ---- JSON and YAML


def _places(value: object) -> list[tuple]:
    """Returns all places in a value: pairs of a collection and a name or number in it."""
    found = []
    for name, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        found.append((value, name))
        if isinstance(part, dict | list):
            found += _places(part)
    return found


def _changed(value: object, random: Random) -> str:
    """Damages one or two places of a value, and returns it as JSON."""
    for _ in range(random.choice([1, 1, 2])):
        places = _places(value) if isinstance(value, dict | list) else []
        if not places:
            return random.choice(VALUES)
        # Most of a long list is alike.
        inside, name = random.choice(places) if random.random() < 0.5 else random.choice(places[:40])
        kind = random.random()
        if kind < 0.15:
            del inside[name]
        elif kind < 0.25 and isinstance(inside, dict):
            inside[random.choice(["", "\0", "x" * 1_000, "__class__", f"{name} "])] = inside.pop(name)
        else:
            inside[name] = HOLE
    text = json.dumps(value, indent=random.choice([None, 1]))
    return re.sub(f'"{HOLE}"', lambda _: random.choice(VALUES), text)


def _value_of_json(data: bytes, random: Random) -> bytes:
    return _changed(json.loads(data), random).encode()


def _all_of_json(data: bytes, random: Random) -> bytes:
    return random.choice(VALUES).encode()


def _value_of_yaml(data: bytes, random: Random) -> bytes:
    return _changed(yaml.safe_load(data), random).encode()  # JSON is YAML, too


def _bomb_of_yaml(data: bytes, random: Random) -> bytes:
    form = random.choice(["[%s]", "{<<: [%s]}", "{a: %s}"])
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, random.choice([3, 12, 200])):
        lines.append(f"a{level}: &a{level} " + form % ", ".join([f"*a{level - 1}"] * (1 if "a:" in form else 9)))
    return data + "\n".join(lines).encode() + b"\n"


def _value_of_a_line(data: bytes, random: Random) -> bytes:
    """Damages an object of JSON in one of the lines."""
    lines = data.decode().splitlines()
    number = random.randrange(len(lines))
    lines[number] = _changed(json.loads(lines[number]), random)
    return "\n".join(lines).encode() + random.choice([b"\n", b""])


def _lines_in_disorder(data: bytes, random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    random.shuffle(lines)
    return b"".join(lines)


# ---- tables


def _cell(data: bytes, random: Random) -> bytes:
    lines = data.decode().split("\n")
    number = random.randrange(len(lines))
    cells = lines[number].split(",")
    cells[random.randrange(len(cells))] = random.choice(CELLS)
    lines[number] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _column(data: bytes, random: Random) -> bytes:
    """Damages all cells of a column, leaves it out, or names it like another one."""
    rows = [line.split(",") for line in data.decode().splitlines()]
    place, kind, text = random.randrange(len(rows[0])), random.random(), random.choice(CELLS)
    for number, row in enumerate(rows):
        if kind < 0.2:
            del row[place : place + 1]
        elif kind < 0.4 and number == 0:
            row[place] = random.choice([rows[0][0], "", text])
        elif kind >= 0.4 and number > 0 and place < len(row):
            row[place] = text
    return "\n".join(",".join(row) for row in rows).encode()


def _ragged(data: bytes, random: Random) -> bytes:
    lines = data.decode().splitlines()
    number = random.randrange(len(lines))
    lines[number] += random.choice([",", ",x" * 1_000, ',"'])
    return "\n".join(lines).encode()


def _column_of_parquet(data: bytes, random: Random) -> bytes:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    table = parquet.read_table(io.BytesIO(data)).replace_schema_metadata(None)
    place = random.randrange(table.num_columns)
    name, rows = table.column_names[place], table.num_rows
    kinds = (
        *(["x"], [None], [2**62], [-1], [1e308], [float("nan")], [float("inf")], [True]),
        *([b"\xff"], [[1]], [{"a": 1}]),
    )
    kind = random.random()
    if kind < 0.15:
        table = table.remove_column(place)
    elif kind < 0.25:
        table = table.rename_columns([*table.column_names[:place], "x", *table.column_names[place + 1 :]])
    elif kind < 0.35:
        table = table.slice(0, random.randrange(2))
    elif kind < 0.45:
        table = table.append_column(name, table.column(place))
    else:
        table = table.set_column(place, name, arrow.array(random.choice(kinds) * rows))
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


# ---- archives


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _zipped(members: dict[str, bytes], random: Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def _members_of_zip(data: bytes, random: Random) -> bytes:
    members = _members(data)
    name = random.choice(list(members))
    kind = random.choice(["gone", "moved", "damaged", "swapped", "outside", "zeros", "link"])
    if kind == "gone":
        del members[name]
    elif kind == "moved":
        members[f"{name}.old"] = members.pop(name)
    elif kind == "damaged":
        members[name] = random.choice(_BYTES)(members[name], random)
    elif kind == "swapped":
        other = random.choice(list(members))
        members[name], members[other] = members[other], members[name]
    elif kind == "outside":
        members[random.choice(["../outside", "/tmp/outside", "a/../../outside", "."])] = b"x"
    elif kind == "zeros":
        members[name] = bytes(2**25)  # 32 MiB, packed to 32 kB
    return _zipped(members, random)


def _sizes_of_arrays(data: bytes, random: Random) -> bytes:
    """Lets the header of an array say another type or shape than its numbers have."""
    members = _members(data)
    name = random.choice([name for name in members if name.endswith(".npy")])
    array = np.lib.format.read_array(io.BytesIO(members[name]))
    shape = list(array.shape) or [1]
    if random.random() < 0.6:
        shape[random.randrange(len(shape))] = random.choice(SIZES)
    kinds = ["<f4", "<f8", "<i8", "|u1", "|b1", "<U7", "|S3", "|O", "|V8", "<c16", "<M8[s]", ">f4", "<U99999999", "??"]
    descr = random.choice(kinds) if random.random() < 0.5 else array.dtype.str
    header = repr({"descr": descr, "fortran_order": random.random() < 0.2, "shape": tuple(shape)}).encode()
    if random.random() < 0.1:
        header = random.choice([b"", b"{" * 9_000, b"__import__('os').system('id')", b"\xff" * 64, b"(" * 50_000])
    members[name] = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header) + 1) + header + b"\n" + array.tobytes()
    return _zipped(members, random)


def _values_of_arrays(data: bytes, random: Random) -> bytes:
    """Gives an array other numbers, another type or another shape, with a header that is right."""
    members = _members(data)
    name = random.choice([name for name in members if name.endswith(".npy")])
    array = np.lib.format.read_array(io.BytesIO(members[name]))
    if array.dtype.kind == "U":
        try:
            array = np.array(_changed(json.loads(str(array)), random)[:200_000])
        except ValueError:
            array = np.array(random.choice(CELLS))
    else:
        with np.errstate(all="ignore"):
            changes: list[Callable] = [
                lambda a: np.full_like(a, random.choice([0, 1, 7])),
                lambda a: np.full(a.shape, np.nan),
                lambda a: np.full(a.shape, -np.inf, np.float32),
                lambda a: np.full(a.shape, -1, np.int64),
                lambda a: np.full(a.shape, 2**62, np.int64),
                lambda a: np.full(a.shape, "x"),
                lambda a: a[:0],
                lambda a: a[:1],
                lambda a: a[None],
                lambda a: a.ravel()[:1].reshape(()),
                lambda a: a.astype(np.float64),
                lambda a: a.astype(np.int8),
            ]
            array = random.choice(changes)(np.atleast_1d(array))
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    members[name] = out.getvalue()
    return _zipped(members, random)


def _text_in_zip(data: bytes, random: Random) -> bytes:
    """Damages a JSON member of a Keras model."""
    members = _members(data)
    name = random.choice([name for name in members if name.endswith(".json")])
    members[name] = _changed(json.loads(members[name]), random).encode("utf-8", "surrogatepass")
    return _zipped(members, random)


def _size_in_zip(data: bytes, random: Random) -> bytes:
    """Gives a number in the JSON of a Keras model an extreme size, such as the units of a layer."""
    members = _members(data)
    name = next(name for name in members if name == "config.json")
    text = members[name].decode()
    numbers = list(re.finditer(r"(?<=[ \[])\d+(?=[,\]}])", text))
    if numbers:
        found = random.choice(numbers)
        text = text[: found.start()] + str(random.choice(SIZES[3:])) + text[found.end() :]
    members[name] = text.encode()
    return _zipped(members, random)


# ---- graphs


def _graph(data: bytes, random: Random) -> bytes:
    """Rewires a graph: other operations, inputs, types, shapes and constants, cycles, and constants of many GB."""
    import tensorflow as tf

    graph = tf.compat.v1.GraphDef.FromString(data)
    for _ in range(random.choice([1, 1, 2, 3])):
        node = random.choice(graph.node)
        kind = random.choice(["op", "input", "cycle", "gone", "type", "shape", "attribute", "fill", "name", "twice"])
        if kind == "op":
            node.op = random.choice(OPERATIONS)
        elif kind == "input" and node.input:
            node.input[random.randrange(len(node.input))] = random.choice(graph.node).name
        elif kind == "cycle":
            node.input.append(random.choice([node.name, f"^{node.name}", graph.node[-1].name, "nowhere:7", "^", ""]))
        elif kind == "gone":
            graph.node.remove(node)
        elif kind == "type" and node.attr:
            node.attr[random.choice(sorted(node.attr))].type = random.choice([0, 1, 3, 7, 9, 14, 20, 101, 999])
        elif kind == "shape":
            tensor = node.attr["value"].tensor
            if not tensor.tensor_shape.dim:
                tensor.tensor_shape.dim.add()
            random.choice(tensor.tensor_shape.dim).size = random.choice(SIZES[:-1])
        elif kind == "attribute" and node.attr:
            name = random.choice(sorted(node.attr))
            attribute = node.attr[name]
            change = random.choice(["gone", "list", "text", "number"])
            if change == "gone":
                del node.attr[name]
            elif change == "list":
                attribute.list.i.extend([random.choice(SIZES[:-1])] * random.randint(1, 5))
            elif change == "text":
                attribute.s = random.choice([b"", b"SAME", b"EXPLICIT", b"NCHW", b"\xff" * 9])
            else:
                attribute.i = random.choice(SIZES[:-1])
        elif kind == "fill":
            _add_fill(graph, node, random)
        elif kind == "name":
            node.name = random.choice([random.choice(graph.node).name, "", "../x", "X_t", "^a:0", "x" * 100_000])
        elif kind == "twice":
            graph.node.add().CopyFrom(node)
    return graph.SerializeToString()


def _add_fill(graph, node, random: Random) -> None:
    """Gives a node an input that would have many billions of numbers."""
    import tensorflow as tf

    number = len(graph.node)
    size = graph.node.add(name=f"size{number}", op="Const")
    size.attr["dtype"].type = tf.int32.as_datatype_enum
    size.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([60_000, random.choice([60_000, 2**31 - 1])], tf.int32))
    value = graph.node.add(name=f"value{number}", op="Const")
    value.attr["dtype"].type = tf.float32.as_datatype_enum
    value.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0, tf.float32))
    fill = graph.node.add(name=f"fill{number}", op="Fill", input=[size.name, value.name])
    fill.attr["T"].type = tf.float32.as_datatype_enum
    fill.attr["index_type"].type = tf.int32.as_datatype_enum
    if node.input:
        node.input[len(node.input) - 1] = fill.name
    else:
        node.input.append(fill.name)


# ---- text


def _words(data: bytes, random: Random) -> bytes:
    """Replaces some words of a text log."""
    parts = re.split(r"(\s+)", data.decode())
    for _ in range(random.choice([1, 3, 20])):
        parts[random.randrange(len(parts))] = random.choice(CELLS)
    return "".join(parts).encode("utf-8", "surrogatepass")


_BY_SUFFIX: dict[str, tuple[Callable[[bytes, Random], bytes], ...]] = {
    ".json": (_value_of_json, _value_of_json, _value_of_json, _all_of_json),
    ".yaml": (_value_of_yaml, _value_of_yaml, _value_of_yaml, _bomb_of_yaml),
    ".jsonl": (_value_of_a_line, _value_of_a_line, _lines_in_disorder),
    ".csv": (_cell, _cell, _column, _ragged, _lines_in_disorder),
    ".parquet": (_column_of_parquet,),
    ".npz": (_members_of_zip, _sizes_of_arrays, _values_of_arrays),
    ".keras": (_members_of_zip, _text_in_zip, _text_in_zip, _size_in_zip),
    ".pb": (_graph,),
    ".txt": (_words, _lines_in_disorder),
}
