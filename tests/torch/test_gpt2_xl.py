# SPDX-License-Identifier: Apache-2.0
"""GPT-2 XL in half precision with fp32 master weights and Adam: 16 bytes a parameter, by hand, and
to the byte what PyTorch has allocated after a backward; 191 GB on a card of 288 in less than 2 GiB
of this machine's memory, and several times less with checkpointing."""
import json
import resource
import time

import harness
import totals
from harness import check, equal

LAYERS, HIDDEN, VOCABULARY, LENGTH, BATCH = 48, 1600, 50257, 1024, 32
# A layer has 12 h^2 of weights, and 13 h of biases and norms; the output layer is the embedding.
PARAMETERS = (VOCABULARY + LENGTH) * HIDDEN + LAYERS * (12 * HIDDEN**2 + 13 * HIDDEN) + 2 * HIDDEN
TENSORS = 2 + LAYERS * 12 + 2

# Bytes a parameter. Adam's two moments; its counter of steps is one fp32 a tensor.
BYTES = {
    "parameters": 2 * PARAMETERS,
    "gradients": 2 * PARAMETERS,
    "masters": 4 * PARAMETERS,
    "optimizer_state": 8 * PARAMETERS + 4 * TENSORS,
}
TOKENS, LOSS = 8 * BATCH * LENGTH, 512
MIB, GIB = 2**20, 2**30


def check_bytes(trace, phase):
    """The tensors of the step are all there is but the tokens and the loss; a block may be up to
    1 MiB bigger than its tensor."""
    live = totals.live_at(trace, phase["time_ns"] - trace.start)
    held = 0
    for category, wanted in BYTES.items():
        tensors = phase["truth"][category]
        equal(f"bytes of {category}", sum(size for _, size in tensors), wanted)
        for address, size in tensors:
            block = live.get(address, 0)
            check(0 <= block - size <= MIB, f"{size} bytes of {category} in a block of {block}")
            held += block
    equal("allocated after backward", held + TOKENS + LOSS, phase["allocated"])


def check_precision(path, when):
    """The report's own sum at that moment."""
    done = harness.must_run([harness.MEMTAP, "report", "--format", "json", "--at", f"{when}ns", path])
    (device,) = json.loads(done.stdout)["devices"]
    precision = device["precision"]
    equal("parameters", precision["parameters"], PARAMETERS)
    equal("bytes a parameter", round(precision["bytes_per_parameter"], 2), 16.0)
    found = {(row["role"], row["element_size"]): row["bytes"] for row in precision["roles"]}
    equal("weights", found.get(("weights", 2)), BYTES["parameters"])
    equal("gradients", found.get(("gradients", 2)), BYTES["gradients"])
    equal("master weights", found.get(("master_weights", 4)), BYTES["masters"])
    equal("moments", found.get(("optimizer_state", 4)), 8 * PARAMETERS)


def peak(gpu, *arguments):
    """The most that is allocated."""
    begin = time.monotonic()
    with harness.folder() as work:
        path, phases = harness.record(work, "gpt2_xl.py", *arguments, gpu=gpu)
        seconds = time.monotonic() - begin
        trace = harness.Trace(path)
        (after,) = [phase for phase in phases if phase["name"] == "step 1 backward"]
        check_precision(path, after["time_ns"] - trace.start)
    totals.compare(trace, phases)
    check_bytes(trace, after)
    highest = max(event["allocated"] for event in trace.of("alloc"))
    host = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(host < 2 * GIB, f"{host} bytes of host memory")
    print(f"{gpu}: {highest} bytes at the peak, {seconds:.1f} s, {host} bytes of host memory")
    return highest


def main():
    harness.need_torch("transformers")
    equal("bytes a parameter", sum(BYTES.values()) - 4 * TENSORS, 16 * PARAMETERS)
    whole = peak("b300")
    checkpointed = peak("h100", "--checkpointing")
    check(whole - 16 * PARAMETERS > 100e9, f"well over 100 GB of activations: {whole} bytes in all")
    check(3 * checkpointed < whole, f"with checkpointing {checkpointed} bytes, without {whole}")
    harness.finish()


main()
