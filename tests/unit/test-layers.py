# SPDX-License-Identifier: Apache-2.0
"""test-layers.py ROOT: who includes whom, by the law in layers.py, and before its code."""
import pathlib
import re
import sys

import layers

root = pathlib.Path(sys.argv[1]).resolve()
folders = set(layers.MAY_INCLUDE) | {"tests"}
files = faults = 0


def fault(text):
    global faults
    faults += 1
    print(text)


def find(source, name):
    """The file of ours that an include means, or None."""
    top = source.relative_to(root).parts[0]
    for base in (source.parent, root / top, root):
        path = (base / name).resolve()
        if path.exists() and root in path.parents:
            return path
    return None


def check_include(folder, source, number, name):
    path = find(source, name)
    target = path.relative_to(root).as_posix() if path else name
    place = f"{source.relative_to(root)}:{number}"
    if target.split("/")[0] in folders and not target.startswith(tuple(f"{one}/" for one in layers.MAY_INCLUDE[folder])):
        fault(f"{place}: {folder} must not include {target}")
    why = path and layers.refused(root, source, path)
    if why:
        fault(f"{place}: {why}")


for folder in layers.MAY_INCLUDE:
    for source in layers.sources(root / folder):
        files += 1
        lines = source.read_text().splitlines()
        code = next((number for number, line in enumerate(lines, 1) if line == "{"), len(lines))
        for number, line in enumerate(lines, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                check_include(folder, source, number, match[1])
            if source.suffix == ".c" and number > code and re.match(r'\s*#\s*include\s+["<][^">]+\.h[">]', line):
                fault(f"{source.relative_to(root)}:{number}: a header is included below code")
for folder, subs in layers.SUBFOLDERS.items():
    there = {path.name for path in (root / folder).iterdir() if path.is_dir() and path.name != "__pycache__"}
    for sub in sorted(there ^ set(subs)):
        fault(f"{folder}/{sub}: the folders and the law (layers.py) differ")
    for path in (root / folder).iterdir():
        if path.suffix in layers.SOURCES:
            fault(f"{path.relative_to(root)}: belongs into a sub-folder")
print(f"{files} files, {faults} faults")
sys.exit(faults != 0 or files == 0)
