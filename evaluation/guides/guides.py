# SPDX-License-Identifier: Apache-2.0
"""Do the guides hold? Adds a hook, an export format, a column, a piece of evidence, a part of the report and a property
to group by to a copy of the tree, each in the files that its guide names and in no other, builds the copy and looks for
what was added. By hand; it takes a minute where ccache has the objects.

    python3 evaluation/guides/guides.py [--include FOLDER-OF-CUDA.H] [--keep FOLDER]"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A call of CUDA's driver that has no hook yet.
HOOKED = "MemGetAllocationGranularity|"
PROGRAM = """
import ctypes
cuda, size, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(), ctypes.c_void_p()
properties = (ctypes.c_int * 64)(1, 0, 1, 0)
for code in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
             cuda.cuMemGetAllocationGranularity(ctypes.byref(size), properties, 0)):
    assert code == 0, code
"""


class Guide:
    """A list of steps in a README: the text between its heading and the next one."""

    def __init__(self, path, heading):
        self.name = f"{path}: {heading}"
        self.text = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", (ROOT / path).read_text(),
                              re.MULTILINE | re.DOTALL).group(1)

    def names(self, path):
        """Whether a step names the file, or its folder's files by a pattern or a theme."""
        folder = str(path.parent)
        return path.name in self.text or any(
            path.match(f"**/{word}") for word in re.findall(r"`([\w./*-]+)`", self.text.replace("NAME", "*"))
        ) or f"{folder}/`" in self.text


class Copy:
    def __init__(self, folder):
        self.folder = folder
        files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True,
                               text=True).stdout.split("\0")
        subprocess.run(["tar", "-C", ROOT, "-cf", folder / "tree.tar", "--ignore-failed-read", "--null", "-T", "-"],
                       check=True, input="\0".join(filter(None, files)), text=True, stderr=subprocess.DEVNULL)
        subprocess.run(["tar", "-C", folder, "-xf", folder / "tree.tar"], check=True)
        self.edited = []

    def edit(self, path, before, text, take=""):
        """Put a text behind the last place that matches, and take another away."""
        file = self.folder / path
        old = file.read_text()
        place = [match.end() for match in re.finditer(before, old)][-1]
        new = old[:place] + text + old[place:]
        file.write_text(new.replace(take, "", 1) if take else new)
        self.edited.append(pathlib.Path(path))

    def write(self, path, text):
        (self.folder / path).write_text(text)
        self.edited.append(pathlib.Path(path))

    def check(self, what, guide, most):
        """What was edited since the last check stands in the guide, and is no more than its goal."""
        edited, self.edited = self.edited, []
        missing = [str(path) for path in edited if not guide.names(path)]
        if missing:
            sys.exit(f"{guide.name}: does not name {', '.join(missing)}")
        if len(edited) > most:
            sys.exit(f"{what}: {len(edited)} files, {most} are the goal: {', '.join(map(str, edited))}")
        print(f"{what}: {len(edited)} files, all in the guide")


def add_hook(copy):
    number = 1 + max(int(n) for n in re.findall(r"A\(\w+, (\d+),",
                                                (copy.folder / "trace-format/cuda-apis.h").read_text()))
    copy.edit("preload/hooks/hooks-memory.h", r"O\(X, cu_stream_destroy,.*\n.*\)\) *\\\n",
              '    O(X, cu_granularity, "cuMemGetAllocationGranularity", "cuMemGetAllocationGranularity", 10020, 0, \\\n'
              "      (void **size, const void *wanted, unsigned option), (size, wanted, option), \\\n"
              "      MADE(CU_GRANULARITY, size, 0)) \\\n")
    copy.edit("trace-format/cuda-apis.h", r'    A\(\w+, \d+, "\w+", \w+\)',
              f' \\\n    A(CU_GRANULARITY, {number}, "cuMemGetAllocationGranularity", STREAM)')
    copy.edit("preload/hooks/not-hooked.list", "^", "", take=HOOKED)
    copy.check("hook", Guide("preload/hooks/README.md", "How to add a hook"), 3)


