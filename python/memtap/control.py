# SPDX-License-Identifier: Apache-2.0
"""What a program can report to memtap while it is recorded. Without libmemtap.so in the process each call does nothing;
the first one searches for it, later ones cost a fraction of a microsecond."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, Callable, Optional

_kept: dict[str, Optional[Callable[..., Any]]] = {}
_lock = threading.Lock()


def _function(name: str) -> Optional[Callable[..., Any]]:
    """Return libmemtap.so's function; None: this process is not recorded."""
    try:
        return _kept[name]
    except KeyError:
        pass
    import ctypes

    with _lock:
        found = getattr(ctypes.CDLL(None), name, None)
        if found is not None:
            found.restype = ctypes.c_size_t if name == "memtap_trace" else None
            found.argtypes = {
                "memtap_name": [ctypes.c_void_p, ctypes.c_char_p],
                "memtap_range_push": [ctypes.c_char_p],
                "memtap_mark": [ctypes.c_char_p],
                "memtap_start_for": [ctypes.c_uint, ctypes.c_uint],
                "memtap_trace": [ctypes.c_char_p, ctypes.c_size_t],
            }.get(name, [])
        _kept[name] = found
    return found


def _call(name: str, *arguments: Any) -> None:
    function = _function(name)
    if function is not None:
        function(*arguments)


def _text(name: object) -> bytes:
    """Return UTF-8, without zeros, which would end the text."""
    return str(name).replace("\0", " ").encode("utf-8", "replace")


def is_recorded() -> bool:
    """Return whether memtap records this process."""
    return _function("memtap_mark") is not None


class phase(contextlib.ContextDecorator):
    """A phase of this thread, within its open phases, for reports and views:

    with memtap.phase("validation"):
        ...

    @memtap.phase("rollout")
    def rollout(): ...
    """

    def __init__(self, name: object) -> None:
        self.name = name

    def __enter__(self) -> phase:
        if is_recorded():
            _call("memtap_range_push", _text(self.name))
        return self

    def __exit__(self, *_: object) -> None:
        _call("memtap_range_pop")


def mark(name: object) -> None:
    """Mark an event at this moment: reports show when, and how often."""
    if is_recorded():
        _call("memtap_mark", _text(name))


def start(seconds: int = 0, iterations: int = 0) -> Optional[str]:
    """Start the recording of a process that is loaded with memtap and does not record: `memtap run --dormant`, or after stop().
    It stops by itself after so many seconds or iterations of the program, whichever comes first; 0: no such limit.
    Return the path of the trace; None if nothing is recorded."""
    _call("memtap_start_for", seconds, iterations)
    return own_trace()


def stop() -> Optional[str]:
    """Stop the recording and return the path of its trace, which is complete then; None if nothing was recorded. Another start()
    writes another trace. Before the first use of CUDA, the process becomes dormant, as with `memtap run --dormant`."""
    trace = own_trace()
    _call("memtap_stop")
    return trace


def sample() -> None:
    """Request a sample of the memory in use on the devices, including contexts and other processes. It is in the trace a little later."""
    _call("memtap_sample")


def holders() -> None:
    """Find what keeps each block of GPU memory alive now, for `memtap holders`: a child process searches a copy of the program's
    memory, whose page tables the call waits for (some 20 ms per GB of host memory). If searches take more than a twentieth of the
    time, the call does nothing."""
    _call("memtap_holders")


def address_of(what: Any) -> int:
    """Return the device address of a tensor or an array, or a number that is an address; 0 if it has no memory."""
    if isinstance(what, int):
        return what
    pointer = getattr(what, "data_ptr", None)  # PyTorch
    if callable(pointer):
        return int(pointer())
    interface = getattr(what, "__cuda_array_interface__", None)  # CuPy, Numba, JAX
    if interface:
        return int(interface["data"][0])
    raise TypeError(f"{type(what).__name__} has no device address; pass a tensor, a CUDA array, or an address")


def name(what: Any, text: object) -> None:
    """Name the memory of a tensor in reports until it is freed: `memtap.name(cache, "kv cache")`. what: a tensor, an object with
    __cuda_array_interface__, or an address in device memory."""
    if not is_recorded():
        return
    address = address_of(what)
    if address:
        _call("memtap_name", address, _text(text))


def own_trace() -> Optional[str]:
    """Return the path of the trace that this process writes; None if it is not recorded, or has not used CUDA yet."""
    function = _function("memtap_trace")
    if function is None:
        return None
    import ctypes

    path = ctypes.create_string_buffer(4096)
    return os.fsdecode(path.value) if function(path, len(path)) else None


def save(path: Any) -> bool:
    """Write what was recorded so far to path, as a separate small trace (memtap-compact(1)); the recording continues. Return
    False if this process is not recorded, or has not used CUDA yet, and nothing is written."""
    trace = own_trace()
    if trace is None:
        return False
    from .command import run

    run("compact", "-o", path, trace)
    return True
