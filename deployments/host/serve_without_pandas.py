"""Imports Ray Serve without pandas, which takes 30 MiB of a process and which Serve only needs to encode data frames.

Ray imports this module first in each of its worker processes (`RAY_preload_python_modules`), and the head and whoever
deploys import it before Ray; later imports of pandas, as by Ray Data, find it.
"""

import importlib
import sys

from .start_worker import SLOW

if "ray.serve" not in sys.modules and "pandas" not in sys.modules:
    hidden = [name for name in ("pandas", SLOW) if name not in sys.modules]
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]  # makes their imports fail
    try:
        importlib.import_module("ray.serve")
    finally:
        for name in hidden:
            del sys.modules[name]
