# SPDX-License-Identifier: Apache-2.0
"""CPython's regression suite, as it is installed with a Python (Lib/test):

    python3 evaluation/others/cpython.py --python /usr/bin/python3.11 [--all] [--save]"""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others

# What a library in the process could change: threads, forks, signals, descriptors, memory, the interpreter's inside.
MODULES = """
test_threading test_thread test_threading_local test_threadsignals test_threadedtempfile test_fork1 test_signal test_eintr test_subprocess
test_os test_posix test_popen test_wait3 test_wait4 test_pty test_pipes test_atexit test_faulthandler test_gc test_weakref test_ctypes
test_asyncio test_concurrent_futures test_multiprocessing_fork test_multiprocessing_spawn test_multiprocessing_forkserver
test_multiprocessing_main_handling test_sys test_sys_settrace test_sys_setprofile test_exceptions test_generators test_coroutines test_code
test_frame test_traceback test_tracemalloc test_capi test_embed test_io test_mmap test_resource test_select test_selectors test_epoll
test_poll test_socket test_socketserver test_ssl test_queue test_sched test_contextvars test_cmd_line test_cmd_line_script
test_import test_importlib test_runpy test_shutil test_tempfile test_kqueue test_bdb test_pdb test_dis test_inspect test_monitoring
test_interpreters test__interpreters test_perf_profiler test_repl test_readline test_regrtest test_logging
""".split()


class CPython(others.Suite):
    name = "CPython"
    limit_s = 400

    def add_arguments(self, parser):
        parser.add_argument("--python", required=True, help="whose tests are run")
        parser.add_argument("--all", action="store_true", help="all modules, which takes hours")

    def prepare(self, args):
        return subprocess.run([args.python, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def units(self, args):
        listed = subprocess.run([args.python, "-m", "test", "--list-tests"], capture_output=True, text=True, check=True).stdout.split()
        return [module for module in listed
                if args.all or module in MODULES or any(module.startswith(f"test.{name}.") or module.startswith(f"{name}.")
                                                        for name in MODULES)]

    def command(self, args, unit, folder):
        return [args.python, "-m", "test", "-u", "none", "--junit-xml", folder / "results.xml", "--tempdir", folder, unit]


others.main(CPython())
