# SPDX-License-Identifier: Apache-2.0
"""forks.py: imports PyTorch once, and serves the tests that connect to `socket` in its folder; it ends when nobody has for some
seconds. A test's session is a child of it, which imports what the test's programs import and is then, in children of its own, each
program that a line of JSON asks for: program, arguments, environment, folder, and the file for its output. For each it answers with
the exit code. A program whose test goes away is killed. harness.Forks is its other side."""
import ast
import atexit
import contextlib
import fcntl
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import threading
import time

import torch
import torch._dynamo  # an optimizer's first step would

IDLE_S = 30
STAYS = ("LD_", "MEMTAP_", "CUDASIM_", "NVTX_")  # what the command before this program has set


def keep():
    """What is imported stays: the collector need not look at it again, nor copy its pages in a child."""
    gc.collect()
    if "triton" not in sys.modules:  # at the end it would say of each frozen object of its own that it leaked
        gc.freeze()


def serve(lock):
    """Return a connection, in a child for each; without one for some seconds, end, which no test that is about to connect sees."""
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen(64)
    sessions, since = set(), time.monotonic()
    while True:
        if select.select([server], [], [], 1)[0]:
            connection = server.accept()[0]
            session = os.fork()
            if not session:
                server.close()
                os.close(lock)
                return connection.detach()
            connection.close()
            sessions.add(session)
        sessions -= {session for session in sessions if os.waitpid(session, os.WNOHANG)[0]}
        if sessions:
            since = time.monotonic()
        elif time.monotonic() > since + IDLE_S:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.getcwd(), ignore_errors=True)
                os._exit(0)


def begin(asked):
    """Be the session that the test wants."""
    for name in set(os.environ) - set(asked["environment"]):
        if not name.startswith(STAYS):
            del os.environ[name]
    os.environ.update({name: text for name, text in asked["environment"].items() if not name.startswith(STAYS)})
    for path in asked["programs"]:
        with open(path, encoding="utf-8") as program:
            imports = [part for part in ast.parse(program.read()).body
                       if isinstance(part, (ast.Import, ast.ImportFrom))]
        with contextlib.suppress(ImportError):
            exec(compile(ast.Module(imports, []), path, "exec"), {})
    if asked["programs"]:
        keep()


def end_of(child, connection, woken):
    """Return a child's exit code. It is killed where the test hangs up meanwhile."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:  # waitstatus_to_exitcode is Python 3.9's
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        if connection in select.select([connection, woken], [], [])[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os._exit(0)
        os.read(woken, 64)


def next_program(connection):
    """Return what is asked for, in a child for each."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    with open(connection, encoding="utf-8", closefd=False) as lines:
        begin(json.loads(lines.readline()))
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes)
        for line in lines:
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for descriptor in connection, woken, wakes:
                    os.close(descriptor)
                return json.loads(line)
            os.write(connection, b"%d\n" % end_of(child, connection, woken))
    os._exit(0)


keep()
asked = next_program(serve(os.open("lock", os.O_RDWR)))
os.environ.update(asked["environment"])
os.chdir(asked["folder"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(1, 2)
sys.argv = [asked["program"], *asked["arguments"]]
sys.path[0] = os.path.dirname(os.path.abspath(asked["program"]))
code = 0
try:
    runpy.run_path(asked["program"], run_name="__main__")
except Exception:
    sys.excepthook(*sys.exc_info())
    code = 1
# Skip the interpreter's own end. It frees every imported module, which copies their pages and takes longer than most programs here.
# Blocks that are still live are therefore not freed in the trace. A program that calls sys.exit() ends in the usual way, and
# test_ended.py's programs are processes of their own.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
