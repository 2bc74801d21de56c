"""On which addresses the service may listen without asking for credentials."""

from typing import Any

import pytest
from pydantic import ValidationError

from deployments.config.described import describe_settings
from deployments.config.exposure import Exposed, check_exposure
from deployments.config.settings import AppArgs


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST", None])
def test_loopback_is_open_by_default(host: str | None) -> None:
    check_exposure(AppArgs(), host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.5", "192.168.1.9", "jiyi.example.org", "localhost.example", ""]
)
def test_other_addresses_need_credentials_or_an_explicit_setting(host: str) -> None:
    with pytest.raises(Exposed, match="JIYI_AUTH__REQUIRED"):
        check_exposure(AppArgs(), host)
    check_exposure(AppArgs.model_validate({"auth": {"required": True}}), host)
    check_exposure(AppArgs.model_validate({"auth": {"open_on_network": True}}), host)


@pytest.mark.parametrize(
    "oidc",
    [
        {"issuer": "https://login.example"},
        {"issuer": "http://login.example", "audience": "jiyi"},
        {"issuer": "http://localhost.example", "audience": "jiyi"},
        {"issuer": "login.example", "audience": "jiyi"},
        {"issuer": "https://login.example", "audience": "jiyi", "app": "No App"},
    ],
)
def test_a_provider_that_could_not_be_trusted_is_refused(oidc: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AppArgs.model_validate({"oidc": oidc})


def test_the_admin_key_is_long_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError):
        AppArgs.model_validate({"auth": {"admin_key": "short"}})
    monkeypatch.setenv("JIYI_AUTH__ADMIN_KEY", "a-secret-of-at-least-32-characters")
    args = AppArgs()
    assert "a-secret" not in repr(args)
    [shown] = [setting for setting in describe_settings(args) if setting.name == "auth.admin_key"]
    assert (shown.value, shown.variable) == ("********", "JIYI_AUTH__ADMIN_KEY")
