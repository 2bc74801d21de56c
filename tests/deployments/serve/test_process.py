"""The memory of a replica's process."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_FRAGMENTS = """
import ctypes, sys, threading, time
from deployments.serve import process

process._TRIM_EVERY_S = 0.1
if sys.argv[1] == "bounded":
    process.bound_memory()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]


def anonymous_kib():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous"))


def fragment():
    blocks = [library.malloc(60_000) for _ in range(1000)]  # below the size for which glibc asks the system
    for block in blocks:
        ctypes.memset(block, 1, 60_000)
    for number, block in enumerate(blocks):
        if number % 10:
            library.free(block)
    time.sleep(3)


before = anonymous_kib()
thread = threading.Thread(target=fragment)
thread.start()
thread.join()
print((anonymous_kib() - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
@pytest.mark.parametrize(("how", "least", "most"), [("bounded", 0, 25), ("plain", 40, 100)])
def test_memory_that_is_free_goes_back_to_the_system(how: str, least: int, most: int) -> None:
    done = subprocess.run([sys.executable, "-c", _FRAGMENTS, how], check=True, capture_output=True, text=True, cwd=ROOT)
    assert least <= int(done.stdout) <= most


def test_the_caches_of_compiled_code_are_bounded_unless_the_environment_says_otherwise() -> None:
    program = (
        "import os; os.environ['LRU_CACHE_CAPACITY'] = '7'; from deployments.serve.process import bound_memory;"
        "bound_memory(); print(os.environ['ONEDNN_PRIMITIVE_CACHE_CAPACITY'], os.environ['LRU_CACHE_CAPACITY'])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["256", "7"]
