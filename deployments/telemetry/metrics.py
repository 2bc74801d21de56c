"""The metrics of 000 §9.2 in Prometheus form, and the wrappers that feed them (STYLE §1: behaviour by wrapping)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, generate_latest
from prometheus_client.registry import Collector
from typing_extensions import override

from memory.erasure.requests import kind_of
from memory.ports.jobs import RunTotal
from memory.ports.models.answer_reading import AnswerReader, AnswerReading, AnswerReadRequest
from memory.ports.models.language import Extractor, Priority, Resolver
from memory.ports.services import Retriever
from memory.values.documents.corpora import KnowledgeResult
from memory.values.hits import SearchRequest, SearchResult
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context
from memory.values.understanding.resolutions import CoreferenceResult, ResolutionRequest

from .replicas import Figures, IngressReport, ReplicaReport

_BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class ServiceMetrics:
    """What one ingress replica counts and times; dots of the names in 000 §9.2 become underscores."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.resolve_ms = self._histogram("entity_memory_resolve_latency_ms", "Coreference resolution")
        self.extract_ms = self._histogram("entity_memory_extract_latency_ms", "Entity extraction")
        self.search_ms = self._histogram("entity_memory_search_latency_ms", "Search")
        self.read_answers_ms = self._histogram("jiyi_read_answers_latency_ms", "Reading memories with a question")
        self.resolved = self._counter("entity_memory_resolutions_success", "References resolved")
        self.unresolved = self._counter("entity_memory_resolutions_failed", "References left below the floor")
        self.hits = self._counter(
            "entity_memory_recall_hits", "Questions that memory answered, searches that found words of them"
        )
        self.misses = self._counter(
            "entity_memory_recall_misses", "Questions that memory did not answer, searches that found none"
        )
        self.knowledge_search_ms = Histogram(
            "knowledge_search_latency_ms",
            "Search in the knowledge base by step, in milliseconds: embed, index, record, rerank, total",
            ["step"],
            buckets=_BUCKETS_MS,
            registry=self._registry,
        )
        self.knowledge_hits = self._counter("knowledge_search_hits", "Searches in the knowledge base that found chunks")
        self.knowledge_misses = self._counter(
            "knowledge_search_misses", "Searches in the knowledge base without result"
        )
        self.degraded = Counter(
            "jiyi_degraded", "Requests in which a part could not do its work", ["part"], registry=self._registry
        )

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(name, f"{text}, in milliseconds", buckets=_BUCKETS_MS, registry=self._registry)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self._registry)

    def count_answer(self, *, asked: bool, answered: bool) -> None:
        """Counts a chat message as recalled or not; one that neither asks nor is answered from memory is neither."""
        if answered:
            self.hits.inc()
        elif asked:
            self.misses.inc()

    def count_knowledge_search(self, result: KnowledgeResult) -> None:
        """Counts a search in the knowledge base and the time of its steps (004 §9.3)."""
        for step, milliseconds in result.took_ms.items():
            self.knowledge_search_ms.labels(step).observe(milliseconds)
        (self.knowledge_hits if result.results else self.knowledge_misses).inc()

    def collect(self) -> list[Metric]:
        """All metrics with their values now; they can be sent to another replica."""
        return list(self._registry.collect())


def render_metrics(ingress: Sequence[IngressReport], parts: Mapping[str, Sequence[ReplicaReport]]) -> bytes:
    """The metrics of the whole service in Prometheus' text format; the label `replica` names who reported them.

    Ray's own way (`ray.serve.metrics`) is not taken: its agents export each name as `ray_…`, ten seconds late, and make
    up the sums of histograms from their buckets, on a port of every node.

    Args:
        ingress: A report of every ingress replica.
        parts: A report of every replica of each deployment behind it; none for one that does not answer.
    """
    figures = Metric("jiyi_part", "Figures that the parts of the service report", "gauge")
    up = Metric("jiyi_up", "1 where a part answers", "gauge")
    families = {figures.name: figures, up.name: up}
    for report in ingress:
        for metric in report.metrics:
            family = families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
            for sample in metric.samples:
                family.samples.append(sample._replace(labels={**sample.labels, "replica": report.replica}))
        for store, answer in report.stores.items():
            _add_part(figures, up, store, report.replica, answer)
    for part, reports in parts.items():
        for answered in reports:
            _add_part(figures, up, part, answered.replica, answered.figures)
        if not reports:
            _add_part(figures, up, part, "", None)
    record: Figures = next((stores for report in ingress if (stores := report.stores.get("record"))), {})
    learner = parts.get("learner", ())
    for name, text, values in (
        ("entity_memory_extractions_count", "New entities since the learner started", _values(learner, "new_entities")),
        (
            "entity_memory_storage_count",
            "Entities, without those only preloaded",
            [_mentioned_entities(record)],
        ),
        ("entity_memory_storage_size_bytes", "Size of the system of record", [record.get("size_bytes")]),
    ):
        family = families[name] = Metric(name, text, "gauge")
        known = [value for value in values if isinstance(value, int | float)]
        if known:
            family.add_sample(name, {}, sum(known))
    for family in _run_metrics(next((report.runs for report in ingress if report.runs), ())):
        families[family.name] = family
    return generate_latest(_Collected(families.values()))


