# SPDX-License-Identifier: Apache-2.0
"""test-cupti.py MEMTAP SHIM CALLS SUBSCRIBER: CUDA's calls as CUPTI tells them, on the simulated
device: alone, in a program that nothing is preloaded into, and together with the hooks."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, equal, finish

memtap, shim, calls, subscriber = sys.argv[1:]
shim, simulate = os.path.realpath(shim), [memtap, "simulate", "--gpu", "t4", "--"]


class Run:
    """A program's run: what it prints, and its trace's records of CUDA's calls as lines."""

    def __init__(self, command, **environment):
        with tempfile.TemporaryDirectory() as directory:
            trace = os.path.join(directory, "t.mtap")
            ran = subprocess.run(command, text=True, capture_output=True, check=False,
                                 env={**os.environ, "MEMTAP_OUTPUT": trace, **environment})
            if ran.returncode:
                check(False, f"{command}: exit code {ran.returncode}: {ran.stderr}")
            self.out, self.err = ran.stdout.splitlines(), ran.stderr
            self.lines, self.devices, self.cupti = [], set(), None
            if os.path.exists(trace):
                self.read(trace)

    def read(self, trace):
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                                 stdout=subprocess.PIPE)
        for event in map(json.loads, listing.stdout.splitlines()):
            if event["record"] == "info" and event["text"].startswith("cupti="):
                self.cupti = event["text"].partition("=")[2]
            if event["record"].startswith("cuda_") and "api" in event:
                self.lines.append(f"{event['record']} {event['api']} {event.get('size', 0)}")
                self.devices.add(event["device"])


def hooked(*program, cupti="auto", **environment):
    """By memtap run, with the trace where Run looks for it."""
    directory = tempfile.mkdtemp()
    trace = os.path.join(directory, "t.mtap")
    ran = Run([memtap, "run", "--simulate", "t4", "--cupti", cupti, "-o", trace, "--", *program],
              **environment)
    if os.path.exists(trace):
        ran.read(trace)
        os.unlink(trace)
    os.rmdir(directory)
    return ran


def injected(*program, **environment):
    return Run([*simulate, *program], CUDA_INJECTION64_PATH=shim, **environment)


# The runtime makes its context without a word to the driver's callers: only CUPTI tells of that.
CONTEXT = "cuda_object cuDevicePrimaryCtxRetain 0"


def as_told(line):
    """Of streams CUPTI tells by themselves, not by the calls that make and end them; of text, how long
    the code is that is made of it."""
    if line == "cuda_object cuModuleLoadData 0":
        return "cuda_object cuModuleLoadData 13"
    return re.sub(r"cu(da|GreenCtx)?Stream(Create|Destroy)\w*", r"cuStream\2", line)


for route in ("linked", "dlsym", "lookup"):
    alone = injected(calls, route)
    equal(f"{route}, CUPTI alone", alone.lines, [CONTEXT, *map(as_told, alone.out)])
    equal(f"{route}: status", alone.cupti, "used")
    equal(f"{route}: devices", alone.devices, {0, -1})
    both = hooked(calls, route, cupti="on")
    equal(f"{route}, hooks and CUPTI", [line for line in both.lines if line != CONTEXT],
          [line for line in both.out if line != CONTEXT])
    equal(f"{route}: status beside the hooks", both.cupti, "used")
equal("off", injected(calls, MEMTAP_CUPTI="off").lines, [])
equal("auto, beside the hooks", hooked(calls).cupti, "not needed")
equal("auto, injected and preloaded", hooked(calls, CUDA_INJECTION64_PATH=shim).cupti, "not needed")
taken = hooked(calls, cupti="on", CUDA_INJECTION64_PATH="/no/such/tool.so")
equal("the injection's place is taken", taken.cupti,
      "not used: CUDA_INJECTION64_PATH is /no/such/tool.so")
equal("what the hooks see then", taken.lines, taken.out)

# The environment counts as it was when memtap was loaded: later, another thread may change it.
CHANGED = """import ctypes, os
del os.environ["CUDA_INJECTION64_PATH"]
ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), 4096)
"""
equal("the place was taken", hooked(sys.executable, "-c", CHANGED, cupti="on",
                                    CUDA_INJECTION64_PATH="/no/such/tool.so").cupti, taken.cupti)

# A function that is looked up in the runtime comes to a hook, but for a look-up with a version.
BY_HANDLE = """import ctypes
runtime, address = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
runtime.cudaFree(None)
runtime.cudaMalloc(ctypes.byref(address), 4096)
"""
BY_VERSION = """import ctypes
find, address = ctypes.CDLL(None).dlvsym, ctypes.c_void_p()
find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
runtime = ctypes.CDLL("libcudart.so.13")
def call(name, *arguments):
    ctypes.CFUNCTYPE(ctypes.c_int)(find(runtime._handle, name, b"libcudart.so.13"))(*arguments)
call(b"cudaFree", ctypes.c_void_p())
call(b"cudaMalloc", ctypes.byref(address), ctypes.c_size_t(4096))
"""
MALLOC = "cuda_malloc cudaMalloc 4096"
equal("looked up", hooked(sys.executable, "-c", BY_HANDLE).lines, [MALLOC])
# The hooks see what the runtime asks of the driver, as on a card.
equal("the driver's call alone", hooked(sys.executable, "-c", BY_VERSION).lines, ["cuda_malloc cuMemAlloc 4096"])
equal("seen by CUPTI", hooked(sys.executable, "-c", BY_VERSION, cupti="on").lines, [CONTEXT, MALLOC])

# Another subscriber comes: it must be able to, and is told what it wants.
SIZES = ("1000", "2000", "3000")
for cupti, status in (("off", "off"), ("auto", "not needed"),
                      ("on", "used until another client requested it")):
    ran = hooked(subscriber, cupti=cupti)
    equal(f"{cupti}: subscriber", ran.out, ["subscribe 0, told 2"])
    equal(f"{cupti}: status", ran.cupti, status)
    equal(f"{cupti}: sizes", [line.split()[-1] for line in ran.lines if "malloc" in line],
          list(SIZES))
# Nothing is preloaded into this one, and it is linked to CUPTI: that is left to it, unless requested.
left = injected(subscriber)
equal("a program with CUPTI", (left.out, left.lines), (["subscribe 0, told 2"], []))
equal("said so", "CUPTI is not used: the program uses it itself" in left.err, True)
equal("asked for", injected(subscriber, MEMTAP_CUPTI="on").out, ["subscribe 39, told 0"])
finish()
