"""Hits say how what they state stands, and what holds comes in the place of what does not."""

from collections.abc import Sequence

import pytest
from typing_extensions import override

from memory.language.keywords import KeywordAnalyzer
from memory.ports.services import Retriever
from memory.retrieval.ranking import memory_hit
from memory.retrieval.validity import ValidityRetriever
from memory.values.errors import StoreUnavailable
from memory.values.facts import Standing
from memory.values.hits import SearchFilter, SearchRequest, SearchResult
from memory.values.ids import memory_id
from testing.fakes.answer_reader import FakeAnswerReader
from tests.memory.diary import Diary


class Finding(Retriever):
    """Finds the memories of these log entries, best first."""

    def __init__(self, diary: Diary, entries: Sequence[str]) -> None:
        self._diary = diary
        self._entries = entries

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        async with self._diary.record.reading(user_id=request.user_id) as unit:
            memories = await unit.memories.get([memory_id("ann", entry) for entry in self._entries])
        hits = [memory_hit(memory, 1.0 - rank / 10, {"cosine": 0.9}) for rank, memory in enumerate(memories)]
        return SearchResult(hits=tuple(hits))


async def moved(diary: Diary) -> Diary:
    await diary.tell("2026-03-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-03-03", "I like tea", "user | likes | tea")
    await diary.tell("2026-05-10", "we moved to York", "user | lives_in | York")
    return diary


async def found(
    diary: Diary, entries: Sequence[str], query: str = "Where do I live?", **fields: object
) -> SearchResult:
    retriever = ValidityRetriever(Finding(diary, entries), record=diary.record, analyzer=KeywordAnalyzer())
    request = {"query": query, "user_id": "ann", "now": diary.now} | fields
    return await retriever.search(SearchRequest.model_validate(request))


async def test_what_holds_comes_before_what_it_replaced_though_it_did_not_match(diary: Diary) -> None:
    result = await found(await moved(diary), ["r1", "r2"])
    assert [hit.text for hit in result.hits] == ["we moved to York", "I live in Leeds", "I like tea"]
    new, old, other = result.hits
    assert (new.instead_of, new.score, new.parts) == (old.text, old.score, old.parts)
    assert [hit.validity[0].standing for hit in result.hits] == [Standing.HOLDS, Standing.OUTDATED, Standing.HOLDS]
    assert (old.instead_of, other.instead_of) == (None, None)


async def corrected(diary: Diary) -> Diary:
    diary.answers = FakeAnswerReader(replaced={"typo, 14 spreads": ["badger"]})
    await diary.tell("2026-03-02", "the badger book has 12 spreads, due in May")
    await diary.tell("2026-03-03", "I like tea")
    await diary.tell("2026-03-09", "typo, 14 spreads", changes=True)
    return diary


async def test_what_replaced_a_memory_without_facts_comes_before_it(diary: Diary) -> None:
    new, old, other = (await found(await corrected(diary), ["r1", "r2"], "How many spreads?")).hits
    assert [hit.text for hit in (new, old)] == ["typo, 14 spreads", "the badger book has 12 spreads, due in May"]
    assert (new.instead_of, new.score) == (old.text, old.score)
    assert [hit.is_replaced for hit in (new, old, other)] == [False, True, False]


@pytest.mark.parametrize(
    ("message", "intents", "only"),
    [
        ("the total of the exam last week", "question", True),
        ("hi there, the total of the exam", "greeting, question", True),
        ("the exam is in hall 3, which seat", "statement, question", False),
        ("seats near the window for the exam", "request", False),
        ("the exam is in hall 3", "statement", False),
    ],
)
async def test_what_was_read_and_tells_nothing_is_known(diary: Diary, message: str, intents: str, only: bool) -> None:
    await diary.tell("2026-03-02", message, intents=intents)
    [hit] = (await found(diary, ["r1"])).hits
    assert hit.only_asks is only


