# SPDX-License-Identifier: Apache-2.0
"""test-beside-others.py MEMTAP PROGRAM STAND_IN DRIVER LINKED BELOW: a program that has other libraries
like us around it behaves as it does without us, whoever comes first, and its allocations are
recorded."""
import glob
import os
import re
import subprocess
import sys
import tempfile

memtap, program, stand_in, driver, linked, below = map(os.path.abspath, sys.argv[1:])
shim = os.environ["MEMTAP_TEST_SHIM"]
failures = 0


def run(way, preload, folder):
    """Its exit code and output."""
    environment = dict(os.environ, LD_PRELOAD=" ".join(preload), MEMTAP_QUIET="1")
    command = [linked, below] if way == "linked driver" else [program, way, driver]
    done = subprocess.run(command, env=environment, cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300)
    return done.returncode, done.stdout


def allocations(folder):
    trace, = glob.glob(folder + "/*.mtap")
    info = subprocess.run([memtap, "info", trace], text=True, stdout=subprocess.PIPE,
                          check=True).stdout
    found = re.search(r"cuda_malloc +(\d+)", info)
    return found and int(found[1])


for way, others, order, wanted in [
        ("runtime", [], [shim], 4),
        ("runtime", [stand_in], [shim, stand_in], 4),
        ("runtime", [stand_in], [stand_in, shim], 4),
        ("plugin", [], [shim], 4),
        ("driver", [], [shim], 4),
        ("linked driver", [], [shim], 6),
        ("linked driver", [driver], [driver, shim], 6),
        # Who looks up gets what is below the layer, as without us, and we have one hook.
        ("linked driver", [driver], [shim, driver], 4)]:
    with tempfile.TemporaryDirectory() as folder:
        without, with_us = run(way, others, folder), run(way, order, folder)
        recorded = allocations(folder) if with_us[0] == 0 else None
    if without != with_us or without[0] or recorded != wanted:
        failures += 1
        print(f"{way} {order}: without us {without}, with us {with_us}, recorded {recorded}")
sys.exit(failures > 0)
