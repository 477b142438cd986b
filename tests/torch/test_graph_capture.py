# SPDX-License-Identifier: Apache-2.0
"""A step in a CUDA graph: what it allocates stays in the graph's pool, to the byte, replays allocate
nothing, and all is given back with the graph. By PyTorch's own allocator and by CUDA's pools."""
import json
import re

import harness
from harness import check, equal

WIDTH, BATCH = 2048, 4096
PARAMETERS = 4 * (2 * WIDTH * 4 * WIDTH + 4 * WIDTH + WIDTH + 2 * WIDTH)
SAMPLES = 4 * BATCH * WIDTH
MODEL = PARAMETERS + 2 * SAMPLES  # with the inputs and the targets
# The gradients and the loss, which mse_loss returns in the storage of the differences.
CAPTURED = MODEL + PARAMETERS + SAMPLES


def figures(done):
    return {name: (int(allocated), int(reserved)) for name, allocated, reserved in
            re.findall(r"^(.+): allocated=(\d+) reserved=(\d+)$", done.stdout, re.M)}


def check_script(**options):
    done = harness.must_run([*harness.alone(), harness.PYTHON, harness.ZOO / "graph_capture.py"],
                            **options)
    phases = figures(done)
    equal("phases", list(phases), ["model", "warm", "captured", "replay 0", "replay 1", "replay 2",
                                   "end"])
    check(all(allocated <= reserved for allocated, reserved in phases.values()),
          "what is allocated is reserved")
    equal("replays change nothing", phases["replay 1"], phases["replay 2"])
    return phases, done.stdout


def check_names():
    """What the graph's pool holds has the name of its capture, in memtap's report of the moment after
    it: the gradients and the loss, backward's thread included."""
    with harness.folder() as work:
        trace, phases = harness.record(work, "graph_capture.py")
        start = harness.Trace(trace).start
        captured, = [phase for phase in phases if phase["name"] == "captured"]
        done = harness.must_run([harness.MEMTAP, "report", "--format", "json", "--by", "range",
                                 "--at", f"{captured['time_ns'] - start}ns", trace])
    device, = json.loads(done.stdout)["devices"]
    groups = {group["name"]: group["bytes"] for group in device["groups"]["groups"]}
    equal("what the capture made", groups.get("CUDA: graph 1"), PARAMETERS + SAMPLES)


def main():
    harness.need_torch()
    check_names()
    phases, output = check_script()
    equal("model", phases["model"][0], MODEL)
    equal("warm", phases["warm"][0], MODEL)
    equal("captured", phases["captured"][0], CAPTURED)
    equal("replayed", phases["replay 2"][0], CAPTURED)
    equal("end", phases["end"][0], MODEL + PARAMETERS)
    check(phases["end"][1] < phases["replay 2"][1], "the graph's pool goes with it")
    check("pools: 2" in output, "the graph has a pool of its own")

    # CUDA's pools: what a graph holds is not PyTorch's to count.
    phases, _ = check_script(env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    equal("model in CUDA's pool", phases["model"][0], MODEL)
    equal("reserved by CUDA's pool", phases["model"][1] % 2**25, 0)
    harness.finish()


if __name__ == "__main__":
    main()