async def test_of_an_earlier_time_a_memory_is_not_replaced(diary: Diary) -> None:
    query = "How many spreads did it have in 2025?"
    hits = (await found(await corrected(diary), ["r1", "r2"], query)).hits
    assert [hit.is_replaced for hit in hits] == [False, False]


async def test_what_was_found_anyway_is_lifted_and_comes_once(diary: Diary) -> None:
    result = await found(await moved(diary), ["r1", "r2", "r3"])
    assert [hit.text for hit in result.hits] == ["we moved to York", "I live in Leeds", "I like tea"]
    assert result.hits[0].score == result.hits[1].score


async def test_no_more_hits_than_asked_for(diary: Diary) -> None:
    result = await found(await moved(diary), ["r1"], top_k=1)
    assert [hit.text for hit in result.hits] == ["we moved to York"]


async def test_a_filter_holds_for_what_is_added(diary: Diary) -> None:
    result = await found(await moved(diary), ["r1"], filters=SearchFilter(session_id="another"))
    assert [hit.text for hit in result.hits] == ["I live in Leeds"]


async def test_asked_about_before_what_held_then_comes_in_the_place_of_what_holds(diary: Diary) -> None:
    result = await found(await moved(diary), ["r3"], "Where did I live before?")
    assert [(hit.text, hit.validity[0].standing) for hit in result.hits] == [
        ("I live in Leeds", Standing.HELD),
        ("we moved to York", Standing.OUTDATED),
    ]


async def test_a_memory_that_says_it_again_is_as_valid_as_the_first(diary: Diary) -> None:
    await diary.tell("2026-03-02", "I live in Leeds", "user | lives_in | Leeds")
    await diary.tell("2026-03-09", "living in Leeds is fun", "user | lives_in | Leeds")
    await diary.tell("2026-05-10", "we moved to York", "user | lives_in | York")
    result = await found(diary, ["r2"])
    assert [(hit.text, hit.validity[0].standing) for hit in result.hits] == [
        ("we moved to York", Standing.HOLDS),
        ("living in Leeds is fun", Standing.OUTDATED),
    ]


async def test_while_the_record_is_down_hits_stay_as_they_were(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> None:
    await moved(diary)
    whole = await Finding(diary, ["r1"]).search(SearchRequest(query="x", user_id="ann", now=diary.now))

    class Fixed(Retriever):
        @override
        async def search(self, request: SearchRequest) -> SearchResult:
            return whole

    def down(*, user_id: str) -> None:
        raise StoreUnavailable("gone", component="record")

    monkeypatch.setattr(diary.record, "reading", down)
    retriever = ValidityRetriever(Fixed(), record=diary.record, analyzer=KeywordAnalyzer())
    result = await retriever.search(SearchRequest(query="x", user_id="ann", now=diary.now))
    assert (result.hits, result.degraded) == (whole.hits, ("record",))


async def test_nothing_takes_the_place_of_a_memory_whose_code_is_asked_for(diary: Diary) -> None:
    await diary.tell("2026-03-02", "part number ZX0001-77, two left", "part number | code | ZX0001-77")
    await diary.tell("2026-03-03", "part number ZX0002-77, one left", "part number | code | ZX0002-77")
    asked = await found(diary, ["r1"], "ZX0001-77?")
    assert [hit.text for hit in asked.hits] == ["part number ZX0001-77, two left"]
    [newer, older] = (await found(diary, ["r1"], "Which part number?")).hits
    assert (newer.instead_of, older.validity[0].standing) == (older.text, Standing.OUTDATED)


async def test_however_many_contradict_a_memory_they_come_behind_it(diary: Diary) -> None:
    await diary.tell("2026-03-01", "Mina works at Acme", "Mina | works_at | Acme")
    for day, firm in enumerate(("Bell", "Cisco", "Dell"), 2):
        await diary.tell(f"2026-03-0{day}", f"maybe Mina is at {firm}", f"Mina | works_at | {firm} | hedged")
    texts = [hit.text for hit in (await found(diary, ["r1"], "Where does Mina work?")).hits]
    assert len(texts) > 1
    assert texts[0] == "Mina works at Acme"
