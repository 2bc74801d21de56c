"""The settings in a config file of Ray Serve, for `jiyi up --config serve_config.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

_IMPORT_PATH = "deployments.app:build_app"


@dataclass(frozen=True)
class ServeFile:
    """The `args:` and the HTTP address of the application in a config file."""

    args: dict[str, Any]
    host: str
    port: int


def read_serve_file(path: Path) -> ServeFile:
    """Reads a config file as `serve run` does.

    Raises:
        ValueError: It is no config file of Serve, has another application than ours, or has options that only
            `serve run` can follow.
    """
    from ray.serve.schema import ServeDeploySchema

    try:
        config = ServeDeploySchema.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError) as error:
        raise ValueError(f"{path} is no config file of Ray Serve: {error}") from error
    if [application.import_path for application in config.applications] != [_IMPORT_PATH]:
        raise ValueError(f"{path}: there must be one application, with import_path {_IMPORT_PATH}")
    [application] = config.applications
    if application.deployments:
        raise ValueError(f"{path}: write the options of deployments under args: deployments:, by name")
    return ServeFile(dict(application.args), config.http_options.host, config.http_options.port)
