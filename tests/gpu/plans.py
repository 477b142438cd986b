# SPDX-License-Identifier: Apache-2.0
"""plans.py GPU [--simulated] [--save]: queries cuDNN for the plans of the 452 convolutions in convolutions.csv: by a handle, as PyTorch
does, by a descriptor of the card, and on the simulated GPU, which is to be this machine's. Names the convolutions whose engines or
workspaces differ. --save writes a row for each into evaluation/results/cudnn-plans.csv. --simulated: the simulated one only, where there is no GPU.
Wants PyTorch with its cuDNN, 9.8 or newer. Exit code 1: plans differ."""
import argparse
import csv
import ctypes
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("tests/torch", "evaluation")]
WAYS = ("handle", "descriptor", "simulated")
PARTS = ("engine", "workspace", "plans", "largest workspace")

# Numbers of cuDNN's graph interface (cudnn_graph.h).
CONVOLUTION, ENGINE, CONFIG, HEURISTIC, PLAN, GRAPH, TENSOR, DEVICE = 1, 2, 3, 4, 5, 15, 17, 38
OPERATIONS = {"fwd": (10, 702), "wgrad": (11, 714), "dgrad": (12, 708)}
PLACES = {"fwd": {"w": 703, "x": 704, "y": 705}, "dgrad": {"w": 709, "x": 710, "y": 711}, "wgrad": {"w": 715, "x": 716, "y": 717}}
SCALES = {"fwd": (700, 701), "dgrad": (706, 707), "wgrad": (712, 713)}
HANDLES, TYPES, INTEGERS, REALS, CONVOLUTION_MODES, HEURISTIC_MODES, DESCRIPTORS, SHORTS, CHARACTERS = 0, 1, 3, 4, 7, 8, 15, 23, 24
DATA = {"tf32": 0, "f16": 2, "bf16": 9}
INSTANT, FALLBACK = 0, 2


class Refused(Exception):
    pass


class Cudnn:
    """The library of the program's PyTorch: the simulated card's stand-in, where there is one."""

    def __init__(self, way):
        import torch  # loads it

        torch.zeros(1, device="cuda")
        self.library, self.made = ctypes.CDLL("libcudnn.so.9"), []
        self.handle = ctypes.c_void_p()
        self.call("cudnnCreate", ctypes.byref(self.handle))
        self.device = None
        if way == "descriptor":
            self.device = self.final(DEVICE, (2700, SHORTS, [0]))
            self.made.clear()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Refused(f"{name}: {status}")

    def create(self, kind):
        descriptor = ctypes.c_void_p()
        self.call("cudnnBackendCreateDescriptor", kind, ctypes.byref(descriptor))
        self.made.append(descriptor)
        return descriptor

    def final(self, kind, *attributes):
        """A descriptor with these attributes: name, type, values."""
        descriptor = self.create(kind)
        for name, type_, values in attributes:
            of = {INTEGERS: ctypes.c_int64, REALS: ctypes.c_float, HANDLES: ctypes.c_void_p, DESCRIPTORS: ctypes.c_void_p}
            array = (of.get(type_, ctypes.c_int32) * len(values))(*values)
            self.call("cudnnBackendSetAttribute", descriptor, name, type_, ctypes.c_int64(len(values)), array)
        self.call("cudnnBackendFinalize", descriptor)
        return descriptor

    def get(self, descriptor, name, type_, values):
        count = ctypes.c_int64()
        self.call("cudnnBackendGetAttribute", descriptor, name, type_, ctypes.c_int64(len(values)), ctypes.byref(count), values or None)
        return count.value

    def number(self, descriptor, name):
        value = (ctypes.c_int64 * 1)()
        self.get(descriptor, name, INTEGERS, value)
        return value[0]

    def text(self, descriptor, name):
        value = ctypes.create_string_buffer(1 << 16)
        return value.raw[:self.get(descriptor, name, CHARACTERS, value)].decode()

    def end(self):
        for descriptor in self.made:
            self.library.cudnnBackendDestroyDescriptor(descriptor)
        self.made.clear()


