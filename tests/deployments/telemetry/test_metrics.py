"""`/metrics` shows every replica of every deployment, whichever ingress replica is asked."""

import pickle

from prometheus_client.parser import text_string_to_metric_families

from deployments.telemetry.metrics import ServiceMetrics, render_metrics
from deployments.telemetry.replicas import IngressReport, ReplicaReport, add_up

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def ingress_report(replica: str, *, hits: int, entities: int = 3) -> IngressReport:
    metrics = ServiceMetrics()
    metrics.hits.inc(hits)
    metrics.search_ms.observe(7)
    metrics.degraded.labels("reranker").inc()
    report = IngressReport(replica, metrics.collect(), {"record": {"entities": entities}, "vectors": None})
    unpickled: IngressReport = pickle.loads(pickle.dumps(report))
    return unpickled


def samples(text: bytes) -> Samples:
    families = text_string_to_metric_families(text.decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(series: Samples, name: str, **labels: str) -> float:
    return series[name, frozenset(labels.items())]


def test_each_replica_has_samples_of_its_own_under_one_name() -> None:
    ingress = [ingress_report("a", hits=2), ingress_report("b", hits=5)]
    learners = [ReplicaReport("l", {"new_entities": 4, "error": "a text is no figure"})]
    embedders = [ReplicaReport("x", {"tokens": 10.0}), ReplicaReport("y", {"tokens": 20.0})]
    text = render_metrics(ingress, {"learner": learners, "embedder": embedders, "retriever": ()})
    series = samples(text)
    assert [value(series, "entity_memory_recall_hits_total", replica=name) for name in "ab"] == [2, 5]
    assert [value(series, "entity_memory_search_latency_ms_count", replica=name) for name in "ab"] == [1, 1]
    assert value(series, "entity_memory_search_latency_ms_bucket", replica="b", le="10.0") == 1
    assert value(series, "jiyi_degraded_total", replica="a", part="reranker") == 1
    assert [value(series, "jiyi_part", part="embedder", figure="tokens", replica=name) for name in "xy"] == [10, 20]
    assert value(series, "jiyi_part", part="record", figure="entities", replica="b") == 3
    assert value(series, "jiyi_up", part="vectors", replica="a") == 0
    assert value(series, "jiyi_up", part="retriever", replica="") == 0
    assert value(series, "jiyi_up", part="embedder", replica="y") == 1
    assert text.decode().count("# TYPE entity_memory_recall_hits_total counter") == 1


def test_what_all_replicas_share_is_shown_once() -> None:
    ingress = [ingress_report("a", hits=1), ingress_report("b", hits=1)]
    series = samples(render_metrics(ingress, {"learner": [ReplicaReport("l", {"new_entities": 4})]}))
    assert value(series, "entity_memory_storage_count") == 3
    assert value(series, "entity_memory_extractions_count") == 4
    assert ("entity_memory_storage_size_bytes", frozenset[tuple[str, str]]()) not in series


def test_the_figures_of_replicas_are_added_up() -> None:
    first = ReplicaReport("a", {"tokens": 1.0, "dtype": "bf16"})
    second = ReplicaReport("b", {"tokens": 2.0, "dtype": "bf16", "status": "degraded", "error": "no weights"})
    assert add_up([first]) == first.figures
    assert add_up([first, second]) == {
        "replicas": 2,
        "tokens": 3.0,
        "dtype": "bf16",
        "status": "degraded",
        "error": "no weights",
    }
