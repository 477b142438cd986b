# SPDX-License-Identifier: Apache-2.0
"""Arrow's C data interface by ctypes (exchange/reader/arrow.h): the rows of memtap's own tables, without another library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, Optional


class Schema(ctypes.Structure):
    """ArrowSchema."""


class Array(ctypes.Structure):
    """ArrowArray."""


class Stream(ctypes.Structure):
    """ArrowArrayStream."""


_I64, _P = ctypes.c_int64, ctypes.c_void_p
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", _P),
    ("flags", _I64),
    ("n_children", _I64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", _P),
]
Array._fields_ = [
    ("length", _I64),
    ("null_count", _I64),
    ("offset", _I64),
    ("n_buffers", _I64),
    ("n_children", _I64),
    ("buffers", ctypes.POINTER(_P)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", _P),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", _P),
]

TYPES = {b"s": "int16", b"i": "int32", b"l": "int64"}
_NUMBERS = {b"s": ctypes.c_int16, b"i": ctypes.c_int32, b"l": ctypes.c_int64}


def metadata_of(address: int) -> dict[str, str]:
    """Arrow's metadata: the number of pairs, then the length and text of each."""
    at = address

    def number() -> int:
        nonlocal at
        at += 4
        return ctypes.c_int32.from_address(at - 4).value

    def text() -> str:
        nonlocal at
        size = number()
        at += size
        return ctypes.string_at(at - size, size).decode()

    return {text(): text() for _ in range(number())}


def _text(array: Any, row: int) -> str:
    begin, end = (ctypes.c_int32 * 2).from_address(array.buffers[1] + 4 * row)
    return ctypes.string_at(array.buffers[2] + begin, end - begin).decode()


def _value(schema: Any, array: Any, row: int) -> Any:
    valid = array.buffers[0]
    if valid and not ctypes.c_uint8.from_address(valid + row // 8).value >> row % 8 & 1:
        return None
    kind = _NUMBERS[schema.format]
    number = kind.from_address(array.buffers[1] + ctypes.sizeof(kind) * row).value
    return _text(array.dictionary.contents, number) if schema.dictionary else number


def batches(stream: Stream) -> Iterator[Array]:
    """Yield each array of a stream; it is released when the next one is requested. OSError has the stream's message."""
    while True:
        array = Array()
        code = stream.get_next(ctypes.byref(stream), ctypes.byref(array))
        if code:
            raise OSError(code, stream.get_last_error(ctypes.byref(stream)).decode("utf-8", "replace"))
        if not array.release:
            return
        try:
            yield array
        finally:
            array.release(ctypes.byref(array))


def first_rows(stream: Stream, schema: Schema, most: Optional[int]) -> tuple[list[tuple[Any, ...]], int]:
    """Return the first rows of a stream, at most `most` (None: all), and their number in all."""
    rows: list[tuple[Any, ...]] = []
    length = 0
    for array in batches(stream):
        wanted = array.length if most is None else min(array.length, most - len(rows))
        columns = [(schema.children[i].contents, array.children[i].contents) for i in range(schema.n_children)]
        rows += [tuple(_value(*column, row) for column in columns) for row in range(wanted)]
        length += array.length
    return rows, length
