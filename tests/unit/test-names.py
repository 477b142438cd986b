# SPDX-License-Identifier: Apache-2.0
"""test-names.py ROOT BUILD NM: no name of ours (mt_, MT_) stands for two things, whichever
libraries they are in: tags and types by the sources, functions and variables by the compiled
objects, which have those of macros, too."""

import collections
import pathlib
import re
import subprocess
import sys

import layers

root, build, nm = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]

TAG = re.compile(r"^[ \t]*(?:typedef[ \t]+)?(?:struct|union|enum)[ \t]+(mt_\w+)[ \t]*(?:\{|$)", re.M)
TYPE = re.compile(r"^typedef\b[^;{]*?(?:\(\*(mt_\w+)\)|\b(mt_\w+));", re.M)
TYPE_OF_BODY = re.compile(r"^\} (mt_\w+);", re.M)
INLINE = re.compile(r"^static [^;=()]*\b(mt_\w+)\([^;]*?\)\n\{", re.M)
MACRO = re.compile(r"^#[ \t]*define[ \t]+(MT_\w+)", re.M)

places = collections.defaultdict(set)  # (kind, name) -> where it is made
for folder in layers.MAY_INCLUDE:
    for source in layers.sources(root / folder):
        text = source.read_text()
        where = source.relative_to(root).as_posix()
        for kind, pattern in ("tag", TAG), ("type", TYPE), ("type", TYPE_OF_BODY), ("function", INLINE):
            for match in pattern.finditer(text):
                name = next(group for group in match.groups() if group)
                places[kind, name].add(where)
        if source.suffix == ".h":
            for match in MACRO.finditer(text):
                if f"#undef {match[1]}\n" not in text:
                    places["macro", match[1]].add(where)

objects = layers.objects(root, build)
sources = {str(path): source for source, path in objects.items()}
lines = subprocess.run(
    [nm, "-A", "--defined-only", *objects.values()], check=True, capture_output=True, text=True
).stdout.splitlines()
for line in lines:
    path, _, symbol = line.rpartition(":")
    *_, kind, name = symbol.split()
    if kind.isupper() and kind not in "VW" and name.startswith("mt_"):
        places["function", name].add(sources[path].relative_to(root).as_posix())

twice = {key: sorted(value) for key, value in places.items() if len(value) > 1}
for (kind, name), where in sorted(twice.items()):
    print(f"{name}: a {kind} in {', '.join(where)}: one name, one thing")
print(f"{len(places)} names, {len(twice)} with more than one meaning")
sys.exit(bool(twice) or not any(kind == "function" for kind, _ in places) or len(places) < 1000)
