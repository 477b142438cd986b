# SPDX-License-Identifier: Apache-2.0
"""test-calls.py ROOT BUILD NM: calls and uses of variables between folders, by the symbols of the
compiled objects. Those between sub-folders obey the law in layers.py, no folders and no files call each
other in a circle, and taking a stack records no events. Prints the graph."""
import collections
import pathlib
import re
import subprocess
import sys

import layers

root, build, nm = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
faults = 0


def fault(text):
    global faults
    faults += 1
    print(text)


def symbols(objects):
    """source -> what it defines, what it uses of others."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    lines = subprocess.run([nm, "-A", *objects.values()], check=True, capture_output=True, text=True).stdout
    of = {str(path): source for source, path in objects.items()}
    for line in lines.splitlines():
        path, _, symbol = line.rpartition(":")
        *_, kind, name = symbol.split()
        if kind == "U":
            used[of[path]].add(name)
        elif kind.isupper():
            defined[of[path]].add(name)
    return defined, used


# Tables of functions, some of which need what stands beside the table.
TABLES = {"preload/cuda/driver.c"}


def circle(graph):
    """Folders or files that reach themselves, or none."""
    reach = collections.defaultdict(set)
    for a, b in graph:
        reach[a].add(b)
    for middle in list(reach):
        for a in list(reach):
            if middle in reach[a]:
                reach[a] |= reach[middle]
    return sorted(a for a in reach if a in reach[a])


objects = layers.objects(root, build)
for folder in layers.MAY_INCLUDE:
    for source in layers.sources(root / folder):
        if source.suffix != ".h" and source not in objects and layers.subfolder(root, source):
            fault(f"{source.relative_to(root)}: no object of it in {build}")
defined, used = symbols(objects)
home = collections.defaultdict(list)
for source, names in defined.items():
    for name in names:
        home[name].append(source)
graph, between_files = collections.Counter(), set()
for user, names in used.items():
    for name in sorted(names - layers.NO_ARROWS):
        if len(home[name]) != 1:
            continue  # the C library's or PyTorch's; or CUDA's, which hooks and the simulator have
        other = home[name][0]
        files = [path.relative_to(root).as_posix() for path in (user, other)]
        if user != other and files[0] not in TABLES:
            between_files.add(tuple(files))
        tops = {path.relative_to(root).parts[0] for path in (user, other)}
        if other.parent == user.parent or len(tops) > 1 and not name.startswith("mt_"):
            continue
        graph[tuple(path.parent.relative_to(root).as_posix() for path in (user, other))] += 1
        why = layers.refused(root, user, other)
        if why:
            fault(f"{user.relative_to(root)}: {name}: {why}")
        if user.parent == root / "preload/stacks" and name in ("mt_record_slow", "mt_read_objects_slow"):
            fault(f"{user.relative_to(root)}: {name}: a stack is taken without recording events (read-objects.h)")
for source in objects:
    text = source.read_text()
    stacks = len(re.findall(r"= .*mt_(?:python_stack|thread_stack|python_is_near)\(", text))
    if source.parent != root / "preload/stacks" and stacks > text.count("mt_read_objects(self);"):
        fault(f"{source.relative_to(root)}: takes a stack without asking PyTorch's objects after it (read-objects.h)")
for (a, b), count in sorted(graph.items()):
    print(f"{a} -> {b}: {count} symbols")
for what, arrows in (("folders", graph), ("files", between_files)):
    if circle(arrows):
        fault(f"these {what} call each other in circles: {', '.join(circle(arrows))}")
print(f"{len(graph)} arrows, {faults} faults")
sys.exit(faults != 0 or len(graph) < len(layers.SUBFOLDERS))
