# SPDX-License-Identifier: Apache-2.0
"""test_metrics.py MAKE_TRACES MEMTAP SOURCE: what memtap metrics prints, read back by a strict reader: the same figures as
memtap report has; hostile labels; and the dashboard in examples/metrics asks for families that there are."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import openmetrics
from checks import check, finish

make_traces, memtap, source = (os.path.abspath(path) for path in sys.argv[1:4])
TRACES = ["training", "mixed", "layers", "phases", "oom", "fragmented", "hostile", "c-program", "native", "unknown", "rank1",
          "killed", "balance", "idle", "planned", "pinned"]


def run(*arguments):
    return subprocess.run([memtap, *arguments], capture_output=True, text=True, check=False)


def metrics(*arguments):
    done = run("metrics", *arguments)
    check(not done.returncode and not done.stderr, f"{arguments}: {done.stderr}")
    return openmetrics.read(done.stdout)


def report(trace, moment):
    return json.loads(run("report", "--format", "json", "--at", moment, trace).stdout)


def sums(families, name, **labels):
    """Device -> sum of a family's samples with these labels."""
    found = {}
    for own, value in families[name]["samples"]:
        if labels.items() <= own.items():
            found[own.get("device")] = found.get(own.get("device"), 0) + value
    return found


def as_reported(trace):
    families, at_end, at_peak = metrics(trace), report(trace, "end"), report(trace, "peak")
    for moment, document, names in (("end", at_end, ("memtap_allocated_bytes", "memtap_category_allocated_bytes")),
                                    ("peak", at_peak, ("memtap_peak_allocated_bytes", "memtap_peak_category_allocated_bytes"))):
        for device in document["devices"]:
            number = "unknown" if device["device"] is None or device["device"] < 0 else str(device["device"])
            total = device["peak"]["allocated"]
            for name in names:
                check(sums(families, name).get(number) == total, f"{trace}: {name} is {sums(families, name)}, not {total} at {moment}")
            for category, bytes_of in {**device["peak"]["categories"], "before_recording": device["peak"]["unseen"]}.items():
                found = sums(families, names[1], category=category).get(number)
                check(found == bytes_of, f"{trace}: {category} is {found}, not {bytes_of} at {moment}")
            phases = sums(families, "memtap_phase_peak_allocated_bytes")
            growth = families["memtap_growth_per_iteration_bytes"]["samples"]
            check(phases.get(number, 0) >= total and all(value == device["growth"]["per_iteration"] for labels, value in growth
                                                         if labels["device"] == number), f"{trace}: {phases}, {growth}")
        check(len(sums(families, names[0])) == len(document["devices"]), f"{trace}: devices")
    states = [labels["state"] for labels, value in families["memtap_run_state"]["samples"] if value]
    check(states == [at_end["ended"]["how"]], f"{trace}: {states}, not {at_end['ended']}")
    check(all("device" in labels for name in ("memtap_iterations", "memtap_peak_reserved_bytes")
              for labels, _ in families[name]["samples"]), f"{trace}: no device")


def labels_are_escaped():
    name = 'a "b" \\ c\nd.mtap'
    os.rename("copies.mtap", name)
    for labels, _ in metrics(name)["memtap_run_state"]["samples"]:
        check(labels["trace"] == name, f"{labels} is not of {name!r}")
    raw = run("metrics", name).stdout
    check('trace="a \\"b\\" \\\\ c\\nd.mtap"' in raw, raw.splitlines()[2])
    check("\x1b" not in run("metrics", "hostile.mtap").stdout, "a hostile name acts")


def several():
    families = metrics("rank0.mtap", "rank1.mtap")
    check({labels["rank"] for labels, _ in families["memtap_allocated_bytes"]["samples"]} == {"0", "1"}, "ranks")


def dashboard_matches():
    names = {name + ("_total" if family["type"] == "counter" else "") for name, family in metrics("training.mtap").items()}
    dashboard = json.loads((pathlib.Path(source) / "examples/metrics/dashboard.json").read_text())
    asked = re.findall(r"memtap_\w+", " ".join(target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])))
    check(len(asked) >= 8, f"only {asked}")
    check(set(asked) <= names, f"the dashboard asks for {set(asked) - names}")
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    check(len(set(identifiers)) == len(identifiers), "panels have the same number")
    manual = (pathlib.Path(source) / "man/memtap-metrics.1").read_text()
    missing = sorted(name for name in names if name not in manual)
    check(not missing, f"memtap-metrics.1 lacks {missing}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces], check=True)
    for each in TRACES:
        as_reported(f"{each}.mtap")
    labels_are_escaped()
    several()
    dashboard_matches()
    os.chdir("/")
finish()
