# SPDX-License-Identifier: Apache-2.0
"""test_site.py SOURCE: mkdocs builds the documentation (mkdocs.yml) without a warning; it has every page of docs/ and every
manual page; and each link in it leads to a file, and to a place in it, that is there. mkdocs is that of the Python that
MEMTAP_TEST_READERS names, or of this one."""

import html.parser
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

other = os.environ.pop("MEMTAP_TEST_READERS", None)
if other:
    os.execv(other, [other, *sys.argv])
source = pathlib.Path(sys.argv[1]).resolve()
LEAST = 3000  # links; fewer: they are not found any more
OUTSIDE = re.compile(r"[a-z]+:|//")
faults = []


class Page(html.parser.HTMLParser):
    """Its links, and the places that others may lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value and not OUTSIDE.match(value):
                self.links.append(value)


for module, command in (("material", ""), ("mkdocs", ""), ("", "mandoc")):
    if (module and not importlib.util.find_spec(module)) or (command and not shutil.which(command)):
        print(f"skipped: there is no {module or command}")
        sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run(
        [sys.executable, "-B", "-m", "mkdocs", "build", "--strict", "--quiet", "-f", source / "mkdocs.yml", "-d", folder],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    if done.returncode or "WARNING" in done.stderr:
        print(done.stdout, done.stderr)
        sys.exit(1)
    site = pathlib.Path(folder).resolve()
    wanted = [f"man/{path.name}.html" for path in (source / "man").iterdir()]
    for page in (source / "docs").rglob("*.md"):
        name = page.relative_to(source / "docs").with_suffix(".html")
        wanted.append(str(name.with_name("index.html") if page.name == "README.md" else name))
    faults += [f"the site has no {name}" for name in wanted if not (site / name).exists()]
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    seen = 0
    for path, page in pages.items():
        for link in page.links:
            target, _, place = link.partition("#")
            to = (path.parent / urllib.parse.unquote(target)).resolve() if target else path
            seen += 1
            if not to.exists():
                faults.append(f"{path.relative_to(site)}: there is no {link}")
            elif place and to in pages and urllib.parse.unquote(place) not in pages[to].places:
                faults.append(f"{path.relative_to(site)}: there is no place {link}")
    # The manual pages have their text, their tables and their links.
    run = (site / "man/memtap-run.1.html").read_text(encoding="utf-8")
    categories = (site / "man/memtap-categories.7.html").read_text(encoding="utf-8")
    for text, part in ((run, 'href="memtap-simulate.1.html"'), (run, "--keep-runs"), (categories, "<td")):
        if part not in text.replace("\\-", "-"):
            faults.append(f"a manual page lacks {part}")
print(len(pages), "pages,", seen, "links;", *faults[:50], sep="\n")
sys.exit(bool(faults) or seen < LEAST)
