# SPDX-License-Identifier: Apache-2.0
"""hostile_holders.py names | deep | freed | refused | old: runs out of memory with tensors below names that are not texts, or act on terminals, and
objects whose methods end the program; in a chain of a million lists; next to objects whose types were freed; where the system refuses the child
process; on an old kernel."""
import ctypes
import gc
import mmap
import os
import struct
import sys
import types

import torch


def keep():
    tensor = torch.empty(1000, device="cuda")
    print("kept", tensor.data_ptr())
    return tensor


class Quits:
    """Asked anything, it ends the program."""

    def quit(self, *_):
        raise SystemExit(3)

    __hash__ = __eq__ = __repr__ = __getattribute__ = quit


def names():
    modules = [types.ModuleType("m\x1b[31m\n" * 50), types.ModuleType("x"), types.ModuleType("y")]
    modules[1].__dict__["__name__"] = 5
    del modules[2].__dict__["__name__"]
    for i, module in enumerate(modules):
        module.__dict__["\x1b[2J" if i else ("no", "text")] = keep()
    sys.modules.update({f"hostile{i}": module for i, module in enumerate(modules)})
    loud = type("E\x1b]0;x\x07" + "v" * 100000, (), {"kept": keep()})()
    setattr(loud, "a\x1b[2J\n" + "b" * 100000, keep())
    vars(loud)["zero\0inside"] = keep()
    keys = ["k\x1b[31m\n%s%n", b"bytes", 1.5, -7, 1 << 200, None, "\ud800", "\u00f6\u5927\U0001f600", type("Text", (str,), {})("text")]
    table = {key: keep() for key in keys}
    quits = object.__new__(Quits)
    object.__setattr__(quits, "kept", keep())
    function = eval(compile("lambda x=None: x", "\x1b[31mfile\n.py", "eval"))
    function.__defaults__, function.__name__, function.__qualname__ = (keep(),), "n\x1b", "q\x1b" * 10000
    return loud, table, quits, function


def deep():
    chain = [keep()[:100]]  # of a program from which the recorder has not learned where tensors have their types
    for _ in range(1000000):
        chain = [chain]
    return chain


def freed():
    """Objects whose types are no longer there, or are something else by now, each before and after a tensor."""
    gc.disable()
    numbers, pages, page = ctypes.c_uint64, mmap.mmap(-1, 4 * mmap.PAGESIZE), mmap.PAGESIZE
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    ctypes.memset(start + page, 0xdd, page)
    ctypes.memmove(start + 2 * page, id(Quits), 416)  # a type whose tp_traverse is data
    numbers.from_address(start + 2 * page + 192).value = start + page
    ctypes.memmove(start + 3 * page, id(Quits), 416)  # one whose name is not there
    numbers.from_address(start + 3 * page + 24).value = 1 << 46
    types = [1 << 46, 0, start + 8, *[start + i * page for i in range(4)], (1 << 64) - 16]
    kept = []
    for address in types:
        broken = object.__new__(Quits)
        numbers.from_address(id(broken)).value += 1  # the test does not free it
        kept.extend([[broken, keep()], [keep(), broken], {"broken": broken, "tensor": keep()}])
        numbers.from_address(id(broken) + 8).value = address
        del broken
    return kept


def refused():
    """From here on clone without flags is not allowed: load its number; if it is clone, its flags; EPERM or allowed."""
    program = b"".join(struct.pack("HBBI", *words) for words in [
        (0x20, 0, 0, 0), (0x15, 0, 3, 56), (0x20, 0, 0, 16), (0x15, 0, 1, 0), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)])
    rules = ctypes.create_string_buffer(program)
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 6, ctypes.addressof(rules)))
    system = ctypes.CDLL(None).syscall
    assert not system(157, 38, 1, 0, 0, 0) and not system(157, 22, 2, filters, 0, 0)
    return keep()


def old():
    """From here on the kernel's version is 2.6."""
    ctypes.CDLL(None).personality(0x20000)
    assert os.uname().release.startswith("2.6")
    return keep()


kept = {"names": names, "deep": deep, "freed": freed, "refused": refused, "old": old}[sys.argv[1]]()
try:
    torch.empty(1 << 45, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("out of memory")
if sys.argv[1] == "freed":
    os._exit(0)
chain, kept = kept, None
while isinstance(chain, list):  # a chain that ends at once ends by a million calls
    chain = chain[0]
