# SPDX-License-Identifier: Apache-2.0
"""test-no-device.py MEMTAP RUNTIME-PROGRAM DRIVER-PROGRAM: a program that can use no device gets the same results with memtap,
leaves no trace, and memtap reports which error it was."""
import os
import subprocess
import sys
import tempfile

memtap, runtime, driver = sys.argv[1:]
faults = []


def equal(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found!r}, not {wanted!r}")


def run(program, results, *calls, options=()):
    """What memtap says, and how many traces there are; the program's output must be its own."""
    environment = {**os.environ, "FAKE_RESULTS": results}
    with tempfile.TemporaryDirectory() as folder:
        alone = subprocess.run([program, *calls], capture_output=True, text=True, env=environment)
        ran = subprocess.run([memtap, "run", *options, "-o", f"{folder}/%p.mtap", "--", program, *calls],
                             capture_output=True, text=True, env=environment)
        equal(f"{calls}: output", (ran.returncode, ran.stdout), (alone.returncode, alone.stdout))
        return ran.stderr, len(os.listdir(folder))


def told(function, error, number, why):
    return (f"memtap: no trace was written, because no CUDA allocation succeeded: {function} returned {error} "
            f"({number}): {why}; memtap run --simulate h100 runs it without a GPU\n", 0)


NO_DEVICE = ("cudaErrorNoDevice", 100, "the program sees no GPU")
for call in ["cudaGetDeviceCount", "cudaSetDevice", "cudaFree", "cudaMalloc", "cudaMallocAsync", "cudaHostAlloc",
             "cudaStreamCreate", "cudaMemset", "cudaMemcpy", "cudaFreeHost"]:
    equal(call, run(runtime, "100", call), told(call, *NO_DEVICE))
for call in ["cuInit", "cuMemAlloc_v2", "cuCtxCreate_v2", "cuModuleLoadData", "cuMemFree_v2"]:
    name = call.removesuffix("_v2")
    equal(call, run(driver, "100", call), told(name, "CUDA_ERROR_NO_DEVICE", *NO_DEVICE[1:]))
# The first says why; the driver then refuses all.
equal("all of the driver's", run(driver, "100,3"), told("cuInit", "CUDA_ERROR_NO_DEVICE", *NO_DEVICE[1:]))
equal("all of the runtime's", run(runtime, "35"),
      told("cudaGetDeviceCount", "cudaErrorInsufficientDriver", 35,
           "the NVIDIA driver is missing or older than the program's CUDA runtime"))
equal("unknown", run(runtime, "999", "cudaMalloc"),
      told("cudaMalloc", "cudaErrorUnknown", 999, "CUDA gives no reason"))
equal("quiet", run(runtime, "100", options=["-q"]), ("", 0))
# What fails for another reason is recorded as ever, with the holders if memory runs out; and what comes after a failure.
for results, calls, events in [("2", ["cudaMalloc"], 2), ("101,0", ["cudaSetDevice", "cudaStreamCreate"], 1),
                               ("100,0,100", ["cudaFree", "cudaStreamCreate", "cudaMalloc"], 2)]:
    said, traces = run(runtime, results, *calls)
    equal(f"traces of {results}", (traces, f".mtap: {events} event{'s' * (events > 1)}," in said), (1, True))
gpu = any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap")))
no_gpu = "" if gpu else "; this machine has no NVIDIA GPU: memtap run --simulate h100 runs the program on a simulated card"
equal("no call", run(runtime, "100", "none"), (f"memtap: no process used CUDA, so no trace was written{no_gpu}\n", 0))
print("\n".join(faults) or "passed")
sys.exit(bool(faults))
