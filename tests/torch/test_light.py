# SPDX-License-Identifier: Apache-2.0
"""A light recording says what a full one does: the peak by category, line and module, how many iterations there were and
what each left, and what is live at the end; also where the program is killed. It takes a small part of the events. It tells
iterations whole where memory ran out or grows, and where somebody asks for them."""
import json

from harness import MEMTAP, ROOT, ZOO, Forks, Path, Trace, check, equal, finish, folder, must_run, need_torch

CASES = ("steady", "late_peak", "leak", "late_optimizer", "generate", "twice", "growth", "out_of_memory")
PROGRAM = ROOT / "tests" / "torch" / "light.py"
PROGRAMS = {case: (PROGRAM, case) for case in CASES} | {
    "killed": (PROGRAM, "leak", "kill"),
    "amp": (ZOO / "amp.py", "--steps", 8, "--batch", 8),
    "kv_cache": (ZOO / "kv_cache.py", "--tokens", 16, "--batch", 8),
}
# Times as many events. A window ends with each of the writer's turns: where steps take longer, more is recorded.
LEAST_SAVED = dict.fromkeys(("steady", "late_peak", "leak", "late_optimizer", "kv_cache"), 3)
ODD_SIZE = 77 * 256 * 4  # of light.py's batch
EXACT = 0.999  # of the bytes


def ask(trace, *command):
    return json.loads(must_run([MEMTAP, *command, "--format", "json", trace]).stdout)


def by_place(device):
    rows = {}
    for row in device["call_sites"]:
        key = json.dumps([row[name] for name in ("category", "operator", "line", "name", "guess")])
        rows[key] = rows.get(key, 0) + row["bytes"]
    return rows


def by_module(trace):
    rows = {}
    for device in ask(trace, "report", "--by", "module")["devices"]:
        rows |= {row["name"]: row["bytes"] for row in device["groups"]["groups"]}
    return rows


def near(what, got, wanted):
    """As many bytes in the same rows."""
    same = sum(min(size, got.get(row, 0)) for row, size in wanted.items())
    rows = {row: (size, got.get(row)) for row, size in wanted.items() if size != got.get(row)}
    check(same >= EXACT * sum(wanted.values()) and sum(got.values()) <= sum(wanted.values()),
          f"{what}: {same} of {sum(wanted.values())} bytes are in the same rows; not these: {rows}")


def live_at_end(trace):
    blocks = [block for device in ask(trace, "blocks", "--at", "end")["devices"] for block in device["blocks"]]
    return sorted(str([block[name] for name in ("size", "category", "rule", "dtype", "module", "name")])
                  for block in blocks)


def compare(name, full, lighter):
    a, b = ask(full, "report"), ask(lighter, "report")
    equal(f"{name}: oddities", b["oddities"], a["oddities"])
    for x, y in zip(a["devices"], b["devices"], strict=True):
        for value in ("allocated", "reserved", "phase", "iteration"):
            equal(f"{name}: {value} at the peak", y["peak"][value], x["peak"][value])
        equal(f"{name}: iterations", y["iterations"], x["iterations"])
        equal(f"{name}: growth", y["growth"]["per_iteration"], x["growth"]["per_iteration"])
        near(f"{name}: categories", y["peak"]["categories"], x["peak"]["categories"])
        near(f"{name}: lines", by_place(y), by_place(x))
    near(f"{name}: modules", by_module(lighter), by_module(full))
    equal(f"{name}: live at the end", live_at_end(lighter), live_at_end(full))
    saved = a["events"] / b["events"]
    print(f"{name}: {a['events']} events, {b['events']} light, {a['bytes']} and {b['bytes']} bytes")
    check(saved >= LEAST_SAVED.get(name, 1), f"{name}: only {saved:.1f} times as few events")


def told_after(trace, steps):
    """How many iterations after so many are told with the blocks of their batch's size, which come and go."""
    trace = Trace(trace)
    step = [event["time_ns"] for event in trace.of("step")]
    batch = [event["time_ns"] for event in trace.of("alloc") if event["size"] == ODD_SIZE]
    each = sum(step[1] < time < step[2] for time in batch)  # the first iterations are whole
    return sum(time > step[steps - 1] for time in batch) // each


def save(forks, work):
    """The copy has what was recorded up to then, and the requested iterations."""
    trace, copy = work / "saved.mtap", work / "copy.mtap"
    code, output = forks.run(trace, PROGRAM, "saved", MEMTAP, copy, env={"MEMTAP_LIGHT": "1"})
    check(code == 0 and "saved: 0" in output, f"saved ended with {code}: {output}")
    check(10 <= told_after(trace, 60) <= 42, f"saved: tells {told_after(trace, 60)} of the last iterations")
    check(told_after(copy, 60) >= 10, "the copy has no whole iterations")  # and what was in the tail
    equal("the copy's end", ask(copy, "info")["ended"]["how"], "running")


def main():
    need_torch()
    with folder() as work, Forks(PROGRAM, *{program[0] for program in PROGRAMS.values()}) as forks:
        for name, program in PROGRAMS.items():
            traces = [Path(work) / f"{name}{kind}.mtap" for kind in ("", "-light")]
            for trace, value in zip(traces, "01"):
                code, output = forks.run(trace, *program, env={"MEMTAP_LIGHT": value})
                check(code in (0, -9), f"{name} ended with {code}: {output}")
            compare(name, *traces)
        text = must_run([MEMTAP, "report", Path(work) / "generate-light.mtap"]).stdout
        check("(by forward passes)\n  loop turns not counted: a light recording lacks short-lived blocks" in text,
              "generate: the report says what it counts", text[:800])
        for name in ("growth", "out_of_memory"):
            told = told_after(Path(work) / f"{name}-light.mtap", 60)
            check(3 <= told <= 10, f"{name}: tells {told} of the last iterations")
        save(forks, Path(work))
    finish()


if __name__ == "__main__":
    main()
