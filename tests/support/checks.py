# SPDX-License-Identifier: Apache-2.0
"""What a test has found: it goes on after a fault, prints each when it is found, and ends with the sum."""
import sys
import time

LONG = 300  # seconds: nobody waits so long, but for what never comes
faults = []


def check(good, what, *found):
    """Note a fault unless it is good. found: what there is instead."""
    if not good:
        faults.append(what)
        print(f"FAILED: {what}", *found, flush=True)
    return good


def equal(what, found, wanted):
    return check(found == wanted, f"{what}: {found!r}, but should be {wanted!r}")


def until(holds):
    """Wait until it holds. What it returns then, or at last."""
    end = time.monotonic() + LONG
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def finish(passed="passed"):
    """End the test. passed: what to print where there is no fault."""
    print(f"{len(faults)} failed" if faults else passed)
    sys.exit(bool(faults))