def _run_metrics(totals: Sequence[RunTotal]) -> Sequence[Metric]:
    """The recorded runs by kind and status; of the whole service, so that they name no replica."""
    count = Metric("jiyi_pipeline_runs", "Recorded runs of background work", "gauge")
    seconds = Metric("jiyi_pipeline_run_seconds", "Seconds that the ended ones of these runs took together", "gauge")
    for labels, of_kind in groupby(sorted(totals, key=_run_labels), key=_run_labels):
        together = list(of_kind)
        named = dict(zip(("kind", "status"), labels, strict=True))
        count.add_sample(count.name, named, sum(total.count for total in together))
        seconds.add_sample(seconds.name, named, sum(total.seconds for total in together))
    return count, seconds


def _run_labels(total: RunTotal) -> tuple[str, str]:
    return kind_of(total.pipeline), total.state.status.value


def _mentioned_entities(record: Figures) -> float | None:
    stored, preloaded = record.get("entities"), record.get("preloaded", 0)
    return stored - preloaded if isinstance(stored, int | float) and isinstance(preloaded, int | float) else None


def _add_part(figures: Metric, up: Metric, part: str, replica: str, values: Figures | None) -> None:
    up.add_sample(up.name, {"part": part, "replica": replica}, float(values is not None))
    for name, value in (values or {}).items():
        if not isinstance(value, str):
            figures.add_sample(figures.name, {"part": part, "figure": name, "replica": replica}, value)


def _values(reports: Sequence[ReplicaReport], name: str) -> list[float | str | None]:
    return [report.figures.get(name) for report in reports]


class _Collected(Collector):
    """Metrics that have been collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    @override
    def collect(self) -> Iterable[Metric]:
        return self._metrics


class MeteredResolver(Resolver):
    """A resolver whose calls are timed and whose resolutions are counted."""

    def __init__(self, resolver: Resolver, metrics: ServiceMetrics) -> None:
        self._resolver = resolver
        self._metrics = metrics

    @override
    async def resolve(self, request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult:
        start = perf_counter()
        result = await self._resolver.resolve(request, extraction)
        self._metrics.resolve_ms.observe((perf_counter() - start) * 1000)
        self._metrics.resolved.inc(len(result.resolutions))
        self._metrics.unresolved.inc(len(result.unresolved))
        return result


class MeteredExtractor(Extractor):
    """An extractor whose calls are timed."""

    def __init__(self, extractor: Extractor, metrics: ServiceMetrics) -> None:
        self._extractor = extractor
        self._metrics = metrics

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        start = perf_counter()
        extractions = await self._extractor.extract(texts, known=known, contexts=contexts)
        self._metrics.extract_ms.observe((perf_counter() - start) * 1000)
        return extractions


class MeteredAnswerReader(AnswerReader):
    """An answer reader whose calls are timed."""

    def __init__(self, reader: AnswerReader, metrics: ServiceMetrics) -> None:
        self._reader = reader
        self._metrics = metrics

    @override
    async def read(
        self, requests: Sequence[AnswerReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[AnswerReading]:
        start = perf_counter()
        readings = await self._reader.read(requests, priority=priority)
        self._metrics.read_answers_ms.observe((perf_counter() - start) * 1000)
        return readings


class MeteredRetriever(Retriever):
    """A retriever whose searches are timed and counted as hits or misses.

    A hit is a search that found words of its query: there is always something nearest.

    Args:
        retriever: Searches.
        metrics: Counts.
        counts_recall: False for chat, where a hit is a message that memory answers (`ServiceMetrics.count_answer`).
    """

    def __init__(self, retriever: Retriever, metrics: ServiceMetrics, *, counts_recall: bool = True) -> None:
        self._retriever = retriever
        self._metrics = metrics
        self._counts_recall = counts_recall

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        start = perf_counter()
        result = await self._retriever.search(request)
        self._metrics.search_ms.observe((perf_counter() - start) * 1000)
        if self._counts_recall:
            found = any(hit.shares_words for hit in result.hits)
            (self._metrics.hits if found else self._metrics.misses).inc()
        return result
