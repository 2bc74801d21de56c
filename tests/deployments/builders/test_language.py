"""Trained models in their deployments: which of them run, and what a broken weight file does."""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from deployments.app import build_app
from deployments.builders.models import language
from deployments.builders.models.language import (
    answer_with_model,
    is_on,
    make_answers,
    make_extractor,
    make_fact_reader,
    make_reranker,
    make_resolver,
    make_summary_writer,
    open_language_model,
    running_extraction_version,
)
from deployments.config.model_settings import ModelArgs
from deployments.config.settings import AppArgs
from deployments.serve.turn import ExtractorDeployment, LanguageParts, ResolverDeployment
from memory.answering.answers import Answerer
from memory.answering.extractive import ExtractiveAnswerer
from memory.answering.grounded import GroundedAnswerer
from memory.coreference.context import reading_context
from memory.extraction.extractor import ReadingExtractor
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.language import FactReader, Priority
from memory.ports.models.summaries import SummaryWriter
from memory.prompting.facts import ModelFactReader
from memory.tiers.summaries import ExtractiveWriter
from memory.values.base import utc_now
from memory.values.errors import ModelUnavailable
from memory.values.hits import CosineBounds
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context, ReadRequest
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest
from models.assets.weight_files import shipped_weight_file
from models.batching.batched_model import BatchedModel, ModelFacts
from models.reader.reader import PreparedMessage
from testing.fakes.answer_reader import FakeAnswerReader
from testing.fakes.reader import read_one
from tests.deployments.builders.graph import bound_factory

TEXT = "我們在三樓機房用 RM05-008 測試。"


def settings(tmp_path: Path, **models: Any) -> AppArgs:
    return AppArgs(home=tmp_path / "home", cache=tmp_path / "cache", models=ModelArgs(weights=tmp_path, **models))


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    """A weight file of which a byte has changed since its checksum was taken."""
    file = tmp_path / "reader.safetensors"
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
    ("setting", "there", "expected"),
    [("auto", True, True), ("auto", False, False), ("off", True, False), ("on", False, True)],
)
def test_a_model_runs_where_it_is_on_and_has_weights(tmp_path: Path, setting: str, there: bool, expected: bool) -> None:
    if there:
        (tmp_path / "reader.safetensors").touch()
    assert is_on(settings(tmp_path, reader=setting), "reader") is expected


@pytest.mark.parametrize(
    ("reranker", "expected"), [("off", False), ("builtin", True), ("BAAI/bge-reranker-base", True)]
)
def test_the_reranker_runs_where_somebody_asks_for_it(tmp_path: Path, reranker: str, expected: bool) -> None:
    assert is_on(settings(tmp_path, reranker=reranker), "reranker") is expected


@pytest.mark.parametrize("wrong", [{"reader": "yes"}, {"reranker": "bge"}, {"threads": 0}, {"raeder": "off"}], ids=str)
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(tmp_path, **wrong)


def test_settings_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_MODELS__READER", "off")
    monkeypatch.setenv("JIYI_MODELS__THREADS", "2")
    assert (AppArgs().models.reader, AppArgs().models.threads, AppArgs().models.reranker) == ("off", 2, "off")


@pytest.mark.parametrize("setting", ["off", "on"])
def test_a_bare_off_or_on_in_yaml_is_what_it_says(tmp_path: Path, setting: str) -> None:
    models = settings(tmp_path, **yaml.safe_load(f"{{reader: {setting}, reranker: off}}")).models
    assert (models.reader, models.reranker) == (setting, "off")


def test_a_message_may_not_wait_longer_than_its_caller(tmp_path: Path) -> None:
    with pytest.raises(
        ValidationError, match=r"models\.max_wait_s: must be less than deadlines\.extractor, 15; given: 20"
    ):
        settings(tmp_path, max_wait_s=20)


