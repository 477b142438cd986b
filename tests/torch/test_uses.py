# SPDX-License-Identifier: Apache-2.0
"""The first and the last use of each block, with their lines, where they are known: by kernels with pointers, structs and lists of
tensors as parameters, by cuBLAS, by copies, by graphs. Without --uses, the trace has none, and the program prints the same."""
import json
import re
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

HERE = Path(__file__).resolve().parent
FIRST, LAST, ONLY_WRITTEN, NONE = 1, 2, 16, 128


def read(trace):
    """By address: the uses of its last block, each (which, its innermost line in uses.py, name); and the kinds of events."""
    strings, frames, stacks, uses, kinds = {0: ""}, {}, {0: (0, 0)}, {}, set()
    for text in harness.must_run([MEMTAP, "dump", "--format", "json", trace]).stdout.splitlines():
        record = json.loads(text)
        kind = record["record"]
        kinds.add(kind)
        if kind == "string":
            strings[record["id"]] = record["text"]
        elif kind in ("frame", "call"):
            frames[record["id"]] = (strings[record["file"]], record["line"])
        elif kind == "stack":
            stacks[record["id"]] = (record["parent"], record["frame"])
        elif kind == "alloc":
            uses[record["address"]] = []
        elif kind == "uses":
            stack, line = record["stack"], None
            while stack and line is None:
                stack, frame = stacks[stack]
                file, number = frames.get(frame, ("", None))
                line = number if file.endswith("uses.py") else None
            uses.setdefault(record["address"], []).append((record["which"], line, strings[record["name"]]))
    return uses, kinds


def check_lines(planted, uses):
    for name, address, first, last, which in planted:
        have = uses.get(address, [])
        bits = 0
        for each, _, _ in have:
            bits |= each
        line_of = {bit: line for each, line, _ in have for bit in (FIRST, LAST) if each & bit}
        if which & NONE:
            equal(f"{name}: uses", set(have), {(NONE, None, "")})  # of PyTorch's block, and of CUDA's
        else:
            equal(f"{name}: lines", (line_of.get(FIRST), line_of.get(LAST)), (first, last))
            check(bits & which == which, f"{name}: {bits} lacks some of {which}")
            equal(f"{name}: only written", bits & ONLY_WRITTEN, which & ONLY_WRITTEN)


def check_unneeded(work, forks):
    """What is not needed at the peak, in bytes; and the peak falls by as much without it."""
    trace = Path(work) / "unneeded.mtap"
    code, output = forks.run(trace, HERE / "unneeded.py", env={"MEMTAP_USES": "1"})
    equal("it ends well", code, 0)
    device = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["devices"][0]
    unneeded = device["unneeded"]
    have = {kind: unneeded[kind]["bytes"] >> 20 for kind in ("never", "written", "until", "after", "between")}
    equal("not needed, MiB", have, {"never": 8, "written": 2, "until": 16, "after": 32, "between": 64})
    equal("in all", unneeded["bytes"] >> 20, 122)
    equal("could hold another", (unneeded["shared"]["bytes"] >> 20, unneeded["shared"]["blocks"]), (32, 1))
    equal("one block each", [unneeded[kind]["blocks"] for kind in have], [1] * 5)
    peak = int(re.search(r"^peak (\d+)", output, re.M)[1])
    changes = {change["change"]: change for change in json.loads(harness.must_run([MEMTAP, "plan", "--format", "json", trace]).stdout)["changes"]}
    kinds = {"never": ("never", "omit"), "written": ("written", "omit"), "early": ("until", "defer"), "late": ("after", "del"), "idle": ("between", "offload-idle")}
    for name, (kind, change) in kinds.items():
        code, output = forks.run(Path(work) / f"{name}.mtap", HERE / "unneeded.py", name)
        now = int(re.search(r"^peak (\d+)", output, re.M)[1])
        equal(f"without {name}", (code, peak - now), (0, unneeded[kind]["bytes"]))
        modelled = changes[f"{change}:unneeded.py:{unneeded[kind]['sites'][0]['line']['line']}"]
        equal(f"{change} in memtap plan", (modelled["how"], modelled["saves"], modelled["new_peak"]), ("replayed", peak - now, now))
    where = [changes[name]["where"] for name in changes if name.startswith(("del", "defer"))]
    equal("where to edit", where, ["after unneeded.py:19", "just before unneeded.py:37"])
    text = harness.must_run([MEMTAP, "report", trace]).stdout
    check("Not needed at the peak: 122.00 MiB" in text, text)


def unneeded_of(trace):
    return json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["devices"][0]["unneeded"]


