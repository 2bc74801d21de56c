"""The learner: everything is learned, exactly once, and nothing else is."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from memory.erasure.requests import PENDING, Request
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learned_turns import LearnedTurn
from memory.learning.learner import Learner
from memory.ports.models.language import FactReader, FactRequest
from memory.ports.stores.vectors import Collection
from memory.values.entities import EntitySource
from memory.values.errors import StoreUnavailable
from memory.values.governance.erasures import ErasureKind
from memory.values.governance.forgetting import ForgetRequest
from memory.values.ids import entity_id, memory_id
from memory.values.records import MemoryKind, Resource, ResourceKind
from memory.values.understanding.dialogue import Role
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import Mention
from memory.values.understanding.readings import FactSpan, Intent, StatedFact
from testing.fakes.reader import FakeReader, stated
from tests.memory.conftest import NOW, World


async def _log(world: World, *contents: str, user: str = "ann", role: Role = Role.USER, learn: bool = True) -> None:
    async with world.record.writing(user_id=user) as unit:
        resources = [
            Resource(
                resource_id=f"{user}-{content}",
                user_id=user,
                session_id="s",
                role=role,
                content=content,
                created_at=NOW,
                learn=learn,
            )
            for content in contents
        ]
        await unit.log.append(resources)
        await unit.commit()


async def _entity(world: World, value: str, user: str = "ann") -> Any:
    async with world.record.reading(user_id=user) as unit:
        return await unit.entities.get_by_value(value)


async def test_names_become_entities_and_turns_become_memories(world: World) -> None:
    await _log(world, "我們用 RM05-008 測試。", "RM05-008 今天到貨。")
    report = await world.learn()
    entity = await _entity(world, "rm05-008")
    assert entity.mention_count == 2
    assert (report.resources, report.memories) == (2, 2)
    assert await world.index.count(Collection.MEMORIES, user_id="ann") == 2


async def test_learning_again_learns_nothing(world: World) -> None:
    await _log(world, "我們用 RM05-008 測試。")
    await world.learn()
    assert (await world.learn()).resources == 0
    assert (await _entity(world, "RM05-008")).mention_count == 1


async def test_two_learners_at_once_count_each_mention_once(world: World) -> None:
    await _log(world, *(f"RM05-008 第{number}次" for number in range(20)))
    second_learner = Learner(
        record=world.record,
        extractor=ReadingExtractor(FakeReader()),
        indexer=Indexer(
            record=world.record, spaces=OneSpace(encoder=world.encoder, index=world.index), analyzer=KeywordAnalyzer()
        ),
    )
    await asyncio.gather(world.learn(), second_learner.learn(user_id="ann"))
    assert (await _entity(world, "RM05-008")).mention_count == 20


async def test_what_an_index_outage_holds_up_is_indexed_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _log(world, "The spare key is in the blue drawer.")

    async def down(*_: object, **__: object) -> None:
        raise StoreUnavailable("gone", component="vectors")

    with monkeypatch.context() as patch:
        patch.setattr(world.index, "upsert", down)
        with pytest.raises(StoreUnavailable):
            await world.learn()
    assert await world.record.backlog.unlearned(limit=10) == []
    assert (await world.learn()).indexed > 0
    assert await world.record.backlog.outbox(limit=10) == []
    assert (await world.find("spare key")).hits[0].text == "The spare key is in the blue drawer."


async def test_preloaded_entities_are_there_once_and_not_mentioned(world: World) -> None:
    await _log(world, "hello there", "and again")
    await world.learn()
    seed = await _entity(world, "Qdrant")
    assert (seed.source, seed.mention_count) == (EntitySource.SYSTEM, 0)
    await _log(world, "我們把 Qdrant 升級了")
    await world.learn()
    assert (await _entity(world, "qdrant")).mention_count == 1


async def test_the_assistant_s_words_are_remembered_but_teach_no_entities(world: World) -> None:
    await _log(world, "也許你可以試試 ZX81-200。", role=Role.ASSISTANT)
    report = await world.learn()
    assert report.memories == 1
    assert await _entity(world, "ZX81-200") is None


async def test_an_assistant_that_says_remember_this_asks_for_nothing(world: World) -> None:
    await _log(world, "車位是 B2-17")
    await _log(world, "記住這個", role=Role.ASSISTANT)
    assert (await world.learn()).memories == 2
    async with world.record.reading(user_id="ann") as unit:
        assert {memory.kind for memory in await unit.memories.recent(limit=10)} == {MemoryKind.TURN}


async def test_what_is_not_to_be_learned_is_not(world: World) -> None:
    await _log(world, "an answer of our own", learn=False)
    assert (await world.learn()).resources == 0


async def test_time_words_never_become_entities(world: World) -> None:
    await _log(world, "今天、上週、明天和最近都很忙，yesterday and last week too")
    await world.learn()
    async with world.record.reading(user_id="ann") as unit:
        assert [e for e in await unit.entities.recent(limit=50) if e.mention_count] == []


async def test_remember_this_marks_what_was_said_before_and_is_no_memory_itself(world: World) -> None:
    await _log(world, "車位是 B2-17")
    await _log(world, "記住這個")
    report = await world.learn()
    async with world.record.reading(user_id="ann") as unit:
        [memory] = await unit.memories.get([memory_id("ann", "ann-車位是 B2-17")])
        assert memory.kind is MemoryKind.REMEMBERED
        assert len(await unit.memories.recent(limit=10)) == report.memories == 1


async def test_what_is_to_be_remembered_gives_its_names_full_confidence(world: World) -> None:
    await _log(world, "幫我記住，備用機是 RM05-009")
    await world.learn()
    entity = await _entity(world, "RM05-009")
    assert (entity.confidence, entity.source) == (1.0, EntitySource.USER)


async def test_repeating_a_guess_makes_it_surer_but_never_certain(world: World) -> None:
    await _log(world, "Golden Wok opened.")
    await world.learn()
    guessed = (await _entity(world, "Golden Wok")).confidence
    await _log(world, *(f"{number} times at Golden Wok" for number in range(3)))
    await world.learn()
    assert guessed < (await _entity(world, "Golden Wok")).confidence < 1


async def test_codes_that_differ_in_one_character_stay_two_entities(world: World) -> None:
    await _log(world, "RM05-008 和 RM05-009 都到了")
    await world.learn()
    assert (await _entity(world, "RM05-008")).entity_id != (await _entity(world, "RM05-009")).entity_id


async def test_users_learn_apart(world: World) -> None:
    await _log(world, "RM05-008 到了", user="ann")
    await _log(world, "RM05-008 也到了", user="bob")
    await world.learn("ann")
    assert await _entity(world, "RM05-008", user="bob") is None
    await world.learn("bob")
    assert entity_id("ann", "RM05-008") != (await _entity(world, "RM05-008", user="bob")).entity_id


@pytest.mark.parametrize(
    ("intents", "teaches"),
    [
        ((Intent.STATEMENT,), True),
        ((Intent.REMEMBER,), True),
        ((Intent.DENY, Intent.CORRECTION), True),
        ((Intent.CONFIRM,), True),
        ((Intent.THANKS, Intent.STATEMENT), True),
        ((), True),
        ((Intent.QUESTION,), False),
        ((Intent.REQUEST,), False),
        ((Intent.CHITCHAT,), False),
    ],
)
def test_new_names_are_learned_where_a_message_tells_something(intents: tuple[Intent, ...], teaches: bool) -> None:
    turn = _turn("阿土伯和 Redis", intents=intents)
    assert [mention.text for _, mention in turn.mentions()] == (["阿土伯", "Redis"] if teaches else ["Redis"])
    assert turn.tells is teaches
    assert _turn("阿土伯和 Redis", intents=intents, kind=ResourceKind.NOTE).tells


@pytest.mark.parametrize(
    ("text", "intents", "teaches"),
    [
        ("我搬家了。你認識阿土伯嗎？", (Intent.STATEMENT, Intent.QUESTION), False),
        ("阿土伯來了。你要來嗎？", (Intent.STATEMENT, Intent.QUESTION), True),
        ("可以幫我記住阿土伯的電話嗎？", (Intent.REMEMBER, Intent.QUESTION), True),
        ("我在想誰是阿土伯", (Intent.STATEMENT,), True),
        ("他說：「阿土伯來了」", (Intent.STATEMENT,), False),
    ],
)
def test_a_message_that_tells_and_asks_teaches_what_it_tells(
    text: str, intents: tuple[Intent, ...], teaches: bool
) -> None:
    assert ("阿土伯" in [mention.text for _, mention in _turn(text, intents=intents).mentions()]) is teaches


def test_what_a_question_states_is_learned_and_what_it_asks_is_not() -> None:
    text = "阿土伯養的旺財可以搭高鐵嗎？"
    names = ("阿土伯", "旺財", "高鐵")
    mentions = tuple(
        Mention(text=name, start=text.index(name), end=text.index(name) + len(name), entity_id=name) for name in names
    )
    facts = (
        StatedFact(
            subject=FactSpan(text="阿土伯", start=0, end=3),
            predicate="pet",
            object=FactSpan(text="旺財", start=5, end=7),
        ),
    )
    for intent, learned in ((Intent.QUESTION, ["阿土伯", "旺財"]), (Intent.CHITCHAT, [])):
        extraction = Extraction(mentions=mentions, intents=(intent,), facts=facts)
        turn = LearnedTurn(_turn(text).resource, extraction, None)
        assert [mention.text for _, mention in turn.mentions()] == learned


def test_a_single_character_is_never_learned() -> None:
    assert _turn("今天京很冷", name="京").mentions() == []


def _turn(
    text: str,
    *,
    name: str = "阿土伯",
    intents: tuple[Intent, ...] = (Intent.STATEMENT,),
    kind: ResourceKind = ResourceKind.TURN,
) -> LearnedTurn:
    mentions = [
        Mention(text=word, start=text.index(word), end=text.index(word) + len(word), source=source, entity_id=word)
        for word, source in ((name, "reader.person"), ("Redis", "seed"))
        if word in text
    ]
    resource = Resource(resource_id="r", user_id="ann", session_id="s", content=text, created_at=NOW, kind=kind)
    return LearnedTurn(resource, Extraction(mentions=tuple(mentions), intents=intents), None)


async def test_facts_are_saved_with_their_evidence_and_indexed(world: World) -> None:
    message = "我住板橋，對花生過敏"
    world.language.scripted[message] = stated(message, "user | lives_in | 板橋", "user | allergic_to | 花生")
    await _log(world, message)
    await world.learn()
    async with world.record.reading(user_id="ann") as unit:
        facts = await unit.facts.list()
    assert {(fact.predicate, fact.object, fact.resource_id) for fact in facts} == {
        ("lives_in", "板橋", f"ann-{message}"),
        ("allergic_to", "花生", f"ann-{message}"),
    }
    assert await world.index.count(Collection.FACTS, user_id="ann") == 2


async def test_messages_of_what_is_forgotten_are_left_to_an_erasure_with_the_request(world: World) -> None:
    told, request = "置物櫃密碼是 4056", "忘掉置物櫃密碼"
    world.language.scripted[told] = stated(told, "置物櫃 | code | 4056")
    await _log(world, told, request)
    await world.learn()
    [recorded] = await world.record.runs.latest(PENDING, limit=10)
    target = Request.model_validate(recorded.input["request"]).target
    assert target
    assert (target.user_id, target.scope.kind) == ("ann", ErasureKind.ITEM)
    assert [target.scope.item_id, *target.scope.more] == [f"ann-{told}", f"ann-{request}"]
    assert await world.index.count(Collection.FACTS, user_id="ann") == 0
    assert await world.index.count(Collection.MEMORIES, user_id="ann") == 0


class _TeaReader(FactReader):
    """Finds the same fact in every message, but none in the last."""

    def __init__(self) -> None:
        self.requests: list[FactRequest] = []

    async def read_facts(self, requests: Sequence[FactRequest]) -> list[tuple[StatedFact, ...] | None]:
        self.requests += requests
        tea = StatedFact(predicate="likes", object=FactSpan(text="tea", start=7, end=10))
        return [*([(tea,)] * (len(requests) - 1)), None]


async def test_a_fact_reader_reads_what_may_state_facts_and_where_it_cannot_the_extractors_hold(world: World) -> None:
    reader = _TeaReader()
    learner = Learner(
        record=world.record, extractor=ReadingExtractor(FakeReader()), indexer=world.learner.indexer, facts=reader
    )
    await _log(world, "Hello!", "I like tea.", "Forget my locker code.", "I like jazz and gin.")
    await learner.learn(user_id="ann")
    assert [request.text for request in reader.requests] == ["I like tea.", "I like jazz and gin."]
    assert [turn.content for turn in reader.requests[0].turns] == ["Hello!"]
    async with world.record.reading(user_id="ann") as unit:
        assert [(fact.predicate, fact.object) for fact in await unit.facts.list()] == [("likes", "tea")]


async def test_a_request_to_forget_waits_for_no_fact_reader(world: World) -> None:
    reader, extractor = _TeaReader(), ReadingExtractor(FakeReader())
    learner = Learner(record=world.record, extractor=extractor, indexer=world.learner.indexer, facts=reader)
    await _log(world, "I like tea.")
    asked = "Forget my locker code."
    message = Resource(resource_id="f", user_id="ann", session_id="s", content=asked, created_at=NOW)
    [extraction] = await extractor.extract([asked])
    await learner.forget(ForgetRequest(message=message, extraction=extraction))
    assert reader.requests == []
    assert (await learner.learn(user_id="ann")).resources == 0
