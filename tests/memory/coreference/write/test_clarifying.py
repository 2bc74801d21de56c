"""What is asked where choosing would be a guess, in the three ways users write."""

from collections.abc import Awaitable, Callable

import pytest

from memory.values.resolutions import CoreferenceResult

Resolve = Callable[..., Awaitable[CoreferenceResult]]


@pytest.mark.parametrize(
    ("query", "turn", "question"),
    [
        ("它放在哪裡？", "我們買了 AI-Box 和 HCI-500。", "「它」是指 AI-Box 還是 HCI-500？"),
        ("它放在哪裡？", "我們買了AI-Box和HCI-500。", "「它」是指AI-Box還是HCI-500？"),
        ("她什麼時候來？", "我約了張小姐。我約了李小姐。", "「她」是指張小姐還是李小姐？"),
        ("它贵吗？", "我们买了 Redis 和 Qdrant。", "「它」是指 Redis 还是 Qdrant？"),
        ("它好吗？", "我們在看 Redis、Qdrant 和 ArangoDB。", "「它」是指 Redis、Qdrant 还是 ArangoDB？"),
        ("Is it fast?", "I tried Redis. I tried Qdrant.", "By “it”, do you mean Redis or Qdrant?"),
    ],
)
async def test_two_that_fit_alike_are_asked_about(resolve: Resolve, query: str, turn: str, question: str) -> None:
    result = await resolve(query, turn, "ok")
    assert result.resolved_query == query
    assert result.resolutions == ()
    assert result.clarification
    assert result.clarification.question == question
    assert query[result.clarification.start : result.clarification.end] == result.clarification.original_text
    assert all(option.text in question for option in result.clarification.options)


async def test_a_question_in_characters_of_both_scripts_is_in_the_one_that_its_user_writes(resolve: Resolve) -> None:
    result = await resolve("它多大？", "我們買了 Redis 和 Qdrant。", "ok")
    assert result.clarification
    assert "還是" in result.clarification.question


async def test_where_nothing_fits_there_is_nothing_to_ask(resolve: Resolve) -> None:
    assert (await resolve("它多少錢？", "早安", "早安！")).clarification is None


async def test_what_is_resolved_is_not_asked_about(resolve: Resolve) -> None:
    assert (await resolve("它多少錢？", "我在看 AI-Box", "好")).clarification is None
