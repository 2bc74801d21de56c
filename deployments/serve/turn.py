"""The deployments that a chat turn calls: Extractor, Resolver, Retriever, Reranker and Answers (DESIGN §2, §6)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from typing_extensions import override

from memory.ports.models.answer_reading import AnswerReader, AnswerReading, AnswerReadRequest
from memory.ports.models.language import Extractor, Priority, Reranker, Resolver
from memory.ports.services import Retriever
from memory.values.errors import ModelUnavailable
from memory.values.hits import SearchRequest, SearchResult
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest
from models.batching.batched_model import BatchedModel

from ..telemetry.replicas import Figures, Reporting

RoleT = TypeVar("RoleT")


class RunningModels:
    """The trained models of one replica: their figures, their health and their end (DESIGN §5).

    Args:
        models: By name; None for a model that is off or has no weights.
    """

    def __init__(self, models: Mapping[str, BatchedModel[Any, Any, Any] | None]) -> None:
        self._names = tuple(models)
        self._models = {name: model for name, model in models.items() if model is not None}

    def figures(self) -> Figures:
        """The figures of all models; `status` and `error` where the weights of one could not be read."""
        figures: dict[str, float | str] = {f"{name}_loaded": 0.0 for name in self._names if name not in self._models}
        for model in self._models.values():
            figures |= model.figures()
        errors = [model.load_error for model in self._models.values() if model.load_error]
        return {"status": "degraded", "error": " ".join(errors), **figures} if errors else figures

    def check_health(self) -> None:
        """Raises `ModelUnavailable` where a model that was loaded is broken."""
        for model in self._models.values():
            model.check_health()

    async def close(self) -> None:
        """Finishes the current batches and stops."""
        for model in self._models.values():
            await model.close()


@dataclass(frozen=True)
class LanguageParts(Generic[RoleT]):
    """An extractor, a reranker or an answer reader with its models; `answers` is one beside an extractor."""

    role: RoleT
    models: RunningModels
    answers: AnswerReader | None = None


class _LanguageDeployment(Reporting, Generic[RoleT]):
    def __init__(self, *, parts: Callable[[], LanguageParts[RoleT]]) -> None:
        opened = parts()
        self._role = opened.role
        self._answers = opened.answers
        self._models = opened.models

    @override
    async def stats(self) -> Figures:
        return self._models.figures()

    def check_health(self) -> None:
        """Raises where a model that was loaded is broken, so that Serve replaces the replica (Ray Serve's hook)."""
        self._models.check_health()

    async def __del__(self) -> None:
        if hasattr(self, "_models"):  # the constructor may have failed
            await self._models.close()


class ExtractorDeployment(_LanguageDeployment[Extractor]):
    """Runs the trained reader: names, intents, references and facts of messages in their conversations.

    It runs the answer reader as well, unless that has a deployment of its own.
    """

    async def extract(
        self, texts: list[str], known: list[list[str]] | None, contexts: list[Context] | None
    ) -> list[Extraction]:
        """`Extractor.extract`."""
        return await self._role.extract(texts, known=known, contexts=contexts)

    async def read_answers(self, requests: list[AnswerReadRequest], priority: Priority) -> list[AnswerReading]:
        """`AnswerReader.read`."""
        if self._answers is None:
            raise ModelUnavailable("The answer reader is not run here.", component="answers")
        return await self._answers.read(requests, priority=priority)


class AnswersDeployment(_LanguageDeployment[AnswerReader]):
    """Reads questions together with the memories among which their answers may stand."""

    async def read_answers(self, requests: list[AnswerReadRequest], priority: Priority) -> list[AnswerReading]:
        """`AnswerReader.read`."""
        return await self._role.read(requests, priority=priority)


class ResolverDeployment(Reporting):
    """Makes resolutions of what the reader understood; a function of its arguments, without a model or a store."""

    def __init__(self, *, resolver: Callable[[], Resolver]) -> None:
        self._resolver = resolver()

    async def resolve(self, request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult:
        """`Resolver.resolve`."""
        return await self._resolver.resolve(request, extraction)

    @override
    async def stats(self) -> Figures:
        return {}


class RerankerDeployment(_LanguageDeployment[Reranker]):
    """A cross-encoder over a bounded list of passages."""

    async def rerank(self, query: str, passages: list[str], priority: Priority) -> list[float]:
        """`Reranker.rerank`."""
        return await self._role.rerank(query, passages, priority=priority)


class RetrieverDeployment(Reporting):
    """All search legs, fused into one ranking."""

    def __init__(self, *, retriever: Callable[[], Retriever]) -> None:
        self._retriever = retriever()

    async def search(self, request: SearchRequest) -> SearchResult:
        """`Retriever.search`."""
        return await self._retriever.search(request)

    @override
    async def stats(self) -> Figures:
        return {}