def add_format(copy):
    csv = (copy.folder / "exchange/export/csv.c").read_text()
    copy.write("exchange/export/semicolons.c",
               csv.replace("mt_export_csv", "mt_export_semicolons").replace("','", "';'").replace('","', '";"'))
    copy.edit("exchange/meson.build", r"'export/csv.c',\n", "  'export/semicolons.c',\n")
    copy.edit("exchange/export/export.h", r"mt_export_csv\) *\\\n",
              "    F(semicolons, false, MT_ACCEPTS_FOR_TABLE, mt_export_semicolons) \\\n")
    copy.check("format", Guide("exchange/README.md", "How to add a format"), 3)


def add_column(copy):
    copy.edit("exchange/tables/tables.h", r'C\(SIZE, "size", INT64, false, "bytes", "size, as the allocator counts it"\) *\\\n',
              '    C(PAGES, "pages", INT64, false, "", "pages of 4 KiB that it begins") \\\n')
    copy.edit("exchange/tables/source-blocks.c", r"mt_columns_put\(columns, MT_BLOCKS_SIZE, [^;]*;\n",
              "    mt_columns_put(columns, MT_BLOCKS_PAGES, (int64_t)((block->size + 4095) / 4096));\n")
    copy.check("column", Guide("exchange/README.md", "How to add a column"), 2)


def add_evidence(copy):
    copy.edit("analyzer/model/heap.h", r'E\(SAVED, "saved for backward"\) *\\\n',
              '    E(SAVED_LARGE, "saved for backward, and large") \\\n')
    copy.edit("analyzer/classify/tracker.c", r"block->evidence \|= MT_SAW_SAVED;\n",
              "        block->evidence |= block->size > 4096 ? MT_SAW_SAVED_LARGE : 0;\n")
    copy.check("evidence", Guide("analyzer/classify/README.md", "How to add a piece of evidence"), 2)


# What autograd saved, as a part of the report: a query, its rows printed and as JSON.
PART = """/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/print/page.h"
#include "analyzer/query/query.h"
#include "report.h"

static int find(struct mt_sums *rows, const struct mt_analysis *analysis, const struct mt_device *device)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    const struct mt_query query = {&naming, {MT_BY_PLACE}, 1};
    int rc = 0;
    for (size_t i = 0; i < device->n_shown && !rc; i++)
        if (device->shown[i].block->evidence & MT_SAW_SAVED)
            rc = mt_query_add(rows, &query, &device->shown[i]);
    mt_sums_sort(rows);
    return rc;
}

void mt_page_saved(const struct mt_page *page, const struct mt_device *device)
{
    struct mt_sums rows = {0};
    if (!find(&rows, page->analysis, device))
        mt_page_list(page, "\\nSaved for backward", &rows);
    mt_sums_clear(&rows);
}

json_t *mt_json_saved(const struct mt_analysis *analysis, const struct mt_device *device)
{
    struct mt_sums rows = {0};
    json_t *object = find(&rows, analysis, device) ? json_null() : mt_json_sums(analysis->replay.definitions, &rows);
    mt_sums_clear(&rows);
    return object;
}
"""


def add_part(copy):
    copy.write("analyzer/report/report-saved.c", PART)
    copy.edit("analyzer/print/page.h", r"void mt_page_timeline\([^;]*;\n",
              "void mt_page_saved(const struct mt_page *page, const struct mt_device *device);\n")
    copy.edit("analyzer/report/report.h", r"json_t \*mt_json_host\([^;]*;\n",
              "json_t *mt_json_saved(const struct mt_analysis *analysis, const struct mt_device *device);\n")
    copy.edit("analyzer/report/report-text.c", r"\bmt_page_timeline,\n", "    mt_page_saved,\n")
    copy.edit("analyzer/meson.build", r"'report/report-precision\.c',\n", "  'report/report-saved.c',\n")
    copy.edit("analyzer/json/report-json.c", r'json_object_set_new\(object, "serving", [^;]*;\n',
              '        json_object_set_new(object, "saved", mt_json_saved(analysis, device));\n')
    copy.check("part of the report", Guide("HACKING.md", "How to add a part to the report"), 6)


