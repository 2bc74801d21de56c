"""A worker of Ray is started in the process that sets up its environment, and imports Ray once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deployments.host import start_worker
from deployments.host.start_worker import plain_worker

_WORKER = """
import json, os, sys
print(json.dumps({
    "arguments": sys.argv[1:], "variable": os.environ.get("OF_WORKER"), "ray": "ray" in sys.modules,
    "slow": sys.modules.get("rfc3987_syntax", "free") is not None,
}))
sys.exit(3)
"""


def _start(tmp_path: Path, context: object) -> subprocess.CompletedProcess[str]:
    worker = tmp_path / "worker.py"
    worker.write_text(_WORKER)
    command = [sys.executable, start_worker.__file__, f"--serialized-runtime-env-context={json.dumps(context)}"]
    return subprocess.run(
        [*command, "--language=PYTHON", str(worker), "--a=1"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )


def test_a_worker_has_its_variables_and_runs_before_anything_imports_ray(tmp_path: Path) -> None:
    started = _start(tmp_path, {"env_vars": {"OF_WORKER": "yes"}})
    assert started.returncode == 3, started.stderr
    assert json.loads(started.stdout) == {"arguments": ["--a=1"], "variable": "yes", "ray": False, "slow": False}


def test_a_worker_that_wants_more_than_variables_is_set_up_by_ray(tmp_path: Path) -> None:
    started = _start(tmp_path, {"command_prefix": ["OF_WORKER=prefixed"]})
    assert started.returncode == 3, started.stderr
    assert json.loads(started.stdout) == {"arguments": ["--a=1"], "variable": "prefixed", "ray": False, "slow": True}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--language=JAVA", "worker"],
        ["worker"],
        ['--serialized-runtime-env-context={"override_worker_entrypoint": "/a"}', "--language=PYTHON", "worker"],
        ['--serialized-runtime-env-context={"py_executable": "/other/python"}', "--language=PYTHON", "worker"],
    ],
)
def test_other_workers_are_none_of_ours(arguments: list[str]) -> None:
    assert plain_worker(arguments) == ({}, [])


def test_rays_arguments_are_those_that_are_read() -> None:
    """Ray passes them in this form: `raylet`'s own strings are compiled, its script is not."""
    from ray._private.workers import setup_worker

    options = setup_worker.parser._option_string_actions
    assert {"--serialized-runtime-env-context", "--language"} == {
        name for name in options if name not in ("-h", "--help")
    }
