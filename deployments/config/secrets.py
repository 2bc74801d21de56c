"""Secret settings: read from the environment or from files, and never handed from one process to another.

Ray stores what a deployment is given, and shows a part of it. So each process reads the secrets itself, where it runs,
and what is handed on says only which of them must be there.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

SECRETS_DIR = "JIYI_SECRETS_DIR"
"""The variable that names a folder of files, each called as the variable of a setting: `JIYI_ARANGO__PASSWORD`."""


class SecretsNotHere(ValueError):
    """A secret is set where the settings come from and not in this process; the message names it."""


def secrets_folder() -> Path | None:
    """The folder of files with settings; None where there is none."""
    given = os.environ.get(SECRETS_DIR)
    return Path(given).expanduser() if given else None


def variable_of(name: str) -> str:
    """The environment variable of a setting, as `arango.password`; also the name of its file."""
    return "JIYI_" + name.replace(".", "__").upper()


def secret_values(settings: BaseModel, prefix: str = "") -> dict[str, str]:
    """All secrets that are set, by the names of their settings."""
    found: dict[str, str] = {}
    for name, value in _fields(settings):
        if isinstance(value, BaseModel):
            found |= secret_values(value, f"{prefix}{name}.")
        elif isinstance(value, SecretStr) and value.get_secret_value():
            found[f"{prefix}{name}"] = value.get_secret_value()
    return found


def without_secrets(settings: BaseModel) -> dict[str, Any]:
    """All settings but secrets, as JSON values."""
    dumped = settings.model_dump(mode="json")
    _remove(settings, dumped)
    return dumped


def require_same(sent: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuses secrets that another process would not find: those that were given as arguments.

    Raises:
        ValueError: Says where they belong.
    """
    for name in sent:
        if sent[name] != here.get(name):
            raise ValueError(
                f"{name}: a secret is given by the variable {variable_of(name)}, or by a file of that name in the "
                f"folder that {SECRETS_DIR} names, and not among other settings: Ray stores those and shows them"
            )


def require_present(names: list[str], here: Mapping[str, str]) -> None:
    """Refuses to run without the secrets that the settings were made with.

    Raises:
        SecretsNotHere: Names the first that is missing.
    """
    for name in names:
        if name not in here:
            raise SecretsNotHere(
                f"{name}: neither {variable_of(name)} nor a file of that name in {SECRETS_DIR} is there; every machine "
                "that runs a part of the service needs it"
            )


def _fields(settings: BaseModel) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(settings, name)) for name in type(settings).model_fields)


def _remove(settings: BaseModel, dumped: dict[str, Any]) -> None:
    for name, value in _fields(settings):
        if isinstance(value, SecretStr):
            del dumped[name]
        elif isinstance(value, BaseModel):
            _remove(value, dumped[name])