def add_property(copy):
    copy.edit("analyzer/query/properties.h", r'P\(RULE, "rule", ""\) *\\\n', '    P(SIZE, "size", "") \\\n')
    copy.edit("analyzer/query/properties.c", r"    case MT_BY_PHASE:\n        return block->[^;]*;\n",
              "    case MT_BY_SIZE:\n        return (uint32_t)block->size;\n")
    copy.edit("analyzer/query/properties.c", r"    case MT_BY_RULE:\n        return mt_rule_at[^;]*;\n",
              '    case MT_BY_SIZE:\n        snprintf(room, MT_PROPERTY_TEXT, "%u bytes", number);\n        return room;\n')
    copy.check("property", Guide("analyzer/README.md", "How to add a property to group by"), 3)


def look(copy, make_traces):
    memtap = copy.folder / "build" / "tools" / "memtap"
    environment = os.environ | {"MEMTAP_NO_CONFIG": "1"}

    def run(*arguments):
        done = subprocess.run([memtap, *arguments], cwd=copy.folder / "build", env=environment, text=True,
                              stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"memtap {' '.join(map(str, arguments))}: exit code {done.returncode}")
        return done.stdout

    run("run", "--quiet", "--simulate", "rtx4090", "-o", "pool.mtap", "--", sys.executable, "-c", PROGRAM)
    subprocess.run([make_traces], cwd=copy.folder / "build", check=True)
    rows = run("export", "-f", "semicolons", "training.mtap").splitlines()
    column = rows[0].split(";").index("pages") if "pages" in rows[0].split(";") else None
    address = run("blocks", "-f", "csv", "--category", "activations", "training.mtap").splitlines()
    seen = {
        "hook": "cuMemGetAllocationGranularity" in run("dump", "pool.mtap"),
        "format": "semicolons" in run("export", "--help"),
        "column": column is not None and all(row.split(";")[column].isdigit() for row in rows[1:]) and len(rows) > 1,
        "part of the report": "Saved for backward: " in run("report", "training.mtap") and '"saved": {' in run(
            "report", "--format", "json", "training.mtap"),
        "property": " bytes\n" in run("report", "--by", "size", "training.mtap") and "size" in run("report", "--help"),
        "evidence": any("saved for backward, and large" in run("explain", "training.mtap", row.split(",")[3])
                        for row in address[1:]),
    }
    for what, is_seen in seen.items():
        print(f"{what}: {'seen' if is_seen else 'NOT SEEN'}")
    return all(seen.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", default="", help="folder of cuda.h; as meson's nvidia_include")
    parser.add_argument("--keep", help="make the copy in this new folder, and leave it there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary).resolve()
        folder.mkdir(exist_ok=True)
        copy = Copy(folder)
        for add in (add_hook, add_format, add_column, add_evidence, add_part, add_property):
            add(copy)
        build = folder / "build"
        subprocess.run(["meson", "setup", "-Dpage=disabled", f"-Dnvidia_include={arguments.include}", "-Dwerror=true",
                        build, folder], check=True, stdout=subprocess.DEVNULL)
        targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True,
                                 text=True).stdout
        libraries = re.findall(r"^(simulator/\S+\.so[\d.]*): ", targets, re.MULTILINE)
        subprocess.run(["ninja", "-C", build, "--quiet", "tools/memtap", "preload/libmemtap.so",
                        "tests/cli/make-traces", *libraries], check=True)
        sys.exit(0 if look(copy, build / "tests" / "cli" / "make-traces") else 1)


if __name__ == "__main__":
    main()
