# SPDX-License-Identifier: Apache-2.0
"""Forty-six questions, each put to every output that can answer it: a row is a question with its readers, and all must agree.
An asker takes the outputs (answers.py) and a trace's name, and returns the answer; Shown is one that a text rounds."""

import json
import re

from answers import LABELS, Shown, after, first, leaf, line_of, most, sums, table_rows

TRAINING, NATIVE = ("training", "keeping", "layers", "mixed"), ("phases", "native")
OOMS = "fragmented", "oom-at-once", "planned", "oom-backward"
JOB, CHANGE, NIGHTS, STEP, LIVE = ("job", "kinds"), ("training keeping",), ("nights",), ("06 07",), ("live",)

PHASES = {"start-up": "outside", "optimizer step": "optimizer"}  # the page's words


def closed(ended):
    """How a run ended, without what the table of ranks has no word for."""
    return ended.removesuffix("; the recording was not closed")


def by_category(rows):
    return {key: size for key, size in sums((row["category"], int(row["size"])) for row in rows).items() if size}


def marked(text, numbers):
    """The categories of a table that are marked as not certain."""
    return {label.replace(" ", "_"): {"~": "likely", "?": "guess"}[mark]
            for mark, label in re.findall(rf"^ ([~?])([a-z ]+?) +{numbers}", text, re.M)}


def without_zeros(sizes):
    return {key: size for key, size in sizes.items() if size and key != "before_recording"}


def lines(rows, *more):
    """(category, place, further columns) -> bytes."""
    return sums(((row["category"], line_of(row), *(row[key] or "" for key in more)), int(row["size"])) for row in rows)


def report_lines(o, t):
    return sums(((site["category"], leaf(site["line"]), site["operator"] or ""), site["bytes"]) for site in o.device(t)["call_sites"])


def without_operators(of):
    return sums(((category, place), size) for (category, place, _), size in of.items())


def diff_text_rows(text, title):
    """(change, name) of a table of memtap diff's text."""
    part = text.split(title + "\n")[1].split("\n\n")[0] if title + "\n" in text else ""
    return [(size, name) for size, name in re.findall(r"^ *([+-][\d.]+ \w+) +[\d.]+ \w+  (\S.*)$", part, re.M)]


def page_tree(node, out, above=""):
    """Sums of the page's icicle of modules, with their parts, by path."""
    for child in node["children"]:
        name = f"{above}.{child['name']}" if above else child["name"]
        out[name] = out.get(name, 0) + child["bytes"]
        page_tree(child, out, name)
    return out


def of_module(o, t, name):
    return sum(int(row["size"]) for row in o.csv(t) if row["module"] == name or row["module"].startswith(f"{name}."))


def change_of(new, old):
    return {key: new.get(key, 0) - old.get(key, 0) for key in {**new, **old} if new.get(key, 0) != old.get(key, 0)}


def pair(words):
    old, now = words.split()
    return old, now


def of_both(ask):
    """An answer to what changed, from one that is read for both runs."""
    return lambda o, t: ask(o, pair(t)[1]) - ask(o, pair(t)[0])


def of_both_sums(ask):
    return lambda o, t: change_of(ask(o, pair(t)[1]), ask(o, pair(t)[0]))


def diff_device(o, t):
    return o.diff(*pair(t))["devices"][0]


def blamed(site):
    return (site["category"], leaf(site))


def changes(of):
    return {name: one["change"] for name, one in of.items() if one["change"] and name != "startup"}


def text_blamed(text):
    size, category, place = re.search(r"contribution first\n +(\S+ \w+) +\S+ \w+ [ ~?]([a-z ]+?) {2,}(\S+ \S+)", text).groups()
    return category.replace(" ", "_"), place


