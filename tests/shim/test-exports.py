# SPDX-License-Identifier: Apache-2.0
"""test-exports.py HOOKS.H LIBMEMTAP.SO: the library exports the table's symbols and no others."""
import re
import subprocess
import sys

table, library = sys.argv[1:]
wanted = set(re.findall(r'H\(\w+, "(\w+)"', open(table).read()))
listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
exported = {line.split()[2] for line in listing.splitlines()}
for name in sorted(wanted ^ exported):
    print(f"{name}: {'not exported' if name in wanted else 'exported, but no hook'}")
print(f"{len(wanted)} hooks, {len(exported)} exported symbols")
sys.exit(wanted != exported or not wanted)
