# SPDX-License-Identifier: Apache-2.0
"""test-layers.py ROOT: the dependency law (HACKING.md): who includes whom."""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "trace-format": {"trace-format"},
    "settings": {"settings"},
    "preload": {"preload", "settings", "trace-format"},
    "cupti": {"cupti", "preload", "trace-format"},
    "analyzer": {"analyzer", "trace-format"},
    "nightly": {"nightly", "analyzer", "trace-format"},
    "simulator": {"simulator"},
    "tools": {"settings", "tools", "nightly", "analyzer", "trace-format", "simulator"},
}
SOURCES = {".c", ".cc", ".h"}

root = pathlib.Path(sys.argv[1])
folders = set(MAY_INCLUDE) | {"tests"}
files = faults = 0
for folder, allowed in MAY_INCLUDE.items():
    sources = [path for path in sorted((root / folder).rglob("*")) if path.suffix in SOURCES]
    for source in sources:
        files += 1
        for number, line in enumerate(source.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            path = (source.parent / match[1]).resolve()
            inside = path.exists() and root.resolve() in path.parents
            target = path.relative_to(root.resolve()).parts[0] if inside else match[1].split("/")[0]
            if target in folders and target not in allowed:
                faults += 1
                print(f"{source.relative_to(root)}:{number}: {folder} must not include {target}")
    for source in sources:
        lines = len(source.read_text().splitlines())
        if lines > 700:
            faults += 1
            print(f"{source.relative_to(root)}: {lines} lines, 700 are allowed")
print(f"{files} files, {faults} faults")
sys.exit(faults != 0 or files == 0)
