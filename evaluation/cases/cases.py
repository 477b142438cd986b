# SPDX-License-Identifier: Apache-2.0
"""What the first screen says of small programs that were rebuilt after public reports, each with a README that says the cause.

cases.py CASES BUILD [--save]: CASES has a folder for each case, BUILD the memtap to try. --save writes docs/evaluation/cases.md. The first
screen is the first 12 lines of `memtap oom` where memory ran out, else of `memtap report`. Whether it has the line
that requests the memory is checked; whether it names the cause is for a person to judge."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

LINES = 12
SIMULATE = ["--simulate", "h100"]
# By case: options of memtap run, the program's command line, the line that requests what its README is about.
CASES = {"01": (["--memory", "4608M"], "retry.py --inside", "retry.py:16"), "02": ([], "scale.py", "scale.py:10"),
         "04": ([], "validate.py", "validate.py:18"), "06": ([], "attribute.py", "attribute.py:17"),
         "07": ([], "search.py", "search.py:21"), "09": ([], "pin.py", "pin.py:11"), "11": ([], "wrap.py", "wrap.py:13"),
         "12": ([], "shapes.py", "shapes.py:13"), "13": ([], "recompute.py --whole", "recompute.py:19"),
         "19": ([], "resume.py", "resume.py:31"), "20": (["--gpus", "2"], "second_card.py net.pt", "second_card.py:14"),
         "21": ([], "infer.py", "infer.py:16"), "27": ([], "generate.py", "generate.py:12"),
         "31": (["--stacks", "native"], "decode", "decode.c:27"),
         "33": (["--stacks", "native", "--memory", "2560M"], "threshold", "threshold.c:28"),
         "35": (["--stacks", "native"], "requests", "requests.c:8")}
CUDA = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
PYTHON = os.environ.get("MEMTAP_TEST_PYTHON", sys.executable)


def run(command, folder):
    return subprocess.run([str(word) for word in command], cwd=folder, text=True, capture_output=True, check=False)


def prepared(memtap, folder):
    """Build a C program; save what case 20 loads. Return whether the program can run."""
    for source in folder.glob("*.c"):
        command = ["cc", "-g", source.name, "-o", source.stem, f"-I{CUDA}/include", f"-L{CUDA}/lib64", "-lcudart", f"-Wl,-rpath,{CUDA}/lib64"]
        if run(command, folder).returncode:
            return False
    if (folder / "second_card.py").exists():
        run([memtap, "simulate", "--gpu", "h100", "--", PYTHON, "second_card.py", "--save", "net.pt"], folder)
    return True


def screen_of(memtap, folder, options, words):
    """The first screen; None: the program does not run here."""
    program = [PYTHON, *words] if words[0].endswith(".py") else [f"./{words[0]}"]
    if not prepared(memtap, folder):
        return None
    run([memtap, "run", "-q", *SIMULATE, *options, "-o", "case.mtap", "--", *program], folder)
    out = run([memtap, "oom", "case.mtap"], folder)
    if out.returncode:
        out = run([memtap, "report", "case.mtap"], folder)
    return out.stdout.replace(str(PYTHON), "python").splitlines()[:LINES]


def first_paragraph(screen):
    """As one line; what follows a label such as "Why:" begins with a dash."""
    lines = screen[:screen.index("")] if "" in screen else screen
    if lines[0].startswith(("python ", "./")):  # no headline: the first table
        lines = [line.strip() for line in screen[3:] if line]
    return re.sub(r" (Why|Kept|Do|Or|Try|Not needed|Perhaps not needed): ", r" - \1: ", " ".join(lines))


def page(rows):
    told = sum(has for _, _, has in rows)
    text = ["# First screens", "", "What the first screen says of programs that were rebuilt after public reports, recorded without further options: its first",
            f"paragraph. In {told} of {len(rows)}, its {LINES} lines have the line that requests the memory in question. What to edit is another line",
            "in 01, 02, 04, 06, 07 and 33, where the holder, cycle or pool is named. `evaluation/cases/cases.py` writes this page.", ""]
    for name, words, has in rows:
        text += textwrap.wrap(f"- `{name}`{'' if has else ' (without the line)'}: {words}", 138, subsequent_indent="  ",
                              break_long_words=False, break_on_hyphens=False)
    return "\n".join(text) + "\n"


def main():
    cases, memtap = Path(sys.argv[1]), Path(sys.argv[2]).resolve() / "tools/memtap"
    rows = []
    for folder in sorted(cases.iterdir()):
        if folder.name[:2] not in CASES or not folder.is_dir():
            continue
        options, words, line = CASES[folder.name[:2]]
        with tempfile.TemporaryDirectory() as work:
            copy = shutil.copytree(folder, Path(work) / folder.name)
            screen = screen_of(memtap, copy, options, words.split())
        if screen is None:
            print(f"{folder.name}: does not build here")
            continue
        rows.append((folder.name, first_paragraph(screen), line in " ".join(screen)))
        print(f"{folder.name}: {'has' if rows[-1][2] else 'lacks'} {line}\n  " + "\n  ".join(screen))
    if "--save" in sys.argv:
        (Path(__file__).resolve().parents[2] / "docs/evaluation/cases.md").write_text(page(rows))


main()
