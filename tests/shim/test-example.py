# SPDX-License-Identifier: Apache-2.0
"""test-example.py MEMTAP SHIM RULES HEAT: the faults of examples/heat.c are in its trace and in the
report, as its README says, and its memory has the categories of heat.rules; the leak is in the trace
also where CUDA's driver has loaded libmemtap.so."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import equal, finish

memtap, shim, rules, heat = sys.argv[1], os.path.realpath(sys.argv[2]), *sys.argv[3:]
STEPS, FIELD, TABLE = 100, 16 << 20, 2 << 20


def read(trace):
    listing = subprocess.run([memtap, "dump", "--format", "json", trace], check=True, text=True,
                             stdout=subprocess.PIPE)
    return [json.loads(line) for line in listing.stdout.splitlines()]


def leaks(records):
    """Size and name of what was never freed."""
    texts = {record["id"]: record["text"] for record in records if record["record"] == "string"}
    live = {}
    for record in records:
        if record["record"].startswith("cuda_malloc"):
            live[record["address"]] = [record["size"], None]
        elif record["record"] == "named":
            live[record["address"]][1] = texts[record["name"]]
        elif record["record"].startswith("cuda_free"):
            del live[record["address"]]
    return [tuple(leak) for leak in live.values()]


def report(trace):
    done = subprocess.run([memtap, "report", "--rules", rules, "--format", "json", trace], check=True,
                          text=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["devices"][0]


def origins(part):
    """Bytes, blocks and the functions, the innermost first, of each origin."""
    return [(site["bytes"], site["blocks"],
             [site["line"]["function"], *(frame["function"] for frame in site["callers"])][:3])
            for site in part["sites"]]


def phases(records):
    texts = {record["id"]: record["text"] for record in records if record["record"] == "string"}
    return [texts[record["name"]] for record in records if record["record"] == "range_push"]


with tempfile.TemporaryDirectory() as directory:
    trace = os.path.join(directory, "t.mtap")
    subprocess.run([memtap, "run", "--simulate", "t4", "-o", trace, "--", heat,
                    str(STEPS)], check=True)
    records = read(trace)
    equal("leaks", leaks(records), [(FIELD, "snapshot")] * 9)
    equal("phases", {name: phases(records).count(name) for name in ("step", "snapshot", "end")},
          {"step": STEPS, "snapshot": 10, "end": 1})
    device = report(trace)
    snapshots = ["device_memory", "take_snapshot", "main"]
    equal("not freed", origins(device["not_freed"]), [(9 * FIELD, 9, snapshots)])
    equal("never copied or set", origins(device["idle"]["never"]),
          [(TABLE, 1, ["device_memory", "begin", "main"])])
    equal("not any more at the peak", origins(device["idle"]["after"]),
          [(10 * FIELD, 10, snapshots)])
    equal("not yet at the peak", origins(device["idle"]["until"]), [])
    sizes = {name: size for name, size in device["peak"]["categories"].items() if size}
    equal("categories", sizes, {"constants": TABLE, "fields": 2 * FIELD,
                                "snapshots": 10 * FIELD, "temporaries": FIELD // 4})
    trace = os.path.join(directory, "injected.mtap")
    subprocess.run([memtap, "simulate", "--gpu", "t4", "--", heat, str(STEPS)], check=True,
                   env={**os.environ, "CUDA_INJECTION64_PATH": shim, "MEMTAP_OUTPUT": trace})
    equal("leaks, by CUPTI", [size for size, _ in leaks(read(trace))], [FIELD] * 9)
finish()
