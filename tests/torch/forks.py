# SPDX-License-Identifier: Apache-2.0
"""forks.py [PROGRAM...]: imports PyTorch and what these programs import, once, and is then each program
that a line of its standard input asks for, in a child. A line is JSON: program, arguments,
environment, folder, and the file for its output. For each it prints the exit code. harness.Forks is its
other side."""
import ast
import atexit
import contextlib
import gc
import json
import os
import runpy
import sys
import threading

import torch
import torch._dynamo  # an optimizer's first step would

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as program:
        imports = [part for part in ast.parse(program.read()).body
                   if isinstance(part, (ast.Import, ast.ImportFrom))]
    with contextlib.suppress(ImportError):
        exec(compile(ast.Module(imports, []), path, "exec"), {})
gc.collect()
if "triton" not in sys.modules:  # at the end it would say of each frozen object of its own that it leaked
    gc.freeze()
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        break
    status = os.waitpid(child, 0)[1]  # waitstatus_to_exitcode is Python 3.9's
    print(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status), flush=True)
else:
    os._exit(0)
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(1, 2)
sys.argv = [asked["program"], *asked["arguments"]]
sys.path[0] = os.path.dirname(os.path.abspath(asked["program"]))
runpy.run_path(asked["program"], run_name="__main__")
# Skip the interpreter's own end. It frees every imported module, which copies their pages and takes longer than most programs here.
# Blocks that are still live are therefore not freed in the trace. A program that raises or calls sys.exit() ends in the usual way,
# and test_ended.py's programs are processes of their own.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