async def test_without_weights_known_names_and_codes_are_found_and_the_extraction_says_so(tmp_path: Path) -> None:
    deployment = Deployment(parts=lambda: extractor_parts(settings(tmp_path)))
    assert await deployment.stats() == {"reader_loaded": 0.0}
    [extraction] = await deployment.extract([TEXT], [["三樓機房"]], [Context()])
    assert [mention.text for mention in extraction.mentions] == ["三樓機房", "RM05-008"]
    assert (extraction.intents, extraction.facts, extraction.rewrite) == ((), (), None)
    assert extraction.degraded == ("reader",)


@pytest.mark.slow
@pytest.mark.skipif(not shipped_weight_file("reader").exists(), reason="no reader is shipped")
async def test_an_extraction_carries_the_version_that_the_learner_expects(tmp_path: Path) -> None:
    args = AppArgs(home=tmp_path / "home")
    deployment = Deployment(parts=lambda: extractor_parts(args))
    [extraction] = await deployment.extract([TEXT], None, None)
    assert extraction.is_by(running_extraction_version(args))
    assert "+" in extraction.version
    await deployment._models.close()


async def test_what_was_read_without_the_reader_is_read_again(tmp_path: Path) -> None:
    args = settings(tmp_path)
    deployment = Deployment(parts=lambda: extractor_parts(args))
    [extraction] = await deployment.extract([TEXT], None, None)
    assert extraction.version == running_extraction_version(args)
    assert not extraction.is_by(running_extraction_version(args))


async def test_a_corrupt_weight_file_degrades_the_service_and_is_told(tmp_path: Path, corrupt: Path) -> None:
    deployment = Deployment(parts=lambda: extractor_parts(settings(tmp_path)))
    [extraction] = await deployment.extract([TEXT], None, None)
    assert [mention.text for mention in extraction.mentions] == ["RM05-008"]
    assert extraction.degraded == ("reader",)
    stats = await deployment.stats()
    assert (stats["status"], stats["reader_loaded"], stats["reader_failures"]) == ("degraded", 0.0, 1)
    assert f"{corrupt} is corrupt" in str(stats["error"])
    deployment.check_health()


async def test_a_reader_that_is_asked_for_and_has_no_weights_is_told(tmp_path: Path) -> None:
    figures = extractor_parts(settings(tmp_path, reader="on")).models.figures()
    assert figures["status"] == "degraded"
    assert "reader.safetensors" in str(figures["error"])


async def test_the_resolver_is_a_function_of_the_request_and_the_extraction(tmp_path: Path) -> None:
    deployment = ResolverDeployment(resolver=lambda: make_resolver(settings(tmp_path)))
    turns = (Turn(role=Role.USER, content="我們買了 AI-Box。", created_at=utc_now()),)
    request = ResolutionRequest(query="它多少錢？", user_id="ann", turns=turns, now=utc_now())
    reading = read_one(ReadRequest(text=request.query, context=reading_context(turns, ())))
    result = await deployment.resolve(request, Extraction(rewrite=reading.rewrite))
    assert result.resolved_query == "AI-Box 多少錢？"
    assert await deployment.resolve(request, Extraction(degraded=("reader",))) == CoreferenceResult(
        original_query="它多少錢？", resolved_query="它多少錢？", degraded=("reader",)
    )
    assert await deployment.stats() == {}


@pytest.mark.parametrize(("reranker", "bound"), [("off", False), ("builtin", True)])
def test_the_graph_has_a_reranker_only_where_one_is_on(tmp_path: Path, reranker: str, bound: bool) -> None:
    app = build_app(settings(tmp_path, reranker=reranker))
    parts = bound_factory(app, "services").keywords["parts"]
    assert ("reranker" in parts) is bound
    assert ("reranker" in bound_factory(parts["retriever"], "retriever").keywords) is bound


class AnswerReaderInProcess(FakeAnswerReader):
    """A reader as the builder opens it, with its models."""

    def __init__(self, _: AppArgs) -> None:
        super().__init__()
        self.models = {"answers": BatchedModel("answers", NoModel(), warm_up=None)}


