"""The reranker without weights."""

import pytest

from memory.ports.models.language import MAX_RERANKED
from memory.values.errors import InvalidField
from testing.fakes.reranker import FakeReranker


async def test_a_passage_is_worth_the_share_of_the_query_that_it_holds() -> None:
    reranker = FakeReranker()
    assert await reranker.rerank("blue key", ["the blue key", "a key", "soup"]) == [1.0, 0.5, 0.0]
    assert await reranker.rerank("钥匙", ["鑰匙在抽屜", "匙"]) == [1.0, 0.5]
    assert await reranker.rerank("", ["anything"]) == [0.0]
    assert reranker.calls == 3


async def test_the_list_is_bounded() -> None:
    reranker = FakeReranker()
    assert len(await reranker.rerank("a", ["a"] * MAX_RERANKED)) == MAX_RERANKED
    with pytest.raises(InvalidField, match="51 passages"):
        await reranker.rerank("a", ["a"] * (MAX_RERANKED + 1))