PEAK = {
    "report": lambda o, t: o.device(t)["peak"]["allocated"],
    "report's text": lambda o, t: Shown(first(r"Peak of device 0: (\S+ \w+)", o.text("report", t))),
    "report's first sentence": lambda o, t: Shown(first(r"peak of\s+device 0 is (\S+ \w+)", o.text("report", t))),
    "blocks": lambda o, t: sum(block["size"] for block in o.blocks(t)["blocks"]),
    "blocks' device": lambda o, t: o.blocks(t)["allocated"],
    "csv": lambda o, t: sum(int(row["size"]) for row in o.csv(t)),
    "stacks": lambda o, t: sum(one["bytes"] for one in o.stacks(t)["stacks"]),
    "stacks' device": lambda o, t: o.stacks(t)["allocated"],
    "folded": lambda o, t: sum(int(row.rsplit(" ", 1)[1]) for row in o.text("stacks", t, "-f", "folded").splitlines()),
    "metrics": lambda o, t: o.metric(t, "memtap_peak_allocated_bytes"),
    "history show": lambda o, t: o.shown(t)["peak"],
    "history show's text": lambda o, t: Shown(first(r"\n  peak +(\S+ \w+)", o.shown_text(t))),
    "history list": lambda o, t: o.listed(t)["peak"],
    "diff": lambda o, t: o.diff(t, t)["devices"][0]["allocated"]["new"],
    "diff's text": lambda o, t: Shown(first(r"no difference: peak (\S+ \w+)", o.text("diff", t, o.path(t)))),
    "table of ranks": lambda o, t: o.table(t, "ranks")[0]["peak"],
    "table of categories": lambda o, t: sum(row["bytes"] for row in o.table(t, "categories")),
    "check": lambda o, t: o.limits(t)["peak"]["value"],
    "assistant": lambda o, t: o.assistant(t)["peak"]["allocated"],
    "parquet": lambda o, t: o.parquet(t, "runs")[0]["peak"],
    "parquet's lines": lambda o, t: sum(row["bytes"] for row in o.parquet(t, "sites")),
    "parquet's blocks": lambda o, t: sum(row["size"] for row in o.parquet(t, "blocks")),
    "page's report": lambda o, t: o.page(t)["report"]["peak"]["allocated"],
    "page's table": lambda o, t: sum(row["bytes"] for row in o.page(t)["devices"][0]["rows"]),
    "page's modules": lambda o, t: o.page(t)["devices"][0]["modules"]["bytes"],
}
CATEGORIES = {
    "report": lambda o, t: without_zeros(o.device(t)["peak"]["categories"]),
    "csv": lambda o, t: by_category(o.csv(t)),
    "blocks": lambda o, t: by_category(o.blocks(t)["blocks"]),
    "stacks": lambda o, t: sums((one["category"], one["bytes"]) for one in o.stacks(t)["stacks"]),
    "metrics": lambda o, t: without_zeros(o.metrics(t, "memtap_peak_category_allocated_bytes", "category")),
    "history show": lambda o, t: without_zeros(o.shown(t)["categories"]),
    "history's lines": lambda o, t: by_category(o.shown(t)["sites"]),
    "diff": lambda o, t: {name: one["new"] for name, one in o.diff(t, t)["devices"][0]["categories"].items() if one["new"]},
    "table of categories": lambda o, t: {row["category"]: row["bytes"] for row in o.table(t, "categories") if row["bytes"]},
    "check": lambda o, t: {name[9:]: one["value"] for name, one in o.limits(t).items() if name.startswith("category.") and one["value"]},
    "parquet": lambda o, t: sums((row["category"], row["bytes"]) for row in o.parquet(t, "sites")),
    "page": lambda o, t: sums((o.page(t)["categories"][row["category"]], row["bytes"]) for row in o.page(t)["devices"][0]["rows"]),
}
HISTORY_LINES = {
    "history show": lambda o, t: sums(((row["category"], line_of(row), row["operator"] or ""), row["size"]) for row in o.shown(t)["sites"]),
}
AT_END = {
    "blocks": lambda o, t: sum(block["size"] for block in o.blocks(t, "end")["blocks"]),
    "report": lambda o, t: o.device(t, "--at", "end")["peak"]["allocated"],
    "report's text": lambda o, t: Shown(first(r"On device 0: (\S+ \w+) allocated", o.text("report", t, "--at", "end"))),
    "report's first sentence": lambda o, t: Shown(first(r"At this moment device 0 has (\S+ \w+)", o.text("report", t, "--at", "end"))),
    "history": lambda o, t: o.shown(t)["devices"][0]["at_end"],
    "diff": lambda o, t: o.diff(t, t)["devices"][0]["at_end"]["new"],
    "metrics": lambda o, t: o.metric(t, "memtap_allocated_bytes"),
    "package": lambda o, t: sum(row["size"] for row in o.table(t, "blocks", "end")),
    "check": lambda o, t: o.limits(t)["end"]["value"],
    "page": lambda o, t: o.page(t)["end"],
}
MOST_IN_PHASE = {
    "history": lambda o, t: {name: size for name, size in o.shown(t)["phases"].items() if size and name != "startup"},
    "diff": lambda o, t: {name: one["new"] for name, one in o.diff(t, t)["devices"][0]["phases"].items() if one["new"] and name != "startup"},
    "table of phases": lambda o, t: most((row["phase"], row["most"]) for row in o.table(t, "phases")),
    "page": lambda o, t: most((PHASES.get(span["phase"], span["phase"]), span["most"]) for span in o.page(t)["spans"]),
    "check": lambda o, t: {name[6:]: one["value"] for name, one in o.limits(t).items() if name.startswith("phase.") and one["value"]},
}
PEAKS = {
    "report": lambda o, t: {one["rank"]: one["report"]["peak"]["allocated"] for one in o.job(t)["ranks"] if one["report"]["peak"]},
    "report's text": lambda o, t: {int(rank): Shown(size) for rank, size in re.findall(r"^ +(\d+)  (?:node)?\d+ +\d+ +(\S+ \w+)  ", o.job_text(t), re.M)},
    "table of ranks": lambda o, t: {row["rank"]: row["peak"] for row in o.job_table(t) if row["peak"]},
    "history": lambda o, t: {one["rank"]: one["allocated"] for one in o.shown(t)["devices"]},
    "diff": lambda o, t: {one["rank"]: one["allocated"]["new"] for one in o.job_diff(t)["devices"] if one["allocated"]["new"]},
    "metrics": lambda o, t: o.job_metrics(t),
    "page": lambda o, t: {one["rank"]: one["allocated"] for one in o.job_page(t)["ranks"] if one["allocated"]},
}
CHANGED = {
    "diff": lambda o, t: diff_device(o, t)["allocated"]["change"],
    "diff's text": lambda o, t: Shown(first(r"peak allocated.* ([+-][\d.]+ \w+) ", o.text("diff", *map(o.path, pair(t))))),
    "diff's first sentence": lambda o, t: Shown(first(r"peak ([+-]\S+ \w+)", o.diff(*pair(t))["verdict"])),
    "markdown": lambda o, t: Shown(first(r"peak allocated \|[^|]*\|[^|]*\| ([^|]*) \|", o.text("diff", *map(o.path, pair(t)), "-f", "markdown"))),
    "page": lambda o, t: o.page_diff(*pair(t))["devices"][0]["allocated"]["change"],
    "page's text": lambda o, t: Shown(first(r"peak allocated.* ([+-][\d.]+ \w+) ", o.page_diff_text(*pair(t)))),
    "check": lambda o, t: (lambda one: one["value"] - one["baseline"])(o.limits(pair(t)[1], pair(t)[0])["peak"]),
    "report": of_both(PEAK["report"]),
    "metrics": of_both(PEAK["metrics"]),
    "history": of_both(PEAK["history show"]),
    "flame graph": lambda o, t: o.flame(*pair(t)),
}
TO_BLAME = {
    "diff": lambda o, t: blamed(diff_device(o, t)["sites"][0]),
    "diff's text": lambda o, t: text_blamed(o.text("diff", *map(o.path, pair(t)))),
    "diff's first sentence": lambda o, t: (lambda found: (found[0].replace(" ", "_"), found[1]))(
        re.search(r": ([a-z ]+) [+-]\S+ \w+ at (\S+ [^,]+)", o.diff(*pair(t))["verdict"]).groups()),
    "markdown": lambda o, t: (lambda found: (found[0].replace(" ", "_"), found[1]))(
        re.search(r"---\|\n\| [+-][^|]*\|[^|]*\| ([a-z ]+?)(?: \(\w+\))? \| (\S+ [^ |]+)", o.text("diff", *map(o.path, pair(t)), "-f", "markdown")).groups()),
    "page": lambda o, t: blamed(o.page_diff(*pair(t))["devices"][0]["sites"][0]),
    "check": lambda o, t: blamed(o.limits(pair(t)[1], pair(t)[0])["peak"]["blame"]),
}
TOP_ROW = rf"^ +(\S+ \w+)(?: [+-]\S+ \w+)? +([\d,]+) [ ~?]({LABELS}) +(\S.*)$"  # bytes, change, blocks, category, line
STEPS = {
    "trend": lambda o, t: o.trend()["nights"][0],
}

