# SPDX-License-Identifier: Apache-2.0
"""The dependency law (HACKING.md): which folder may use which."""

# The top level: who may include whom.
MAY_INCLUDE = {
    "trace-format": {"trace-format"},
    "preload": {"preload", "trace-format"},
    "cupti": {"cupti", "preload", "trace-format"},
    "attach": {"attach", "preload", "trace-format/settings"},
    "analyzer": {"analyzer", "trace-format"},
    "compare": {"compare", "analyzer", "trace-format"},
    "planner": {"planner", "analyzer", "trace-format"},
    "exchange": {"exchange", "analyzer", "trace-format"},
    "simulator": {"simulator", "trace-format/settings"},
    "page": {"page", "exchange", "compare", "analyzer", "trace-format"},
    "tools": {"tools", "exchange", "planner", "compare", "analyzer", "trace-format", "simulator"},
}

# Within a folder: its sub-folders, from the lowest up. Each may use itself and those before it, by
# includes and by calls. A folder that is listed here has no sources of its own.
SUBFOLDERS = {
    "preload": [
        "include",
        "host",
        "loader",
        "record",
        "live-memory",
        "selection",
        "native",
        "python",
        "modules",
        "stacks",
        "scan",
        "holders",
        "uses",
        "write",
        "hooks",
        "torch",
        "cuda",
        "process",
    ],
    "analyzer": [
        "support",
        "trace",
        "model",
        "loops",
        "holders",
        "uses",
        "classify",
        "query",
        "replay",
        "findings",
        "remarks",
        "print",
        "report",
        "json",
        "compact",
    ],
    "compare": [
        "digest",
        "diff",
        "check",
        "history",
    ],
    "planner": ["allocator", "requests", "recording", "rest", "changes", "advice"],
    "exchange": ["tables", "encode", "export", "import", "reader"],
    "tools/memtap": ["completion", "terminal", "input", "launch", "attach", "serve", "top", "metrics", "recordings", "fit", "ranks", "commands"],
    "simulator/core": ["base", "device", "values", "memory", "streams", "process"],
}

# What no arrow is made of: the table of parts, which recorder.c walks and a higher folder fills, and
# functions of the C library that are hooks, too.
NO_ARROWS = {"mt_parts", "mt_n_parts", "dlclose", "dlsym"}
SOURCES = {".c", ".cc", ".h"}


def sources(folder):
    return [path for path in sorted(folder.rglob("*")) if path.suffix in SOURCES]


def objects(root, build):
    """source file -> one of its objects (several libraries may have it). By Meson's naming,
    folder/library.p/sub_file.c.o is made from folder/sub/file.c; ".._" is the folder above."""
    found = {}
    for path in sorted(build.rglob("*.o")):
        folder, name = path.relative_to(build).parent.parent, path.name.removesuffix(".o")
        while name.startswith(".._"):
            folder, name = folder.parent, name.removeprefix(".._")
        source = root / folder / name.replace("_", "/")
        if source.relative_to(root).parts[0] in MAY_INCLUDE and source.exists():
            found.setdefault(source, path)
    return found


def subfolder(root, path):
    """(folder, sub-folder) of a source file, or None where no law divides its folder."""
    parts = path.relative_to(root).as_posix()
    for folder in SUBFOLDERS:
        if parts.startswith(folder + "/"):
            rest = parts[len(folder) + 1:]
            return folder, rest.split("/")[0] if "/" in rest else ""
    return None


def refused(root, user, used):
    """Why `user` may not use `used` within their common folder, or None where it may."""
    a, b = subfolder(root, user), subfolder(root, used)
    if not a or not b or a[0] != b[0]:
        return None
    order = SUBFOLDERS[a[0]]
    if a[1] in order and b[1] in order and order.index(b[1]) <= order.index(a[1]):
        return None
    return f"{a[0]}/{a[1]} must not use {b[0]}/{b[1]}"
