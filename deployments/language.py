"""The Extractor and Resolver deployments: reading language, each on its own (DESIGN §2)."""

from collections.abc import Callable

from memory.coreference.resolutions import CoreferenceResult, ResolutionRequest
from memory.extraction.mentions import Extraction
from memory.ports.language import Extractor, Resolver


class ExtractorDeployment:
    """Named entities and remember-intents."""

    def __init__(self, *, extractor: Callable[[], Extractor]) -> None:
        self._extractor = extractor()

    async def extract(self, texts: list[str], known: list[list[str]] | None) -> list[Extraction]:
        """See `memory.ports.language.Extractor.extract`."""
        return await self._extractor.extract(texts, known=known)

    async def stats(self) -> dict[str, float]:
        """Answers, so it is there."""
        return {}


class ResolverDeployment:
    """Coreference over the session and the user's long-term entities."""

    def __init__(self, *, resolver: Callable[[], Resolver]) -> None:
        self._resolver = resolver()

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """See `memory.ports.language.Resolver.resolve`."""
        return await self._resolver.resolve(request)

    async def stats(self) -> dict[str, float]:
        """Answers, so it is there."""
        return {}
