# SPDX-License-Identifier: Apache-2.0
"""test-calls.py ROOT BUILD NM: calls and uses of variables between sub-folders, by the symbols of
the compiled objects, obey the law in layers.py. Prints the graph."""
import collections
import pathlib
import re
import subprocess
import sys

import layers

root, build, nm = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]


def objects(folder):
    """Source file -> one of its objects. Meson names objects after paths, with _ for /."""
    wanted = {}
    for source in layers.sources(root / folder):
        if source.suffix != ".h":
            wanted[re.sub(r"[/_]", "_", source.relative_to(root).as_posix())] = source
    found = {}
    for path in sorted(build.rglob("*.o")):
        name = re.sub(r"[/_.]+", "_", path.name.removesuffix(".o"))
        for key, source in wanted.items():
            key = re.sub(r"[/_.]+", "_", key)
            parts = key.split("_")
            # From the folder of a meson.build on, whichever that is.
            if any(name.removeprefix("_") == "_".join(parts[i:]) for i in range(len(parts) - 2)):
                found.setdefault(source, path)
    return found


def symbols(path):
    defined, used = set(), set()
    lines = subprocess.run([nm, path], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        *_, kind, name = line.split()
        if kind == "U":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, used


faults = edges = 0
for folder in layers.SUBFOLDERS:
    home, users = {}, {}
    compiled = objects(folder)
    for source in layers.sources(root / folder):
        if source.suffix != ".h" and source not in compiled:
            faults += 1
            print(f"{source.relative_to(root)}: no object of it in {build}")
    for source, path in compiled.items():
        defined, users[source] = symbols(path)
        home |= dict.fromkeys(defined, source)
    graph = collections.Counter()
    for user, names in users.items():
        for name in sorted(names & home.keys() - layers.NO_ARROWS):
            used = home[name]
            a, b = (layers.subfolder(root, path)[1] for path in (user, used))
            if a == b:
                continue
            graph[a, b] += 1
            why = layers.refused(root, user, used)
            if why:
                faults += 1
                print(f"{user.relative_to(root)}: {name}: {why}")
    for (a, b), count in sorted(graph.items()):
        print(f"{folder}: {a} -> {b}: {count} symbols")
    edges += len(graph)
print(f"{edges} arrows, {faults} faults")
sys.exit(faults != 0 or edges < len(layers.SUBFOLDERS))
