# SPDX-License-Identifier: Apache-2.0
"""test_notebook.py MAGICS MEMTAP PROGRAM NOTEBOOK RUN_PAGE...: memtap's magics, by plain Python; then the example notebook in a
kernel, and its output cells in a browser (RUN_PAGE..., a command). The notebook is skipped (77), after the rest has passed, where
MEMTAP_TEST_PYTHON has no nbclient, no ipykernel or no PyTorch."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

magics, command, program, notebook, *run_page = sys.argv[1:]
command = os.environ["MEMTAP"] = os.path.abspath(command)
sys.path.insert(0, magics)
sys.dont_write_bytecode = True
from memtap import command as finding  # noqa: E402
from memtap import notebook as magic  # noqa: E402

USES_CUDA = pathlib.Path(program).read_text()
EXECUTE = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=None, kernel_name="python3").execute()
nbformat.write(book, sys.argv[1])
"""


def ask(function, *arguments):
    """What it says, its frame or None, and its problem or None."""
    said = []
    try:
        return function(*arguments, said.append), "".join(said), None
    except magic.Problem as problem:
        return None, "".join(said), str(problem)


def check_cells():
    frame, said, problem = ask(magic.record, "--simulate h100 -o trace.mtap", USES_CUDA + "print('caf\\u00e9')\n")
    assert "café\n" in said and "memtap report trace.mtap" in said and os.path.exists("trace.mtap"), said
    assert frame and frame.startswith("<iframe ") and 'sandbox="allow-scripts allow-downloads"' in frame, problem
    assert frame.count("<") == 2, "the page is text of an attribute"
    assert "height: 300px" in ask(magic.view, "--height 300 trace.mtap")[0]
    assert "reading trace.mtap" in ask(magic.view, "")[1]
    pathlib.Path("beside.py").write_text("where = 'the notebook\\'s folder'\n")
    frame, said, problem = ask(magic.record, "--simulate=h100", f"import beside\n{USES_CUDA}\nprint(beside.where)\nraise SystemExit(3)")
    assert said == "the notebook's folder\nmemtap: the cell exited with code 3\n", said
    assert frame, problem


def check_bad_input():
    for line, cell, words in [("--simulate h100", "print(1)", "no trace: the cell did not use CUDA"),
                              ("--simulate h100", "1 +", "exited with code 1 without a trace"),
                              ("--simulate h100", "import os; os.kill(os.getpid(), 9)", "without a trace"),
                              ("--bogus", "", "unknown option '--bogus'")]:
        frame, said, problem = ask(magic.record, line, cell)
        assert not frame and not problem and words in said and "Traceback" not in said, (line, said, problem)
    for line, words in [("train.py", "the cell is the program to run"), ("--simulate h100 train.py", "train.py: "), ("--", "--: "),
                        ("--height tall", "--height"), ("--height 0", "at least 1"), ("-o 'x", "No closing quotation")]:
        frame, said, problem = ask(magic.record, line, "print(1)")
        assert not frame and not said and words in problem and "\n" not in problem, (line, said, problem)
    _, _, problem = ask(magic.view, "nothing.mtap")
    assert problem.startswith("nothing.mtap: No such file"), problem
    pathlib.Path("cut.mtap").write_bytes(pathlib.Path("trace.mtap").read_bytes()[:-20])
    frame, said, problem = ask(magic.view, "cut.mtap")
    assert frame and "the trace is truncated in the block at byte" in said and not problem, (said, problem)
    os.environ["MEMTAP"] = "/nonexistent/memtap"
    _, _, problem = ask(magic.view, "trace.mtap")
    assert "$MEMTAP is /nonexistent/memtap" in problem, problem
    del os.environ["MEMTAP"]
    path, os.environ["PATH"] = os.environ["PATH"], ""
    places, finding.beside = finding.beside, list
    _, _, problem = ask(magic.view, "trace.mtap")
    finding.beside = places
    os.environ["PATH"], os.environ["MEMTAP"] = path, command
    assert "no command memtap" in problem, problem


def missing_for_notebook():
    python = os.environ.get("MEMTAP_TEST_PYTHON", "")
    for name in ("nbclient", "ipykernel", "torch"):
        look_up = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{name}'))"
        if not python or subprocess.run([python, "-c", look_up], check=False).returncode:
            return f"MEMTAP_TEST_PYTHON has no {name}"
    return None


def check_notebook(folder):
    book = pathlib.Path(shutil.copy(notebook, folder))
    python = os.environ["MEMTAP_TEST_PYTHON"]
    subprocess.run([python, "-c", EXECUTE, book.name], check=True, cwd=folder,
                   env={**os.environ, "PYTHONPATH": magics, "JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(folder / "ipython")})
    outputs = [one for cell in json.loads(book.read_text())["cells"] for one in cell.get("outputs", [])]
    said = "".join("".join(one["text"]) for one in outputs if one["output_type"] == "stream")
    assert "step 0\nstep 1\nstep 2\n" in said and "trained.mtap: " in said, said
    pages = ["".join(one["data"]["text/html"]) for one in outputs if "text/html" in one.get("data", {})]
    assert len(pages) == 2 and all(page.startswith("<iframe ") for page in pages), outputs
    files = [folder / f"cell{i}.html" for i in range(len(pages))]
    for file, page in zip(files, pages):
        file.write_text(page)
    done = subprocess.run([*run_page, *files], check=False)
    assert done.returncode in (0, 77), "an output cell in the browser"


run_page = [os.path.abspath(one) if os.path.exists(one) else one for one in run_page]
notebook, magics = os.path.abspath(notebook), os.path.abspath(magics)
with tempfile.TemporaryDirectory() as name:
    os.chdir(name)
    check_cells()
    check_bad_input()
    missing = missing_for_notebook()
    if not missing:
        check_notebook(pathlib.Path(name))
    os.chdir("/")
if missing:
    print(f"the magics work; skipped the notebook: {missing}")
    sys.exit(77)
