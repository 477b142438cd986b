#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generate C from the entry-point lists.

    generate.py stubs   SET LIST OUT   C for every entry point that is not written by hand
    generate.py map     SET LIST OUT   the linker's version script: exactly the entry points
    generate.py lookup  SET LIST OUT   the table behind cuGetProcAddress
    generate.py callbacks INCLUDE OUT      the names of the calls that CUPTI reports, from its headers
    generate.py sonames SET,... OUT LIST...  the SONAMEs, in the order given, set after set

SET names the SONAME set ("cuda13"). The lists explain themselves: entry-points/README.
"""

import re
import sys

NAME = re.compile(r"[A-Za-z_]\w*\Z")
OUT = re.compile(r"(handle|i8|i32|i64|ptr)@(\d+)(?:=(.+))?\Z")
SUM = re.compile(r"-?(\d+|arg\d+)([+*](\d+|arg\d+))*\Z")
MAX_ARGUMENT = 19


class List:
    """A library: its headers, and its entry points with their behaviour."""

    def __init__(self, path, soname_set):
        self.path = path
        self.fields = {}
        self.entries = {}
        self.soname = None
        with open(path) as lines:
            for number, line in enumerate(lines, 1):
                words = line.split("#")[0].split()
                if words:
                    self.read(words, soname_set, f"{path}:{number}")

    def read(self, words, soname_set, where):
        if words[0] == "soname":
            if words[1] == soname_set:
                self.soname = words[2]
        elif words[0] in ("library", "version", "refuse"):
            self.fields[words[0]] = words[1]
        else:
            self.read_entry(words, soname_set, where)

    def read_entry(self, words, soname_set, where):
        name, behaviour = words[0], words[1:]
        if not NAME.match(name) or not behaviour:
            sys.exit(f"{where}: an entry point is a name and its behaviour")
        only = [word for word in behaviour if word.startswith("only=")]
        if only and soname_set not in only[0][5:].split(","):
            return
        if name in self.entries:
            sys.exit(f"{where}: {name} is listed twice")
        self.entries[name] = ([word for word in behaviour if word not in only], where)

    def node(self):
        """Return the version node; '' for symbols without a version."""
        version = self.fields.get("version", "soname")
        return {"soname": self.soname, "none": ""}.get(version, version)


def stub(name, behaviour, where):
    """Return the line of C for one entry point, '' if it is written by hand."""
    effects, result, kind = [], "0", None
    enters = "0"
    for word in behaviour:
        out = OUT.match(word)
        if word == "implemented":
            return ""
        if out and int(out[2]) <= MAX_ARGUMENT:
            effects.append(effect(out[1], int(out[2]), out[3], where))
        elif word.startswith("alias="):
            return f"SIM_ALIAS({name}, {word[6:]})"
        elif word == "enters":
            enters = "runtime_up()"
        elif word.startswith("driver="):
            return driver_call(name, enters, word[7:], where)
        elif word == "works":
            effects.append(f'LIBRARY_WORKS("{name}");')
        elif word.startswith("launches="):
            return f"SIM_LAUNCHES({name}, {int(word[9:])})"
        elif word.startswith("returns="):
            result = word[8:]
        elif word.startswith("text="):
            result = f'(long)"{word[5:].replace("_", " ")}"'
        elif word in ("success", "note", "refuses", "unsupported"):
            kind = word
        elif not word.startswith("since="):
            sys.exit(f'{where}: what is "{word}"?')
    if kind == "note":
        return f"SIM_NOTE({name})"
    if kind == "refuses":
        return f"SIM_REFUSE({name})"
    if kind == "unsupported":
        return f"SIM_UNSUPPORTED({name})"
    if not effects and result == "0":
        return f"SIM_SUCCESS({name})"
    return f"SIM_ENTRY({name}, {result}, {' '.join(effects)})"


def driver_call(name, enters, call, where):
    """Return the line of C for a function of the runtime that is one of the driver's."""
    function, _, arguments = call.partition(":")
    function, _, version = function.partition("@")
    if not re.match(r"((arg)?\d+(,|\Z))*\Z", arguments):
        sys.exit(f"{where}: driver={function}: takes argN and numbers, with commas")
    arguments = arguments or "arg0,arg1,arg2,arg3,arg4,arg5"
    values = ", ".join(a.replace("arg", "a") if a.startswith("arg") else f"{a}L" for a in arguments.split(","))
    return f"SIM_FORWARD({name}, {function}, {version or 0}, {enters}, {values})"


