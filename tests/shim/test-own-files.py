# SPDX-License-Identifier: Apache-2.0
"""test-own-files.py MEMTAP SHIM: what others do to the files of a recording, and what memtap says and
where. A program of many allocations goes on, ends as without us, and what is missing is counted."""

import os
import pathlib
import subprocess
import sys
import tempfile

memtap, shim = (os.path.abspath(path) for path in sys.argv[1:3])
faults = []

# Allocates, does what it is told to, allocates again.
PROGRAM = """
import ctypes, os, sys, time
cudart = ctypes.CDLL(os.environ["MEMTAP_TEST_BUILD"] + "/libcudart.so.13")
def allocate(n=2000):
    address = ctypes.c_void_p()
    for _ in range(n):
        cudart.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(512))
def wait(holds):
    while not holds():
        time.sleep(0.01)
def turn():  # FORMAT.md, "The tail": another one, when memtap has written
    return open("t.mtap.tail", "rb").read(36)[32:]
def has_left_tail():
    return "t.mtap.tail" not in open("/proc/self/maps").read()
allocate()
%s
allocate()
allocate()
sys.stdout.write("done")
"""


def run(folder, action, **more):
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": "t.mtap", "MEMTAP_STACKS": "none"}
    process = {"stderr": subprocess.PIPE, **more}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM % action],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        **process,
    )


def dump(trace):
    """Allocations, and losses."""
    lines = subprocess.run(
        [memtap, "dump", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    ).stdout.splitlines()
    lost = [int(line.rsplit("=", 1)[1]) for line in lines if " lost count=" in line]
    return sum(" cuda_malloc " in line for line in lines), sum(lost)


def case(name, action, says=(), silent=(), whole=True, at_least=0, **more):
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        done = run(folder, action, **more)
        errors = done.stderr or ""
        if done.returncode or done.stdout != "done":
            faults.append(f"{name}: ended with {done.returncode}: {done.stdout!r} {errors!r}")
        for word in says:
            if word not in errors:
                faults.append(f"{name}: does not say {word!r}: {errors!r}")
        for word in silent:
            if word in errors:
                faults.append(f"{name}: says {word!r}: {errors!r}")
        mallocs, lost = dump(folder / "t.mtap")
        if (whole and not 6000 <= mallocs + lost) or mallocs < at_least or mallocs > 6000 + action.count("allocate(1)"):
            faults.append(f"{name}: {mallocs} allocations and {lost} lost: {errors!r}")
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


TAIL = "import random\nsize = os.path.getsize('t.mtap.tail')\n"
INTO = "fd = os.open('t.mtap.tail', os.O_WRONLY)\n"
TAILS = {
    "random": INTO + "os.pwrite(fd, random.Random(1).randbytes(size), 0)",
    "zeros": INTO + "os.pwrite(fd, bytes(size), 0)",
    "ones": INTO + "os.pwrite(fd, b'\\xff' * size, 0)",
    "random ring": INTO + "os.pwrite(fd, random.Random(2).randbytes(4096), 4096 + (1 << 20))",
    "ones in a ring": INTO + "os.pwrite(fd, b'\\xff' * 4096, 4096 + (1 << 20))",
    "random words": INTO + "os.pwrite(fd, random.Random(3).randbytes(2 << 20), 8192 + (1 << 20))",
    "other journal": INTO + "os.pwrite(fd, b'\\xff' * 8, 128)",
    # An event makes memtap look again: after its last turn it sleeps.
    "an older one": "old = open('t.mtap.tail', 'rb').read()\nwait(lambda: turn() != old[32:36])\nallocate(1)\n"
    + INTO
    + "os.pwrite(fd, old, 0)",
}
for name, action in TAILS.items():
    # memtap may notice it while the program allocates: what of these is missing then is counted.
    says = [] if name == "random words" else ["another program wrote to", "t.mtap.tail"]
    case(f"tail: {name}", TAIL + action, says=says)
    if says:
        case(f"tail: {name}, before more events", f"{TAIL}{action}\nwait(has_left_tail)", says=says, at_least=4000)
case("tail removed", "os.unlink('t.mtap.tail')", at_least=6000)
case("tail renamed", "os.rename('t.mtap.tail', 'x')", at_least=6000)

# Standard error is what it was at the beginning, or nobody's.
SAYS = "6000 events"
for name, action in {"closed and reused": "fd = os.open('c', os.O_RDWR | os.O_CREAT)\nassert fd == 2, fd"}.items():
    files = case(f"descriptor 2 {name}", action, preexec_fn=lambda: os.close(2), stderr=None)
    if files.get("c"):
        faults.append(f"descriptor 2 {name}: {files['c']!r} is in the program's file")
files = case("descriptor 2 replaced", "fd = os.open('c', os.O_RDWR | os.O_CREAT)\nos.dup2(fd, 2)", silent=[SAYS])
if files.get("c"):
    faults.append(f"descriptor 2 replaced: {files['c']!r} is in the program's file")

# What is said at the end is true.
case("nothing", "pass", says=["6000 events in t.mtap"], at_least=6000)
case("removed", "os.unlink('t.mtap')", says=["was removed"], whole=False)
case("renamed", "os.rename('t.mtap', 'x')", says=["was renamed"], whole=False)
case("replaced", "os.unlink('t.mtap')\nopen('t.mtap', 'w')", says=["was removed"], whole=False)
case(
    "cut short",
    "os.truncate('t.mtap', 100)",
    says=["truncated it"],
    silent=["run: memtap report"],
    whole=False,
)
case(
    "cut short at the end",
    "old = turn()\nallocate()\nwait(lambda: turn() != old)\nos.truncate('t.mtap', 100)\nallocate = lambda: 0",
    says=["truncated it"],
    silent=["run: memtap report"],
    whole=False,
)
case("longer", "open('t.mtap', 'a').write('x')", says=["truncated it or wrote to it"], whole=False)
if os.geteuid() == 0:
    case(
        "out of reach by chroot",
        "os.mkdir('r')\nos.chroot('r')\nos.chdir('/')",
        says=["can no longer reach"],
        silent=["removed"],
        at_least=6000,
    )
    case(
        "out of reach by setuid",
        "os.mkdir('r')\nos.rename('t.mtap', 'r/t.mtap')\nos.rename('r/t.mtap', 't.mtap')\n"
        "os.chmod('.', 0o700)\nos.setuid(65534)",
        says=["can no longer reach"],
        silent=["removed"],
        at_least=6000,
    )

# A program for musl is named before it fails in its loader.
with tempfile.TemporaryDirectory() as text:
    program = pathlib.Path(text, "program")
    for glibc in (pathlib.Path(sys.executable).read_bytes(), pathlib.Path("/bin/true").read_bytes()):
        loader = b"/lib64/ld-linux-x86-64.so.2"
        program.write_bytes(glibc.replace(loader, b"/lib/ld-musl-x86_64.so.1".ljust(len(loader), b"\0"), 1))
        program.chmod(0o755)
        done = subprocess.run([memtap, "run", program], cwd=text, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 2 or "musl" not in done.stderr or done.stderr.count("\n") != 1:
            faults.append(f"musl: {done.returncode}: {done.stderr!r}")

for fault in faults:
    print(fault)
print(f"{len(faults)} faults")
sys.exit(bool(faults))
