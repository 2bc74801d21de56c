"""LangGraph's own tests of its SQLite stores, from their source package, with `JiyiStore` in their place."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from testing.source_packages import source_package
from tests.deployments.loopback import on_loopback

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
DO_NOT_HOLD = {
    "test_store.py::test_vector_store_initialization": 1,
    "test_store.py::test_vector_search_with_filters": 1,
    "test_store.py::test_scores": 8,
    "test_store.py::test_nonnull_migrations": 1,
    "test_store.py::test_sql_injection_vulnerability": 2,
    "test_store.py::test_escape_glob_literal": 1,
    "test_store.py::test_namespace_match_pattern": 1,
    "test_store.py::test_list_namespaces_prefix_uses_indexable_condition": 1,
    "test_async_store.py::test_no_running_loop": 2,
    "test_async_store.py::test_vector_store_initialization": 1,
}
"""docs/how-to/langgraph.md says why, for each."""
HOLD = 121


@pytest.mark.slow
def test_their_store_tests_hold_but_for_those_that_the_guide_names() -> None:
    root = source_package("langgraph-checkpoint-sqlite", "3.1.2")
    with on_loopback() as url:
        printed = _run(root, {"JIYI_URL": url})
    failed = Counter(re.findall(r"^FAILED tests/(\S+?::\w+)", printed, re.MULTILINE))
    assert failed == DO_NOT_HOLD, printed
    assert f"{HOLD} passed" in printed, printed


def _run(root: Path, variables: dict[str, str]) -> str:
    """What pytest prints; it runs in their folder, where `tests` is theirs, and knows nothing of our settings."""
    paths = os.pathsep.join(map(str, (root, HERE, REPOSITORY)))
    settings = ["-c", os.devnull, "--rootdir", str(root), "-o", "asyncio_mode=auto"]
    command = [sys.executable, "-m", "pytest", "-p", "stand_in", "-p", "no:cacheprovider", *settings]
    chosen = ["tests/test_store.py", "tests/test_async_store.py", "-k", "not large_batches"]
    done = subprocess.run(
        [*command, "-q", "--tb=line", "-rf", *chosen],
        cwd=root,
        env=os.environ | variables | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
