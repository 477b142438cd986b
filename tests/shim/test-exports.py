# SPDX-License-Identifier: Apache-2.0
"""test-exports.py LIBMEMTAP.SO HOOKS.H CC...: the library exports the tables' symbols and no others."""
import subprocess
import sys

import hook_tables

library, table, *compiler = sys.argv[1:]
wanted = hook_tables.symbols(hook_tables.expand(table, compiler))
listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
exported = {line.split()[2] for line in listing.splitlines()}
for name in sorted(wanted ^ exported):
    print(f"{name}: {'not exported' if name in wanted else 'exported, but no hook'}")
print(f"{len(wanted)} hooks, {len(exported)} exported symbols")
sys.exit(wanted != exported or not wanted)
