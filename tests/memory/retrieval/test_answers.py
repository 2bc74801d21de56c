"""The best memories are read together with the question, and rank by what they answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.answer_reading import AnswerReader
from memory.ports.services import Retriever
from memory.retrieval.answers import AnswerRetriever
from memory.retrieval.validity import ValidityRetriever
from memory.values.errors import ModelUnavailable, Overloaded
from memory.values.evidence import MAX_ANSWER_LINES, AnswerRecipe
from memory.values.hits import Hit, HitKind, SearchRequest, SearchResult
from memory.values.understanding.dialogue import Role
from testing.fakes.answer_reader import FakeAnswerReader
from tests.memory.conftest import NOW, World
from tests.memory.diary import Diary
from tests.memory.retrieval.test_validity import Finding, corrected, moved

QUESTION = "Where is the key?"
IN_DRAWER = {QUESTION: {"drawer": "in the drawer"}}
ALONE = AnswerRecipe(lines=16, weight=1.0)


class Given(Retriever):
    """Finds what it is given."""

    def __init__(self, result: SearchResult) -> None:
        self._result = result

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        return self._result


def reading(world: World, reader: AnswerReader, recipe: AnswerRecipe = ALONE) -> AnswerRetriever:
    return AnswerRetriever(world.retriever, reader=reader, recipe=recipe)


def asking(world: World, query: str = QUESTION, **fields: object) -> SearchRequest:
    request = {"query": query, "user_id": "ann", "kinds": (HitKind.MEMORY,), "now": world.now} | fields
    return SearchRequest.model_validate(request)


async def test_what_answers_comes_first_with_its_words_and_the_parts_of_its_score(world: World) -> None:
    await world.note("The key is blue.", "The key is in the drawer.")
    fused = {hit.id: hit.score for hit in (await world.retriever.search(asking(world, top_k=16))).hits}
    recipe = AnswerRecipe(lines=16, weight=0.75)
    result = await reading(world, FakeAnswerReader(answers=IN_DRAWER), recipe).search(asking(world))
    assert [(hit.text, hit.words) for hit in result.hits] == [
        ("The key is in the drawer.", "in the drawer"),
        ("The key is blue.", ""),
    ]
    for hit in result.hits:
        assert hit.parts["fused"] == fused[hit.id]
        assert hit.score == pytest.approx(0.75 * hit.parts["answers"] + 0.25 * fused[hit.id])
    assert result.unanswered == pytest.approx(0.05)
    assert result.degraded == ()


async def test_a_memory_is_read_as_it_was_meant_with_its_date_and_speaker(world: World) -> None:
    await world.say("我們公司上個月買了 AI-Box，放在三樓機房。")
    await world.say("它的保固是三年。")
    await world.note("In the drawer.", kind="turn", speaker="Bo", role=Role.ASSISTANT)
    reader = FakeAnswerReader(answers={"AI-Box 保固多久？": {"保固": "三年"}, QUESTION: {"drawer": "In the drawer"}})
    [first, *_] = (await reading(world, reader).search(asking(world, "AI-Box 保固多久？"))).hits
    assert (first.text, first.resolved, first.words) == ("它的保固是三年。", "AI-Box 的保固是三年。", "三年")
    lines = {line.text: line for line in reader.requests[0].lines}
    assert lines["AI-Box 的保固是三年。"].said_at == first.created_at
    assert lines["Bo: In the drawer."].role is Role.ASSISTANT
    [spoken, *_] = (await reading(world, reader).search(asking(world))).hits
    assert (spoken.text, spoken.words) == ("In the drawer.", "In the drawer")


@pytest.mark.parametrize(
    ("told", "read", "words"),
    [
        ("使用者對花生過敏。", "我對花生過敏。", "花生"),
        ("用户住在三峡。", "我住在三峡。", "三峡"),
        ("The user is allergic to peanuts.", "I am allergic to peanuts.", "peanuts"),
        ("The user's pets: Bean.", "My pets: Bean.", "Bean"),
        ("Bean is a dog.", "Bean is a dog.", "Bean"),
    ],
)
async def test_what_was_given_about_the_user_is_read_in_the_first_person(
    world: World, told: str, read: str, words: str
) -> None:
    await world.note(told)
    reader = FakeAnswerReader(answers={"What do you know of me?": {words: words}})
    [hit] = (await reading(world, reader).search(asking(world, "What do you know of me?"))).hits
    assert [line.text for line in reader.requests[0].lines] == [read]
    assert (hit.text, hit.words) == (told, words)


@pytest.mark.parametrize(
    ("told", "read", "words"),
    [
        ("我家的網路密碼是 hz2024wifi", "hz2024", "hz2024wifi"),
        ("我的邮箱是mei2580@gmail.com", "mei2580", "mei2580@gmail.com"),
        ("The part is RM05-008, two left", "RM05", "RM05-008"),
        ("Bean's bed is blue", "Bean", "Bean"),
        ("open Monday-Friday", "Friday", "Friday"),
    ],
)
async def test_words_cut_no_identifier(world: World, told: str, read: str, words: str) -> None:
    await world.note(told)
    reader = FakeAnswerReader(answers={QUESTION: {read: read}})
    [hit] = (await reading(world, reader).search(asking(world))).hits
    assert hit.words == words


async def test_a_memory_of_another_identifier_does_not_answer(world: World) -> None:
    await world.note("ZX0005-87 is kept in hall 7.", "ZX0005-88 is kept in hall 3.", "Halls are locked at night.")
    query = "Where is zx0005-88 kept?"
    reader = FakeAnswerReader(answers={query: {"hall 7": "hall 7", "Halls": "at night"}})
    hits = {hit.text: hit for hit in (await reading(world, reader).search(asking(world, query))).hits}
    assert hits["ZX0005-87 is kept in hall 7."].parts["answers"] == 0.0
    assert hits["Halls are locked at night."].parts["answers"] > 0.5
    query = "Where is ZX0009-10 kept?"
    reader = FakeAnswerReader(answers={query: {"hall 7": "hall 7"}})
    hits = {hit.text: hit for hit in (await reading(world, reader).search(asking(world, query))).hits}
    assert hits["ZX0005-87 is kept in hall 7."].parts["answers"] > 0.5


async def test_what_only_asks_or_says_nothing_takes_no_line(world: World) -> None:
    await world.note(QUESTION, "Yes.", "The key is in the drawer.")
    reader = FakeAnswerReader(answers=IN_DRAWER)
    hits = (await reading(world, reader).search(asking(world))).hits
    assert [line.text for line in reader.requests[0].lines] == ["The key is in the drawer."]
    assert {hit.text: hit.words for hit in hits} == {
        "The key is in the drawer.": "in the drawer",
        QUESTION: None,
        "Yes.": None,
    }


@pytest.mark.parametrize(
    ("query", "asks", "is_read"),
    [
        (QUESTION, None, True),
        ("鑰匙在哪", None, True),
        ("key drawer", None, False),
        ("key drawer", True, True),
        (QUESTION, False, False),
    ],
)
async def test_only_what_asks_is_read(world: World, query: str, asks: bool | None, is_read: bool) -> None:
    await world.note("The key is in the drawer.")
    reader = FakeAnswerReader()
    result = await reading(world, reader).search(asking(world, query, asks=asks))
    assert bool(reader.requests) is is_read
    assert (result.unanswered is not None) is is_read
    if not is_read:
        assert result == await world.retriever.search(asking(world, query))


async def test_what_only_asks_takes_no_place_of_what_is_read_and_comes_last(world: World) -> None:
    asked = [f"Where is the key? {number}?" for number in range(4)]
    await world.note(*asked, "The key is in the drawer.")
    reader = FakeAnswerReader(answers=IN_DRAWER)
    retriever = reading(world, reader, AnswerRecipe(lines=4, weight=0.6))
    [best] = (await retriever.search(asking(world, top_k=1))).hits
    assert [line.text for line in reader.requests[0].lines] == [best.text] == ["The key is in the drawer."]
    first, *others = (await retriever.search(asking(world))).hits
    assert first.text == best.text
    assert {hit.text for hit in others} == set(asked)


async def test_names_alone_are_not_read(world: World) -> None:
    await world.say("我們今天測試宏康 HCI。")
    reader = FakeAnswerReader()
    assert (await reading(world, reader).search(asking(world, "宏康在哪？", kinds=(HitKind.ENTITY,)))).hits
    assert reader.requests == []


async def test_a_name_that_the_question_holds_stays_first(world: World) -> None:
    await world.say("我們今天測試宏康 HCI。")
    await world.note("HCI 放在三樓")
    reader = FakeAnswerReader(answers={"宏康 HCI 在哪裡？": {"三樓": "三樓"}})
    kinds = (HitKind.ENTITY, HitKind.MEMORY)
    request = asking(world, "宏康 HCI 在哪裡？", kinds=kinds)
    hits = (await reading(world, reader, AnswerRecipe(lines=16, weight=0.7)).search(request)).hits
    assert hits[0].text == "宏康 HCI"
    assert next(hit.text for hit in hits if hit.kind is HitKind.MEMORY) == "HCI 放在三樓"


async def test_the_best_memories_are_read_and_no_more_are_shown_than_asked_for(world: World) -> None:
    await world.note(*(f"key {number}" for number in range(20)), "A key hangs behind the door.")
    reader = FakeAnswerReader(answers={QUESTION: {"door": "behind the door"}})
    everything = (await reading(world, reader, AnswerRecipe(lines=3, weight=0.7)).search(asking(world, top_k=30))).hits
    assert len(reader.requests[0].lines) == 3
    assert [hit.words is not None for hit in everything].count(True) == 3
    assert len(everything) == 21
    result = await reading(world, reader, AnswerRecipe(lines=24, weight=0.7)).search(asking(world, top_k=1))
    assert [hit.text for hit in result.hits] == ["A key hangs behind the door."]


async def test_a_reader_that_is_away_is_named_and_the_ranking_stands(world: World) -> None:
    await world.note("The key is blue.", "The key is in the drawer.")
    reader = FakeAnswerReader(error=ModelUnavailable("gone", component="answers"))
    result = await reading(world, reader).search(asking(world))
    plain = await world.retriever.search(asking(world, top_k=16))
    assert (result.hits, result.unanswered, result.degraded) == (plain.hits, None, ("answers",))


async def test_a_reader_with_a_full_queue_refuses_the_search_and_no_worse_answer_is_given(world: World) -> None:
    await world.note("The key is in the drawer.")
    with pytest.raises(Overloaded):
        await reading(world, FakeAnswerReader(error=Overloaded("full"))).search(asking(world))


@pytest.mark.parametrize(("degraded", "unanswered"), [((), 1.0), (("record",), None)])
async def test_where_nothing_was_found_nothing_answers_unless_it_could_not_be_found(
    degraded: tuple[str, ...], unanswered: float | None
) -> None:
    retriever = AnswerRetriever(Given(SearchResult(degraded=degraded)), reader=FakeAnswerReader())
    result = await retriever.search(SearchRequest(query=QUESTION, user_id="ann", now=NOW))
    assert (result.unanswered, result.degraded) == (unanswered, degraded)


async def test_what_the_assistant_asked_answers_nothing(world: World) -> None:
    await world.note("Nice! What's the cat called?", kind="turn", role=Role.ASSISTANT)
    await world.note("The cat is called Biscuit.", kind="turn", role=Role.ASSISTANT)
    query = "What is my cat called?"
    reader = FakeAnswerReader(answers={query: {"What's": "the cat called", "Biscuit": "Biscuit"}})
    hits = {hit.text: hit.parts["answers"] for hit in (await reading(world, reader).search(asking(world, query))).hits}
    assert hits == {"The cat is called Biscuit.": 0.95, "Nice! What's the cat called?": 0.0}


async def test_documents_are_read_apart_as_they_are_and_the_surer_reading_says_that_something_answers() -> None:
    hits = [
        Hit(kind=kind, id=text, text=text, score=score, parts={}, created_at=NOW)
        for kind, text, score in (
            (HitKind.KNOWLEDGE, "使用者的鑰匙放在櫃台。", 1.0),
            (HitKind.MEMORY, "使用者的鑰匙是藍色的。", 0.9),
            (HitKind.KNOWLEDGE, "櫃台九點開門。", 0.8),
        )
    ]
    question = "鑰匙放在哪裡？"
    reader = FakeAnswerReader(answers={question: {"櫃台。": "櫃台"}})
    retriever = AnswerRetriever(Given(SearchResult(hits=tuple(hits))), reader=reader, recipe=AnswerRecipe(lines=1))
    result = await retriever.search(SearchRequest(query=question, user_id="ann", now=NOW))
    assert [[line.text for line in request.lines] for request in reader.requests] == [
        ["我的鑰匙是藍色的。"],
        ["使用者的鑰匙放在櫃台。"],
    ]
    assert [request.of_documents for request in reader.requests] == [False, True]
    assert (result.hits[0].text, result.hits[0].words) == ("使用者的鑰匙放在櫃台。", "櫃台")
    assert result.unanswered == pytest.approx(0.05)


async def ask_diary(diary: Diary, entries: list[str], reader: FakeAnswerReader, question: str) -> SearchResult:
    searching = ValidityRetriever(Finding(diary, entries), record=diary.record, analyzer=KeywordAnalyzer())
    request = SearchRequest(query=question, user_id="ann", now=diary.now)
    return await AnswerRetriever(searching, reader=reader).search(request)


async def test_what_holds_answers_as_well_as_what_it_replaced_and_in_its_own_words(diary: Diary) -> None:
    reader = FakeAnswerReader(answers={"Where do I live?": {"Leeds": "Leeds"}})
    new, old, tea = (await ask_diary(await moved(diary), ["r1", "r2", "r3"], reader, "Where do I live?")).hits
    assert [(hit.text, hit.words) for hit in (new, old)] == [("we moved to York", "York"), ("I live in Leeds", "Leeds")]
    assert new.parts["answers"] == old.parts["answers"] > 0.5 > tea.parts["answers"]


@pytest.mark.parametrize(
    ("question", "words", "best", "replaced"),
    [
        ("How many spreads?", {"badger": "12", "typo": "14"}, ("typo, 14 spreads", "14"), 1.0),
        ("When is it due?", {"badger": "in May"}, ("the badger book has 12 spreads, due in May", "in May"), 0.0),
    ],
)
async def test_what_replaced_a_memory_answers_in_its_place_where_it_is_about_what_is_asked(
    diary: Diary, question: str, words: dict[str, str], best: tuple[str, str], replaced: float
) -> None:
    reader = FakeAnswerReader(answers={question: words}, unlikely=0.0)
    first, *others = (await ask_diary(await corrected(diary), ["r1", "r2"], reader, question)).hits
    assert (first.text, first.words) == best
    [old] = [hit for hit in (first, *others) if hit.is_replaced]
    assert old.parts.get("replaced", 0.0) == replaced


async def test_of_an_earlier_time_nothing_is_out_of_date(diary: Diary) -> None:
    await moved(diary)
    outdated = {question: {"Leeds": "Leeds"} for question in ("Where do I live?", "Where did I live before?")}
    reader = FakeAnswerReader(answers={question: {} for question in outdated}, outdated=outdated)
    shares = {}
    for question in outdated:
        hits = (await ask_diary(diary, ["r1"], reader, question)).hits
        shares[question] = {hit.text: hit.parts["outdated"] for hit in hits}["I live in Leeds"]
    assert shares == {"Where do I live?": 0.95, "Where did I live before?": 0.0}


@given(st.integers(-5, 50), st.floats(-1, 2))
def test_a_recipe_stays_within_its_bounds(lines: int, weight: float) -> None:
    if 1 <= lines <= MAX_ANSWER_LINES and 0 <= weight <= 1:
        assert AnswerRecipe(lines=lines, weight=weight).lines == lines
    else:
        with pytest.raises(ValueError, match=r"weight|lines"):
            AnswerRecipe(lines=lines, weight=weight)
