"""A deterministic reranker with no weights: the share of the query's words and Han characters that a passage holds."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.models.language import Priority, Reranker, check_reranked
from models.body.edit_units import split_edit_units


class FakeReranker(Reranker):
    """Answers at once; counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        check_reranked(passages)
        self.calls += 1
        query_words = {unit.key for unit in split_edit_units(query)}
        return [
            len(query_words & {unit.key for unit in split_edit_units(text)}) / max(1, len(query_words))
            for text in passages
        ]
