"""A deterministic reranker with no weights: the share of the query's words and Han characters that a passage holds."""

from collections.abc import Sequence

from typing_extensions import override

from memory.errors import InvalidField
from memory.ports.language import MAX_RERANKED, Priority, Reranker

from .units import split_units


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
        asked = {unit.key for unit in split_units(query)}
        return [len(asked & {unit.key for unit in split_units(text)}) / max(1, len(asked)) for text in passages]


def check_reranked(passages: Sequence[str]) -> None:
    """Refuses a list that is too long.

    Raises:
        InvalidField: It has more than `MAX_RERANKED` passages.
    """
    if len(passages) > MAX_RERANKED:
        raise InvalidField(
            f"{len(passages)} passages are too many to read again.",
            field="passages",
            allowed=f"at most {MAX_RERANKED}",
        )
