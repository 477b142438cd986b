# SPDX-License-Identifier: Apache-2.0
"""What a test has found: it goes on after a fault, prints each when it is found, and ends with the sum."""
import sys

faults = []


def check(good, what, *found):
    """Note a fault unless it is good. found: what there is instead."""
    if not good:
        faults.append(what)
        print(f"FAILED: {what}", *found, flush=True)
    return good


def equal(what, found, wanted):
    return check(found == wanted, f"{what}: {found!r}, but should be {wanted!r}")


def finish(passed="passed"):
    """End the test. passed: what to print where there is no fault."""
    print(f"{len(faults)} failed" if faults else passed)
    sys.exit(bool(faults))
