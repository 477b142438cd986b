# SPDX-License-Identifier: Apache-2.0
"""test_modules.py SCRIPT [ARGUMENT...]: modules have the names in a trace that they have in a script of
the zoo, and parameters and gradients belong to the modules that they do."""
import json
import sys
from pathlib import Path

import harness

NAMED = Path(__file__).resolve().with_name("named.py")


def names_in(trace):
    """{(class of the outermost module, path)}"""
    strings, names = {0: ""}, set()
    for line in harness.must_run([harness.MEMTAP, "dump", "--format", "json",
                                  trace]).stdout.splitlines():
        record = json.loads(line)
        if record["record"] == "string":
            strings[record["id"]] = record["text"]
        elif record["record"] == "call":
            names.add((strings[record["root"]], strings[record["path"]]))
    return names


def check_names(names, model):
    """No wrong name, and none missing of those whose forward has parameters to use."""
    found = {path for root, path in names if root == model["class"]}
    harness.equal("names that are wrong", sorted(found - set(model["modules"])), [])
    used = {path for _, path in model["parameters"]}
    harness.equal("names that are missing", sorted(used - found), [])
    print(model["class"], len(found), "names of", len(model["modules"]))


def check_blocks(what, tensors, blocks):
    """Tensors that share memory may be of either one's module."""
    owners, wrong = {}, []
    for address, module in tensors:
        owners.setdefault(address, set()).add(module)
    for address, modules in owners.items():
        if blocks.get(address) not in modules:
            wrong.append([hex(address), blocks.get(address), sorted(modules)])
    harness.equal(f"{what} of another module", wrong, [])
    print(len(owners), what)


def main():
    harness.need_torch(*(["transformers"] if "unet" not in sys.argv[1] else []))
    with harness.folder() as work:
        trace, log = Path(work) / "trace.mtap", Path(work) / "named.json"
        harness.fork(trace, NAMED, log, harness.ZOO / sys.argv[1], *sys.argv[2:])
        models = [m for m in json.loads(log.read_text()) if m["parameters"]]
        harness.equal("models", len(models), 1)
        check_names(names_in(trace), models[0])
        listing = harness.must_run([harness.MEMTAP, "blocks", "--at", "end", "--format", "json", trace])
        blocks = {block["address"]: block["module"]
                  for device in json.loads(listing.stdout)["devices"] for block in device["blocks"]}
        check_blocks("parameters", models[0]["parameters"], blocks)
        check_blocks("gradients", models[0]["gradients"], blocks)
    harness.finish()


sys.exit(main())
