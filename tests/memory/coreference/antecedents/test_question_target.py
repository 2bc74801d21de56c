"""What a question asks for is not what it asks about, while the conversation offers anything else."""

from collections.abc import Awaitable, Callable

import pytest
from memory.coreference.rewriting_resolver import RewritingResolver

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Extractor
from memory.values.resolutions import CoreferenceResult, ResolutionRequest
from tests.memory.coreference.scripted_rewriter import ScriptedRewriter

Resolve = Callable[..., Awaitable[CoreferenceResult]]
MakeRequest = Callable[..., ResolutionRequest]


@pytest.mark.parametrize(
    ("turn", "query", "expected"),
    [
        ("I parked the car in Paris.", "Where is it?", "Where is the car?"),
        ("I left my umbrella at the office.", "Where did I leave it?", "Where did I leave my umbrella?"),
        ("The book is under the table.", "Where is it?", "Where is the book?"),
        ("我把車停在台北。", "它在哪裡？", "車在哪裡？"),
        ("我把护照放在书房。", "它在哪儿？", "护照在哪儿？"),
        ("AI-Box 放在京都。", "它放在什麼地方？", "AI-Box 放在什麼地方？"),
    ],
)
async def test_a_question_for_a_place_is_about_the_thing_that_is_there(
    resolve: Resolve, turn: str, query: str, expected: str
) -> None:
    assert (await resolve(query, turn, "ok")).resolved_query == expected


@pytest.mark.parametrize(
    ("turn", "query", "expected"),
    [
        ("The concert in Paris is on Friday.", "When is it?", "When is the concert?"),
        ("演唱會在台北。", "它是什麼時候？", "演唱會是什麼時候？"),
        ("Alice introduced a doctor.", "Who is she?", "Who is the doctor?"),
        ("我把钥匙交给了 Bob。", "它在谁那里？", "钥匙在谁那里？"),
    ],
)
async def test_the_same_holds_for_times_and_for_persons(resolve: Resolve, turn: str, query: str, expected: str) -> None:
    assert (await resolve(query, turn, "ok")).resolved_query == expected


@pytest.mark.parametrize(
    ("turn", "query", "expected"),
    [
        ("I love Kyoto.", "Where is it?", "Where is Kyoto?"),
        ("我喜歡京都。", "它在哪裡？", "京都在哪裡？"),
        ("Alice 打電話來。", "她是誰？", "Alice 是誰？"),
    ],
)
async def test_where_nothing_else_is_there_it_is_about_the_place_or_the_person(
    resolve: Resolve, turn: str, query: str, expected: str
) -> None:
    assert (await resolve(query, turn, "ok")).resolved_query == expected


async def test_a_place_does_not_give_way_to_what_was_said_before_it(resolve: Resolve) -> None:
    result = await resolve("Where is it?", "I bought a phone.", "ok", "I love Kyoto.", "ok")
    assert result.clarification
    assert [option.text for option in result.clarification.options] == ["the phone", "Kyoto"]


async def test_another_question_may_be_about_a_place(resolve: Resolve) -> None:
    assert (await resolve("Is it expensive?", "I love Paris.", "ok")).resolved_query == "Is Paris expensive?"


@pytest.mark.parametrize(
    ("turn", "correction", "query", "expected"),
    [
        ("I put the key in the blue folder.", "Sorry, the red folder.", "Where is it?", "Where is the key?"),
        ("我把钥匙放在蓝色的盒子里。", "不对，红色的盒子。", "它在哪里？", "钥匙在哪里？"),
    ],
)
async def test_a_corrected_place_is_one_as_well(
    resolve: Resolve, turn: str, correction: str, query: str, expected: str
) -> None:
    assert (await resolve(query, turn, "ok", correction, "ok")).resolved_query == expected


async def test_the_rewriter_is_not_followed_to_what_is_asked_for(
    extractor: Extractor, make_request: MakeRequest
) -> None:
    resolver = RewritingResolver(RuleResolver(extractor=extractor), rewriter=ScriptedRewriter(("it", "Paris")))
    result = await resolver.resolve(make_request("Where is it?", ["I parked the car in Paris.", "ok"]))
    assert result.resolved_query == "Where is the car?"


async def test_nor_to_a_man_where_the_question_is_about_a_woman(
    extractor: Extractor, make_request: MakeRequest
) -> None:
    resolver = RewritingResolver(RuleResolver(extractor=extractor), rewriter=ScriptedRewriter(("she", "My brother")))
    turn = "My brother works at IBM and my sister at Acme."
    result = await resolver.resolve(make_request("Where does she work?", [turn, "ok"]))
    assert result.resolved_query == "Where does my sister work?"