def effect(kind, argument, value, where):
    if kind == "handle":
        return f"SIM_OUT(void *, {argument}, sim_new_handle());"
    if value is None:
        sys.exit(f"{where}: {kind}@{argument} needs a value")
    if kind == "ptr":
        if not re.match(r"arg\d+\Z", value):
            sys.exit(f"{where}: ptr@{argument} takes argN")
        return f"SIM_OUT(long, {argument}, a{value[3:]});"
    c_type = {"i8": "char", "i32": "int", "i64": "long"}[kind]
    if not SUM.match(value):
        sys.exit(f"{where}: {kind}@{argument} takes numbers and argN, with + and *")
    # An int argument has only the lower half.
    value = re.sub(r"arg(\d+)", rf"(long)({c_type})a\1", value)
    return f"SIM_OUT({c_type}, {argument}, {value});"


def write_stubs(entries, out):
    refuse = entries.fields.get("refuse", "0")
    out.write(f"/* Generated from the list of {entries.soname}: do not edit. */\n")
    out.write(f'#define SIM_REFUSE_CODE {refuse}\n#include "stub.h"\n\n')
    if any(
        word.startswith("launches=") or word == "works"
        for behaviour, _ in entries.entries.values()
        for word in behaviour
    ):
        out.write('#include "api/launch.h"\n\n')
    if any(word.startswith("driver=") for behaviour, _ in entries.entries.values() for word in behaviour):
        out.write('#include "runtime/driver-calls.h"\n\n')
    for name, (behaviour, where) in entries.entries.items():
        line = stub(name, behaviour, where)
        if line:
            out.write(line + "\n")


def write_map(entries, out):
    out.write(f"{entries.node()} {{\n  global:\n")
    for name in entries.entries:
        out.write(f"    {name};\n")
    out.write("  local: *;\n};\n")


def base_name(name):
    """Return a symbol's name for cuGetProcAddress."""
    name = re.sub(r"_(ptds|ptsz)\Z", "", name)
    return re.sub(r"_v\d+\Z", "", name)


def write_lookup(entries, out):
    """Sort by base name, then newest first: cuGetProcAddress takes the first that is not too new."""
    rows = []
    for name, (behaviour, _) in entries.entries.items():
        if re.search(r"_(ptds|ptsz)\Z", name):
            continue
        since = [int(word[6:]) for word in behaviour if word.startswith("since=")]
        version = re.search(r"_v(\d+)\Z", name)
        rows.append((base_name(name), -(since[0] if since else 0), -(int(version[1]) if version else 0), name))
    for base, since, _, name in sorted(rows):
        out.write(f"SIM_LOOKUP({base}, {-since}, {name})\n")


def write_callbacks(include, out):
    """Write only the names; their numbers come from the headers at compile time."""
    for domain in ("driver", "runtime"):
        with open(f"{include}/cupti_{domain}_cbid.h") as header:
            for name in re.findall(r"_TRACE_CBID_(\w+) += +\d+", header.read()):
                if name not in ("INVALID", "SIZE", "FORCE_INT"):
                    out.write(f"SIM_CALLBACK({domain.upper()}, {name})\n")


def main():
    if sys.argv[1] == "callbacks":
        with open(sys.argv[3], "w") as out:
            write_callbacks(sys.argv[2], out)
        return
    what, soname_set, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what == "sonames":
        with open(arguments[0], "w") as out:
            for name in soname_set.split(","):
                for soname in (List(path, name).soname for path in arguments[1:]):
                    if soname:
                        out.write(f'"{soname}",\n')
        return
    write = {"stubs": write_stubs, "map": write_map, "lookup": write_lookup}[what]
    entries = List(arguments[0], soname_set)
    if not entries.soname:
        sys.exit(f"{arguments[0]}: no soname in the set {soname_set}")
    with open(arguments[1], "w") as out:
        write(entries, out)


if __name__ == "__main__":
    main()
