# SPDX-License-Identifier: Apache-2.0
"""The backend with which pip builds memtap: meson-python. pip shows only the names of its steps, so the metadata are a quick step of
their own, and only the wheel takes minutes. If a compiler or a library is missing, the last line names it and the command that installs it."""

import contextlib
import pathlib
import re
import subprocess
import sys

import mesonpy
import pyproject_metadata
from mesonpy import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

if sys.version_info < (3, 11):
    import tomli as tomllib  # meson-python brings it
else:
    import tomllib


@contextlib.contextmanager
def saying_what_is_missing():
    try:
        yield
    except BaseException:
        sys.stdout.flush()
        subprocess.run(["bash", "-c", "source tools/setup.sh; say_missing", "tools/build"], check=False)
        raise


def build_wheel(*arguments, **more):
    with saying_what_is_missing():
        return mesonpy.build_wheel(*arguments, **more)


def build_editable(*arguments, **more):
    with saying_what_is_missing():
        return mesonpy.build_editable(*arguments, **more)


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    metadata = pyproject_metadata.StandardMetadata.from_pyproject(
        tomllib.loads(pathlib.Path("pyproject.toml").read_text()), pathlib.Path()
    )
    metadata.version = re.search(r"version: '([^']+)'", pathlib.Path("meson.build").read_text())[1]
    info = pathlib.Path(folder, f"{metadata.name}-{metadata.version}.dist-info")
    info.mkdir()
    (info / "METADATA").write_bytes(bytes(metadata.as_rfc822()))
    return info.name
