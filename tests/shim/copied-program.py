# SPDX-License-Identifier: Apache-2.0
"""copied-program.py WHAT: opens and closes its own trace's files again and again, as programs do that
archive the folder of their run, and allocates meanwhile. Two numbers of 64 bits in the file `counts`
tell which calls have returned: mallocs and frees."""
import ctypes
import mmap
import os
import shutil
import sys
import tarfile
import threading
import time

ctypes.CDLL(os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libcudart.so.13"))
cuda_malloc, cuda_free = ctypes.CDLL(None).cudaMalloc, ctypes.CDLL(None).cudaFree  # the hooks
cuda_malloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cuda_free.argtypes = [ctypes.c_void_p]
what = sys.argv[1]
with open("counts", "wb+") as file:
    file.truncate(16)
    counts = (ctypes.c_uint64 * 2).from_buffer(mmap.mmap(file.fileno(), 16))  # each is one store


def pair(n):
    address = ctypes.c_void_p()
    cuda_malloc(ctypes.byref(address), n)
    counts[0] = n + 1
    cuda_free(address)
    counts[1] = n + 1


def copy_once():
    if what == "tar":
        with tarfile.open("/dev/null", "w") as archive:
            archive.add(".")
    elif what == "open":
        for name in os.listdir("."):
            open(name, "rb").close()
    else:
        shutil.copytree(".", "../copy", dirs_exist_ok=True)


def copy_for_ever():
    while True:
        copy_once()


def outlive(parent_s_end):
    """Live on in a child until the program has ended."""
    os.close(parent_s_end[1])
    os.read(parent_s_end[0], 1)
    os._exit(0)


pair(0)
if what == "_Fork":  # of which no handler is told
    ends = os.pipe()
    if not ctypes.CDLL(None)._Fork():
        outlive(ends)
elif what == "fork":
    ends = os.pipe()
    if not os.fork():
        outlive(ends)
elif what == "exec":
    os.execv("/bin/sleep", ["sleep", "10000"])
elif what == "close":  # as daemons do
    os.closerange(3, 1024)
elif what == "idle":
    copy_once()
if what in ("copytree", "tar", "open"):
    threading.Thread(target=copy_for_ever, daemon=True).start()
    for number in range(1, 1 << 40):
        pair(number)
print("ready", flush=True)
time.sleep(10000)
