"""A request to forget is also read together with the memories: it may name what it means in other words."""

import pytest

from memory.governance.forget_matches import Match, Matches, weigh_together
from memory.values.errors import ModelUnavailable
from memory.values.facts import FactStatus
from testing.fakes.answer_reader import FakeAnswerReader
from tests.memory.diary import Diary, memory_of

PIN = "the lockbox at the flat opens with 5512"
GATE = "the gate of the yard opens with 7781"
DINNER = "dinner with Noor is on Friday"
REQUEST = "delete the door combination"


async def _remaining(diary: Diary, request: str) -> set[str]:
    for number, text in enumerate((PIN, GATE, DINNER), 2):
        await diary.tell(f"2026-03-0{number}", text)
    await diary.tell("2026-03-09", request, intents="forget")
    return set(await diary.memories())


async def test_what_is_named_in_other_words_is_found(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(answers={REQUEST: {PIN: "5512"}})
    assert await _remaining(diary, REQUEST) == {GATE, DINNER}


async def test_where_the_reader_finds_two_things_it_is_asked_which_and_nothing_goes(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(answers={REQUEST: {PIN: "5512", GATE: "7781"}})
    assert await _remaining(diary, REQUEST) == {PIN, GATE, DINNER}


async def test_what_may_be_no_request_is_asked_about_first(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(answers={REQUEST: {PIN: "5512"}})
    for number, text in enumerate((PIN, GATE, DINNER), 2):
        await diary.tell(f"2026-03-0{number}", text)
    await diary.tell("2026-03-09", REQUEST, intents="forget", surely=False)
    assert set(await diary.memories()) == {PIN, GATE, DINNER}


async def test_everything_that_is_meant_goes_where_a_request_means_everything(diary: Diary) -> None:
    request = "wipe everything about doors"
    diary.answers = FakeAnswerReader(answers={request: {PIN: "5512", GATE: "7781"}})
    assert await _remaining(diary, request) == {DINNER}


async def test_what_is_read_counts_where_another_thing_shares_words(diary: Diary) -> None:
    request = "delete what opens the lockbox"
    diary.answers = FakeAnswerReader(answers={request: {PIN: "5512"}})
    assert await _remaining(diary, request) == {GATE, DINNER}


async def test_of_a_message_that_states_several_facts_the_one_whose_words_are_meant_goes(diary: Diary) -> None:
    message, request = "my insurance ends on 3 May and the cupboard at the gym opens with 4417", "delete my gym code"
    diary.answers = FakeAnswerReader(answers={request: {message: "4417"}})
    await diary.tell("2026-03-02", message, "my insurance | deadline | 3 May", "cupboard | code | 4417")
    await diary.tell("2026-03-09", request, intents="forget")
    assert await diary.memories() == []
    assert [fact.object for fact in await diary.facts(status=FactStatus.ACTIVE)] == ["3 May"]


async def test_while_nobody_reads_the_words_alone_tell(diary: Diary) -> None:
    diary.answers = FakeAnswerReader(error=ModelUnavailable("The answer reader is away.", component="answers"))
    assert await _remaining(diary, "forget the dinner with Noor") == {PIN, GATE}


async def test_of_many_memories_parts_are_read_and_the_likeliest_of_all_together(diary: Diary) -> None:
    meant = "the key hangs behind the boiler"
    reader = diary.answers = FakeAnswerReader(answers={"forget where I hid it": {meant: ""}})
    await diary.tell("2026-03-01", meant)
    for number in range(30):
        await diary.tell("2026-03-02", f"box {number} is in the cellar")
    await diary.tell("2026-03-09", "forget where I hid it", intents="forget")
    assert [len(request.lines) for request in reader.requests] == [24, 7, 24]
    assert meant not in await diary.memories()
    assert len(await diary.memories()) == 30


def _found(*scores: tuple[str, float], sure: bool = True) -> Matches:
    return Matches(tuple(Match(memory_of(text), (), score) for text, score in scores), is_sure=sure, is_read=True)


@pytest.mark.parametrize(
    ("read", "by_words", "meant", "is_sure"),
    [
        (_found((PIN, 0.9)), _found(sure=False), [PIN], True),
        (_found((PIN, 0.3), (GATE, 0.3), sure=False), _found((PIN, 0.8)), [PIN], True),
        (_found((PIN, 0.9)), _found((GATE, 0.8)), [GATE, PIN], False),
        (_found((PIN, 0.9)), _found((PIN, 0.7), (GATE, 0.7)), [PIN, GATE], False),
        (_found(sure=False), _found((PIN, 0.8)), [PIN], False),
    ],
    ids=["reading alone", "the likeliest is sure by words", "they differ", "one of several codes", "words alone"],
)
def test_reading_and_words_act_together_and_are_asked_about_where_they_differ(
    read: Matches, by_words: Matches, meant: list[str], is_sure: bool
) -> None:
    found = weigh_together(read, by_words, everything=False)
    assert [match.memory.text for match in found.matches if match.memory] == meant
    assert found.is_sure is is_sure


def test_of_everything_all_goes_that_either_finds() -> None:
    found = weigh_together(_found((PIN, 0.9)), _found((PIN, 0.7), (GATE, 0.7)), everything=True)
    assert found.is_sure
    assert len(found.matches) == 2
