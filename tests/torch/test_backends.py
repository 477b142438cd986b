# SPDX-License-Identifier: Apache-2.0
"""Whatever allocator PyTorch works with, the trace says at every moment what PyTorch's own counters
say, or the allocator's where PyTorch has none, or the tensors' sizes where nobody counts; and of
what is PyTorch's cache what it has from CUDA."""
import json

import harness
from harness import MEMTAP, check, equal

BACKENDS = {
    "native": {},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "pools": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    "uncached": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "plugged": {"MEMTAP_TEST_ALLOCATOR": "plugged"},
    "pool": {"MEMTAP_TEST_ALLOCATOR": "pool"},
    "plugged pool": {"MEMTAP_TEST_ALLOCATOR": "plugged pool"},
}
# Whose counter says what is allocated, and whether PyTorch's cache lies between it and CUDA.
COUNTER = {"uncached": "storages", "plugged": "plugged"}
CACHED = {"native", "expandable", "pool", "plugged pool"}
SCRIPT = harness.ROOT / "tests" / "torch" / "backends.py"


def report_at(trace, time_ns):
    done = harness.must_run([MEMTAP, "report", "--format", "json", "--at", f"{time_ns}ns", trace])
    device, = json.loads(done.stdout)["devices"]
    return device


def compare(name, trace, moments):
    info = json.loads(harness.must_run([MEMTAP, "info", "--format", "json", trace]).stdout)
    start = int(info["process"]["start_monotonic_ns"])
    for number, moment in enumerate(moments):
        device = report_at(trace, moment["time_ns"] - start)
        what = f"{name}, moment {number}"
        equal(f"{what}: level", device["level"], "pytorch" if name in CACHED else "cuda")
        equal(f"{what}: allocated", device["peak"]["allocated"],
              moment[COUNTER.get(name, "allocated")])
        if name in CACHED:
            equal(f"{what}: reserved", device["peak"]["reserved"], moment["reserved"])
            equal(f"{what}: from CUDA", device["balance"]["pytorch"], moment["reserved"])
        if name == "plugged pool":
            check(0 < moment["plugged"] <= moment["reserved"], f"{what}: the pool's segments")
    # Its blocks are not CUDA's, so that its copies say nothing, and cost nothing.
    equal(f"{name}: copies", info["records"]["cuda_copy"] + info["records"]["cuda_set"], 0)
    check(moments[-1]["storages"] > 0, f"{name} has tensors")
    equal(f"{name}: oddities", set(device_oddities(trace)), {0})


def device_oddities(trace):
    return json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)[
        "oddities"].values()


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks(SCRIPT) as forks, harness.Forks(SCRIPT, env=BACKENDS["pools"]) as of_pools:
        for name, environment in BACKENDS.items():
            trace, log = f"{work}/{name}.mtap", f"{work}/{name}.json"
            # PyTorch's backend is chosen by the import.
            code, output = (of_pools if name == "pools" else forks).run(trace, SCRIPT, log, env=environment)
            if not check(code == 0, f"{name}: {output}"):
                continue
            moments = [json.loads(line) for line in open(log, encoding="utf-8")]
            compare(name, trace, moments)
            print(name, len(moments), "moments,", moments[-1], flush=True)
    harness.finish()


main()
