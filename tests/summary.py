# SPDX-License-Identifier: Apache-2.0
"""Counts the tests that meson ran in the given build folders: the slowest ten, each skipped one with its reason, the failed ones,
then one line `N passed, N failed[, N skipped]`. A test may be skipped where there is no GPU, or for a reason in MAY_SKIP; another
skip is a failure, since what nobody runs is not tested. Exit code 1 where one failed or none ran."""

import glob
import json
import re
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SLOWEST = 10
NO_GPU = re.compile(r"there is no GPU|finds a GPU")
# What tools/test cannot bring: a test's name, and why it may be skipped.
MAY_SKIP = {
    "counts": "its table is of Debian's compiler",
    "overlay": "a container may not mount",
}


def results(folder):
    """(name, meson's result, seconds, last line of output) of each test in the folder's newest run."""
    for path in glob.glob(f"{folder}/meson-logs/testlog*.json"):
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                test = json.loads(line)
                output = (test.get("stdout") or "") + (test.get("stderr") or "")
                last = (output.strip().splitlines() or [""])[-1]
                yield test["name"], test["result"], test.get("duration") or 0, last.removeprefix("skipped: ")


def why_allowed(name, reason):
    """Return why a test may be skipped; None where it may not."""
    return "no GPU" if NO_GPU.search(reason) else MAY_SKIP.get(name.rpartition(" / ")[2])


def main(folders):
    passed, skipped, failed, slow = 0, [], [], []
    for folder in folders:
        ran = list(results(folder))
        if not ran:
            failed.append(f"{folder}: no test ran")
        for name, result, seconds, last in ran:
            slow.append((seconds, f"{folder}: {name}"))
            where = f"{folder}: {name} ({last or 'it gave no reason'})"
            if result in PASSED:
                passed += 1
            elif result != "SKIP":
                failed.append(f"{folder}: {name} ({result.lower()})")
            elif why := why_allowed(name, last):
                skipped.append(f"{where}: {why}")
            else:
                failed.append(f"{where}: skipped, and tests/summary.py allows it no reason")
    for seconds, name in sorted(slow, reverse=True)[:SLOWEST]:
        print(f"slow      {seconds:.0f} s {name}")
    for line in skipped:
        print("skipped  ", line)
    for line in failed:
        print("failed   ", line)
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
