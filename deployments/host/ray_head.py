"""`ray start` for the head of a home, without the parts of Ray that nobody here uses: `python -m …ray_head start …`."""

import importlib
from typing import Any

from . import start_worker

SERVE_WITHOUT_PANDAS = "deployments.host.serve_without_pandas"
START_HOOK = f"{__name__}.change_parameters"
"""For `RAY_START_HOOK`, by which Ray lets its parameters be changed."""


def change_parameters(parameters: Any, is_head: bool) -> None:
    """What `ray start` has no option for: no server of Ray Client, and workers that start in half the time."""
    parameters.ray_client_server_port = None
    parameters.setup_worker_path = start_worker.__file__


def main() -> None:
    """Runs the command line of Ray."""
    importlib.import_module(SERVE_WITHOUT_PANDAS)  # before Ray's command line imports Serve
    from ray.scripts.scripts import main as ray_main

    ray_main()


if __name__ == "__main__":
    main()
