"""`ray start` for the head of a home, without the parts of Ray that nobody here uses: `python -m …ray_head start …`."""

import importlib
from typing import Any

SERVE_WITHOUT_PANDAS = "deployments.host.serve_without_pandas"
START_HOOK = f"{__name__}.without_client_server"
"""For `RAY_START_HOOK`, by which Ray lets its parameters be changed."""


def without_client_server(parameters: Any, is_head: bool) -> None:
    """Keeps Ray from starting the server of Ray Client, for which `ray start` has no option."""
    parameters.ray_client_server_port = None


def main() -> None:
    """Runs the command line of Ray."""
    importlib.import_module(SERVE_WITHOUT_PANDAS)  # before Ray's command line imports Serve
    from ray.scripts.scripts import main as ray_main

    ray_main()


if __name__ == "__main__":
    main()
