# SPDX-License-Identifier: Apache-2.0
"""test-exports.py LIBMEMTAP.SO HOOKS.H...: the library exports the tables' symbols and no others."""
import re
import subprocess
import sys

library, *tables = sys.argv[1:]
text = "".join(open(table).read() for table in tables).replace("\\\n", " ")
wanted = set(re.findall(r'\bH\(\w+,\s*"(\w+)"', text)) | set(re.findall(r'\bD\(\w+, "\w+", "(\w+)"', text))
listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
exported = {line.split()[2] for line in listing.splitlines()}
for name in sorted(wanted ^ exported):
    print(f"{name}: {'not exported' if name in wanted else 'exported, but no hook'}")
print(f"{len(wanted)} hooks, {len(exported)} exported symbols")
sys.exit(wanted != exported or not wanted)