class NoModel:
    """A model whose weights are missing."""

    def load(self) -> ModelFacts:
        raise ModelUnavailable("there are no weights", component="answers")

    def prepare(self, inputs: Sequence[None], /) -> Sequence[PreparedMessage]:
        return []

    def forward(self, prepared: Sequence[PreparedMessage], /) -> Sequence[None]:
        return []


PLACES = pytest.mark.parametrize(
    ("models", "apart", "in_extractor"),
    [
        ({}, False, False),
        ({"answers": "off", "answers_apart": True}, False, False),
        ({"answers": "on"}, False, True),
        ({"answers": "on", "answers_apart": True}, True, False),
    ],
    ids=str,
)


@PLACES
def test_the_answer_reader_has_a_deployment_of_its_own_where_it_is_to(
    tmp_path: Path, models: dict[str, Any], apart: bool, in_extractor: bool
) -> None:
    app = build_app(settings(tmp_path, **models))
    assert ("answers" in bound_factory(app, "services").keywords["parts"]) is apart


@PLACES
async def test_the_answer_reader_runs_in_the_extractor_unless_it_is_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: dict[str, Any], apart: bool, in_extractor: bool
) -> None:
    monkeypatch.setattr(language, "open_answer_reader", AnswerReaderInProcess)
    deployment = Deployment(parts=lambda: extractor_parts(settings(tmp_path, **models)))
    assert ("answers_loaded" in await deployment.stats()) is in_extractor
    if in_extractor:
        assert await deployment.read_answers([], Priority.INTERACTIVE) == []
    else:
        with pytest.raises(ModelUnavailable, match="not run here"):
            await deployment.read_answers([], Priority.INTERACTIVE)


async def test_an_answer_reader_without_weights_is_told_by_who_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language, "open_answer_reader", AnswerReaderInProcess)
    figures = make_answers(settings(tmp_path, answers="on", answers_apart=True)).models.figures()
    assert (figures["status"], figures["error"]) == ("degraded", "there are no weights")


async def test_a_reranker_that_is_asked_for_and_has_no_weights_is_told(tmp_path: Path) -> None:
    parts = make_reranker(settings(tmp_path, reranker="builtin"))
    figures = parts.models.figures()
    assert figures["status"] == "degraded"
    assert "reranker.safetensors" in str(figures["error"])


def language_model_args(tmp_path: Path, **settings: Any) -> AppArgs:
    endpoint = {"base_url": "http://127.0.0.1:1/v1", "model": "tiny"}
    return AppArgs.model_validate({"home": tmp_path, "language_model": endpoint | settings})


def writer_and_reader(args: AppArgs) -> tuple[SummaryWriter, FactReader | None]:
    model = open_language_model(args)
    return make_summary_writer(args, model, extractor=ReadingExtractor(None)), make_fact_reader(args, model)


async def test_a_language_model_does_what_the_settings_say(tmp_path: Path) -> None:
    writer, reader = writer_and_reader(language_model_args(tmp_path))
    assert (writer.writer_id, type(reader)) == ("model-1:tiny", ModelFactReader)
    writer, reader = writer_and_reader(language_model_args(tmp_path, read_facts=False, write_summaries=False))
    assert (type(writer), reader) == (ExtractiveWriter, None)
    writer, reader = writer_and_reader(AppArgs(home=tmp_path))
    assert (type(writer), reader) == (ExtractiveWriter, None)


async def test_it_words_answers_unless_it_is_not_to(tmp_path: Path) -> None:
    quoting = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds())

    def answerer(args: AppArgs) -> Answerer:
        return answer_with_model(args, quoting, open_language_model(args), extractor=ReadingExtractor(None))

    assert type(answerer(language_model_args(tmp_path))) is GroundedAnswerer
    assert answerer(language_model_args(tmp_path, answer_questions=False)) is quoting
    assert answerer(AppArgs(home=tmp_path)) is quoting


def test_without_the_extra_the_settings_of_a_language_model_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    for open_or_build in (open_language_model, build_app):
        with pytest.raises(ImportError, match=r"jiyi\[language-model\]"):
            open_or_build(language_model_args(tmp_path))
