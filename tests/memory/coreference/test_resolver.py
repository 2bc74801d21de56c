"""The resolver as a whole: long-term memory, chains, what it reports, and the encoder as a tie-breaker."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest

from memory.coreference.resolver import RuleResolver
from memory.extraction.extractor import RuleExtractor
from memory.ports.language import Encoder, Extractor, FloatMatrix, Priority, TextKind
from memory.values.entities import Entity, EntityStatus
from memory.values.errors import InvalidField, Overloaded
from memory.values.mentions import EntitySubtype, Mention
from memory.values.resolutions import CoreferenceResult, ReferenceSource, ResolutionRequest

Resolve = Callable[..., Awaitable[CoreferenceResult]]
MakeEntity = Callable[..., Entity]


class WordVectors(Encoder):
    """Deterministic: texts that share words are near each other."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.texts: list[str] = []
        self._error = error

    @property
    def model_id(self) -> str:
        return "words"

    @property
    def dimension(self) -> int:
        return 64

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        if self._error:
            raise self._error
        self.texts.extend(texts)
        rows = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(map(ord, word.strip("?.!"))) % self.dimension] += 1
        vectors: FloatMatrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors


async def test_last_time_reaches_into_long_term_memory(resolve: Resolve, make_entity: MakeEntity) -> None:
    entity = make_entity("AI-Box", EntitySubtype.PRODUCT)
    result = await resolve("上次說的那個系統怎麼樣？", long_term=(entity,))
    assert result.resolved_query == "AI-Box 怎麼樣？"
    (resolution,) = result.resolutions
    assert resolution.source is ReferenceSource.LONG_TERM
    assert resolution.entity_id == entity.entity_id
    assert result.entities_found == (entity.entity_id,)
    assert "長期記憶" in resolution.reason


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("上次提到的怎麼樣？", "AI-Box 怎麼樣？"),
        ("之前说的那个系统多少钱", "AI-Box 多少钱"),
        ("How much is the one from last week?", "How much is AI-Box?"),
        ("How much is what we discussed last time?", "How much is AI-Box?"),
        ("Where is the system we talked about yesterday?", "Where is AI-Box?"),
        ("它多少錢？", "AI-Box 多少錢？"),
    ],
)
async def test_a_new_session_knows_the_only_thing_that_fits(
    resolve: Resolve, make_entity: MakeEntity, query: str, expected: str
) -> None:
    entities = (make_entity("AI-Box", EntitySubtype.PRODUCT), make_entity("張小姐", EntitySubtype.PERSON))
    assert (await resolve(query, long_term=entities)).resolved_query == expected


async def test_the_type_chooses_in_long_term_memory(resolve: Resolve, make_entity: MakeEntity) -> None:
    entities = (make_entity("AI-Box", EntitySubtype.PRODUCT), make_entity("台積電", EntitySubtype.ORGANISATION))
    assert (await resolve("上次說的那家公司在哪？", long_term=entities)).resolved_query == "台積電在哪？"


async def test_a_plain_pronoun_prefers_the_session(resolve: Resolve, make_entity: MakeEntity) -> None:
    entities = (make_entity("AI-Box", EntitySubtype.PRODUCT),)
    result = await resolve("它多少錢？", "我在看 ThinkPad", "好", long_term=entities)
    assert result.resolved_query == "ThinkPad 多少錢？"
    assert result.resolutions[0].source is ReferenceSource.SESSION


async def test_archived_entities_are_not_offered(resolve: Resolve, make_entity: MakeEntity) -> None:
    entity = make_entity("AI-Box", EntitySubtype.PRODUCT, status=EntityStatus.ARCHIVED)
    assert (await resolve("上次說的那個系統呢", long_term=(entity,))).resolutions == ()


async def test_a_name_in_the_session_gets_the_id_that_long_term_memory_gave_it(
    resolve: Resolve, make_entity: MakeEntity
) -> None:
    entity = make_entity("宏康 HCI", EntitySubtype.PRODUCT, aliases=("HCI",))
    result = await resolve("它的價格呢？", "介紹一下 HCI", "好", long_term=(entity,))
    assert result.resolved_query == "HCI 的價格呢？"
    assert result.entities_found == (entity.entity_id,)


async def test_a_group_reports_the_ids_of_its_members(resolve: Resolve, make_entity: MakeEntity) -> None:
    entities = (make_entity("Redis", EntitySubtype.PRODUCT), make_entity("Qdrant", EntitySubtype.PRODUCT))
    result = await resolve("它們要錢嗎？", "Redis 和 Qdrant 哪個好？", "都好", long_term=entities)
    assert set(result.entities_found) == {entity.entity_id for entity in entities}


async def test_two_that_fit_alike_are_a_question_not_an_answer(resolve: Resolve) -> None:
    result = await resolve("她什麼時候來？", "我約了張小姐。我約了李小姐。", "好")
    assert result.resolved_query == result.original_query
    (open_question,) = result.unresolved
    assert open_question.original_text == "她"
    assert {alternative.text for alternative in open_question.alternatives} >= {"張小姐"}
    assert result.confidence < 0.5


