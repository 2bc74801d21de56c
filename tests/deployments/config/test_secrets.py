"""Every secret setting, found by its type: from the environment or a file, and shown nowhere."""

import json
import logging
import pickle
import re
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import SecretStr, ValidationError
from pydantic_settings import SettingsError
from ray import cloudpickle

from deployments.app import build_app
from deployments.builders.storage.stores import open_record, open_redis, qdrant_settings
from deployments.config.described import describe_settings, explain, sections
from deployments.config.secrets import SECRETS_DIR, SecretsNotHere, secret_values, variable_of
from deployments.config.serve_file import read_serve_file
from deployments.config.settings import AppArgs
from deployments.http.support.problems import problem
from deployments.telemetry.logs import configure_logs
from jiyi.service import BadSettings, load_settings, start
from memory.values.errors import StoreUnavailable
from storage.qdrant.vectors import QdrantVectors
from storage.redis.sessions import RedisSessions

_SOUNDS_SECRET = re.compile(r"(password|secret|token|api_key|admin_key|key|redis_url)$")


def _names() -> list[str]:
    return [
        f"{section}.{name}".removeprefix(".")
        for section, model in sections().items()
        for name, field in model.model_fields.items()
        if "SecretStr" in str(field.annotation)
    ]


SECRETS = {name: f"distinctive-{index}-{'x' * 32}-secret" for index, name in enumerate(_names())}
"""A value for each; none is accepted where it must be something else, which tests that errors hide it."""
SECRETS["redis_url"] = "redis://:distinctive-redis-secret@127.0.0.1:1/0"
SECRETS["encryption_key"] = f"{('distinctive' * 4)[:42]}A="  # 32 bytes in base64


@pytest.fixture(params=["environment", "files"])
def given(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All secrets, in one of the two ways; returns which."""
    if request.param == "environment":
        for name, value in SECRETS.items():
            monkeypatch.setenv(variable_of(name), value)
    else:
        folder = tmp_path / "secrets"
        folder.mkdir()
        monkeypatch.setenv(SECRETS_DIR, str(folder))
        for name, value in SECRETS.items():
            (folder / variable_of(name)).write_text(value + "\n")
    return str(request.param)


def nested(name: str, value: Any) -> Any:
    """The arguments that give a setting this value."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return value


def assert_hidden(*shown: object) -> None:
    for text in map(str, shown):
        for secret in ["distinctive", *SECRETS.values()]:
            assert secret not in text


def test_every_setting_that_sounds_secret_is() -> None:
    assert {"arango.password", "qdrant.api_key", "redis_url"} <= SECRETS.keys()
    for section, model in sections().items():
        for name, field in model.model_fields.items():
            if _SOUNDS_SECRET.search(name):
                assert "SecretStr" in str(field.annotation), f"{section}.{name}"


def test_each_comes_from_the_environment_or_a_file(given: str) -> None:
    args = AppArgs()
    assert secret_values(args) == SECRETS
    described = {setting.name: setting for setting in describe_settings(args)}
    assert {described[name].source for name in SECRETS} == {given.removesuffix("s")}
    assert {described[name].value for name in SECRETS} == {"********"}


def test_the_environment_goes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jiyi_arango__password").write_text("of the file")
    (tmp_path / "something else").write_text("ignored")
    monkeypatch.setenv(SECRETS_DIR, str(tmp_path))
    assert AppArgs().arango.password == SecretStr("of the file")
    monkeypatch.setenv("JIYI_ARANGO__PASSWORD", "of the variable")
    assert AppArgs().arango.password == SecretStr("of the variable")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRETS_DIR, str(tmp_path / "none"))
    with pytest.raises(SettingsError, match="none"):
        AppArgs()
    with pytest.raises(BadSettings, match="none"):
        load_settings(None)


@pytest.mark.usefixtures("given")
def test_none_is_shown_by_the_settings(tmp_path: Path) -> None:
    args = AppArgs(home=tmp_path)
    assert_hidden(repr(args), str(args), args.model_dump(), args.model_dump_json(), describe_settings(args))
    assert_hidden(json.dumps(args.to_send()), pickle.dumps(args), AppArgs.model_json_schema())


@pytest.mark.usefixtures("given")
def test_none_is_in_what_ray_gets(tmp_path: Path) -> None:
    graph: Any = build_app(AppArgs(home=tmp_path))
    assert_hidden(cloudpickle.dumps(graph), graph)
    deployment = graph._bound_deployment
    assert_hidden(deployment._deployment_config.user_config, deployment._replica_config.ray_actor_options)


@pytest.mark.usefixtures("given")
def test_a_replica_reads_them_itself(tmp_path: Path) -> None:
    args = AppArgs(home=tmp_path, confidence_floor=0.3)
    assert pickle.loads(pickle.dumps(args)) == AppArgs.received(args.to_send()) == args
    assert cloudpickle.loads(cloudpickle.dumps(partial(open_redis, args))).args == (args,)


