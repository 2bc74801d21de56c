"""What a message replaces of what was said before, where no fact says so."""

import pytest

from memory.language.keywords import KeywordAnalyzer
from memory.learning.replacements import MAX_READ, choose_lines
from memory.values.errors import ModelUnavailable
from memory.values.records import Memory
from testing.fakes.answer_reader import FakeAnswerReader
from tests.memory.diary import Diary, day

BOOK = "the badger book has 12 spreads"
CAKE = "the cake has 12 candles"
TYPO = "typo, 14 spreads"
CUT = "they cut it to 10 spreads"


async def by_text(diary: Diary) -> dict[str, Memory]:
    async with diary.record.reading(user_id="ann") as unit:
        return {memory.text: memory for memory in await unit.memories.recent(limit=50)}


async def test_a_memory_that_a_message_replaces_is_marked_and_others_stay(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(replaced={TYPO: ["badger"]})
    await diary.tell("2026-03-02", BOOK)
    await diary.tell("2026-03-03", CAKE)
    await diary.tell("2026-03-09", TYPO, changes=True)
    memories = await by_text(diary)
    assert memories[BOOK].replaced_by == memories[TYPO].resource_id
    assert [memories[text].replaced_by for text in (CAKE, TYPO)] == [None, None]


async def test_what_was_replaced_before_is_replaced_by_the_newest(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(replaced={TYPO: ["badger"], CUT: ["typo"]})
    await diary.tell("2026-03-02", BOOK)
    await diary.tell("2026-03-09", TYPO, changes=True)
    await diary.tell("2026-03-12", CUT, changes=True)
    memories = await by_text(diary)
    assert {memories[text].replaced_by for text in (BOOK, TYPO)} == {memories[CUT].resource_id}


async def test_only_what_may_change_something_is_read_beside_what_was_said(diary: Diary) -> None:
    reader = diary.answers = FakeAnswerReader(replaced={TYPO: ["badger"]})
    await diary.tell("2026-03-02", BOOK)
    await diary.tell("2026-03-03", "where is the badger book?", intents="question", changes=True)
    await diary.tell("2026-03-09", TYPO)
    assert reader.requests == []
    await diary.tell("2026-03-10", CUT, changes=True)
    [request] = reader.requests
    assert [line.text for line in request.lines] == [BOOK, TYPO]
    assert (request.question, request.now) == (CUT, day("2026-03-10"))


async def test_while_nobody_reads_what_may_change_something_waits(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(error=ModelUnavailable("The answer reader is away.", component="answers"))
    await diary.tell("2026-03-02", BOOK)
    with pytest.raises(ModelUnavailable):
        await diary.tell("2026-03-09", TYPO, changes=True)
    assert set(await diary.memories()) == {BOOK}
    assert len(await diary.record.backlog.unlearned(limit=5, user_id="ann")) == 1


def test_of_many_lines_those_with_the_same_words_are_read_and_the_latest_in_their_order() -> None:
    said = ["the piano was tuned", *(f"box {number} is in the cellar" for number in range(20))]
    chosen = choose_lines("the piano costs nothing", said, KeywordAnalyzer())
    assert chosen[0] == 0
    assert chosen[-6:] == [15, 16, 17, 18, 19, 20]
    assert len(chosen) == MAX_READ
    assert chosen == sorted(chosen)
    assert choose_lines("the piano", said[:3], KeywordAnalyzer()) == [0, 1, 2]