def graph_of(cudnn, case):
    """A graph of one convolution, as PyTorch describes it."""
    n, c, h, w, k, r, s, groups, alignment = (int(case[name]) for name in ("n", "c", "h", "w", "k", "r", "s", "groups", "alignment"))
    pad, stride, dilation = ([int(part) for part in case[name].split("x")] for name in ("padding", "stride", "dilation"))
    out = [(size + 2 * p - d * (window - 1) - 1) // step + 1
           for size, p, d, window, step in zip((h, w), pad, dilation, (r, s), stride)]
    shapes = {"x": [n, c, h, w], "y": [n, k, *out], "w": [k, c // groups, r, s]}

    def tensor(name):
        _, channels, height, width = shapes[name]
        last = [channels * height * width, 1, channels * width, channels]
        strides = last if case["layout"] == "nhwc" else [channels * height * width, height * width, width, 1]
        return cudnn.final(TENSOR, (901, TYPES, [DATA[case["type"]]]), (902, INTEGERS, shapes[name]), (903, INTEGERS, strides),
                           (906, INTEGERS, [ord(name)]), (900, INTEGERS, [alignment]))

    operation = case["operation"]
    kind, place = OPERATIONS[operation]
    described = cudnn.final(CONVOLUTION, (106, INTEGERS, [2]), (100, TYPES, [DATA["tf32"]]), (101, CONVOLUTION_MODES, [1]),
                            (105, INTEGERS, pad), (104, INTEGERS, pad), (102, INTEGERS, dilation), (103, INTEGERS, stride))
    tensors = [(PLACES[operation][name], DESCRIPTORS, [tensor(name)]) for name in "xwy"]
    scales = [(name, REALS, [value]) for name, value in zip(SCALES[operation], (1, 0))]
    convolution = cudnn.final(kind, (place, DESCRIPTORS, [described]), *tensors, *scales)
    handle = [] if cudnn.device else [(800, HANDLES, [cudnn.handle])]
    return cudnn.final(GRAPH, (801, DESCRIPTORS, [convolution]), *handle)


def plans_of(cudnn, case):
    """Engine and workspace of each plan that can be built: those of the heuristic, then the fallbacks."""
    found = []
    graph = graph_of(cudnn, case)
    of_device = [(204, DESCRIPTORS, [cudnn.device])] if cudnn.device else []
    for mode in (INSTANT, FALLBACK):
        heuristic = cudnn.final(HEURISTIC, (201, DESCRIPTORS, [graph]), (200, HEURISTIC_MODES, [mode]), *of_device)
        count = cudnn.get(heuristic, 202, DESCRIPTORS, [])
        configs = (ctypes.c_void_p * count)(*[cudnn.create(CONFIG) for _ in range(count)])
        for config in configs[:cudnn.get(heuristic, 202, DESCRIPTORS, configs)]:
            engine = (ctypes.c_void_p * 1)(cudnn.create(ENGINE))
            cudnn.get(ctypes.c_void_p(config), 300, DESCRIPTORS, engine)
            by = (407, DESCRIPTORS, [cudnn.device]) if cudnn.device else (400, HANDLES, [cudnn.handle])
            try:
                plan = cudnn.final(PLAN, (401, DESCRIPTORS, [config]), by)
            except Refused:
                continue
            found.append([cudnn.number(ctypes.c_void_p(engine[0]), 1301), cudnn.number(plan, 402)])
    cudnn.end()
    return found


def cases():
    with HERE.with_name("convolutions.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ask(way):
    cudnn = Cudnn(way)
    print(json.dumps({"version": cudnn.library.cudnnGetVersion(), "device": cudnn.text(cudnn.device, 2702) if cudnn.device else "",
                      "plans": [plans_of(cudnn, case) for case in cases()]}))


def summary(plans):
    """The first plan's engine and workspace, the number of plans, and the largest workspace, which a search with benchmark may use."""
    return [*plans[0], len(plans), max(workspace for _, workspace in plans)] if plans else ["", "", 0, ""]


def main():
    import harness
    import results

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpu")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--save", action="store_true")
    chosen = parser.parse_args()
    before = {"simulated": [harness.MEMTAP, "simulate", "--gpu", chosen.gpu, "--"]}
    ways = WAYS[-1:] if chosen.simulated else WAYS
    answers = {way: json.loads(harness.must_run([*before.get(way, []), harness.PYTHON, HERE, "ask", way]).stdout.splitlines()[-1])
               for way in ways}
    for way, answer in answers.items():
        plans = answer["plans"]
        print(f"{way}: cuDNN {answer['version']}, {sum(map(len, plans))} plans of {len(plans)} convolutions {answer['device']}".rstrip())
        harness.check(all(plans), f"{way}: no plan for {plans.count([])} convolutions")
    rows = []
    for i, case in enumerate(cases()):
        plans = {way: answer["plans"][i] for way, answer in answers.items()}
        rows.append([*case.values(), *(value for way in ways for value in summary(plans[way]))])
        for way in ways[1:]:
            first, other = summary(plans[ways[0]]), summary(plans[way])
            harness.check(plans[way] == plans[ways[0]], f"{','.join(case.values())}: {ways[0]} {first}, {way} {other}")
    if chosen.save:
        columns = [*cases()[0], *(f"{part}, {way}" for way in ways for part in PARTS)]
        results.save("cudnn-plans", columns, rows, harness.MEMTAP, harness.PYTHON)
    harness.finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        ask(sys.argv[2])
    else:
        main()
