# SPDX-License-Identifier: Apache-2.0
"""mkdocs' hooks for the documentation site (mkdocs.yml): adds the manual pages, which mandoc converts to HTML, links
memtap-NAME(N) to them, and copies each file of the repository that a page links to."""

import html
import os
import pathlib
import re
import shutil
import subprocess

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "man").iterdir(), key=lambda path: (path.suffix, path.name))
NAME = re.compile(r"(?<![\w/-])((?:lib)?memtap(?:-[a-z]+)*)\((\d)\)")
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)((?:#[^)]*)?\))")
SECTION = re.compile(r'<h1 class="Sh"[^>]*>(?:<a[^>]*>)?(.*?)(?:</a>)?</h1>', re.S)
copied = {}  # files of the repository that pages link to, by their path in the site


def place(name, section):
    """Return the path of the page memtap-NAME(N) in the site, or None if there is none."""
    return f"man/{name}.{section}.md" if (ROOT / "man" / f"{name}.{section}").exists() else None


def title(path):
    return f"{path.stem}({path.suffix[1:]})"


def manual_page(path):
    """Return a manual page as Markdown: its headings, with HTML between them."""
    done = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", path], capture_output=True, text=True, check=False)
    if done.returncode > 2 or not done.stdout:  # 2: only warnings
        raise PluginError(f"{path.name}: {done.stderr}")
    body = re.sub(
        r'<table class="(?:head|foot)">.*?</table>|</?section[^>]*>|<a class="permalink"[^>]*>(.*?)</a>',
        r"\1",
        done.stdout,
        flags=re.S,
    )
    body = re.sub(r"<b>((?:lib)?memtap[a-z-]*)</b>\((\d)\)", r"\1(\2)", body)
    body = NAME.sub(
        lambda match: f'<a href="{match[1]}.{match[2]}.html">{match[0]}</a>' if place(*match.groups()) else match[0],
        body,
    )
    head, *parts = SECTION.split(body)
    text = [f"# {title(path)}"]
    for heading, content in zip(parts[::2], parts[1::2]):
        text.append(f"## {html.unescape(heading).capitalize()}\n\n<div>\n{content.strip()}\n</div>")
    return "\n\n".join(text) + "\n"


def entries(folder):
    """Return the pages of a folder of docs/, its README first."""
    found = sorted((ROOT / "docs" / folder).glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    return [
        {"Overview": f"{folder}/{path.name}"} if path.name == "README.md" else f"{folder}/{path.name}" for path in found
    ]


def on_config(config):
    if not shutil.which("mandoc"):
        raise PluginError("mandoc is missing, which converts the manual pages; install the package mandoc")
    lists = {
        "Manual": [{title(path): f"man/{path.name}.md"} for path in PAGES],
        "Evaluation": entries("evaluation"),
        "Design": entries("design"),
    }
    config.nav = [{name: lists[name]} if (name := next(iter(entry))) in lists else entry for entry in config.nav]
    guides = next(entry["Guides"] for entry in config.nav if "Guides" in entry)
    listed = {path for guide in guides for path in guide.values()}
    guides += [path for path in entries("guides") if path not in listed]
    return config


def on_files(files: Files, *, config):
    for path in PAGES:
        files.append(File.generated(config, f"man/{path.name}.md", content=manual_page(path)))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for _, target, _ in LINK.findall(page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            if found.is_file() and not found.is_relative_to(ROOT / "docs"):
                # Another Markdown file of the repository is shown as text, since its links' targets are not in the site.
                where = f"source/{found.relative_to(ROOT)}" + (".txt" if found.suffix == ".md" else "")
                if found not in copied.values():
                    copied[where] = found
                    files.append(File.generated(config, where, abs_src_path=str(found)))
    return files


def on_page_markdown(markdown, *, page, config, files):
    here = pathlib.PurePosixPath(page.file.src_uri).parent
    if str(here) == "man":
        return markdown
    places = {path: where for where, path in copied.items()}

    def to(target):
        return os.path.relpath(target, here)

    def source(match):
        found = (ROOT / "docs" / here / match[2]).resolve()
        return f"{match[1]}{to(places[found])}{match[3]}" if found in places else match[0]

    def manual(match):
        target = place(*match.groups())
        return f"[{match[0]}]({to(target)})" if target else match[0]

    lines = [
        line if line.startswith("    ") else NAME.sub(manual, LINK.sub(source, line)) for line in markdown.split("\n")
    ]
    return "\n".join(lines)
