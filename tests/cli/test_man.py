# SPDX-License-Identifier: Apache-2.0
"""test_man.py MEMTAP MAN: every option that a command's --help lists is in its man page, and the
other way round; every command is in memtap(1)."""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"--[a-z][a-z-]*")
memtap, folder = sys.argv[1], pathlib.Path(sys.argv[2])
faults = []


def in_help(*command):
    text = subprocess.run([memtap, *command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    return text, set(OPTION.findall(text.partition("Options:")[2].partition("\n\n")[0]))


def in_man(page):
    text = (folder / page).read_text().replace("\\-", "-")
    options = text.partition(".SH OPTIONS")[2].partition("\n.SH ")[0]
    heads = re.findall(r"^\.TP\n(.*)", options, re.M)
    return text, {option for head in heads for option in OPTION.findall(head)}


overview, _ = in_help()
manual, _ = in_man("memtap.1")
table = overview.partition("Commands:")[2].partition("\n\n")[0]
commands = re.findall(r"^  ([a-z]+) ", table, re.M)
for command in commands:
    if f"memtap {command}" not in manual or f".TP\n.B {command}\n" not in manual:
        faults.append(f"memtap.1 does not explain {command}")
    page = f"memtap-{command}.1"
    if not (folder / page).exists():
        page = "memtap.1"
    options, explained = in_help(command)[1], in_man(page)[1]
    if page == "memtap.1":
        explained &= options
    faults += [f"{page}: {option} is not there" for option in sorted(options - explained)]
    faults += [f"{page}: {option} is no option" for option in sorted(explained - options)]
print(len(commands), "commands", *faults, sep="\n")
sys.exit(bool(faults) or not commands)
