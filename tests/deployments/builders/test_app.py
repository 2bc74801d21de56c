"""The builder: YAML and settings in, a graph out, checked before anything starts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from ray.serve import Application
from ray.serve.schema import ServeDeploySchema

from deployments.app import build_app
from deployments.config.settings import AppArgs
from memory.values.errors import ModelUnavailable

ROOT = Path(__file__).parents[3]


def test_serve_config_yaml_names_this_builder_with_valid_arguments(tmp_path: Path) -> None:
    config = ServeDeploySchema.model_validate(yaml.safe_load((ROOT / "serve_config.yaml").read_text()))
    [application] = config.applications
    assert application.import_path == f"{build_app.__module__}:{build_app.__name__}"
    args = AppArgs.model_validate(application.args | {"home": str(tmp_path)})
    assert isinstance(build_app(args), Application)


@pytest.mark.parametrize(
    "wrong",
    [{"hmoe": "/tmp"}, {"embedder": {"threads": 0}}, {"embedder": {"min_replicas": 3, "max_replicas": 2}}],
    ids=str,
)
def test_wrong_arguments_are_refused_before_anything_starts(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AppArgs.model_validate(wrong)


def test_arguments_win_over_the_environment_and_that_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_HOME", "/from/environment")
    monkeypatch.setenv("JIYI_EMBEDDER__THREADS", "3")
    assert AppArgs.model_validate({}).data_home == Path("/from/environment")
    assert AppArgs.model_validate({}).embedder.threads == 3
    assert AppArgs.model_validate({"home": "/from/args"}).data_home == Path("/from/args")


def test_an_unknown_model_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="multilingual-e5-small"):
        build_app(AppArgs(home=tmp_path, model="no-such-model"))