async def test_a_lower_floor_dares_more(extractor: Extractor, make_request: Callable[..., ResolutionRequest]) -> None:
    request = make_request("Is this movie good?", ["I know Inception and Dune. I love Inception.", "ok"])
    daring = await RuleResolver(extractor=extractor, floor=0.0).resolve(request)
    assert daring.resolved_query != request.query
    careful = await RuleResolver(extractor=extractor, floor=1.0).resolve(request)
    assert careful.resolved_query == request.query


def test_a_floor_outside_0_to_1_is_refused(extractor: Extractor) -> None:
    with pytest.raises(InvalidField) as refused:
        RuleResolver(extractor=extractor, floor=1.5)
    assert refused.value.field == "floor"


async def test_an_ellipsis_is_an_inference(resolve: Resolve) -> None:
    (resolution,) = (await resolve("那價格呢？", "AI-Box 是什麼？", "平台。")).resolutions
    assert resolution.source is ReferenceSource.INFERENCE
    assert (resolution.original_text, resolution.resolved_text) == ("價格", "AI-Box 的價格")


@pytest.mark.parametrize(
    ("query", "turns", "words"),
    [
        ("它多少錢？", ("我在看 AI-Box", "好"), "上一輪提到的產品，唯一符合的單數事物"),
        ("它多少钱？", ("我在看 AI-Box", "好"), "上一轮提到的产品，唯一符合的单数事物"),
        ("How much is it?", ("I use Redis.", "ok"), "the only product mentioned, 1 turn ago"),
    ],
)
async def test_the_reason_is_one_line_in_the_language_of_the_query(
    resolve: Resolve, query: str, turns: tuple[str, ...], words: str
) -> None:
    (resolution,) = (await resolve(query, *turns)).resolutions
    assert resolution.reason == words


async def test_the_last_referred_entity_breaks_a_tie(resolve: Resolve, make_entity: MakeEntity) -> None:
    entities = (make_entity("Redis", EntitySubtype.PRODUCT), make_entity("Qdrant", EntitySubtype.PRODUCT))
    turns = ("I tried Redis. I tried Qdrant.", "ok")
    for entity in entities:
        result = await resolve("Is it fast?", *turns, long_term=entities, last_referred_entity=entity.entity_id)
        assert result.resolved_query == f"Is {entity.entity_value} fast?"


async def test_the_encoder_is_asked_only_when_the_ranking_is_close(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest]
) -> None:
    encoder = WordVectors()
    resolver = RuleResolver(extractor=extractor, encoder=encoder)
    await resolver.resolve(make_request("Is it fast?", ["I use Redis.", "ok"]))
    assert encoder.texts == []
    close = make_request("Is it fast?", ["I tried Redis. I tried Qdrant.", "ok"])
    await resolver.resolve(close)
    assert set(encoder.texts) == {"Is  fast?", "Redis", "Qdrant"}
    await resolver.resolve(close)
    assert len(encoder.texts) == 3  # remembered


async def test_a_busy_encoder_costs_the_tie_break_not_the_answer(
    extractor: Extractor, make_request: Callable[..., ResolutionRequest]
) -> None:
    request = make_request("Is it fast?", ["I tried Redis. I tried Qdrant.", "ok"])
    busy = RuleResolver(extractor=extractor, encoder=WordVectors(error=Overloaded("The queue is full.")))
    assert await busy.resolve(request) == await RuleResolver(extractor=extractor).resolve(request)


async def test_the_confidence_is_that_of_the_least_certain(resolve: Resolve) -> None:
    result = await resolve("她喜歡它嗎？", "張小姐買了 ThinkPad", "好")
    assert result.resolved_query == "張小姐喜歡 ThinkPad 嗎？"
    assert result.confidence == min(resolution.confidence for resolution in result.resolutions)


async def test_nothing_to_resolve_is_certain(resolve: Resolve) -> None:
    result = await resolve("今天天氣如何？", "AI-Box 是什麼？", "平台")
    assert (result.resolved_query, result.confidence, result.unresolved) == ("今天天氣如何？", 1.0, ())


@pytest.mark.parametrize("read_as", [None, EntitySubtype.ORGANISATION])
async def test_a_phrase_that_was_said_before_is_no_name_of_another_type(
    make_request: Callable[..., ResolutionRequest], read_as: EntitySubtype | None
) -> None:
    resolver = RuleResolver(extractor=RuleExtractor())
    conversation = [
        "I parked the car in Hamburg.",
        "Understood.",
        "Where is it?",
        "In Hamburg.",
        "No, I meant Bremen",
        "ok",
    ]
    bremen = Mention(text="Bremen", start=12, end=18, subtype=read_as, confidence=0.9, source="tagger.group")
    for query in ("Where did I park the car?", "Is the car new?"):
        request = make_request(query, conversation)
        turns = list(request.turns)
        turns[4] = turns[4].model_copy(update={"mentions": (bremen,)})
        assert (await resolver.resolve(request.model_copy(update={"turns": tuple(turns)}))).resolved_query == query
