# SPDX-License-Identifier: Apache-2.0
"""test_check_formats.py MAKE-TRACES MEMTAP READER: what `memtap check` writes for machines, read by others:
  rules        by what JUnit's readers, GitHub and GitLab document, in this file
  junitparser  JUnit's XML by the package of that name
  xmllint      whether it is well-formed
  markdown_it  the summary, rendered as GitHub does
The packages are those of the Python that MEMTAP_TEST_READERS names, or of this one."""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from checks import check, finish

other = os.environ.pop("MEMTAP_TEST_READERS", None)
if other:
    os.execv(other, [other, *sys.argv])
make_traces, memtap, reader = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]

# Names with what means something in XML, in markdown, in a workflow command and in a pattern.
BUDGET = """[limits]
peak = "1 KiB"
reserved = "1 TiB"
growth = "0 B"
[category]
every = "1 KiB"
[module]
every = "1 KiB"
[site]
every = "1 KiB"
"*<&|`_>%:,*" = "1 KiB"
[[allow]]
limit = "reserved"
extra = "1 GiB"
reason = "100 % sure, ::a <b>"
until = 2020-01-31
"""


def write(folder):
    """The limits as memtap's own JSON has them, by trace; the other formats are next to them."""
    subprocess.run([make_traces], cwd=folder, check=True)
    (folder / "b.toml").write_text(BUDGET)
    found = {}
    for trace in sorted(path.name for path in folder.glob("*.mtap")):
        formats = [word for name in ("json", "junit", "github", "gitlab", "text")
                   for word in ("-f", f"{name}:{trace}.{name}")]
        subprocess.run([memtap, "check", trace, "--budget", "b.toml", *formats, "--summary", f"{trace}.md"],
                       cwd=folder, check=False, stderr=subprocess.DEVNULL)
        if (folder / f"{trace}.json").exists():
            found[trace] = json.loads((folder / f"{trace}.json").read_text())
    check({"hostile.mtap", "training.mtap", "ranks.mtap"} & found.keys(), f"traces: {list(found)}")
    check(any(not limit["known"] for each in found.values() for limit in each["limits"]), "none is unknown")
    return found


def shown(limit):
    """Its name; control characters are shown as question marks."""
    return re.sub("[\x00-\x1f]", "?", limit["limit"])


def states(limits):
    return ["failed" if not limit["holds"] else "passed" if limit["known"] else "skipped" for limit in limits]


# --- rules -------------------------------------------------------------------------------------

# Elements of the schema that Jenkins publishes, with the attributes that these may have and must have.
ELEMENTS = {
    "testsuites": ("testsuite", "name time tests failures disabled errors", ""),
    "testsuite": ("testcase properties system-out system-err",
                  "name tests failures errors time disabled skipped timestamp hostname id package file log url",
                  "name tests"),
    "testcase": ("failure error skipped system-out system-err properties",
                 "name assertions time classname status class file line", "name"),
    "failure": ("", "type message", ""),
    "skipped": ("", "type message", ""),
}


def junit_element(path, element):
    children, may, must = (words.split() for words in ELEMENTS[element.tag])
    check(set(element.keys()) <= set(may) and set(must) <= set(element.keys()),
          f"{path}: attributes of {element.tag}: {list(element.keys())}")
    for child in element:
        if check(child.tag in children, f"{path}: {child.tag} in {element.tag}"):
            junit_element(path, child)


def junit(path, limits):
    root = xml.parse(path).getroot()
    junit_element(path, root)
    counts = {"tests": "testcase", "failures": "failure", "skipped": "skipped", "errors": "error"}
    for element in [root, *root.iter("testsuite")]:
        for name, tag in counts.items():
            if name in element.keys():
                check(int(element.get(name)) == len(list(element.iter(tag))), f"{path}: {name}")
    cases = ["failed" if case.find("failure") is not None else
             "skipped" if case.find("skipped") is not None else "passed" for case in root.iter("testcase")]
    check(cases == states(limits), f"{path}: {cases}")
    messages = [case.find("failure").get("message") for case in root.iter("testcase") if len(case.findall("failure"))]
    check(len(messages) == len(set(messages)) or len(root.findall("testsuite")) > 1, f"{path}: messages")


def command(line):
    """A workflow command as GitHub's runner reads it: name, properties, text."""
    words = re.fullmatch(r"::([a-z-]+)(?: ([^:]*))?::(.*)", line)
    if not words:
        return None

    def plain(text):
        return re.sub("%(0D|0A|3A|2C|25)", lambda code: chr(int(code[1], 16)), text)
    properties = dict(item.split("=", 1) for item in words[2].split(",")) if words[2] else {}
    return words[1], {name: plain(value) for name, value in properties.items()}, plain(words[3])


