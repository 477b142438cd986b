# SPDX-License-Identifier: Apache-2.0
"""Counts the tests that meson ran in the given build folders: the skipped and the failed ones by
name, then one line `N passed, N failed[, N skipped]`. Exit code 1 where one failed or none ran."""
import glob
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def results(folder):
    """(name, meson's result, last line of output) of each test in the folder's newest run."""
    for path in glob.glob(f"{folder}/meson-logs/testlog*.json"):
        with open(path, encoding="utf-8", errors="replace") as log:
            for line in log:
                test = json.loads(line)
                output = (test.get("stdout") or "") + (test.get("stderr") or "")
                last = (output.strip().splitlines() or [""])[-1]
                yield f"{folder}: {test['name']}", test["result"], last.removeprefix("skipped: ")


def main(folders):
    passed, skipped, failed = 0, [], []
    for folder in folders:
        ran = list(results(folder))
        if not ran:
            failed.append(f"{folder}: no test ran")
        for name, result, last in ran:
            if result in PASSED:
                passed += 1
            elif result == "SKIP":
                skipped.append(f"{name} ({last})" if last else name)
            else:
                failed.append(f"{name} ({result.lower()})")
    for line in skipped:
        print("skipped  ", line)
    for line in failed:
        print("failed   ", line)
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
