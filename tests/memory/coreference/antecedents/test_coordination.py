"""Two things that were named together: a singular after them is asked about, unless something tells them apart."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
from memory.coreference.rewriting_resolver import RewritingResolver
from typing_extensions import override

from memory.coreference.resolver import RuleResolver
from memory.ports.language import Encoder, Extractor, FloatMatrix, Priority, TextKind
from memory.values.entities import Entity
from memory.values.mentions import EntitySubtype
from memory.values.resolutions import CoreferenceResult, ResolutionRequest
from tests.memory.coreference.scripted_rewriter import ScriptedRewriter

Resolve = Callable[..., Awaitable[CoreferenceResult]]
MakeEntity = Callable[..., Entity]
MakeRequest = Callable[..., ResolutionRequest]

_TOGETHER = [
    ("AI-Box 跟 HCI-500 都要續約", "它什麼時候到期？", ["AI-Box", "HCI-500"]),
    ("Redis 和 Qdrant 都快到期了", "它什么时候到期？", ["Redis", "Qdrant"]),
    ("Both Redis and Qdrant are up for renewal.", "When does it expire?", ["Redis", "Qdrant"]),
    ("We pay for Redis as well as Qdrant.", "How much does it cost?", ["Redis", "Qdrant"]),
]


class FavouringEncoder(Encoder):
    """Gives the query and the favoured text one vector, and all other texts an orthogonal one."""

    def __init__(self, favoured: str) -> None:
        self._favoured = favoured

    @property
    @override
    def model_id(self) -> str:
        return "favouring"

    @property
    @override
    def dimension(self) -> int:
        return 2

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        near = [text == self._favoured or kind is TextKind.QUERY for text in texts]
        return np.array([(1, 0) if is_near else (0, 1) for is_near in near], dtype=np.float32)


@pytest.mark.parametrize(("turn", "query", "names"), _TOGETHER)
async def test_a_singular_that_fits_both_is_asked_about(
    resolve: Resolve, turn: str, query: str, names: list[str]
) -> None:
    result = await resolve(query, turn, "ok")
    assert result.resolved_query == query
    assert result.clarification
    assert [option.text for option in result.clarification.options] == names
    assert {alternative.text for alternative in result.unresolved[0].alternatives} >= {*names}


@pytest.mark.parametrize(("turn", "query", "names"), _TOGETHER)
async def test_what_was_referred_to_or_corrected_before_they_were_named_decides_nothing(
    resolve: Resolve, make_entity: MakeEntity, turn: str, query: str, names: list[str]
) -> None:
    entities = tuple(make_entity(name, EntitySubtype.PRODUCT) for name in names)
    history = tuple(
        {"original_text": pronoun, "resolved_text": names[0], "corrected": names[1]} for pronoun in ("它", "it")
    )  # fmt: skip
    before = ("我在看 " + names[1], "好", turn, "ok")
    result = await resolve(
        query, *before, long_term=entities, last_referred_entity=entities[1].entity_id, history=history
    )  # fmt: skip
    assert result.resolved_query == query
    assert result.clarification


@pytest.mark.parametrize(("turn", "query", "names"), _TOGETHER)
async def test_the_encoder_does_not_choose_between_them(
    extractor: Extractor, make_request: MakeRequest, turn: str, query: str, names: list[str]
) -> None:
    result = await RuleResolver(extractor=extractor, encoder=FavouringEncoder(names[1])).resolve(
        make_request(query, [turn, "ok"])
    )
    assert result.resolved_query == query


@pytest.mark.parametrize(("turn", "query", "names"), _TOGETHER)
async def test_nor_does_the_rewriter_however_sure_it_is(
    extractor: Extractor, make_request: MakeRequest, turn: str, query: str, names: list[str]
) -> None:
    rewriter = ScriptedRewriter(("它" if "它" in query else "it", names[0]), confidence=1.0)
    resolver = RewritingResolver(RuleResolver(extractor=extractor), rewriter=rewriter)
    result = await resolver.resolve(make_request(query, [turn, "ok"]))
    assert result.resolved_query == query
    assert result.clarification


@pytest.mark.parametrize(
    ("turns", "query", "expected"),
    [
        (("Alice and Redis came up in the meeting.", "ok"), "Is it fast?", "Is Redis fast?"),
        (("張小姐跟 AI-Box 都準備好了", "好"), "它放在哪裡？", "AI-Box 放在哪裡？"),
        (("張小姐跟 AI-Box 都準備好了", "好"), "她在哪裡？", "張小姐在哪裡？"),
        (("Alice and Bob met.", "ok"), "What does she do?", "What does Alice do?"),
    ],
)
async def test_where_the_two_are_of_different_kinds_the_sentence_decides(
    resolve: Resolve, turns: tuple[str, ...], query: str, expected: str
) -> None:
    assert (await resolve(query, *turns)).resolved_query == expected


@pytest.mark.parametrize(
    ("turns", "query", "expected"),
    [
        (("AI-Box 跟 HCI-500 都要續約", "好"), "它們什麼時候到期？", "AI-Box 跟 HCI-500 什麼時候到期？"),
        (("Redis and Qdrant are up for renewal.", "ok"), "When do they expire?", "When do Redis and Qdrant expire?"),
        (("Redis and Qdrant are up for renewal.", "ok"), "When does the latter expire?", "When does Qdrant expire?"),
    ],
)
async def test_a_plural_means_both_and_the_latter_the_second(
    resolve: Resolve, turns: tuple[str, ...], query: str, expected: str
) -> None:
    assert (await resolve(query, *turns)).resolved_query == expected


@pytest.mark.parametrize(
    ("turns", "query", "expected"),
    [
        (
            ("AI-Box 跟 HCI-500 都要續約", "好", "HCI-500 是去年買的", "好"),
            "它什麼時候到期？",
            "HCI-500 什麼時候到期？",
        ),
        (("Redis 和 Qdrant 都要续约。Redis 比较急。", "好"), "它什么时候到期？", "Redis 什么时候到期？"),
        (("I run Redis and Qdrant.", "ok", "Redis is down.", "ok"), "Is it back?", "Is Redis back?"),
    ],
)
async def test_the_one_that_was_named_again_since_is_meant(
    resolve: Resolve, turns: tuple[str, ...], query: str, expected: str
) -> None:
    assert (await resolve(query, *turns)).resolved_query == expected


async def test_once_another_is_named_the_answer_no_longer_holds(resolve: Resolve, make_entity: MakeEntity) -> None:
    exchange = (
        "AI-Box 跟 HCI-500 都要續約",
        "好",
        "它什麼時候到期？",
        "「它」是指 AI-Box 還是 HCI-500？",
        "前者",
        "好",
    )
    turns = (*exchange, "HCI-500 是去年買的", "好")
    entity = make_entity("AI-Box", EntitySubtype.PRODUCT)
    result = await resolve("它多少錢？", *turns, long_term=(entity,), last_referred_entity=entity.entity_id)
    assert result.resolved_query == "HCI-500 多少錢？"


async def test_what_the_assistant_quotes_names_nothing_anew(resolve: Resolve) -> None:
    quote = "You said: “I run Redis and Qdrant.”"
    exchange = ("I run Redis and Qdrant.", "ok", "Is it fast?", "Do you mean Redis or Qdrant?")
    assert (
        await resolve("How much is it?", *exchange, "the second one", quote)
    ).resolved_query == "How much is Qdrant?"
    assert (await resolve("How much is it?", *exchange[:2], "Who said so?", quote)).resolved_query == "How much is it?"


async def test_a_third_that_is_less_likely_is_not_asked_about(resolve: Resolve) -> None:
    result = await resolve("它要多少錢？", "我們在機房裝了 AI-Box 和 HCI-500", "好")
    assert result.clarification
    assert [option.text for option in result.clarification.options] == ["AI-Box", "HCI-500"]


async def test_once_the_question_is_answered_the_pronoun_means_the_answer(resolve: Resolve) -> None:
    turns = ("AI-Box 跟 HCI-500 都要續約", "好", "它什麼時候到期？", "「它」是指 AI-Box 還是 HCI-500？", "前者", "好")
    assert (await resolve("它多少錢？", *turns)).resolved_query == "AI-Box 多少錢？"


@pytest.mark.parametrize(
    ("turn", "query", "expected"),
    [
        ("台積電在高雄，鴻海在台北。", ("前者在哪裡？", "那後者呢？"), ("台積電在哪裡？", "那鴻海呢？")),
        ("Redis is fast. Qdrant is slow.", ("Is the latter old?", "Is the former?"), ("Is Qdrant old?", "Is Redis?")),
    ],
)
async def test_two_names_of_which_something_is_told_are_the_former_and_the_latter(
    resolve: Resolve, turn: str, query: tuple[str, str], expected: tuple[str, str]
) -> None:
    assert (await resolve(query[0], turn, "ok")).resolved_query == expected[0]
    assert (await resolve(query[1], turn, "ok", query[0], "ok")).resolved_query == expected[1]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("我們公司有兩台伺服器，Redis 和 Qdrant。", "Redis 和 Qdrant 放在哪裡？"),
        ("兩家供應商，台積電和鴻海，都來了。", "台積電和鴻海放在哪裡？"),
    ],
)
async def test_what_tells_what_the_names_behind_it_are_is_not_named_with_them(
    resolve: Resolve, turn: str, expected: str
) -> None:
    assert (await resolve("它們放在哪裡？", turn, "好")).resolved_query == expected
