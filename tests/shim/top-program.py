# SPDX-License-Identifier: Apache-2.0
"""Takes 64 MiB of a CUDA runtime of ours and leaks 1 MiB every 20 ms, until it is ended; says when it has begun."""
import ctypes
import os
import time

runtime = ctypes.CDLL(os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libcudart.so.13"))
runtime.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
address = ctypes.byref(ctypes.c_void_p())


def keep():
    runtime.cudaMalloc(address, 64 << 20)


def leak():
    runtime.cudaMalloc(address, 1 << 20)


keep()
print("begun", flush=True)
while True:
    leak()
    time.sleep(0.02)
