"""The Extractor, Resolver and Reranker deployments: reading language, each on its own (DESIGN §2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from typing_extensions import override

from memory.ports.language import Extractor, Priority, Reranker, Resolver
from memory.values.mentions import Extraction
from memory.values.resolutions import CoreferenceResult, ResolutionRequest

from ..telemetry.replicas import Figures, Reporting
from .running_models import RunningModels

RoleT = TypeVar("RoleT")


@dataclass(frozen=True)
class LanguageParts(Generic[RoleT]):
    """What a deployment runs: its role, and the models in it."""

    role: RoleT
    models: RunningModels


class _LanguageDeployment(Reporting, Generic[RoleT]):
    """What all of them tell Ray Serve and the operator."""

    def __init__(self, *, parts: Callable[[], LanguageParts[RoleT]]) -> None:
        made = parts()
        self._role = made.role
        self._models = made.models

    @override
    async def stats(self) -> Figures:
        """How the models in it are; answers at once, so it also says that the deployment is there."""
        return self._models.figures()

    def check_health(self) -> None:
        """Raises where a model that was loaded is broken, so that Serve replaces the replica (Ray Serve's hook)."""
        self._models.check_health()

    async def __del__(self) -> None:
        if hasattr(self, "_models"):  # the constructor may have failed
            await self._models.close()


class ExtractorDeployment(_LanguageDeployment[Extractor]):
    """Named entities and remember-intents."""

    async def extract(self, texts: list[str], known: list[list[str]] | None) -> list[Extraction]:
        """See `memory.ports.language.Extractor.extract`."""
        return await self._role.extract(texts, known=known)


class ResolverDeployment(_LanguageDeployment[Resolver]):
    """Coreference over the session and the user's long-term entities."""

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """See `memory.ports.language.Resolver.resolve`."""
        return await self._role.resolve(request)


class RerankerDeployment(_LanguageDeployment[Reranker]):
    """A cross-encoder over a bounded list of passages."""

    async def rerank(self, query: str, passages: list[str], priority: Priority) -> list[float]:
        """See `memory.ports.language.Reranker.rerank`."""
        return await self._role.rerank(query, passages, priority=priority)
