"""A service with every setting that its tests need: one for all of them, which ends with the last."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis
from redis.exceptions import RedisError

from deployments.config.described import sections
from deployments.config.secrets import SECRETS_DIR, variable_of
from deployments.host.cluster import free_ports
from storage.redis.binary import find_server_binary
from testing.language_model_server import LanguageModelServer
from tests.e2e.conftest import Service

_EVERY_ADDRESS = "0.0.0.0"
_REDIS_PASSWORD = "distinctive-redis-password"
_SETTINGS = {
    "JIYI_LOG_LEVEL": "debug",
    "JIYI_AUTH__REQUIRED": "true",
    "JIYI_AUTH__KEY_CACHE_S": "1",
    "JIYI_LANGUAGE_MODEL__MODEL": "tiny",
    "JIYI_LANGUAGE_MODEL__MAX_RETRIES": "0",
    "JIYI_LANGUAGE_MODEL__TIMEOUT_S": "5",
    "JIYI_LANGUAGE_MODEL__ANSWER_QUESTIONS": "false",  # so that memories are quoted
}


@pytest.fixture(scope="package")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The secret settings by name, each with a value of its own."""
    names = [
        f"{section}.{name}".removeprefix(".")
        for section, model in sections().items()
        for name, field in model.model_fields.items()
        if "SecretStr" in str(field.annotation)
    ]
    values = {name: f"distinctive-{index}-{'x' * 32}" for index, name in enumerate(names)}
    socket = tmp_path_factory.mktemp("redis") / "s"
    values["encryption_key"] = f"{('distinctive' * 4)[:42]}A="  # 32 bytes in base64
    return values | {"redis_url": f"unix://:{_REDIS_PASSWORD}@{socket}"}


@pytest.fixture(scope="package")
def redis_password() -> str:
    """What `redis` asks for."""
    return _REDIS_PASSWORD


@pytest.fixture(scope="package")
def redis(secrets: Mapping[str, str]) -> Iterator[Redis]:
    """The server of the sessions; it asks for a password."""
    socket = secrets["redis_url"].partition("@")[2]
    command = [str(find_server_binary()), "--port", "0", "--unixsocket", socket, "--requirepass", _REDIS_PASSWORD]
    server = subprocess.Popen([*command, "--save", ""], cwd=Path(socket).parent, stdout=subprocess.DEVNULL)
    with Redis.from_url(secrets["redis_url"]) as client:
        while True:
            try:
                client.ping()
                break
            except RedisError:
                assert server.poll() is None
                time.sleep(0.05)
        yield client
    server.kill()
    server.wait()


@pytest.fixture(scope="package")
def language_model(secrets: Mapping[str, str]) -> Iterator[LanguageModelServer]:
    """The endpoint of the language model; it asks for a key, and finds nothing until a test has it find something."""
    with LanguageModelServer(key=secrets["language_model.api_key"]) as server:
        server.otherwise = _nothing
        yield server


def _nothing(body: dict[str, Any]) -> str:
    is_summary = body["response_format"]["json_schema"]["name"] == "category_summary"
    return json.dumps({"summary": "Nothing is known."} if is_summary else {"facts": []})


@pytest.fixture(scope="package")
def configured(
    tmp_path_factory: pytest.TempPathFactory,
    secrets: Mapping[str, str],
    redis: Redis,
    language_model: LanguageModelServer,
) -> Iterator[Service]:
    """The service; its clients have an admin's key that was made before its first start.

    It listens on every address, asks for credentials, encrypts its stores, has a language model and a Redis elsewhere,
    and a secret in every setting that takes one, from files.
    """
    folder = tmp_path_factory.mktemp("secrets")
    for name, value in secrets.items():
        (folder / variable_of(name)).write_text(f"{value}\n")
    home = tmp_path_factory.mktemp("home")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JIYI_")}
    given = {"JIYI_HOME": str(home), SECRETS_DIR: str(folder), "JIYI_LANGUAGE_MODEL__BASE_URL": language_model.url}
    started = Service(home, free_ports(1)[0], environment | _SETTINGS | given)
    started.api_key = json.loads(started.command("keys", "create", "operator", "--admin", "--json"))["secret"]
    started.environment["JIYI_API_KEY"] = started.api_key
    try:
        started.up("--host", _EVERY_ADDRESS)
        yield started
    finally:
        started.down()


@pytest.fixture
def http(configured: Service) -> Iterator[httpx.Client]:
    with configured.http() as client:
        yield client
