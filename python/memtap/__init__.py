# SPDX-License-Identifier: Apache-2.0
"""memtap from Python: traces as tables and reports, control of a recording, magics for notebooks.

Read traces, in any process:

    trace = memtap.open("train.mtap")              # or a folder with the traces of a job's ranks
    polars.DataFrame(trace.blocks())               # what was live at the peak; for any reader of Arrow
    print(trace.report().categories)               # {"parameters": bytes, ...}
    memtap.diff("old.mtap", "new.mtap").verdict
    memtap.check("new.mtap", budget={"peak": "20 GiB"}).holds

Inside a recorded program (memtap run, LD_PRELOAD); elsewhere these do nothing:

    with memtap.phase("validation"): ...
    memtap.name(cache, "kv cache")
    memtap.mark("checkpoint written")
    memtap.save("now.mtap")                        # what was recorded so far, as a separate trace
    memtap.start(); ...; memtap.stop()             # with memtap run --dormant: only this part is recorded

In a notebook: `%load_ext memtap`, then `%%memtap --simulate h100` before a cell, or `%memtap TRACE`.

Sizes are bytes and times nanoseconds, everywhere. Errors are memtap.Problem: one line for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .command import Problem, find_command, limits
    from .control import holders, is_recorded, mark, name, own_trace, phase, sample, save, start, stop
    from .notebook import load_ipython_extension
    from .report import CallSite, Check, Diff, DiffSite, Limit, Report, check, diff
    from .trace import Column, Page, Table, Trace, open

# The module of each name: importing memtap imports none of them.
_PLACES = {
    "command": ("Problem", "find_command", "limits"),
    "control": ("holders", "is_recorded", "mark", "name", "own_trace", "phase", "sample", "save", "start", "stop"),
    "notebook": ("load_ipython_extension",),
    "report": ("CallSite", "Check", "Diff", "DiffSite", "Limit", "Report", "check", "diff"),
    "trace": ("Column", "Page", "Table", "Trace", "open"),
}
_PLACE_OF = {made: module for module, names in _PLACES.items() for made in names}

__all__ = [
    "CallSite",
    "Check",
    "Column",
    "Diff",
    "DiffSite",
    "Limit",
    "Page",
    "Problem",
    "Report",
    "Table",
    "Trace",
    "check",
    "diff",
    "find_command",
    "holders",
    "is_recorded",
    "limits",
    "load_ipython_extension",
    "mark",
    "name",
    "open",
    "own_trace",
    "phase",
    "sample",
    "save",
    "start",
    "stop",
]


if not TYPE_CHECKING:  # type checkers see only what is imported above

    def __getattr__(wanted):
        place = _PLACE_OF.get(wanted)
        if place is None:
            raise AttributeError(f"module 'memtap' has no attribute {wanted!r}")
        import importlib

        found = getattr(importlib.import_module(f"memtap.{place}"), wanted)
        globals()[wanted] = found
        return found

    def __dir__():
        return sorted([*globals(), *__all__])
