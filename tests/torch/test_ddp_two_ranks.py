# SPDX-License-Identifier: Apache-2.0
"""torchrun with two ranks: both train and end well, each leaves one trace, and that says to the byte
what PyTorch says in its rank."""
import os

import harness
import totals

RANKS = 2
WIDTH, LAYERS = 256, 3


def parameters():
    """The bytes of the model, each tensor in blocks of 512."""
    shapes = [3 * WIDTH * WIDTH, 3 * WIDTH, WIDTH * WIDTH, WIDTH, 4 * WIDTH * WIDTH, 4 * WIDTH,
              4 * WIDTH * WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH]
    return LAYERS * sum((4 * elements + 511) // 512 * 512 for elements in shapes)


def main():
    if harness.ON_GPU:
        harness.skip("a machine of the suite gpu has one GPU")
    harness.need_torch()
    with harness.folder() as work:
        runs = harness.record_ranks(work, "ddp_two_ranks.py", RANKS, "--width", WIDTH, "--layers",
                                    LAYERS, "--length", 64, "--batch", 4)
        names = [f"{name}-{rank}" for name in ("counters", "trace") for rank in range(RANKS)]
        harness.equal("files", sorted(file.split(".")[0] for file in os.listdir(work)), names)
        traces = [harness.Trace(path) for path, _ in runs]
    for trace, (_, phases) in zip(traces, runs):
        totals.compare(trace, phases)
    devices = [phases[0]["device"] for _, phases in runs]
    harness.equal("a device for each rank", devices, list(range(RANKS)))
    for _, phases in runs:
        # The parameters, and the buckets in which their gradients travel.
        harness.equal("with the model", phases[0]["allocated"], 2 * parameters())
    forward = [phases[1]["allocated"] for _, phases in runs]
    harness.check(forward[0] < forward[1], "the rank with the larger batch takes more")
    harness.finish()


main()
