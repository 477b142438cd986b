# SPDX-License-Identifier: Apache-2.0
"""A reader of OpenMetrics text, version 1.0, as strict as its specification about what memtap writes: gauges and counters."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)")
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (-?[0-9]+(?:\.[0-9]+)?)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        if not found or found[1] in labels:
            raise ValueError(f"labels {text!r} at {at}")
        labels[found[1]] = re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], found[2])
        at = found.end()
        if found[3] == "," and at == len(text):
            raise ValueError(f"labels {text!r} end with a comma")
    return labels


def read(text):
    """{family: {"type", "unit", "help", "samples": [(labels, value)]}}. ValueError where the text is not OpenMetrics."""
    if not text.endswith("\n# EOF\n"):
        raise ValueError("the text does not end with # EOF")
    families, seen, family = {}, set(), None
    for line in text[:-len("# EOF\n")].splitlines():
        meta, sample = META.fullmatch(line), SAMPLE.fullmatch(line)
        if meta:
            what, name, value = meta.groups()
            if what == "TYPE":
                if name in families or value not in ("gauge", "counter"):
                    raise ValueError(line)
                families[name] = family = {"name": name, "type": value, "unit": "", "help": None, "samples": []}
                continue
            if not family or family["name"] != name or family["samples"] or family[what.lower()]:
                raise ValueError(f"{line}: not at its family's begin")
            if what == "UNIT" and not name.endswith("_" + value):
                raise ValueError(f"{line}: the name does not end with the unit")
            family[what.lower()] = value
        elif sample and family:
            name, labels = sample[1], read_labels(sample[2] or "")
            if name != family["name"] + ("_total" if family["type"] == "counter" else ""):
                raise ValueError(f"{line}: not of family {family['name']}")
            key = (name, *sorted(labels.items()))
            if key in seen:
                raise ValueError(f"{line}: twice")
            seen.add(key)
            family["samples"].append((labels, float(sample[3]) if "." in sample[3] else int(sample[3])))
        else:
            raise ValueError(f"{line!r}: no sample")
    return families
