# SPDX-License-Identifier: Apache-2.0
"""uses_cuda.py [GIB]: allocates 10 MiB of device memory, and as many GiB at once, without PyTorch."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
plain = ctypes.CDLL("libcuda.so")  # as numba opens it
context, address = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
for library in 5 * [cuda, plain]:
    assert library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
if len(sys.argv) > 1:
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(sys.argv[1]) << 30)) == 0