def check_passed(work, forks):
    """Blocks whose addresses were passed in memory are unknown, never unneeded; what the peak's own line used last counts apart."""
    trace = Path(work) / "passed.mtap"
    code, output = forks.run(trace, HERE / "passed.py", env={"MEMTAP_USES": "1"})
    addresses = {name: int(address) for name, address in re.findall(r"^at (\w+) (\d+)", output, re.M)}
    unneeded = unneeded_of(trace)
    have = {name: unneeded[name] >> 20 for name in ("bytes", "passed", "of_own_line", "unknown")}
    equal("passed in memory, MiB", (code, have), (0, {"bytes": 4, "passed": 16, "of_own_line": 32, "unknown": 0}))
    said = harness.must_run([MEMTAP, "explain", trace, hex(addresses["passed"])]).stdout
    check("its address was passed in memory" in said and "not needed" not in said, said)
    said = harness.must_run([MEMTAP, "explain", trace, hex(addresses["seen"])]).stdout
    check("  not needed at the peak: last used before, freed after\n" in said and "address was passed" not in said, said)
    check(re.search(r"^  last used at \S+ s, by passed.py:\d+ main,\n    kernel ", said, re.M), said)
    text = harness.must_run([MEMTAP, "report", trace]).stdout
    check("16.00 MiB,\n    unknown: their addresses were passed in memory" in text, text)


def check_killed(work, forks):
    """Of blocks that are live when the process is killed, nothing is said."""
    trace = Path(work) / "killed.mtap"
    forks.run(trace, HERE / "passed.py", "kill", env={"MEMTAP_USES": "1"})
    unneeded = unneeded_of(trace)
    equal("of a killed one", (unneeded["bytes"], unneeded["passed"]), (0, 0))
    check(unneeded["unknown"] >= 20 << 20, f"{unneeded['unknown']} bytes are unknown")
    text = harness.must_run([MEMTAP, "report", trace]).stdout
    check("unknown: the recording ended before their uses were written" in text, text)


def check_late(work, forks):
    """Where memory runs out, only what was not used in a whole iteration is not needed; of the model and its graph nothing is said."""
    first = {"turns": "Not needed: 128.00 MiB, last used by late_oom.py:27 turns, 2 blocks held by local variable `kept` of turns() at "
                      "late_oom.py:30 -> [0..1]",
             "once": "Perhaps not needed: 256.00 MiB, last used by late_oom.py:36 once, held by local variable `kept` of once() at "
                     "late_oom.py:39",
             "model": None}
    wanted = {"turns": (128, 0, 16), "once": (0, 0, 272), "model": (0, 704, 0)}
    for how, sentence in first.items():
        trace = Path(work) / f"late-{how}.mtap"
        code, output = forks.run(trace, HERE / "late_oom.py", how, env={"MEMTAP_USES": "1", "MEMTAP_HOLDERS": "oom"})
        equal(f"{how}: it runs out", code, 1)
        text = harness.must_run([MEMTAP, "oom", trace]).stdout
        words = " ".join(text.split())
        check(sentence in words if sentence else "needed:" not in words.split("Ended:")[0], text)
        unneeded = json.loads(harness.must_run([MEMTAP, "oom", "--format", "json", trace]).stdout)["unneeded"]
        have = (unneeded["bytes"] >> 20, unneeded["to_come"] >> 20, unneeded["perhaps"]["bytes"] >> 20)
        equal(f"{how}: not needed, to come, perhaps, MiB", have, wanted[how])
        for address in re.findall(r"^kept (\d+)", output, re.M):
            said = harness.must_run([MEMTAP, "explain", "--at", "oom", trace, hex(int(address))]).stdout
            check("  not needed when memory ran out" in said and ";\n    held by local variable `kept` of " in said, said)
        if how == "turns":
            check("Do: after late_oom.py:27, del what late_oom.py:13 allocated; 2 blocks held by local variable `kept` of turns() at "
                  "late_oom.py:30 -> [0..1] (replayed: serves this request" in words, text)
            site = unneeded["after"]["sites"][0]
            equal("JSON", (site["used"]["line"], site["held_by"]["root"], site["held_by"]["blocks"]), (27, "local", 2))


def check_sparse(work, forks):
    """Work on memory that is not known: no list at all."""
    trace = Path(work) / "sparse.mtap"
    script = Path(work) / "sparse.py"
    script.write_text("import torch\na = torch.eye(64).to_sparse_csr().cuda()\nb = torch.ones(64, 64, device='cuda')\na @ b\n")
    equal("it ends well", forks.run(trace, script, env={"MEMTAP_USES": "1"})[0], 0)
    check("Not needed at the peak: unknown" in harness.must_run([MEMTAP, "report", trace]).stdout, "unseen work is not told")


