# SPDX-License-Identifier: Apache-2.0
"""PyTorch without its own caching allocator: CUDA's pools (backend:cudaMallocAsync) and no caching
at all, with the figures that the sizes of the tensors give; and tensors that two processes share."""
import harness
from harness import equal
from test_graph_capture import figures

LAYER, BIAS = 4 * 10_000 * 50_000, 4 * 50_000
INPUT, OUTPUT = 4 * 5_000 * 10_000, 4 * 5_000 * 50_000
PIECE = 2**25  # what a pool takes of the device at a time

SHARE = """
import torch, torch.multiprocessing as processes

def work(queue, done):
    tensor = queue.get()
    tensor[1:5].copy_(torch.full((4,), 9.0))
    del tensor
    done.set()

if __name__ == "__main__":
    processes.set_start_method("spawn")
    queue, done = processes.Queue(), processes.Event()
    worker = processes.Process(target=work, args=(queue, done))
    worker.start()
    tensor = torch.arange(4000, dtype=torch.float32).cuda()
    queue.put(tensor)
    done.wait(120)
    worker.join()
    print(tensor[:6].tolist(), worker.exitcode)
"""


def linear_loop(**environment):
    return figures(harness.must_run(
        [*harness.alone(), harness.PYTHON, harness.ZOO / "linear_loop.py"], env=environment))


def whole(size):
    return -(-size // PIECE) * PIECE


def main():
    harness.need_torch()
    phases = linear_loop(PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    live = LAYER + BIAS
    equal("model", phases["model"], (live, whole(LAYER + BIAS)))
    live += INPUT
    equal("first input", phases["step 0 input"], (live, whole(live)))
    live += OUTPUT
    equal("first output", phases["step 0 output"], (live, whole(live)))
    # The first input lives as long as the first output, and that until the second is there.
    equal("second input", phases["step 1 input"][0], live + INPUT)
    equal("end", phases["end"], (live, whole(live + OUTPUT + INPUT)))

    phases = linear_loop(PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    equal("PyTorch counts nothing without its cache", set(phases.values()), {(0, 0)})

    with harness.folder() as work:
        script = f"{work}/share.py"
        with open(script, "w", encoding="utf-8") as out:
            out.write(SHARE)
        for setting in ("", "expandable_segments:True"):
            done = harness.must_run([*harness.alone(), harness.PYTHON, script],
                                    env={"PYTORCH_CUDA_ALLOC_CONF": setting})
            equal(f"shared with '{setting}'", done.stdout.strip(),
                  "[0.0, 9.0, 9.0, 9.0, 9.0, 5.0] 0")
    harness.finish()


main()
