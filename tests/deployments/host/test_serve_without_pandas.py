"""What Ray imports first in its workers: Serve without pandas, which Ray Data finds all the same."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from deployments.host.cluster import RAY_ENVIRONMENT

ROOT = Path(__file__).parents[3]


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()


def test_serve_is_imported_without_pandas_which_can_be_imported_later() -> None:
    module = RAY_ENVIRONMENT["RAY_preload_python_modules"]
    assert find_spec(module)
    program = (
        f"import sys, {module}; print('ray.serve' in sys.modules, sorted({{'pandas', 'pyarrow'}} & set(sys.modules)));"
        "import pandas; print(pandas.DataFrame.__name__)"
    )
    assert run(program).splitlines() == ["True []", "DataFrame"]


def test_no_grammar_of_urls_is_compiled_where_jsonschema_would() -> None:
    program = (
        f"import sys, {RAY_ENVIRONMENT['RAY_preload_python_modules']}; import jsonschema;"
        "print([name for name in sys.modules if name.startswith('rfc3987_syntax')])"
    )
    assert run(program) == "[]"


def test_where_pandas_is_there_already_nothing_changes() -> None:
    program = (
        f"import pandas, {RAY_ENVIRONMENT['RAY_preload_python_modules']}; import sys; print('pandas' in sys.modules)"
    )
    assert run(program) == "True"
