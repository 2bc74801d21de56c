"""Starts a worker of Ray in the process in which its environment is set up.

Ray's own file for that (`setup_worker_path`) imports Ray to read one argument, and then starts Python again, which
imports Ray once more: half a second of a core for each replica that is started. This file reads the argument itself. It
runs Ray's own file for a worker that wants more than variables, such as a container.
"""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

_CONTEXT = "--serialized-runtime-env-context="
_LANGUAGE = "--language="
SLOW = "rfc3987_syntax"
"""Where it is installed (as with cyclonedx-bom), jsonschema imports it, and with that Ray: a second to compile a
grammar of URLs, which nothing here checks."""


def main() -> None:
    """Runs the worker that the arguments name."""
    variables, worker = plain_worker(sys.argv[1:])
    if worker:
        os.environ.update(variables)
        sys.modules.setdefault(SLOW, None)  # type: ignore[arg-type]  # makes its import fail
        sys.argv = worker
    else:
        from ray._private.workers import setup_worker

        sys.argv[0] = str(setup_worker.__file__)
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


def plain_worker(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The variables of a worker and its own arguments; none where it is more than this Python with variables."""
    context: dict[str, Any] = {}
    language = ""
    worker = []
    for argument in arguments:
        if argument.startswith(_CONTEXT):
            context = json.loads(argument.removeprefix(_CONTEXT) or "{}")
        elif argument.startswith(_LANGUAGE):
            language = argument.removeprefix(_LANGUAGE)
        else:
            worker.append(argument)
    is_plain = (
        language == "PYTHON"
        and not context.get("command_prefix")
        and not context.get("override_worker_entrypoint")
        and context.get("py_executable", sys.executable) == sys.executable
    )
    return (context.get("env_vars", {}), worker) if is_plain else ({}, [])


if __name__ == "__main__":
    main()
