# SPDX-License-Identifier: Apache-2.0
"""test-format.py ROOT: the tables of FORMAT.md say what the code has: kinds of events with their fields
and codes, kinds of definitions, the first column of fields, the sizes of the tail."""
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1]) / "trace-format"
document = (folder / "FORMAT.md").read_text()
source = {name: (folder / name).read_text() for name in ("model.h", "columns.h", "tail.h", "block.h")}
faults = []


def compare(what, written, real):
    if written != real or not real:
        faults.append(f"{what}: FORMAT.md has {written}, the code {real}")


def fields(text):
    """"address (delta), size, count (plain)": a code is that of all names up to it; allocated and
    reserved are codes of their own."""
    result, waiting = [], []
    for name, code in re.findall(r"(\w+)(?: \((\w+)\))?(?:, |$)", text):
        if not code and name in ("allocated", "reserved"):
            code = name
        waiting.append(name)
        if code:
            result += [(each, code) for each in waiting]
            waiting = []
    return result


written = {}
table = document.partition("### Kinds")[2].partition("\n## ")[0]
for number, name, arguments in re.findall(r"^\| (\d+) \| (\w+) \| ([^|]+) \|", table, re.M):
    same = re.fullmatch(r"as (\w+)", arguments.strip())
    written[int(number)] = (name, next((f for n, f in written.values() if n == same[1]), None) if same
                            else [] if arguments.strip() == "none" else fields(arguments.strip()))
body = source["model.h"].partition("#define MT_EVENT_KINDS")[2].partition("/* clang-format on")[0]
real = {int(number): (name, [(field, code.lower()) for field, code in re.findall(r"F\((\w+), (\w+)\)", rest)])
        for number, name, rest in re.findall(r'M\(\w+, (\d+), "(\w+)", \w+,(.*?)(?=\bM\(|\Z)', body.replace("\\\n", ""),
                                             re.S)}
for number in sorted(written.keys() | real.keys()):
    compare(f"kind {number}", written.get(number), real.get(number))

names = {"native frame": "NATIVE"}
compare("definitions",
        {int(number): names.get(name, name.upper()) for number, name in
         re.findall(r"^\s*(?:definition :=|\|) (\d+):varint.*? {3,}(\w+(?: \w+)?)(?:,.*)?$", document, re.M)},
        {int(number): name for name, number in re.findall(r"MT_DEF_(\w+) = (\d+)", source["model.h"])})


table = document.partition("### Summary blocks")[2].partition("\n## ")[0]
compare("summaries", re.findall(r"^\| (\d+) \| (\w+) \|", table, re.M),
        re.findall(r'X\(\w+, (\d+), "(\w+)"\)', source["model.h"]))


def constant(name):
    text = re.search(rf"#define {name} (.+?)(?: +/\*.*)?$|{name} = (\w+)", "\n".join(source.values()), re.M)
    return eval(re.sub(r"(\d)u\b", r"\1", text[1] or text[2]))  # "(1u << 20)"


compare("the first column of fields", re.findall(r"^\| (\d+) \+ (\d+)k", document, re.M),
        [(str(constant("MT_COLUMN_FIRST_ARG")), str(constant("MT_EVENT_ARGS")))])


def number(text):
    return int(text.replace(",", ""))


tail = document.partition("## The tail")[2]
compare("the tail", [number(text) for pattern in (
    r"journal\[([\d,]+)\]", r"word:u64\{([\d,]+)\}", r"A page is ([\d,]+) bytes", r"at most ([\d,]+) rings",
    r"why\[(\d+)\]") for text in re.findall(pattern, tail)[:1]],
    [constant(name) for name in ("MT_JOURNAL_SIZE", "MT_RING_WORDS", "MT_TAIL_PAGE", "MT_TAIL_SLOTS")]
    + [int(re.search(r"char why\[(\d+)\]", source["tail.h"])[1])])
compare("the version", re.findall(r"^# The memtap trace format, version (\d+)", document),
        re.findall(r"#define MT_FORMAT_VERSION (\d+)u", source["block.h"]))
print(len(real), "kinds", *faults, sep="\n")
sys.exit(bool(faults))