def check_turns(work, forks):
    """What a block's use says is of an earlier moment: the program's own loop has as many turns as without."""
    script = Path(work) / "turns.py"
    script.write_text("""
import torch
net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.AdamW(net.parameters(), 0.1)
def train(data):
    net(data).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
def evaluate(sets):
    with torch.no_grad():
        return torch.stack([net(one).square().sum() for one in sets]).mean()
def main():
    history = []
    for turn in range(6):
        train(torch.ones(64, 64, device="cuda"))
        if turn % 3 == 2:
            history.append(evaluate([torch.ones(64, 64, device="cuda") for _ in range(3)]))
main()
""")
    found = []
    for uses in ("1", "0"):
        trace = Path(work) / f"turns-{uses}.mtap"
        equal("it ends well", forks.run(trace, script, env={"MEMTAP_USES": uses})[0], 0)
        device = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["devices"][0]
        found.append([device["iterations"], device["loop"]["line"], *[device["peak"][key] for key in ("iteration", "phase")]])
    equal("turns, their loop, the peak", found[0], found[1])


def check_packages(work, forks):
    """Where a package's code uses a block last, the line to edit is the program's which called it, if that is as early."""
    folder = Path(work) / "packages"
    (folder / "site-packages").mkdir(parents=True)
    (folder / "site-packages" / "library.py").write_text("""import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 4096)
    def forward(self, x):
        logits = self.layer(x)
        loss = torch.nn.functional.cross_entropy(logits, x.new_zeros(len(x), dtype=torch.long))
        return {"logits": logits, "loss": loss}
def train(model, optimizer):
    for _ in range(3):
        outputs = model(torch.ones(2048, 256, device="cuda"))
        outputs["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
""")
    script = folder / "program.py"
    script.write_text("""import sys
sys.path.insert(0, sys.path[0] + "/site-packages")
import torch, library
model = library.Model().cuda()
optimizer = torch.optim.AdamW(model.parameters())
def train(rows):
    for _ in range(3):
        outputs = model(torch.ones(rows, 256, device="cuda"))
        loss = outputs["loss"]
        if "follow" in sys.argv:
            del outputs
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
if "library" in sys.argv:
    library.train(model, optimizer)
else:
    train(2048)
print("peak", torch.cuda.max_memory_allocated())
""")
    peaks, found = {}, {}
    for what in ("own", "follow", "library"):
        trace = folder / f"{what}.mtap"
        code, output = forks.run(trace, script, what, env={"MEMTAP_USES": "1"})
        equal("it ends well", code, 0)
        peaks[what] = int(re.search(r"^peak (\d+)", output, re.M)[1])
        changes = json.loads(harness.must_run([MEMTAP, "plan", "--format", "json", trace]).stdout)["changes"]
        found[what] = [(change["change"], change["where"], change["saves"]) for change in changes if change["change"].startswith("del:")]
    falls = peaks["own"] - peaks["follow"]
    equal("where the program calls", found["own"], [("del:library.py:7", "after program.py:8", falls)])
    equal("where a package does", found["library"], [("del:library.py:7", "after library.py:8", falls)])
    equal("no advice without", found["follow"], [])


def check_step(work, forks):
    """Gradients that the optimizer's line used, before it allocates more, are of that line."""
    script, trace = Path(work) / "step.py", Path(work) / "step.mtap"
    script.write_text("""import torch
model = torch.nn.Linear(4096, 4096, bias=False).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.ones(1, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""")
    equal("it ends well", forks.run(trace, script, env={"MEMTAP_USES": "1"})[0], 0)
    device = json.loads(harness.must_run([MEMTAP, "report", "--format", "json", trace]).stdout)["devices"][0]
    late = {key: device["unneeded"][key] for key in ("after", "of_own_line")}
    check(device["peak"]["phase"] == "optimizer" and late["after"]["bytes"] < 1 << 20 < late["of_own_line"], late)


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks() as forks:
        trace, plain = Path(work) / "uses.mtap", Path(work) / "plain.mtap"
        code, output = forks.run(trace, HERE / "uses.py", env={"MEMTAP_USES": "1"})
        planted = [json.loads(line) for line in re.findall(r"^use (.*)", output, re.M)]
        equal("it ends well", (code, len(planted)), (0, 100))
        uses, kinds = read(trace)
        check_lines(planted, uses)
        check("use" not in kinds, "raw uses are in the trace")
        check("unseen_work" not in kinds, "some work is unseen")
        names = {name for each in uses.values() for _, _, name in each}
        check("cublasLtMatmul" in names or any("cublas" in name for name in names), f"no product among {sorted(names)}")
        check(any("vectorized_elementwise_kernel" in name for name in names), "no kernel has its name")
        code, other = forks.run(plain, HERE / "uses.py")
        check_unneeded(work, forks)
        check_passed(work, forks)
        check_killed(work, forks)
        check_late(work, forks)
        check_sparse(work, forks)
        check_turns(work, forks)
        check_packages(work, forks)
        check_step(work, forks)
        equal("without", (code, other, {"uses", "use", "unseen_work"} & read(plain)[1]), (0, output, set()))
    harness.finish()


main()