def test_a_replica_without_them_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_ARANGO__PASSWORD", "distinctive")
    sent = AppArgs().to_send()
    monkeypatch.delenv("JIYI_ARANGO__PASSWORD")
    with pytest.raises(SecretsNotHere, match="JIYI_ARANGO__PASSWORD") as caught:
        AppArgs.received(sent)
    assert_hidden(caught.value)


@pytest.mark.parametrize("name", SECRETS)
def test_none_may_stand_in_a_config_file(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    args = nested(name, SECRETS[name])
    file = tmp_path / "serve.yaml"
    file.write_text(json.dumps({"applications": [{"import_path": "deployments.app:build_app", "args": args}]}))
    settings = load_settings(tmp_path / "home", read_serve_file(file).args)
    with pytest.raises(BadSettings, match=variable_of(name)) as refused:
        start(settings, host="127.0.0.1", port=1, timeout_s=1, on_wait=lambda _: None)
    with pytest.raises(ValueError, match=variable_of(name)) as built:
        build_app(settings)
    assert_hidden(*(line for error in (refused, built) for line in traceback.format_exception(error.value)))
    assert_hidden(*capfd.readouterr())


@pytest.mark.parametrize(
    "variables",
    [
        {"JIYI_ARANGO": '{"password": "distinctive", "deadline_s": "soon"}'},
        {"JIYI_ARANGO": '{"pasword": "distinctive"}'},
        {"JIYI_ARANGO": '["distinctive"]'},
        {"JIYI_ARANGO": '{"password": "distinctive"'},
        {"JIYI_ARANGO__PASWORD": "distinctive"},
        {"JIYI_ARANGO__PASSWORD": '["distinctive"]', "JIYI_ARANGO__DEADLINE_S": "0"},
    ],
)
def test_none_is_in_the_error_about_a_bad_setting(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((ValidationError, SettingsError)) as caught:
        AppArgs()
    assert_hidden(*traceback.format_exception(caught.value))
    with pytest.raises(BadSettings) as refused:
        load_settings(None)
    assert_hidden(*traceback.format_exception(refused.value), caplog.text)


def test_an_error_about_a_secret_does_not_quote_it() -> None:
    for name in SECRETS:
        wrong = nested(name, ["distinctive"])
        with pytest.raises(ValidationError) as caught:
            AppArgs.model_validate(wrong)
        assert variable_of(name) in explain(caught.value)
        assert_hidden(explain(caught.value), *traceback.format_exception(caught.value))


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    yield configure_logs(tmp_path / "logs", "ingress", "debug")
    structlog.reset_defaults()
    for name in ("memory", "models", "storage", "documents", "deployments", "jiyi", "__main__"):
        for handler in logging.getLogger(name).handlers:
            handler.close()
        logging.getLogger(name).handlers = []


def test_a_logged_traceback_has_no_values_of_variables(log_file: Path) -> None:
    def connect(password: str) -> None:
        url = f"redis://:{password}@nowhere"
        raise ConnectionError(f"no connection, {len(url)} characters")

    for log in (structlog.get_logger("storage.redis.client"), logging.getLogger("storage.redis.client")):
        try:
            connect("distinctive")
        except ConnectionError:
            log.exception("redis_lost")
    logged = log_file.read_text()
    assert logged.count("no connection") == 2
    assert "connect" in logged
    assert_hidden(logged)


@pytest.mark.usefixtures("given")
async def test_no_client_of_a_store_shows_one(tmp_path: Path, log_file: Path) -> None:
    """Nothing listens at these addresses: what is raised, logged and shown is what an operator would see."""
    unreachable = {"url": "http://127.0.0.1:1"}
    args = AppArgs.model_validate(
        {
            "home": tmp_path,
            "stores": "servers",
            "arango": unreachable,
            "qdrant": unreachable,
            "deadlines": {"vectors": 1},
        }
    )
    redis, record = open_redis(args), open_record(args, durable=False)
    vectors = QdrantVectors.connect(qdrant_settings(args), model_id="m", dimension=2)
    commands = redis.commands
    shown: list[object] = [redis, commands, commands.connection_pool, record, vectors, qdrant_settings(args)]
    for call in (RedisSessions(redis).load("s", user_id="u"), vectors.ping(), record.ping()):
        with pytest.raises(StoreUnavailable) as caught:
            await call
        try:
            raise caught.value
        except StoreUnavailable as error:
            shown.extend([*traceback.format_exception(error), vars(error), problem(error)])
            structlog.get_logger("storage").exception("store_failed", error=error.message)
    for store in (redis, record, vectors):
        await store.close()
    assert_hidden(*shown, log_file.read_text())  # noqa: ASYNC240
    assert log_file.read_text().count("store_failed") == 3  # noqa: ASYNC240
