"""A user takes back what nothing but the trained rewriter had put in: the query is made again with what was meant."""

from collections.abc import Callable

import pytest
from memory.coreference.rewriting_resolver import RewritingResolver

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Extractor, QueryRewriter
from memory.values.errors import Overloaded
from memory.values.resolutions import CoreferenceResult, ResolutionRequest
from tests.memory.coreference.scripted_rewriter import DownRewriter, ScriptedRewriter

MakeRequest = Callable[..., ResolutionRequest]


async def resolve(extractor: Extractor, rewriter: QueryRewriter, request: ResolutionRequest) -> CoreferenceResult:
    return await RewritingResolver(RuleResolver(extractor=extractor), rewriter=rewriter).resolve(request)


@pytest.mark.parametrize(
    ("turn", "query", "edit", "correction", "expected"),
    [
        (
            "AI-Box 用三年了。HCI-500 剛裝好",
            "保固到什麼時候？",
            ("|", "{AI-Box} 的"),
            "不是，我是說 HCI-500",
            "HCI-500 的保固到什麼時候？",
        ),
        (
            "我喜歡 AI-Box。也有 HCI-500",
            "為什麼喜歡？",
            ("喜歡|", "AI-Box"),
            "不對，是 HCI-500",
            "為什麼喜歡 HCI-500？",
        ),
        ("我在看宏康。也有 IBM", "什么时候成立的？", ("|", "宏康"), "不是，我说的是 IBM", "IBM 什么时候成立的？"),
        (
            "I use Redis. I tried Qdrant.",
            "What is the monthly price?",
            ("price|", " of {Redis}"),
            "No, I meant Qdrant.",
            "What is the monthly price of Qdrant?",
        ),
        (
            "I use Redis. I tried Qdrant.",
            "What is the monthly price?",
            ("the", "{Redis}'s"),
            "No, Qdrant.",
            "What is Qdrant's monthly price?",
        ),
    ],
)
async def test_what_was_left_out_becomes_what_the_user_meant(
    extractor: Extractor,
    make_request: MakeRequest,
    turn: str,
    query: str,
    edit: tuple[str, str],
    correction: str,
    expected: str,
) -> None:
    rewriter = ScriptedRewriter(edit)
    wrong = await resolve(extractor, rewriter, make_request(query, [turn, "ok"]))
    [inserted] = wrong.resolutions
    result = await resolve(extractor, rewriter, make_request(correction, [turn, "ok", query, "ok"]))
    assert result.resolved_query == expected
    assert result.revision
    assert result.revision.query == query
    assert result.revision.rejected
    assert result.revision.rejected.text == inserted.resolved_text


async def test_it_has_the_id_of_what_the_session_remembers_as_the_wrong_one(
    extractor: Extractor, make_request: MakeRequest
) -> None:
    history = ({"original_text": "", "resolved_text": "AI-Box", "entity_id": "e1", "source": "inference"},)
    turns = ["我喜歡 AI-Box。也有 HCI-500", "好", "為什麼喜歡？", "好"]
    request = make_request("不是，我是說 HCI-500", turns, history=history)
    result = await resolve(extractor, ScriptedRewriter(("喜歡|", "AI-Box")), request)
    assert result.revision
    assert result.revision.rejected
    assert (result.revision.rejected.text, result.revision.rejected.entity_id) == ("AI-Box", "e1")


async def test_a_pronoun_that_the_rewriter_resolved_otherwise_is_taken_back_as_that(
    extractor: Extractor, make_request: MakeRequest
) -> None:
    turns = ["張小姐來了", "隔壁的老闆娘也來了", "她喜歡什麼？", "好"]
    request = make_request("不是，我是說張小姐", turns)
    result = await resolve(extractor, ScriptedRewriter(("她", "隔壁的老闆娘")), request)
    assert result.resolved_query == "張小姐喜歡什麼？"
    assert result.revision
    assert result.revision.rejected
    assert result.revision.rejected.text == "隔壁的老闆娘"


@pytest.mark.parametrize("message", ["不是，我是說真的", "不是，他還沒來", "No, I meant to call you"])
async def test_what_only_looks_like_a_correction_revises_nothing(
    extractor: Extractor, make_request: MakeRequest, message: str
) -> None:
    request = make_request(message, ["我喜歡 AI-Box", "好", "為什麼喜歡？", "好"])
    result = await resolve(extractor, ScriptedRewriter(("喜歡|", "AI-Box")), request)
    assert result.revision is None


async def test_where_the_rewriter_is_away_the_rules_follow_the_correction_and_it_says_so(
    extractor: Extractor, make_request: MakeRequest
) -> None:
    request = make_request("不是，我是說 HCI-500", ["我買了 HCI-500。我在看 AI-Box", "好", "它多少錢？", "好"])
    result = await resolve(extractor, DownRewriter(Overloaded("The queue is full.")), request)
    assert (result.resolved_query, result.degraded) == ("HCI-500 多少錢？", ("rewriter",))


@pytest.mark.parametrize("question", ["他喜歡喝什麼", "那個客戶後來怎麼樣了？", "what did we agree on with them?"])
async def test_a_question_that_was_asked_before_is_read_once_and_not_with_all_that_came_before(
    extractor: Extractor, make_request: MakeRequest, question: str
) -> None:
    rewriter = ScriptedRewriter()
    await resolve(extractor, rewriter, make_request(question, [question, "好"] * 5))
    assert len(rewriter.requests) == 1
