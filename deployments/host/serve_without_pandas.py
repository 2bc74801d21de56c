"""Imports Ray Serve without pandas, which takes 30 MiB of a process and which Serve only needs to encode data frames.

Ray imports this module first in each of its worker processes (`RAY_preload_python_modules`); later imports of pandas,
as by Ray Data, find it.
"""

import importlib
import sys

if "ray.serve" not in sys.modules and "pandas" not in sys.modules:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # makes `import pandas` fail
    try:
        importlib.import_module("ray.serve")
    finally:
        del sys.modules["pandas"]
