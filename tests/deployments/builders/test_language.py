"""Trained models in their deployments: which of them run, and what a broken weight file does."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from deployments.app import build_app
from deployments.builders.language import is_on, make_extractor, make_reranker, running_extraction_version
from deployments.config.settings import AppArgs, ModelArgs
from deployments.serve.turn import ExtractorDeployment, LanguageParts
from memory.extraction.extractor import RuleExtractor
from tests.deployments.builders.graph import bound_factory


def settings(tmp_path: Path, **models: Any) -> AppArgs:
    return AppArgs(home=tmp_path / "home", cache=tmp_path / "cache", models=ModelArgs(weights=tmp_path, **models))


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    """A weight file of which a byte has changed since its checksum was taken."""
    file = tmp_path / "tagger.safetensors"
    file.write_bytes(b"what was trained")
    file.with_suffix(".json").write_text(json.dumps({"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}))
    file.write_bytes(b"what was tra1ned")
    return file


def extractor_parts(args: AppArgs) -> LanguageParts[Any]:
    return make_extractor(args)


class Deployment(ExtractorDeployment):
    """Ends when a test says so: an object that goes away awaits nothing."""

    def __del__(self) -> None:  # type: ignore[override]
        pass


@pytest.mark.parametrize(
    ("setting", "there", "expected"), [("auto", True, True), ("auto", False, False), ("off", True, False)]
)
def test_a_model_runs_where_it_is_on_and_has_weights(tmp_path: Path, setting: str, there: bool, expected: bool) -> None:
    if there:
        (tmp_path / "tagger.safetensors").touch()
    assert is_on(settings(tmp_path, tagger=setting), "tagger") is expected


@pytest.mark.parametrize(
    ("reranker", "expected"), [("off", False), ("builtin", True), ("BAAI/bge-reranker-base", True)]
)
def test_the_reranker_runs_where_somebody_asks_for_it(tmp_path: Path, reranker: str, expected: bool) -> None:
    assert is_on(settings(tmp_path, reranker=reranker), "reranker") is expected


@pytest.mark.parametrize("wrong", [{"tagger": "on"}, {"reranker": "bge"}, {"threads": 0}, {"taggre": "off"}], ids=str)
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(tmp_path, **wrong)


def test_settings_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_MODELS__TAGGER", "off")
    monkeypatch.setenv("JIYI_MODELS__THREADS", "2")
    assert (AppArgs().models.tagger, AppArgs().models.threads, AppArgs().models.rewriter) == ("off", 2, "auto")


def test_a_bare_off_in_yaml_is_off(tmp_path: Path) -> None:
    models = settings(tmp_path, **yaml.safe_load("{tagger: off, rewriter: off, reranker: off}")).models
    assert (models.tagger, models.rewriter, models.reranker) == ("off", "off", "off")


async def test_without_weights_the_rules_answer_and_nothing_is_wrong(tmp_path: Path) -> None:
    deployment = Deployment(parts=lambda: extractor_parts(settings(tmp_path)))
    assert await deployment.stats() == {"tagger_loaded": 0.0}
    [extraction] = await deployment.extract(["我們用 RM05-008 測試。"], None)
    assert [mention.text for mention in extraction.mentions] == ["RM05-008"]
    assert extraction.degraded == ()


@pytest.mark.parametrize("shipped", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_an_extraction_carries_the_version_that_the_learner_expects(tmp_path: Path, shipped: bool) -> None:
    args = AppArgs(home=tmp_path / "home") if shipped else settings(tmp_path)
    deployment = Deployment(parts=lambda: extractor_parts(args))
    [extraction] = await deployment.extract(["我們用 RM05-008 測試。"], None)
    assert extraction.is_by(running_extraction_version(args))
    assert ("+" in extraction.version) is shipped
    await deployment._models.close()


async def test_a_corrupt_weight_file_degrades_to_rules_and_is_told(tmp_path: Path, corrupt: Path) -> None:
    deployment = Deployment(parts=lambda: extractor_parts(settings(tmp_path)))
    text = "Alice 在台北上班。"
    [extraction] = await deployment.extract([text], None)
    [ruled] = await RuleExtractor().extract([text])
    assert extraction.mentions == ruled.mentions
    assert extraction.degraded == ("tagger",)
    stats = await deployment.stats()
    assert (stats["status"], stats["tagger_loaded"], stats["tagger_failures"]) == ("degraded", 0.0, 1)
    assert f"{corrupt} is corrupt" in str(stats["error"])
    deployment.check_health()


@pytest.mark.parametrize(("reranker", "bound"), [("off", False), ("builtin", True)])
def test_the_graph_has_a_reranker_only_where_one_is_on(tmp_path: Path, reranker: str, bound: bool) -> None:
    app = build_app(settings(tmp_path, reranker=reranker))
    parts = bound_factory(app, "services").keywords["parts"]
    assert ("reranker" in parts) is bound
    assert ("reranker" in bound_factory(parts["retriever"], "retriever").keywords) is bound


async def test_a_reranker_that_is_asked_for_and_has_no_weights_is_told(tmp_path: Path) -> None:
    parts = make_reranker(settings(tmp_path, reranker="builtin"))
    figures = parts.models.figures()
    assert figures["status"] == "degraded"
    assert "reranker.safetensors" in str(figures["error"])
