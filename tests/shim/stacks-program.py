# SPDX-License-Identifier: Apache-2.0
"""Allocates in many kinds of Python code, and prints for each allocation the stack that Python's own
traceback gives at the same place: the allocation's size is the number of its line of output."""
import asyncio
import ctypes
import functools
import gc
import json
import os
import signal
import sys
import threading
import traceback

ctypes.CDLL(os.path.join(os.environ["MEMTAP_TEST_BUILD"], "libcudart.so.13"))
cuda_malloc = ctypes.CDLL(None).cudaMalloc  # the hook: it stands in the global scope
cuda_malloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
stacks, turn = [], threading.Lock()


def allocate():
    with turn:
        n = len(stacks)
        # One line, so that both see the same.
        stacks.append((traceback.extract_stack(), cuda_malloc(ctypes.byref(ctypes.c_void_p()), n))[0])


def recursive(n):
    if n:
        recursive(n - 1)
    else:
        allocate()


def multi_line():
    for _ in range(
            2):
        max(
            1,
            allocate() or 0,
            key=lambda n:
            allocate() or n)


class Thing:
    def __enter__(self):
        allocate()
        return self

    def __exit__(self, *_):
        allocate()

    @property
    def value(self):
        return [allocate() for _ in range(2)]

    @functools.lru_cache(None)
    def cached(self):
        return sorted([2, 1], key=lambda n: allocate() or n)


def generator():
    yield allocate()
    yield from (allocate() for _ in range(2))


def nested(n):
    if n:
        yield from nested(n - 1)
    for _ in range(2):
        yield allocate()


def resumed_in_other_threads():
    generators = [nested(n) for n in range(5)]
    for _ in range(4):
        thread = threading.Thread(target=lambda: [next(each, None) for each in generators])
        thread.start()
        thread.join()
        allocate()


async def inner():
    await asyncio.sleep(0)
    allocate()


async def outer():
    await asyncio.gather(inner(), inner())


def reused_code_objects():
    """Each is freed before the next is made, which may then get its address, and its parts theirs:
    they differ in the names, the lines, or the file only."""
    for i in range(1500):
        name = "made_" + "abcde"[i % 5]
        source = "\n" * (i % 7) + f"def {name}():\n" + "\n" * (i % 3) + f"    allocate()\n{name}()\n"
        file = f"<made {i % 4}>" if i % 2 else __file__
        exec(compile(source, file, "exec"), {"allocate": allocate})


def überprüfe_名前():
    allocate()


def hot_loops():
    """Often enough for 3.14's compiler of machine code (PYTHON_JIT), which may leave out what a
    frame says while nobody asks."""
    def maybe(n):
        if n > 4900:
            allocate()
        return n

    def numbers(n):
        yield maybe(n)
        yield from (maybe(m) for m in [n])

    def twice(function, n):
        return function(n) + function(n)

    total = 0
    for i in range(5000):
        total += maybe(i)
        total += sum(maybe(n) for n in [i])
        total += sum([maybe(n) for n in (i, i)])
        total += twice(lambda n: maybe(n) + 1, i)
        for n in numbers(i):
            total += n


class Made:
    def __init__(self, n, deeper):
        self.deeper = Made(n, deeper - 1) if deeper else None
        if n > 90:
            allocate()


def made_often():
    """From 3.12 on, Python has a frame of its own around __init__, once it has run often enough."""
    for n in range(100):
        Made(n, 2)


def before_the_first_line():
    """A collection may call Python code while a function makes its cells, or its generator."""
    class Dies:
        def __init__(self):
            self.itself = self

        def __del__(self):
            allocate()

    def with_cells(n):
        return lambda: n

    def generator_of(n):
        yield n

    thresholds = gc.get_threshold()
    for n in range(1, 12):
        for make in (with_cells, generator_of):
            Dies()
            gc.set_threshold(n)
            made = [make(i) for i in range(20)]
            gc.set_threshold(*thresholds)
            gc.collect()
            del made


def main():
    allocate()
    recursive(5)
    recursive(300)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2500)
    recursive(1500)
    recursive(1400)
    sys.setrecursionlimit(limit)
    recursive(5)
    multi_line()
    with Thing() as thing:
        thing.value
        thing.cached()
    list(generator())
    resumed_in_other_threads()
    asyncio.run(outer())
    reused_code_objects()
    überprüfe_名前()
    hot_loops()
    made_often()
    before_the_first_line()
    threads = [threading.Thread(target=recursive, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (lambda:
        allocate())()


main()
for stack in stacks:
    print(json.dumps([[frame.filename, frame.name, frame.lineno] for frame in stack]))
if "killed" in sys.argv:
    sys.stdout.flush()
    ctypes.CDLL(None).syscall(62, os.getpid(), signal.SIGKILL)  # as from outside
