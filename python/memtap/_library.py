# SPDX-License-Identifier: Apache-2.0
"""libmemtap-reader.so by ctypes (exchange/reader/memtap-reader.h), and Arrow's capsules."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from collections.abc import Sequence
from typing import Any, Callable, Optional

from ._arrow import TYPES, Schema, Stream, first_rows, metadata_of
from .command import Problem, find_command

ABI = 4
NAME = "libmemtap-reader.so"
ERROR_BYTES = 8192


def places() -> list[pathlib.Path]:
    """The places of the library: relative to the command, as installed or as built."""
    named = os.environ.get("MEMTAP_READER")
    if named:
        return [pathlib.Path(named)]
    top = pathlib.Path(find_command()).resolve().parent.parent
    return [
        *(top / folder / "memtap" / NAME for folder in ("lib", "lib64", "lib/x86_64-linux-gnu")),
        top / "exchange" / NAME,
    ]


@functools.cache
def library() -> ctypes.CDLL:
    looked_at = places()
    path = next((place for place in looked_at if place.exists()), None)
    if path is None:
        raise Problem(f"{looked_at[0]}: no such library; reinstall memtap, or set MEMTAP_READER to its path")
    found = ctypes.CDLL(str(path))
    if found.memtap_reader_abi() < ABI:
        raise Problem(f"{path}: older than this package; reinstall memtap")
    size, text, pointer = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    for name, result, *arguments in (
        ("table", text, ctypes.c_int),
        ("about", pointer, text, text, size),
        ("schema", ctypes.c_int, text, pointer, text, size),
        ("stream", ctypes.c_int, ctypes.POINTER(text), size, text, text, ctypes.c_int, pointer, text, size),
        ("streams", ctypes.c_int, text, ctypes.POINTER(text), size, ctypes.c_int, ctypes.POINTER(pointer), text, size),
        ("comparable_file", None, text, text, text, size),
        ("program", None, text, text, size),
        ("size", None, ctypes.c_uint64, text, size),
        ("most_output", ctypes.c_uint64, text),
        ("set_capsules", None, pointer),
        ("schema_name", pointer),
        ("stream_name", pointer),
        ("new_schema", pointer),
        ("new_stream", pointer),
    ):
        function = getattr(found, f"memtap_reader_{name}")
        function.restype, function.argtypes = result, arguments
    found.memtap_reader_set_capsules(ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, pointer))
    return found


@functools.cache
def tables() -> tuple[str, ...]:
    names: list[str] = []
    while (name := library().memtap_reader_table(len(names))) is not None:
        names.append(name.decode())
    return tuple(names)


def ask(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function whose last parameters are for an error. Return its result and the error's text."""
    error = ctypes.create_string_buffer(ERROR_BYTES)
    result = function(*arguments, error, ERROR_BYTES)
    return result, error.value.decode("utf-8", "replace")


def most_output(path: str) -> int:
    """Return how many bytes a table of this trace may have."""
    most: int = library().memtap_reader_most_output(os.fsencode(path))
    return most


def about(path: str) -> dict[str, str]:
    """Return the trace's first info records: lines of "key=value"."""
    address, wrong = ask(library().memtap_reader_about, os.fsencode(path))
    if not address:
        raise Problem(f"{path}: {wrong}")
    try:
        lines = ctypes.string_at(address).decode("utf-8", "replace").splitlines()
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes, free.restype = [ctypes.c_void_p], None
        free(address)
    said = {}
    for line in lines:
        key, _, value = line.partition("=")
        said[key] = value
    return said


# With the GIL held, and without changing other users' declarations of the same functions.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def capsule(kind: str) -> tuple[Any, int]:
    """Return a capsule that owns an empty structure, and the structure's address. kind: "schema", "stream"."""
    lib = library()
    address = getattr(lib, f"memtap_reader_new_{kind}")()
    if not address:
        raise MemoryError
    end = ctypes.cast(getattr(lib, f"memtap_reader_end_{kind}"), ctypes.c_void_p)
    return _new_capsule(address, getattr(lib, f"memtap_reader_{kind}_name")(), end), address


def schema_capsule(table: str) -> Any:
    held, address = capsule("schema")
    code, wrong = ask(library().memtap_reader_schema, table.encode(), address)
    if code:
        raise Problem(wrong)
    return held


def stream_capsule(paths: Sequence[str], table: str, at: Optional[str], damaged: bool) -> Any:
    held, address = capsule("stream")
    given = (ctypes.c_char_p * len(paths))(*map(os.fsencode, paths))
    code, wrong = ask(
        library().memtap_reader_stream,
        given,
        len(paths),
        table.encode(),
        None if at is None else at.encode(),
        damaged,
        address,
    )
    if code:
        raise Problem(wrong)
    return held


def stream_capsules(path: str, tables: Sequence[str], damaged: bool) -> list[Any]:
    """The same for several tables of one trace, which is analyzed once."""
    capsules, addresses = zip(*(capsule("stream") for _ in tables))
    given = (ctypes.c_char_p * len(tables))(*(table.encode() for table in tables))
    out = (ctypes.c_void_p * len(tables))(*addresses)
    code, wrong = ask(library().memtap_reader_streams, os.fsencode(path), given, len(tables), damaged, out)
    if code:
        raise Problem(wrong)
    return list(capsules)


def comparable_file(file: str, working_directory: str) -> str:
    """Return the name by which memtap diff compares a file."""
    name = ctypes.create_string_buffer(ERROR_BYTES)
    library().memtap_reader_comparable_file(file.encode(), working_directory.encode(), name, ERROR_BYTES)
    return name.value.decode("utf-8", "replace")


def program(command: str) -> str:
    """Return what a command line runs: "train.py", or a module's name after -m."""
    name = ctypes.create_string_buffer(ERROR_BYTES)
    library().memtap_reader_program(command.encode(), name, ERROR_BYTES)
    return name.value.decode("utf-8", "replace")


def size_text(size: float) -> str:
    """Return bytes as reports write them: "18.42 GiB"."""
    text = ctypes.create_string_buffer(64)
    library().memtap_reader_size(round(abs(size)), text, len(text))
    return ("-" if size < 0 else "") + text.value.decode()


@functools.cache
def columns_of(table: str) -> tuple[tuple[str, str, str, str], ...]:
    """Return the name, type, unit and meaning of each column."""
    held = schema_capsule(table)
    columns = []
    top = Schema.from_address(_capsule_pointer(held, library().memtap_reader_schema_name()))
    for i in range(top.n_children):
        column = top.children[i].contents
        said = metadata_of(column.metadata)
        columns.append(
            (
                column.name.decode(),
                "text" if column.dictionary else TYPES[column.format],
                said.get("unit", ""),
                said.get("meaning", ""),
            )
        )
    return tuple(columns)


def rows_of(stream: Any, table: str, most: int) -> tuple[list[tuple[Any, ...]], int]:
    """Return the first rows of a stream's capsule, at most `most`, and their number in all."""
    held = schema_capsule(table)
    lib = library()
    schema = Schema.from_address(_capsule_pointer(held, lib.memtap_reader_schema_name()))
    try:
        return first_rows(Stream.from_address(_capsule_pointer(stream, lib.memtap_reader_stream_name())), schema, most)
    except OSError as wrong:
        raise Problem(wrong.strerror) from None
