"""The workloads: the same requests in the same order for every contestant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.common.workload import mixed_texts, short_queries

QUERY, PASSAGE = "query", "passage"


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """Texts of one kind that go in one call."""

    texts: Sequence[str]
    kind: str


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests of one sort.

    Attributes:
        about: Says to a reader what they are.
        texts_each: Texts in one request.
        callers: Requests under way at once where capacity is measured.
        requests: Requests that make one measurement of capacity.
    """

    about: str
    kind: str
    texts_each: int
    callers: int
    requests: int
    texts: Callable[[int], list[str]]

    def plan(self, requests: int) -> list[EmbeddingRequest]:
        """So many requests, no text of which stands twice in the same place of two plans."""
        texts = self.texts(requests * self.texts_each)
        return [
            EmbeddingRequest(texts[start : start + self.texts_each], self.kind)
            for start in range(0, len(texts), self.texts_each)
        ]


WORKLOADS = {
    "alone": Workload("one short question at a time", QUERY, 1, 1, 48, short_queries),
    "query": Workload("one short question a request, 16 at once", QUERY, 1, 16, 192, short_queries),
    "mixed": Workload("one text a request, 16 at once, mixed lengths", PASSAGE, 1, 16, 160, mixed_texts),
    "batch": Workload("32 texts a request, 2 at once, mixed lengths", PASSAGE, 32, 2, 6, mixed_texts),
}
CHECKED = 24
"""Texts of each kind whose vectors are compared with the reference."""


def checked_requests() -> list[EmbeddingRequest]:
    """The requests whose vectors are compared."""
    return [
        EmbeddingRequest(mixed_texts(CHECKED), PASSAGE),
        EmbeddingRequest(short_queries(CHECKED), QUERY),
    ]
