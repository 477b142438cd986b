# SPDX-License-Identifier: Apache-2.0
"""test-native-holders.py MEMTAP PROGRAM: what holds each of the program's blocks, named as in its source; which are lost, and which
perhaps, as registers of a second thread cannot be read."""

import json
import re
import subprocess
import sys
import tempfile

memtap, program = sys.argv[1:]
HEAP = r"(other memory -> )?heap block of \d+ bytes -> \[\d+\]"
VARIABLE = "variable `{}` of native-holders"
HELD = {
    1101: VARIABLE.format("cache"),
    1105: "variable `kept` of libnative-holders-library.so",
    1106: VARIABLE.format("net::config") + r" -> \[1\]",
    1107: VARIABLE.format("pieces") + " -> " + HEAP,
    1108: VARIABLE.format("table") + " -> " + HEAP,
    1109: VARIABLE.format("shared") + " -> " + HEAP,
    1110: VARIABLE.format("list") + " -> " + HEAP,
    1111: VARIABLE.format("history") + " -> " + HEAP,
    1112: VARIABLE.format("newest"),
    1113: VARIABLE.format("mapped") + r" -> mapping of \d+ bytes -> \[\d+\]",
    1301: "stack of the main thread, frame of `main` of native-holders",
} | {1100 + i: VARIABLE.format("pool") + rf" -> \[{i}\]" for i in (2, 3, 4)}
IN_THREAD = {
    1201: r"stack of thread \d+, perhaps left there by an earlier call",
    1202: r"thread-local variables of thread \d+ -> variable `of_thread` of native-holders",
}
LOST = {1001, 1002}
PERHAPS = {
    1003: "no pointer leads to the heap block of 24 bytes that has its address",
    1004: "only an unaligned pointer to it was found",
}


def search(how):
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/t.trace"
        subprocess.run([memtap, "run", "--simulate", "h100", "-o", trace, "--", program, how], check=True)
        answer, report = (
            subprocess.run([memtap, *words, trace], check=True, text=True, capture_output=True).stdout
            for words in (["holders", "-f", "json"], ["report"])
        )
        answer = json.loads(answer)
        lost = answer["devices"][0]["lost"]
        said = re.findall(r"; (\S+ \S+) of\s+it\s+is\s+lost:", report)
        assert said == [f"{lost / 2**20:.2f} MiB"] * (lost != 0), (lost, said)
        return answer


def check(how, held, lost=None):
    answer = search(how)
    for _ in range(9):  # a thread of memtap's that is just starting counts as the program's
        if lost and not answer["devices"][0]["lost"]:
            answer = search(how)
    assert [(each["moment"], each["result"]) for each in answer["lists"]] == [("out_of_memory", "complete")], answer[
        "lists"
    ]
    device = answer["devices"][0]
    assert device["lost"] == (sum(LOST) * 1024 if how == "alone" else 0), device["lost"]
    assert {block["size"] // 1024 for block in device["blocks"]} == held.keys() | LOST | PERHAPS.keys()
    for block in device["blocks"]:
        size, holders = (
            block["size"] // 1024,
            [(holder["root"], " -> ".join(holder["path"])) for holder in block["holders"]],
        )
        if size in held:
            assert any(re.fullmatch(held[size], path) for _, path in holders), (how, size, holders, held[size])
        elif how == "alone":
            assert holders == [("not_found", PERHAPS[size]) if size in PERHAPS else lost], (how, size, holders)
        else:  # a second thread's stack begins with registers of the first one, and has old values
            assert {root for root, _ in holders} <= {"not_found", "native_stack", "thread_local"}, (how, size, holders)


check("alone", HELD, ("lost", "no pointer to it exists"))
check("idle", HELD)
check("busy", HELD | IN_THREAD)
