"""The metrics of 000 §9.2 in Prometheus form, and the wrappers that feed them (STYLE §1: behaviour by wrapping)."""

from collections.abc import Mapping, Sequence
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from memory.ports.language import Extractor, Resolver
from memory.ports.services import Retriever
from memory.values.hits import SearchRequest, SearchResult
from memory.values.mentions import Extraction
from memory.values.resolutions import CoreferenceResult, ResolutionRequest

_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class ServiceMetrics:
    """One registry a process; dots of the names in 000 §9.2 become underscores."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.resolve_ms = self._histogram("entity_memory_resolve_latency_ms", "Coreference resolution")
        self.extract_ms = self._histogram("entity_memory_extract_latency_ms", "Entity extraction")
        self.search_ms = self._histogram("entity_memory_search_latency_ms", "Search")
        self.resolved = self._counter("entity_memory_resolutions_success", "References resolved")
        self.unresolved = self._counter("entity_memory_resolutions_failed", "References left below the floor")
        self.hits = self._counter("entity_memory_recall_hits", "Searches that found something")
        self.misses = self._counter("entity_memory_recall_misses", "Searches that found nothing")
        self.degraded = Counter(
            "jiyi_degraded", "Requests in which a part could not do its work", ["part"], registry=self.registry
        )
        self._extracted = self._gauge("entity_memory_extractions_count", "New entities since the learner started")
        self._entities = self._gauge("entity_memory_storage_count", "Entities stored")
        self._bytes = self._gauge("entity_memory_storage_size_bytes", "Size of the system of record")
        self._parts = Gauge(
            "jiyi_part", "Figures that the parts of the service report", ["part", "figure"], registry=self.registry
        )
        self._up = Gauge("jiyi_up", "1 where a part answers", ["part"], registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(name, f"{text}, in milliseconds", buckets=_BUCKETS_MS, registry=self.registry)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def render(self, parts: Mapping[str, Mapping[str, float | str] | None]) -> bytes:
        """The exposition text, with what the parts say now; None stands for a part that did not answer."""
        for part, figures in parts.items():
            self._up.labels(part).set(figures is not None)
            for figure, value in (figures or {}).items():
                if not isinstance(value, str):
                    self._parts.labels(part, figure).set(value)
        record, learner = parts.get("record") or {}, parts.get("learner") or {}
        for gauge, figures, name in (
            (self._entities, record, "entities"),
            (self._bytes, record, "size_bytes"),
            (self._extracted, learner, "new_entities"),
        ):
            if name in figures:
                gauge.set(float(figures[name]))
        return generate_latest(self.registry)


class MeteredResolver(Resolver):
    """A resolver whose calls are timed and whose resolutions are counted."""

    def __init__(self, resolver: Resolver, metrics: ServiceMetrics) -> None:
        self._resolver = resolver
        self._metrics = metrics

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """See `Resolver.resolve`."""
        start = perf_counter()
        result = await self._resolver.resolve(request)
        self._metrics.resolve_ms.observe((perf_counter() - start) * 1000)
        self._metrics.resolved.inc(len(result.resolutions))
        self._metrics.unresolved.inc(len(result.unresolved))
        return result


class MeteredExtractor(Extractor):
    """An extractor whose calls are timed."""

    def __init__(self, extractor: Extractor, metrics: ServiceMetrics) -> None:
        self._extractor = extractor
        self._metrics = metrics

    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        """See `Extractor.extract`."""
        start = perf_counter()
        extractions = await self._extractor.extract(texts, known=known)
        self._metrics.extract_ms.observe((perf_counter() - start) * 1000)
        return extractions


class MeteredRetriever(Retriever):
    """A retriever whose searches are timed and counted as hits or misses."""

    def __init__(self, retriever: Retriever, metrics: ServiceMetrics) -> None:
        self._retriever = retriever
        self._metrics = metrics

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `Retriever.search`."""
        start = perf_counter()
        result = await self._retriever.search(request)
        self._metrics.search_ms.observe((perf_counter() - start) * 1000)
        (self._metrics.hits if result.hits else self._metrics.misses).inc()
        return result
