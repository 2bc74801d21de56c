"""Every setting is described, says where its value comes from, and refuses a bad value by name."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from deployments.config.described import Setting, describe_settings, explain, sections
from deployments.config.settings import AppArgs


def described(args: AppArgs | None = None, given: dict[str, Any] | None = None) -> dict[str, Setting]:
    return {setting.name: setting for setting in describe_settings(args or AppArgs(), given=given)}


def test_every_field_of_every_section_has_a_description_and_says_what_is_allowed() -> None:
    without = [
        f"{section}.{name}"
        for section, model in sections().items()
        for name, field in model.model_fields.items()
        if not field.description and name not in sections()
    ]
    assert without == []
    assert [setting.name for setting in described().values() if not setting.allowed] == []


def test_every_time_and_every_deadline_says_its_unit() -> None:
    for name, setting in described().items():
        if (name.endswith("_s") and not name.endswith("_per_s")) or name.startswith("deadlines."):
            assert "econds" in setting.description, name


def test_a_setting_says_where_its_value_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_EMBEDDER__THREADS", "3")
    monkeypatch.setenv("JIYI_LIMITS", '{"burst": 7}')
    arguments = {"home": "/data", "embedder": {"device": "cpu"}}
    settings = described(AppArgs.model_validate(arguments), arguments)
    assert (settings["home"].source, settings["home"].value) == ("args", "/data")
    assert (settings["embedder.device"].source, settings["embedder.threads"].source) == ("args", "environment")
    assert (settings["embedder.threads"].variable, settings["embedder.threads"].value) == (
        "JIYI_EMBEDDER__THREADS",
        "3",
    )
    assert (settings["limits.burst"].source, settings["limits.burst"].value) == ("environment", "7")
    assert (settings["model"].source, settings["model"].value) == ("default", "multilingual-e5-small")


def test_bounds_and_choices_are_told() -> None:
    settings = described()
    assert settings["embedder.threads"].allowed == "integer ≥ 1"
    assert settings["embedder.gpus"].allowed == "number > 0, ≤ 1"
    assert settings["stores"].allowed == "embedded, servers"


def test_secrets_are_masked() -> None:
    arguments = {
        "arango": {"password": "secret-1"},
        "qdrant": {"api_key": "secret-2"},
        "redis_url": "redis://:secret-3@h",
    }
    settings = described(AppArgs.model_validate(arguments), arguments)
    assert "secret" not in str(settings)
    assert settings["arango.password"].value == settings["qdrant.api_key"].value == settings["redis_url"].value != ""
    assert described()["arango.password"].value == ""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"embedder": {"threads": 0}}, "embedder.threads (JIYI_EMBEDDER__THREADS): Input should be greater"),
        ({"hmoe": "/tmp"}, "hmoe (JIYI_HMOE): there is no such setting; allowed: home, cache, model"),
        ({"models": {"taggre": "off"}}, "models.taggre (JIYI_MODELS__TAGGRE): there is no such setting; allowed:"),
        ({"embedder": {"min_replicas": 3, "max_replicas": 2}}, "embedder.max_replicas: must be at least"),
        ({"review": {"schedule": "often"}}, "review.schedule: "),
        ({"stores": "redis"}, "stores (JIYI_STORES): Input should be 'embedded' or 'servers'; given: 'redis'"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_name_with_what_is_allowed(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        AppArgs.model_validate(wrong)
    assert explain(caught.value).startswith(message)


def test_settings_that_the_command_line_hands_on_are_the_same(tmp_path: Path) -> None:
    args = AppArgs.model_validate({"home": tmp_path, "deployments": {"Resolver": {"num_replicas": 2}}})
    assert AppArgs.received(args.to_send()) == args
