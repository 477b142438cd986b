# SPDX-License-Identifier: Apache-2.0
"""test_man.py MEMTAP SOURCE: every option that a command's --help lists is in its man page, in order, and the
other way round; every command is in memtap(1) and has a page; the variables of trace-format/settings/table.h and their defaults
are in libmemtap(7), and no others; memtap-trace(5) names every kind of event; every page is installed,
and what it refers to is there."""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"--[a-z][a-z-]*")
SETTING = re.compile(r"""S\(\w+, "[\w-]+", (?:0|'\w'), "(MEMTAP_\w+)", "([^"]*)\"""")
memtap, source = sys.argv[1], pathlib.Path(sys.argv[2])
folder = source / "man"
faults = []


def in_help(*command):
    text = subprocess.run([memtap, *command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    options = set(OPTION.findall(text.partition("Options:")[2].partition("\n\n")[0]))
    verbs = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    for verb in re.findall(rf"^  {command[-1]} ([a-z]+) ", verbs, re.M) if command else ():
        options |= in_help(*command, verb)[1]
    return text, options


def in_man(page):
    text = (folder / page).read_text().replace("\\-", "-")
    options = text.partition(".SH OPTIONS")[2].partition("\n.SH ")[0]
    heads = [found for head in re.findall(r"^\.TP\n(.*)", options, re.M) if (found := OPTION.findall(head))]
    faults.extend(f"{page}: {after[0]} is not in order, after {before[0]}" for before, after in zip(heads, heads[1:]) if before[0] > after[0])
    return text, {option for head in heads for option in head}


overview, _ = in_help()
manual, _ = in_man("memtap.1")
table = overview.partition("Commands:")[2].partition("\n\n")[0]
commands = re.findall(r"^  ([a-z]+) ", table, re.M)
for command in commands:
    if f"\n\\fBmemtap-{command}\\fR(1)|" not in manual:
        faults.append(f"memtap.1 does not list {command}")
    page = f"memtap-{command}.1"
    if not (folder / page).exists():
        faults.append(f"there is no {page}")
        continue
    options, explained = in_help(command)[1], in_man(page)[1]
    faults += [f"{page}: {option} is not there" for option in sorted(options - explained)]
    faults += [f"{page}: {option} is no option" for option in sorted(explained - options)]
settings = dict(SETTING.findall((source / "trace-format/settings/table.h").read_text()))
variables = (folder / "libmemtap.7").read_text().replace("\\-", "-")
variables = variables.partition(".SH ENVIRONMENT")[2].partition("\n.SH ")[0]
described = dict(re.findall(r'^\.TP\n\.BR? (MEMTAP_\w+)(?: " \((.*)\)")?$', variables, re.M))
if not settings or described != settings:
    faults.append(f"libmemtap.7 has {described}, but the settings are {settings}")
kinds = re.findall(r'^ *M\(\w+, \d+, "(\w+)"', (source / "trace-format" / "model.h").read_text(), re.M)
events = (folder / "memtap-trace.5").read_text().partition(".SS Events")[2].partition("\n.SS ")[0]
faults += [f"memtap-trace.5: {kind} is not there" for kind in kinds
           if not re.search(rf"\b{kind}\b", events)] or ([] if kinds else ["no kinds of events"])
SECTIONS = ["EXIT STATUS", "EXAMPLES", "SEE ALSO"]  # that each command's page has
pages = sorted(folder.iterdir())
faults += [f"{page.name} has no {section}" for page in pages if page.suffix == ".1" for section in SECTIONS
           if f".SH {section}\n" not in page.read_text()]
installed = (source / "tools" / "meson.build").read_text()
for page in pages:
    if f"../man/{page.name}'" not in installed:
        faults.append(f"{page.name} is not installed")
    for name, section in re.findall(r"((?:lib)?memtap[a-z-]*)(?: |\\fR)\((\d)\)", page.read_text().replace("\\-", "-")):
        if not (folder / f"{name}.{section}").exists():
            faults.append(f"{page.name}: there is no {name}({section})")
print(len(commands), "commands", len(settings), "settings", len(pages), "pages", *faults, sep="\n")
sys.exit(bool(faults) or not commands)
