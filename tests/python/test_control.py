# SPDX-License-Identifier: Apache-2.0
"""test_control.py PACKAGE MEMTAP: what a program says to its recording, and that it says nothing where there is none. On the
simulated card, without PyTorch."""
import os
import pathlib
import subprocess
import sys
import tempfile

package, command = map(os.path.abspath, sys.argv[1:])
os.environ.update(MEMTAP=command, PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1")
sys.path.insert(0, package)
import memtap  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import arrow  # noqa: E402

PROGRAM = r"""
import ctypes, sys
import memtap

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0

def take(mib):
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib << 20)) == 0
    return address.value

class Tensor:
    def __init__(self, address):
        self.address = address
    def data_ptr(self):
        return self.address

class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = {"data": (address, False)}

@memtap.phase("outer")
def work():
    with memtap.phase("inner \0 \u00fc"):
        memtap.name(Tensor(take(3)), "kv cache")
        memtap.name(Array(take(4)), "field")
        memtap.name(take(5), "plain")
        memtap.name(Tensor(0), "nothing")
    memtap.mark("half")
    memtap.sample()
    memtap.holders()
    try:
        with memtap.phase("fails"):
            raise KeyError
    except KeyError:
        pass
    take(6)

work()
print(memtap.is_recorded(), bool(memtap.own_trace()), memtap.save("now.mtap"))
take(7)
try:
    memtap.name("text", "x")
except TypeError as wrong:
    print(wrong)
"""

NOTHING = r"""
import memtap
with memtap.phase("x"):
    memtap.mark("y"); memtap.sample(); memtap.holders(); memtap.name(1, "z"); memtap.name("text", "z")
print(memtap.is_recorded(), memtap.own_trace(), memtap.save("never.mtap"))
"""


def python(text, *before):
    done = subprocess.run([*before, sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    said = python(PROGRAM, command, "run", "--quiet", "--simulate", "h100", "-o", "t.mtap", "--").splitlines()
    assert said[0] == "True True True" and said[1].startswith("str has no device address"), said
    rows = {row["size"] >> 20: row for row in arrow.rows(memtap.open("t.mtap").blocks("end"))}
    assert [rows[mib]["name"] for mib in (3, 4, 5, 6)] == ["kv cache", "field", "plain", None], rows
    assert rows[3]["range"] == "outer > inner   ü" and rows[6]["range"] == "outer" and rows[7]["range"] is None, rows
    report = memtap.open("t.mtap").report()
    assert [mark["mark"] for mark in report.data["marks"]] == ["half"]
    # What was written in the middle is whole by itself, and has what came before it.
    now = memtap.open("now.mtap")
    assert {row["size"] >> 20 for row in arrow.rows(now.blocks("end"))} == {3, 4, 5, 6}
    # A process knows its own trace: of any ending, under another name than it was told, and with another's open.
    for output in ("other.trace", "t.mtap"):
        with open("t.mtap", "rb") as before:
            kept = before.read()
        text = "theirs = open('t.mtap', 'rb')\n" + PROGRAM.replace("now.mtap", output + ".saved.mtap")
        said = python(text, command, "run", "--quiet", "--simulate", "h100", "-o", output, "--").splitlines()
        assert said[0] == "True True True", said
        saved = memtap.open(output + ".saved.mtap")
        assert {row["size"] >> 20 for row in arrow.rows(saved.blocks("end"))} == {3, 4, 5, 6}
        own = memtap.open(output if output != "t.mtap" else "t.1.mtap").report().data["process"]["pid"]
        assert saved.report().data["process"]["pid"] == own
        with open("t.mtap", "rb") as after:
            assert after.read() == kept
    assert python(NOTHING) == "False None False\n" and not os.path.exists("never.mtap")
    os.chdir("/")