QUESTIONS = [
    # size
    ("size", "How much does the peak allocate?", TRAINING + NATIVE, PEAK),
    ("size", "How much of it is of each category?", TRAINING + NATIVE, CATEGORIES),
    ("size", "How much had PyTorch reserved there?", TRAINING, {
        "report": lambda o, t: o.device(t)["peak"]["reserved"],
        "blocks": lambda o, t: o.blocks(t)["reserved"],
        "metrics": lambda o, t: o.metric(t, "memtap_peak_reserved_bytes"),
        "history": lambda o, t: o.shown(t)["devices"][0]["reserved"],
        "table of ranks": lambda o, t: o.table(t, "ranks")[0]["peak_reserved"],
        "page": lambda o, t: o.page(t)["report"]["peak"]["reserved"],
    }),
    ("size", "How much did it reserve at most?", TRAINING, {
        "metrics": lambda o, t: o.metric(t, "memtap_most_reserved_bytes"),
        "diff": lambda o, t: o.diff(t, t)["devices"][0]["reserved"]["new"],
        "history": lambda o, t: o.shown(t)["reserved"],
        "history's device": lambda o, t: o.shown(t)["devices"][0]["most_reserved"],
        "history list": lambda o, t: o.listed(t)["reserved"],
        "table of ranks": lambda o, t: o.table(t, "ranks")[0]["most_reserved"],
        "check": lambda o, t: o.limits(t)["reserved"]["value"],
        "page": lambda o, t: o.page(t)["devices"][0]["reserved"],
    }),
    ("size", "What does a replay begin with?", ("training", "keeping", "layers", "planned"), {
        "plan": lambda o, t: (o.plan(t)["peak_allocated"], o.plan(t)["peak_reserved"]),
        "report": lambda o, t: (o.device(t)["peak"]["allocated"], o.table(t, "ranks")[0]["most_reserved"]),
        "history": lambda o, t: (o.shown(t)["peak"], o.shown(t)["reserved"]),
    }),
    ("size", "How many blocks are live there?", TRAINING + NATIVE, {
        "blocks": lambda o, t: len(o.blocks(t)["blocks"]),
        "csv": lambda o, t: len(o.csv(t)),
        "package": lambda o, t: len(o.table(t, "blocks", "peak")),
        "report": lambda o, t: sum(site["blocks"] for site in o.device(t)["call_sites"]),
        "report's rules": lambda o, t: sum(rule["blocks"] for rule in o.device(t)["peak"]["rules"]),
        "stacks": lambda o, t: sum(one["blocks"] for one in o.stacks(t)["stacks"]),
        "table of categories": lambda o, t: sum(row["blocks"] for row in o.table(t, "categories")),
        "history": lambda o, t: sum(row["blocks"] for row in o.shown(t)["sites"]),
        "page": lambda o, t: sum(row["blocks"] for row in o.page(t)["devices"][0]["rows"]),
    }),
    ("size", "Which categories are not certain?", TRAINING, {
        "report's text": lambda o, t: marked(o.text("report", t), r"[\d.]+ \w+ +[\d.]+ %"),
        "page's text": lambda o, t: marked(o.page(t)["text"], r"[\d.]+ \w+ +[\d.]+ %"),
        "diff": lambda o, t: {name: sure for name, sure in o.diff(t, t)["devices"][0]["certainty"].items() if sure != "certain"},
        "diff's text": lambda o, t: marked(o.text("diff", t, o.path(t)), r"[\d.]+ \w+ +[\d.]+ \w+ +="),
        "markdown": lambda o, t: {label.replace(" ", "_"): sure for label, sure in
                                  re.findall(r"^\| ([a-z ]+) \((\w+)\) \|", o.text("diff", t, o.path(t), "-f", "markdown"), re.M)},
        "page's difference": lambda o, t: {name: sure for name, sure in o.page_diff(t, t)["devices"][0]["certainty"].items() if sure != "certain"},
        "history": lambda o, t: {row["category"]: row["certainty"] for row in o.shown(t)["certainty"] if row["certainty"] != "certain"},
        "history's text": lambda o, t: marked(o.shown_text(t).split("call site")[0], r"[\d.]+ \w+$"),
        "trend's text": lambda o, t: marked(o.trend_of_one(t), r"\S+ +[\d.]+ \w+$"),
    }),
    ("size", "How much has a program that still runs?", LIVE, {
        "top": lambda o, t: Shown(first(r"\nallocated +(\S+ \w+)", o.top(t))),
        "top's peak": lambda o, t: Shown(first(r" peak (\S+ \w+) at", o.top(t))),
        "top's lines": lambda o, t: Shown(re.search(TOP_ROW, o.top(t), re.M)[1]),
        **PEAK,
    }),
    ("size", "How much of it is of each category?", LIVE, {
        "top": lambda o, t: {label.replace(" ", "_"): Shown(size) for label, size in re.findall(rf"^ [ ~?]({LABELS}) +(\S+ \w+) +[\d.]+ %", o.top(t), re.M)},
        **CATEGORIES,
    }),
    # line
    ("line", "Which line and operator has how much?", (*TRAINING, "native"), {
        "report": report_lines,
        "csv": lambda o, t: lines(o.csv(t), "operator"),
        "package": lambda o, t: lines(o.table(t, "blocks", "peak"), "operator"),
        "parquet": lambda o, t: sums(((row["category"], line_of(row), row["operator"]), row["bytes"]) for row in o.parquet(t, "sites")),
        **HISTORY_LINES,
    }),
    ("line", "Which line has how much, with all its operators?", (*TRAINING, "native"), {
        "report": lambda o, t: without_operators(report_lines(o, t)),
        "csv": lambda o, t: lines(o.csv(t)),
        "history": lambda o, t: without_operators(HISTORY_LINES["history show"](o, t)),
        "page": lambda o, t: sums(((o.page(t)["categories"][row["category"]], row["line"].split("+0x")[0]), row["bytes"])
                                  for row in o.page(t)["devices"][0]["rows"]),
    }),
    ("line", "Which line has most?", ("training", "keeping", "layers", "mixed"), {
        "report": lambda o, t: (lambda one: (one["category"], leaf(one["line"]), one["bytes"]))(o.device(t)["call_sites"][0]),
        "report's text": lambda o, t: table_rows(o.text("report", t), "largest call sites")[0],
        "csv": lambda o, t: (lambda one: (one[0][0], one[0][1], one[1]))(max(lines(o.csv(t), "operator").items(), key=lambda one: (one[1], one[0][0] == "optimizer_state"))),
        "history show's text": lambda o, t: table_rows(o.shown_text(t), "call site")[0],
        "check": lambda o, t: (lambda one: (one["category"], leaf(one), one["bytes"]))(o.limits(t)["peak"]["blame"]),
    }),
    ("line", "How sure is each line's category?", TRAINING, {
        "report": lambda o, t: {(site["category"], leaf(site["line"]), site["operator"] or ""): site["certainty"] for site in o.device(t)["call_sites"] if not site["name"]},
        "csv": lambda o, t: o.least_sure(o.csv(t)),
        "package": lambda o, t: o.least_sure(o.table(t, "blocks", "peak")),
        "history": lambda o, t: o.least_sure(o.shown(t)["sites"]),
        "parquet": lambda o, t: o.least_sure(o.parquet(t, "sites")),
    }),
    ("line", "Which line of a program that still runs has how much, in how many blocks?", LIVE, {
        "top": lambda o, t: {(category.replace(" ", "_"), line): (Shown(size), int(blocks.replace(",", "")))
                             for size, blocks, category, line in re.findall(TOP_ROW, o.top(t), re.M)},
        "report": lambda o, t: {(site["category"], leaf(site["line"])): (site["bytes"], site["blocks"]) for site in o.device(t, "--at", "end")["call_sites"]},
        "csv": lambda o, t: (lambda of: {key: (size, sum((row["category"], line_of(row)) == key for row in o.csv(t)))
                                         for key, size in of.items()})(lines(o.csv(t))),
        "view's page": lambda o, t: {(o.view(t)["categories"][row["category"]], row["line"]): (row["bytes"], row["blocks"])
                                     for row in o.view(t)["devices"][0]["rows"]},
    }),
    ("line", "Which lines leave blocks behind, and how many bytes?", ("training", "blamed", "keeping"), {
        "report": lambda o, t: [(site["category"], leaf(site["line"]), site["bytes"]) for site in o.device(t)["growth"]["sites"]],
        "table of growth": lambda o, t: [(row["category"], line_of(row), row["bytes"]) for row in o.table(t, "growth")],
        "page": lambda o, t: [(site["category"], leaf(site["line"]), site["bytes"]) for site in o.page(t)["report"]["devices"][0]["growth"]["sites"]],
    }),
    # module
    ("module", "Which module has how much, without its parts?", ("layers", "training"), {
        "csv": lambda o, t: sums((row["module"], int(row["size"])) for row in o.csv(t)),
        "package": lambda o, t: sums((row["module"] or "", row["size"]) for row in o.table(t, "blocks", "peak")),
        "report --by": lambda o, t: {after(one["name"], "module unknown"): one["bytes"] for one in o.device(t, "--by", "module")["groups"]["groups"]},
        "history": lambda o, t: sums((row["module"], row["size"]) for row in o.shown(t)["sites"]),
    }),
    ("module", "How much has layers.2 with its parts?", ("layers",), {
        "csv": lambda o, t: of_module(o, t, "layers.2"),
        "report's text": lambda o, t: Shown(first(r"\n +(\S+ \w+) .* layers\.2\n", o.text("report", t, "--by", "module"))),
        "blocks --module": lambda o, t: sum(block["size"] for block in o.blocks(t, "peak", "--module", "layers.2")["blocks"]),
        "stacks --module": lambda o, t: sum(one["bytes"] for one in o.stacks(t, "--module", "layers.2")["stacks"]),
        "report --module": lambda o, t: Shown(first(r"Only module layers\.2: (\S+ \w+)", o.text("report", t, "--module", "layers.2"))),
        "page": lambda o, t: page_tree(o.page(t)["devices"][0]["modules"], {})["layers.2"],
        "check": lambda o, t: o.limits(t)["module.layers.2"]["value"],
    }),
    ("module", "How much has no module?", ("layers", "training"), {
        "csv": lambda o, t: sum(int(row["size"]) for row in o.csv(t) if not row["module"]),
        "report's text": lambda o, t: Shown(first(r"\n +(\S+ \w+) +no module, or module unknown", o.text("report", t, "--by", "module"))),
        "report --by": lambda o, t: sum(one["bytes"] for one in o.device(t, "--by", "module")["groups"]["groups"] if one["name"] == "module unknown"),
        "history": lambda o, t: sum(row["size"] for row in o.shown(t)["sites"] if not row["module"]),
    }),
    ("module", "How much have two equal layers, as one row?", ("layers",), {
        "report's text": lambda o, t: Shown(first(r"\n +(\S+ \w+) .* layers\.0-1\.fc\n", o.text("report", t, "--by", "module"))),
        "csv": lambda o, t: of_module(o, t, "layers.0.fc") + of_module(o, t, "layers.1.fc"),
        "diff": lambda o, t: {one["name"]: one["bytes"]["change"] for one in o.diff("idle", t)["devices"][0]["module_groups"]}["layers.0-1.fc"],
        "diff's text": lambda o, t: {name: Shown(size[1:]) for size, name in diff_text_rows(o.text("diff", "idle", o.path(t)), "modules")}["layers.0-1.fc"],
        "page": lambda o, t: {one["name"]: one["bytes"]["change"] for one in o.page_diff("idle", t)["devices"][0]["module_groups"]}["layers.0-1.fc"],
    }),
    # moment
    ("moment", "After which event is the peak?", TRAINING + NATIVE, {
        "report": lambda o, t: o.device(t)["peak"]["event"],
        "blocks": lambda o, t: o.blocks(t)["event"],
        "table of ranks": lambda o, t: o.table(t, "ranks")[0]["peak_event"],
        "table of categories": lambda o, t: o.table(t, "categories")[0]["event"],
        "page": lambda o, t: o.page(t)["devices"][0]["event"],
    }),
    ("moment", "When is it?", TRAINING + NATIVE, {
        "report": lambda o, t: o.device(t)["peak"]["time_ns"],
        "blocks": lambda o, t: o.blocks(t)["time_ns"],
        "stacks": lambda o, t: o.stacks(t)["time_ns"],
        "table of ranks": lambda o, t: o.table(t, "ranks")[0]["peak_ns"],
        "table of categories": lambda o, t: o.table(t, "categories")[0]["time_ns"],
        "page": lambda o, t: o.page(t)["devices"][0]["time_ns"],
    }),
    ("moment", "In which phase and iteration?", ("training", "keeping", "layers", "phases"), {
        "report": lambda o, t: (o.device(t)["peak"]["phase"], o.device(t)["peak"]["iteration"]),
        "history": lambda o, t: (o.shown(t)["devices"][0]["phase"], o.shown(t)["devices"][0]["iteration"]),
        "diff": lambda o, t: tuple(o.diff(t, t)["devices"][0]["new_peak"].values()),
        "table of ranks": lambda o, t: (o.table(t, "ranks")[0]["peak_phase"], o.table(t, "ranks")[0]["peak_iteration"] or 0),
        "page": lambda o, t: (o.page(t)["report"]["peak"]["phase"], o.page(t)["report"]["peak"]["iteration"]),
    }),
    ("moment", "How much is allocated at the end?", TRAINING + NATIVE, AT_END),
    ("moment", "How much is the most in each phase?", ("training", "keeping", "layers"), MOST_IN_PHASE),
    # change
    ("change", "By how much did the peak change?", CHANGE, CHANGED),
    ("change", "By how much each category?", CHANGE, {
        "diff": lambda o, t: changes(diff_device(o, t)["categories"]),
        "page": lambda o, t: changes(o.page_diff(*pair(t))["devices"][0]["categories"]),
        "report": of_both_sums(CATEGORIES["report"]),
        "history": of_both_sums(CATEGORIES["history show"]),
        "metrics": of_both_sums(CATEGORIES["metrics"]),
    }),
    ("change", "Which line is to blame?", CHANGE + ("06 07",), TO_BLAME),
    ("change", "By how much did the end change?", CHANGE, {
        "diff": lambda o, t: diff_device(o, t)["at_end"]["change"],
        "page": lambda o, t: o.page_diff(*pair(t))["devices"][0]["at_end"]["change"],
        "blocks": of_both(AT_END["blocks"]),
        "history": of_both(AT_END["history"]),
        "check": lambda o, t: (lambda one: one["value"] - one["baseline"])(o.limits(pair(t)[1], pair(t)[0])["end"]),
    }),
    ("change", "Which modules changed, the most changed first?", ("training layers",), {
        "diff": lambda o, t: [(Shown.of(one["bytes"]["change"]), one["name"]) for one in diff_device(o, t)["module_groups"]][:5],
        "diff's text": lambda o, t: diff_text_rows(o.text("diff", *map(o.path, pair(t))), "modules"),
        "page": lambda o, t: [(Shown.of(one["bytes"]["change"]), one["name"]) for one in o.page_diff(*pair(t))["devices"][0]["module_groups"]][:5],
    }),
    # rank
    ("rank", "How high is each rank's peak?", JOB, PEAKS),
    ("rank", "Which rank is highest?", JOB, {
        "report": lambda o, t: o.job(t)["ranks"][o.job(t)["highest"]]["rank"],
        "table of ranks": lambda o, t: max(o.job_table(t), key=lambda row: row["peak"] or 0)["rank"],
        "page": lambda o, t: o.job_page(t)["highest"],
        "fleet": lambda o, t: o.fleet(t)["nights"][0]["most_rank"],
        "fleet's text": lambda o, t: int(first(r"of rank (\d+);", o.fleet_text(t))),
    }),
    ("rank", "How much has the median rank?", JOB, {
        "report": lambda o, t: o.job(t)["imbalance"]["median"],
        "report's text": lambda o, t: Shown(first(r"median rank's (?:peak, )?(\S+ \w+)", o.job_text(t))),
        "page": lambda o, t: o.job_page(t)["median"],
        "page's text": lambda o, t: Shown(first(r"median (?:of|peak of) (\S+ \w+)", o.job_page(t)["text"])),
        "fleet": lambda o, t: o.fleet(t)["nights"][0]["median"],
        "fleet's text": lambda o, t: Shown(first(r"the median is (\S+ \w+)\.", o.fleet_text(t))),
    }),
    ("rank", "How far is the highest above it?", JOB, {
        "report": lambda o, t: o.job(t)["imbalance"]["above"],
        "report's text": lambda o, t: Shown(first(r"highest peak is (\S+ \w+) above|No rank is above", o.job_text(t)) or "0 B"),
        "page": lambda o, t: o.job_page(t)["above"],
        "fleet": lambda o, t: o.fleet(t)["nights"][0]["most"] - o.fleet(t)["nights"][0]["median"],
    }),
    ("rank", "How many ranks are compared?", JOB, {
        "report": lambda o, t: sum(one.get("stands_for", 1) for one in o.job(t)["ranks"] if one["report"]["peak"]),
        "page": lambda o, t: sum(one["alike"] for one in o.job_page(t)["ranks"] if one["allocated"]),
        "table of ranks": lambda o, t: sum({row["rank"]: row["stands_for"] or 1 for row in o.job_table(t) if row["peak"]}.values()),
        "fleet": lambda o, t: o.fleet(t)["nights"][0]["ranks"],
    }),
    # night
    ("night", "How high was each night?", NIGHTS, {
        "history list": lambda o, t: [run["peak"] for run in o.nights()["runs"]],
        "trend": lambda o, t: o.trend()["series"][0]["bytes"],
        "report": lambda o, t: [o.device(f"{i:02}")["peak"]["allocated"] for i in range(1, 11)],
    }),
    ("night", "Between which nights is the step?", NIGHTS, {
        "trend": lambda o, t: (STEPS["trend"](o, t)["before"]["run"], STEPS["trend"](o, t)["after"]["run"]),
        "trend's series": lambda o, t: (o.trend()["series"][0]["steps"][0]["previous"], o.trend()["series"][0]["steps"][0]["run"]),
        "trend's text": lambda o, t: tuple(map(int, re.search(r"between .*?run (\d+).*and .*?run (\d+)", o.trend_text()).groups())),
        "diff": lambda o, t: next((i, i + 1) for i in range(1, 10) if not o.diff(f"{i:02}", f"{i + 1:02}")["same"]),
    }),
    ("night", "How high is the step?", STEP, {
        "trend": lambda o, t: int(o.trend()["series"][0]["steps"][0]["after"] - o.trend()["series"][0]["steps"][0]["before"]),
        "trend's text": lambda o, t: Shown(first(r"\n  peak .* to .* ([+-]\S+ \w+) ", o.trend_text())),
        **CHANGED,
    }),
    ("night", "Which line made it?", STEP, {
        "trend": lambda o, t: blamed(STEPS["trend"](o, t)["sites"][0]),
        "trend's text": lambda o, t: (lambda found: (found[0].replace(" ", "_"), found[1]))(
            re.search(r"%\n +[+-]\S+ \w+ [ ~?]([a-z ]+?) {2,}(\S+ \S+)\n", o.trend_text()).groups()),
        **TO_BLAME,
    }),
    ("night", "Is the night within the limits of the one before?", ("06 07", "layers 06"), {
        "JSON": lambda o, t: json.loads(o.check(*pair(t), "json").stdout)["holds"],
        "exit code": lambda o, t: o.check(*pair(t), "json").returncode == 0,
        "JUnit": lambda o, t: "<failure" not in o.check(*pair(t), "junit").stdout,
        "GitHub": lambda o, t: "::error" not in o.check(*pair(t), "github").stdout,
        "GitLab": lambda o, t: o.check(*pair(t), "gitlab").stdout.strip() == "[]",
        "text": lambda o, t: "broken" not in o.check(*pair(t), "text").stdout,
    }),
    ("night", "How high is the night that grew?", ("nightly",), {
        "nightly": lambda o, t: o.nightly_limit()["value"],
        "its history": lambda o, t: o.nightly_trend()[-1],
        "report": lambda o, t: o.device(o.nightly()[3])["peak"]["allocated"],
        "text": lambda o, t: Shown(first(r"peak allocated +\S+ \w+ +(\S+ \w+)", o.nightly()[0])),
        "text's history": lambda o, t: Shown(first(r"\n  peak {6,}\S+ +(\S+ \w+)\n", o.nightly()[0])),
    }),
    ("night", "By how much did it grow?", ("nightly",), {
        "nightly": lambda o, t: o.nightly_limit()["value"] - o.nightly_limit()["baseline"],
        "its history": lambda o, t: o.nightly_trend()[-1] - o.nightly_trend()[-2],
        "diff": lambda o, t: o.nightly_device()["allocated"]["change"],
        "text": lambda o, t: Shown(first(r"\npeak ([+-]\S+ \w+)", o.nightly()[0])),
    }),
    # advice
    ("advice", "How much was requested when memory ran out?", OOMS, {
        "oom": lambda o, t: o.oom(t)["requested"],
        "oom's text": lambda o, t: int(first(r"requested \((\d+) bytes", o.text("oom", t))),
        "oom's first line": lambda o, t: Shown(first(r"Out of memory[^:]*: (\S+ \w+)", o.text("oom", t))),
        "report": lambda o, t: o.report(t)["out_of_memory"][-1]["requested"],
        "report's text": lambda o, t: Shown(first(r"Memory ran out on device \d+: (\S+ \w+)\s+was", o.text("report", t))),
        "page": lambda o, t: o.page(t)["ooms"][-1]["requested"],
    }),
    ("advice", "Which line requested it?", OOMS[:1] + OOMS[2:], {
        "oom": lambda o, t: leaf(o.own_frame(o.oom(t)["stack"] + o.oom(t)["forward_stack"])),
        "oom's text": lambda o, t: first(r"\n  by (\S+ \S+)", o.text("oom", t)),
        "oom's first line": lambda o, t: first(r"Out of memory.*?by (\S+ \S+)\n", o.text("oom", t)),
        "report's text": lambda o, t: first(r"was\s+requested\s+by\s+(\S+\s\S+);", o.text("report", t)),
    }),
    ("advice", "How often did it run out?", OOMS, {
        "oom": lambda o, t: o.oom(t)["ended"]["out_of_memory"],
        "report": lambda o, t: len(o.report(t)["out_of_memory"]),
        "report's end": lambda o, t: o.report(t)["ended"]["out_of_memory"],
        "metrics": lambda o, t: o.metric(t, "memtap_out_of_memory_total"),
        "page": lambda o, t: len(o.page(t)["ooms"]),
    }),
    ("advice", "What is to be done first?", ("planned", "fragmented"), {
        "oom": lambda o, t: o.oom(t)["suggestions"][0]["set"],
        "oom's first lines": lambda o, t: first(r"\n(?:Do|Try): .*?(?:CONF=)?(\w+:\w+)[ \n]", o.text("oom", t)),
        "oom's table": lambda o, t: first(r"What each change achieves.*\n.*?=(\w+:\w+)", o.text("oom", t)),
    }),
    ("advice", "How did the run end?", ("fragmented", "planned", "oom-backward", "training", "killed"), {
        "report": lambda o, t: closed(o.report(t)["ended"]["text"]),
        "history": lambda o, t: closed(o.shown(t)["ended_text"]),
        "table of ranks": lambda o, t: (lambda how: {"oom": "out of memory, not caught"}.get(how, how))(o.table(t, "ranks")[0]["ended"]),
        "page": lambda o, t: closed(o.page(t)["report"]["ended"]["text"]),
    }),
]
