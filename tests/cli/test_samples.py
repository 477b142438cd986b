# SPDX-License-Identifier: Apache-2.0
"""test_samples.py [--record] MAKE-TRACES|torch MEMTAP SOURCE: what README, guides and manual pages show of memtap's
output is what it prints, to the letter. --record writes it there instead.

A sample is a block (indented in the README, between .nf and .fi in a page) that begins with `$ memtap ...`,
or a piece of an output below a line `.\\" sample: memtap ...`, in the README `<!-- sample: memtap ... -->`. Its traces
are those of make-traces; in monday/ and tuesday/ are two of them. With `torch` they are of programs in tests/zoo on
simulated cards, and times may differ. `[...]` stands for lines that are left out: the lines between are
recorded anew where their first one is found. Samples of traces that are not there are left out; how many
are looked at is known."""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TORCH = "2.15."  # another release allocates otherwise
ZOO = {"unet.mtap": ("rtx4090", "diffusion_unet.py", 0), "fragmentation.mtap": ("rtx4090", "fragmentation_oom.py", 1),
       "fragmentation-h100.mtap": ("h100", "fragmentation_oom.py", 1),
       "leaking.mtap": ("rtx4090", "../cli/leaking.py", 0)}
DOTS = "[...]"
record = sys.argv[1] == "--record"
with_torch = sys.argv[1 + record] == "torch"
make_traces, memtap, source = (pathlib.Path(path).resolve() for path in sys.argv[1 + record:])
LEAST = 4 if with_torch else 10  # samples; fewer: they are not found any more


def has_traces(command):
    names = [word for word in command.split() if word.endswith((".mtap", ".rules", ".toml", "/"))]
    return bool(names) and not command.startswith("memtap run ") and all(pathlib.Path(name).exists() for name in names)


def output(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={"PATH": f"{memtap.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
                               "MEMTAP_HOLDERS": "oom,growth"})  # by name: also where a search takes more than its share
    return (done.stdout + done.stderr).rstrip("\n").split("\n")


def without_times(lines):
    return [re.sub(r"\d+\.\d{3} s( earlier| later)?", "T s", line) for line in lines] if with_torch else lines


def keep_times(shown, new):
    """As it was shown, where only times differ."""
    return shown if without_times(shown) == without_times(new) else new


def find(lines, piece, at):
    """Where the first line of a piece is; the whole piece, if it is there."""
    lines, piece = without_times(lines), without_times(piece)
    places = [i for i in range(at, len(lines)) if lines[i] == piece[0]]
    whole = [i for i in places if lines[i:i + len(piece)] == piece]
    return (whole or places or [None])[0]


def renewed(shown, lines, is_excerpt):
    """What a sample should show of the output."""
    if not is_excerpt and DOTS not in (line.strip() for line in shown):
        return lines
    out, at, piece = [], 0, []
    for line in [*shown, DOTS]:
        if line.strip() != DOTS:
            piece.append(line)
            continue
        if piece:
            begin = find(lines, piece, at)
            if begin is None:
                return [f"(there is no line {piece[0]!r})"]
            at = begin + len(piece)
            out += lines[begin:at]
        out.append(line)
        piece = []
    return out[:-1]


class Page:
    """Its lines without roff's escapes and the README's indent."""

    def __init__(self, path):
        self.path, self.is_man = path, path.suffix != ".md"
        self.lines = path.read_text().split("\n")

    def plain(self, line):
        return re.sub(r"\\(.)", lambda m: {"e": "\\", "&": ""}.get(m[1], m[1]), line) if self.is_man else line[4:]

    def written(self, line, before):
        if not self.is_man:
            return f"    {line}" if line else ""
        line = line.replace("\\", "\\e")
        line = line.replace("-", "\\-") if "\\-" in before else line
        return f"\\&{line}" if line[:1] in (".", "'") else line

    def blocks(self):
        """(first line, line after the last, command of an excerpt or None)."""
        command, begin = None, None
        for i, line in enumerate(self.lines):
            if self.is_man and line.startswith('.\\" sample: '):
                command = line.partition(": ")[2]
            elif not self.is_man and line.startswith("<!-- sample: "):
                command, begin = line.partition(": ")[2].removesuffix(" -->"), i + 2
            elif not self.is_man and command and i > begin and line and not line.startswith("    "):
                yield begin, i - 1, command
                command = begin = None
            elif self.is_man and line == ".nf":
                begin = i + 1
            elif self.is_man and line == ".fi" and begin is not None:
                yield begin + (self.lines[begin] == ""), i, command
                command = begin = None
            elif not self.is_man and line.startswith("    $ memtap ") and begin is None:
                begin = i
            elif not self.is_man and begin is not None and not line.startswith("    ") and line:
                yield begin, i - 1, None
                begin = None

    def renew(self, begin, end, command):
        """The block as it should be, and how many commands it has."""
        shown = [self.plain(line) for line in self.lines[begin:end]]
        if command:
            return (keep_times(shown, renewed(shown, output(command), True)), 1) if has_traces(command) else (shown, 0)
        out, count = [], 0
        starts = [i for i, line in enumerate(shown) if line.startswith("$ memtap ")]
        for i, start in enumerate(starts):
            stop = starts[i + 1] if i + 1 < len(starts) else len(shown)
            out.append(shown[start])
            is_ours = has_traces(shown[start][2:])
            out += renewed(shown[start + 1:stop], output(shown[start][2:]), False) if is_ours else shown[start + 1:stop]
            count += is_ours
        return (out, count) if starts and starts[0] == 0 and count == len(starts) else (shown, 0)


def make():
    subprocess.run([make_traces], check=True)
    shutil.copy(source / "examples/heat.rules", ".")
    for day, trace in {"monday": "training", "tuesday": "keeping"}.items():
        os.mkdir(day)
        os.link(f"{trace}.mtap", f"{day}/train.mtap")


def record_zoo():
    sys.path.insert(0, str(source / "tests/torch"))
    import harness  # which skips the test where there is no PyTorch
    harness.need_torch()
    release = harness.must_run([harness.PYTHON, "-c", "import importlib.metadata as m; print(m.version('torch'))"]).stdout
    if not release.startswith(TORCH):
        harness.skip(f"the samples are of PyTorch {TORCH}x, and this is {release.strip()}")
    for name, (card, program, code) in ZOO.items():
        harness.must_run([memtap, "run", "-q", "--simulate", card, "-o", name, "--", harness.PYTHON,
                          source / "tests/zoo" / program], ends=code)
    if harness.faults:
        sys.exit(1)


def main():
    seen = faults = 0
    pages = [Page(path) for path in [source / "README.md", *sorted((source / "docs").glob("*.md")),
                                  *sorted((source / "docs/guides").glob("*.md")), *sorted((source / "man").iterdir())]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        (record_zoo if with_torch else make)()
        for page in pages:
            after = list(page.lines)
            for begin, end, command in reversed(list(page.blocks())):
                new, count = page.renew(begin, end, command)
                seen += count
                old = [page.plain(line) for line in page.lines[begin:end]]
                if new != old:
                    after[begin:end] = [page.written(line, " ".join(page.lines[begin:end])) for line in new]
            if after == page.lines:
                continue
            if record:
                page.path.write_text("\n".join(after))
            else:
                faults += 1
                print("\n".join(difflib.unified_diff(page.lines, after, page.path.name, "as it is now", n=0, lineterm="")))
        os.chdir("/")
    print(seen, "samples")
    sys.exit(bool(faults) or seen < LEAST)


main()
