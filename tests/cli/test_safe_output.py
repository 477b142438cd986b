# SPDX-License-Identifier: Apache-2.0
"""test_safe_output.py MAKE-TRACES MEMTAP RENAME-TEXTS: names of all sorts that try to act where they are
printed go through every output of every command, in traces, paths, budgets, rules and options. None comes
out as it is."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor

make_traces, memtap, rename_texts = map(os.path.abspath, sys.argv[1:])
READABLE = "ä日本🚀"
# In one name: commands to GitHub's log at the begin of lines, terminals' commands of 7 and 8 bits, text that is
# turned around, ends of lines and paragraphs, invisible characters, no characters, no UTF-8.
TEXTS = {
    "lines": (f"::error::{READABLE}\n::warning::\r\u2028::add-mask::\u0085::x ##[error]##vso[task\t"
              "\x1b[31m\x1b]0;\x07\x7f\u009b31m\u202e\u2066\u200f\u061c\u200b\ufeff\U000e0041\ufffe").encode() +
             b"\x9b31m\xff\xc0\x80\xed\xa0\x80\xf0\x9f",
    "formula": f"=cmd|' /C calc'!A0\n@{READABLE}\",;`|<b>&amp;]]>\\".encode(),
}
TRACES = ["training", "layers", "oom", "c-program", "native", "fragmented", "phases", "balance", "idle"]
IS_SANITIZED = "ASAN_OPTIONS" in os.environ  # each command takes ten times as long to start
faults = []


def forbidden(text):
    for at in text:
        number = ord(at)
        if at != "\n" and (unicodedata.category(at) == "Cc" or unicodedata.bidirectional(at) in
                           ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or
                           number in (0x61c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0xfeff) or
                           0xe0000 <= number < 0xe0080 or number & 0xfffe == 0xfffe):
            return f"U+{number:04X}"
    return None


def check(where, data):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        faults.append(f"{where}: no UTF-8: {data[max(0, error.start - 40):error.end + 10]}")
        return ""
    bad = forbidden(text)
    if bad:
        faults.append(f"{where}: {bad}: {text[:300]!r}")
    if "##[" in text or "##vso[" in text:
        faults.append(f"{where}: a command of a log")
    for line in text.split("\n"):
        is_ours = "github" in where and re.match("::(error|warning) (file=[^:]*,)?title=[^:]*::", line)
        if re.match(r"\s*::\s*(error|warning|add-mask|x)", line) and not is_ours:
            faults.append(f"{where}: begins a line with a command: {line[:100]!r}")
    return text


def run(folder, *command, **more):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": folder, "TZ": "UTC"}
    environment |= {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")}
    done = subprocess.run([memtap, *command], cwd=folder, env=environment, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, **more)
    where = " ".join(part.decode(errors="replace")[:20] if isinstance(part, bytes) else part for part in command)
    if done.returncode not in (0, 1, 2, 127):
        faults.append(f"{where}: exit code {done.returncode}: {done.stderr[-300:]!r}")
    check(f"{where}: stderr", done.stderr)
    return check(f"{where}: stdout", done.stdout)


def look_at_trace(folder, trace, budget, rules):
    """One trace through all commands that read one."""
    text = run(folder, "report", trace, "--rules", rules)
    if READABLE not in text:
        faults.append(f"{trace}: {READABLE} is not readable in the report")
    for by in "dtype file function module name operator range rule stack".split():
        run(folder, "report", "--by", by, "--rules", rules, trace)
    for command in ("report", "oom", "info", "dump", "blocks", "stacks", "holders"):
        for kind in ("text", "json"):
            out = run(folder, command, "-f", kind, trace)
            if kind == "json" and command != "dump" and out:
                json.loads(out)
    for line in run(folder, "dump", "-f", "json", trace).splitlines():
        json.loads(line)
    run(folder, "stacks", "--bottom-up", trace)
    for line in run(folder, "stacks", "-f", "folded", trace).splitlines():
        if not re.fullmatch(r"[a-z_]+( \(guess\))?(;[^;]+)* \d+", line):
            faults.append(f"{trace}: no folded line: {line[:200]!r}")
    rows = list(csv.reader(io.StringIO(run(folder, "blocks", "-f", "csv", "--rules", rules, trace))))
    for row in rows:
        if len(row) != len(rows[0]) or any(re.match("[=+@\t\r-]", field) for field in row[4:]):
            faults.append(f"{trace}: csv: {row}")
    for row in rows[1:4]:
        for what in row[1], row[7]:
            run(folder, "explain", trace, what, "--rules", rules)
    kinds = ("text", "json", "junit", "github", "gitlab")
    for kind in kinds:
        run(folder, "check", trace, "--budget", budget, "-f", kind)
    run(folder, "check", trace, "--budget", budget, "--summary", trace + b".md")
    if os.path.exists(os.path.join(os.fsencode(folder), trace + b".md")):
        check("summary", open(os.path.join(os.fsencode(folder), trace + b".md"), "rb").read())
    proposed = run(folder, "budget", trace)
    path = trace + b".toml"
    with open(os.path.join(os.fsencode(folder), path), "wb") as file:
        file.write(re.sub(r"(?m)^#(?=[\"a-z].* = |\[[ms])", "", proposed).encode())
    if "Traceback" in run(folder, "check", trace, "--budget", path):
        faults.append("impossible")


def look_at_two(folder, old, new):
    for kind in ("text", "markdown", "json"):
        run(folder, "diff", "-f", kind, old, new)
    run(folder, "diff", "--flame", new + b".flame", old, new)
    check("flame", open(os.path.join(os.fsencode(folder), new + b".flame"), "rb").read())
    run(folder, "check", new, "--against", old)


def look_at_commands(folder, text, trace, folder_name):
    """Paths, options and what is not there, with the text as name."""
    path = text.replace(b"/", b"") + b".mtap"
    os.link(os.path.join(os.fsencode(folder), trace), os.path.join(os.fsencode(folder), path))
    run(folder, "recover", path)
    run(folder, "recover", path, "-o", b"copy" + path)
    run(folder, "recover", path, "-o", b"copy" + path)  # which is there
    run(folder, "compact", path)
    run(folder, "compact", path)
    run(folder, "symbolize", path, "-o", b"named" + path)
    for command in ("report", "info", "dump", "blocks", "budget", "compact", "recover", "symbolize", "oom"):
        run(folder, command, b"missing" + path)
        run(folder, command, b"-" + text)
        run(folder, command, "--format", text, path)
        run(folder, command, path, path)
    run(folder, text)
    run(folder, "history", text)
    db = folder_name + b".db"
    add = ["history", "add", "--db", db, "--commit", text, "--branch", text, "--tag", text.replace(b",", b""),
           "--keep", b"kept" + folder_name]
    os.mkdir(os.path.join(os.fsencode(folder), b"kept" + folder_name))
    run(folder, *add, path)
    run(folder, *add, path)
    run(folder, *add, trace)
    run(folder, "history", "add", "--db", db, trace)
    for verb in (["list"], ["list", "-f", "json"], ["show", "1"], ["show", "-f", "json", "1"], ["trend"],
                 ["trend", "-f", "json"], ["show", text], ["list", "--tag", text], ["list", "--branch", text],
                 ["prune", "--keep-last", "0"]):
        run(folder, "history", verb[0], "--db", db, *verb[1:])
    for name, content in (("rules", text), ("budget", text), ("budget", b"[site]\n\"" + text + b"\" = \"x\"")):
        file = os.path.join(os.fsencode(folder), name.encode() + text.replace(b"/", b""))
        with open(file, "wb") as out:
            out.write(content)
        run(folder, "check", path, "--budget", file)
        run(folder, "report", path, "--rules", file)
    run(folder, "run", "-o", path, "--", b"/missing" + text)
    run(folder, "run", b"--" + text, "--", "true")
    run(folder, "run", "--simulate", text, "--", "true")
    run(folder, "run", "--keep", text, "--", "true")
    run(folder, "simulate", "--memory", text, "--", "true")
    run(folder, "completion", text)


def main():
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        subprocess.run([make_traces], cwd=folder, check=True)
        jobs = []
        for name, text in TEXTS.items():
            with open(os.path.join(folder, f"{name}.rules"), "wb") as out:
                out.write(b"other \"" + re.sub(rb"[\n\"\\]", b"", text) + b"\" size=1..\n")
            with open(os.path.join(folder, f"{name}.toml"), "wb") as out:
                out.write('[limits]\npeak = "1 KiB"\n[category]\nevery = "1 KiB"\n[module]\nevery = "1 KiB"\n'
                          '[site]\nevery = "1 KiB"\n[[allow]]\nlimit = "peak"\nextra = "1 B"\n'
                          f'reason = "\\n::error::\\u009b\\u202e{READABLE}"\nuntil = 2020-01-01\n'.encode())
            for trace in TRACES[:3 if name == "lines" else 1] if IS_SANITIZED else TRACES:
                renamed = f"{name}-{trace}.mtap".encode()
                subprocess.run([rename_texts, f"{trace}.mtap", renamed, text], cwd=folder, check=True)
                jobs.append(pool.submit(look_at_trace, folder, renamed, f"{name}.toml", f"{name}.rules"))
                jobs.append(pool.submit(look_at_two, folder, f"{trace}.mtap".encode(), renamed))
            jobs.append(pool.submit(look_at_commands, folder, text, renamed, name.encode()))
        for job in jobs:
            job.result()
    print("\n".join(faults[:40]))
    sys.exit(bool(faults))


main()
