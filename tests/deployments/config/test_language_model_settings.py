"""The endpoints of the language model: off by default, complete where they are set."""

import pytest
from pydantic import SecretStr, ValidationError

from deployments.config.described import explain, sections
from deployments.config.settings import AppArgs

URL = "http://127.0.0.1:11434/v1"


def test_none_is_set_by_default() -> None:
    assert AppArgs().language_model.endpoints == ()


def test_three_come_from_variables_each_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("", "SECOND__", "THIRD__"):
        for name, value in (("BASE_URL", URL), ("MODEL", f"m{place}"), ("API_KEY", f"distinctive{place}")):
            monkeypatch.setenv(f"JIYI_LANGUAGE_MODEL__{place}{name}", value)
    args = AppArgs()
    assert [endpoint.model for endpoint in args.language_model.endpoints] == ["m", "mSECOND__", "mTHIRD__"]
    assert args.language_model.third.api_key == SecretStr("distinctiveTHIRD__")
    assert "distinctive" not in str(args.to_send())
    assert args.to_send()["secrets"] == [
        "language_model.api_key",
        "language_model.second.api_key",
        "language_model.third.api_key",
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"base_url": URL}, "language_model.model"),
        ({"base_url": "localhost:11434", "model": "m"}, "http://"),
        ({"base_url": "ftp://host/v1", "model": "m"}, "http://"),
        ({"base_url": "https://name:distinctive@host/v1", "model": "m"}, "language_model.api_key"),
        ({"base_url": "https://host/v1?key=distinctive", "model": "m"}, "language_model.api_key"),
        ({"second": {"base_url": URL, "model": "m"}}, "language_model.base_url"),
        ({"second": {"api_key": ["distinctive"]}}, "language_model.second.api_key"),
    ],
)
def test_what_cannot_work_is_refused_and_no_key_is_shown(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        AppArgs.model_validate({"language_model": given})
    assert problem in explain(caught.value)
    assert "distinctive" not in explain(caught.value)


def test_sections_inside_sections_are_described() -> None:
    assert {"language_model", "language_model.second", "language_model.third"} <= sections().keys()
