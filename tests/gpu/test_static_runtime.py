# SPDX-License-Identifier: Apache-2.0
"""test_static_runtime.py MEMTAP LIBMEMTAP PROGRAM HEAT: what programs ask of a runtime that is linked into
them is recorded once on a real GPU: by the hooks of the driver, and by CUPTI where nothing is preloaded.
HEAT: examples/heat.c, whose leak is to be found as with the shared runtime (tests/shim/test-example.py)."""
import json
import os
import subprocess
import sys
import tempfile

memtap, library, program, heat = sys.argv[1:]
STEPS, FIELD, TABLE = 100, 16 << 20, 2 << 20
faults = []


def equal(what, found, wanted):
    if found != wanted:
        faults.append(f"{what}: {found}, not {wanted}")


def record(what, command, environment):
    """What it prints, and the records of its trace."""
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "t.mtap")
        ran = subprocess.run(command, text=True, capture_output=True, check=False,
                             env={**os.environ, "MEMTAP_OUTPUT": trace, **environment})
        if ran.returncode or not os.path.exists(trace):
            faults.append(f"{what}: exit code {ran.returncode}: {ran.stdout[-200:]} {ran.stderr}")
            return ran.stdout, []
        listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                                 stdout=subprocess.PIPE)
    return ran.stdout, [json.loads(line) for line in listing.stdout.splitlines()]


def check_one_call(what, wanted, environment):
    printed, records = record(what, [program], environment)
    equal(f"{what}: the program", printed.splitlines()[-1:], ["error 0"])
    equal(what, [(event["api"], event["size"]) for event in records
                 if event["record"] == "cuda_malloc" and event["size"] == 4096], [(wanted, 4096)])


def check_heat(what, environment):
    """What is never freed; and, where memtap.h finds memtap, what the program names."""
    _, records = record(what, [heat, str(STEPS)], environment)
    texts = {event["id"]: event["text"] for event in records if event["record"] == "string"}
    live, named = {}, []
    for event in records:
        if event["record"].startswith("cuda_malloc") and event["size"] in (FIELD, TABLE, FIELD // 4):
            live[event["address"]] = event["size"]
        elif event["record"] == "named":
            named.append((texts[event["name"]], live.get(event["address"])))
        elif event["record"].startswith("cuda_free"):
            live.pop(event["address"], None)
    equal(f"{what}: never freed", list(live.values()), 9 * [FIELD])
    if "LD_PRELOAD" in environment:
        equal(f"{what}: named", sorted(named), sorted(
            [("field", FIELD), ("next field", FIELD), ("materials", TABLE)] + 10 * [("snapshot", FIELD)]))
    scratch = [event for event in records
               if event["record"] == "cuda_malloc_async" and event["size"] == FIELD // 4]
    equal(f"{what}: scratch memory", len(scratch), STEPS)


def has_gpu():
    """NVIDIA's driver library makes the file, also where nothing is behind it."""
    try:
        os.close(os.open("/dev/nvidiactl", os.O_RDWR))
        return True
    except OSError:
        return False


if not has_gpu():
    print("skipped: there is no GPU")
    sys.exit(77)
library = os.path.realpath(library)
ways = {"hooks": ("cuMemAlloc", {"LD_PRELOAD": library}),
        "CUPTI": ("cudaMalloc", {"CUDA_INJECTION64_PATH": library}),
        "both": ("cuMemAlloc", {"LD_PRELOAD": library, "CUDA_INJECTION64_PATH": library})}
for way, (api, variables) in ways.items():
    check_one_call(way, api, variables)
    check_heat(f"{way}, heat", variables)
print("\n".join(faults) or "one call, one record")
sys.exit(bool(faults))
