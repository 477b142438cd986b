# SPDX-License-Identifier: Apache-2.0
"""Reads Arrow's C streams by ctypes alone: what the tests compare with needs no library of others."""
import ctypes

from memtap._arrow import Array, Schema, Stream  # the structures; what is read is checked here

P = ctypes.c_void_p
NUMBERS = {b"s": ctypes.c_int16, b"i": ctypes.c_int32, b"l": ctypes.c_int64}
POINTER = ctypes.PYFUNCTYPE(P, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def is_valid(array, row):
    """Without nulls there may be no bits."""
    bits = array.buffers[0]
    return not bits or bool(ctypes.c_uint8.from_address(bits + row // 8).value >> row % 8 & 1)


def texts(array):
    offsets = (ctypes.c_int32 * (array.length + 1)).from_address(array.buffers[1])
    return [ctypes.string_at(array.buffers[2] + offsets[i], offsets[i + 1] - offsets[i]).decode() for i in range(array.length)]


def column(schema, array):
    assert array.offset == 0 and array.n_buffers == 2
    values = list((NUMBERS[schema.format] * array.length).from_address(array.buffers[1])) if array.length else []
    valid = [is_valid(array, row) for row in range(array.length)]
    assert array.null_count == valid.count(False) and (schema.flags & 2 or not array.null_count)
    if schema.dictionary:
        assert schema.dictionary.contents.format == b"u"
        known = texts(array.dictionary.contents)
        assert len(set(known)) == len(known), "each text once"
        values = [known[value] if ok else None for value, ok in zip(values, valid)]
    return [value if ok else None for value, ok in zip(values, valid)]


class Reader:
    """A table's stream: rows as dictionaries, batch by batch. It takes the stream out of its capsule, as consumers do."""

    def __init__(self, table):
        capsule = table.__arrow_c_stream__()
        inside = Stream.from_address(POINTER(capsule, b"arrow_array_stream"))
        self.stream = Stream()
        ctypes.memmove(ctypes.addressof(self.stream), ctypes.addressof(inside), ctypes.sizeof(Stream))
        ctypes.memset(ctypes.addressof(inside) + Stream.release.offset, 0, ctypes.sizeof(P))
        del capsule
        self.schema = Schema()
        assert self.stream.get_schema(ctypes.byref(self.stream), ctypes.byref(self.schema)) == 0
        self.children = [self.schema.children[i].contents for i in range(self.schema.n_children)]
        self.names = [child.name.decode() for child in self.children]

    def take(self):
        """The next array, to be released; None at the end. OSError: what the stream says."""
        array = Array()
        code = self.stream.get_next(ctypes.byref(self.stream), ctypes.byref(array))
        if code:
            raise OSError(code, self.stream.get_last_error(ctypes.byref(self.stream)).decode())
        return array if array.release else None

    def batches(self):
        while (array := self.take()) is not None:
            columns = [column(child, array.children[i].contents) for i, child in enumerate(self.children)]
            array.release(ctypes.byref(array))
            assert not array.release
            yield [dict(zip(self.names, row)) for row in zip(*columns)]

    def rows(self):
        return [row for batch in self.batches() for row in batch]

    def close(self):
        self.schema.release(ctypes.byref(self.schema))
        self.stream.release(ctypes.byref(self.stream))
        assert not self.stream.release and not self.schema.release


def rows(table):
    reader = Reader(table)
    try:
        return reader.rows()
    finally:
        reader.close()