def github(path, found):
    lines = [command(line) for line in path.read_text().splitlines()]
    check(None not in lines, f"{path}: a line is no command")
    errors = [line for line in lines if line and line[0] == "error"]
    broken = [limit for limit in found["limits"] if not limit["holds"]]
    check([text for _, _, text in errors] == [f"{limit['text']}; next: {limit['next']}" for limit in broken],
          f"{path}: texts")
    check([p["title"] for _, p, _ in errors] == [f"GPU memory: {limit['limit']}" for limit in broken], f"{path}: titles")
    for name, properties, _ in filter(None, lines):
        check(name in ("error", "warning") and properties.keys() <= {"file", "line", "title"}, f"{path}: {properties}")
        check(properties.get("line", "1").isdigit(), f"{path}: {properties}")
    check(sum(line[0] == "warning" for line in lines) == len(found["expired"]) == 1, f"{path}: warnings")


def gitlab(path, limits):
    report = json.loads(path.read_text())
    check(len(report) == sum(not limit["holds"] for limit in limits), f"{path}: {len(report)} issues")
    for issue in report:
        check(issue.keys() == {"description", "check_name", "fingerprint", "severity", "location"}, f"{path}: {issue}")
        check(issue["severity"] in ("info", "minor", "major", "critical", "blocker"), f"{path}: {issue}")
        place = issue["location"]
        check(place["path"] and not place["path"].startswith(("./", "/")), f"{path}: {place}")
        check(isinstance(place["lines"]["begin"], int) and place["lines"]["begin"] > 0, f"{path}: {place}")
    prints = [issue["fingerprint"] for issue in report]
    check(len(set(prints)) == len(prints), f"{path}: fingerprints are not unique")


def rules(folder, found):
    for trace, each in found.items():
        junit(folder / f"{trace}.junit", each["limits"])
        github(folder / f"{trace}.github", each)
        gitlab(folder / f"{trace}.gitlab", each["limits"])
        told = " ".join((folder / f"{trace}.text").read_text().split())
        for limit in each["limits"]:
            if not limit["holds"]:
                words = " ".join(f"{trace}: {limit['text']}; next: {limit['next']}".split())
                check(words in told, f"{trace}: {limit['text']}")


# --- others ------------------------------------------------------------------------------------

def junitparser(folder, found):
    parser = importlib.import_module("junitparser")
    kinds = {parser.Failure: "failed", parser.Skipped: "skipped"}
    for trace, each in found.items():
        suites = parser.JUnitXml.fromfile(str(folder / f"{trace}.junit"))
        cases = [case for suite in suites for case in suite]
        got = [kinds[type(case.result[0])] if case.result else "passed" for case in cases]
        check(got == states(each["limits"]), f"{trace}: {got}")
        check(len(cases) == len(each["limits"]) and all(
            case.name.endswith(shown(limit)) for case, limit in zip(cases, each["limits"])), f"{trace}: names")
        counts = suites.tests, suites.failures, suites.errors
        suites.update_statistics()
        check(counts == (suites.tests, suites.failures, suites.errors), f"{trace}: {counts}")


def xmllint(folder, found):
    for trace in found:
        done = subprocess.run(["xmllint", "--noout", "--nonet", f"{trace}.junit"], cwd=folder, capture_output=True,
                              text=True, check=False)
        check(not done.returncode and not done.stderr, f"{trace}: {done.stderr}")


class Cells(HTMLParser):
    """The text of each cell of a table, row by row."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.cell = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.cell = tag in ("td", "th")
        if self.cell:
            self.rows[-1].append("")
        check(tag in "h3 table thead tbody tr td th p code".split(), f"a tag of a name: {tag}")

    def handle_endtag(self, tag):
        self.cell &= tag not in ("td", "th")

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data


def markdown_it(folder, found):
    render = importlib.import_module("markdown_it").MarkdownIt("commonmark").enable("table").render
    for trace, each in found.items():
        header, *rows = Cells(render((folder / f"{trace}.md").read_text())).rows
        check(all(len(row) == len(header) for row in rows), f"{trace}: rows are not as wide as their header")
        names, wanted = sorted(row[1] for row in rows), sorted(map(shown, each["limits"]))
        check(names == wanted, f"{trace}: {set(names) ^ set(wanted)}")


def main():
    need = {"xmllint": shutil.which("xmllint"), "rules": True}
    try:
        if not need.get(reader, reader in need or importlib.import_module(reader)):
            raise ImportError
    except ImportError:
        print(f"skipped: there is no {reader}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        found = write(Path(folder))
        globals()[reader](Path(folder), found)
    finish()


main()
