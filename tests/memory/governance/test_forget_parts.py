"""Of a message that is meant in part the other clauses stay, with their facts and their date."""

import pytest

from memory.governance.forget_parts import STAYS_BELOW, meant_clauses
from memory.values.errors import ModelUnavailable
from memory.values.facts import FactStatus
from testing.fakes.answer_reader import FakeAnswerReader
from tests.memory.diary import Diary

CODES = [
    (
        "code for the shed padlock is 4417 and the bike lock is 2086, always mix them up",
        ("shed padlock | code | 4417", "bike lock | code | 2086"),
        "lose the shed one",
        ("shed", "mix"),
        "the bike lock is 2086",
        "2086",
    ),
    (
        "大門密碼是5820，頂樓那道門是3316",
        ("大門 | code | 5820", "頂樓那道門 | code | 3316"),
        "忘掉大門的密碼",
        ("大門",),
        "頂樓那道門是3316",
        "3316",
    ),
    (
        "医保卡密码是680214 工资卡的是147023",
        ("医保卡 | code | 680214", "工资卡 | code | 147023"),
        "把工资卡的密码删了",
        ("工资卡",),
        "医保卡密码是680214",
        "680214",
    ),
]


@pytest.mark.parametrize(("told", "facts", "request_", "meant", "stays", "value"), CODES)
async def test_the_other_part_of_a_message_stays_with_its_fact(
    diary: Diary, told: str, facts: tuple[str, str], request_: str, meant: tuple[str, ...], stays: str, value: str
) -> None:
    diary.answers = FakeAnswerReader(answers={request_: {told: ""}}, clauses={request_: meant})
    await diary.tell("2026-03-02", told, *facts)
    await diary.tell("2026-03-09", request_, intents="forget")
    assert await diary.memories() == [stays]
    [fact] = await diary.facts(status=FactStatus.ACTIVE)
    assert fact.object == value
    assert set(diary.to_erase) == {"r1", "r2"}
    async with diary.record.reading(user_id="ann") as unit:
        [memory] = await unit.memories.recent(limit=9)
        [entry] = await unit.log.get([memory.resource_id])
        assert await unit.log.list_unextracted() == []
    assert (entry.content, entry.created_at, fact.resource_id) == (stays, memory.created_at, entry.resource_id)
    assert entry.created_at.date().isoformat() == "2026-03-02"


async def test_what_stays_can_be_forgotten_as_well(diary: Diary) -> None:
    told, first, second = "shed 4417, bike 2086", "forget the shed", "and the bike"
    diary.answers = FakeAnswerReader(
        answers={first: {told: ""}, second: {"bike": ""}}, clauses={first: ("shed",), second: ("bike",)}
    )
    await diary.tell("2026-03-02", told)
    await diary.tell("2026-03-09", first, intents="forget")
    assert await diary.memories() == ["bike 2086"]
    await diary.tell("2026-03-09", second, intents="forget")
    assert await diary.memories() == []


@pytest.mark.parametrize(
    "reader",
    [
        FakeAnswerReader(answers={"lose the shed one": {"shed": ""}}),
        FakeAnswerReader(answers={"lose the shed one": {"shed": ""}}, clauses={"lose the shed one": ("garage",)}),
        FakeAnswerReader(answers={"lose the shed one": {"shed": ""}}, clauses={"lose the shed one": ("shed", "bike")}),
        FakeAnswerReader(error=ModelUnavailable("The answer reader is away.", component="answers")),
    ],
)
async def test_a_message_goes_whole_where_nothing_of_it_surely_stays(diary: Diary, reader: FakeAnswerReader) -> None:
    diary.answers = reader
    await diary.tell("2026-03-02", "the shed padlock is 4417, the bike lock is 2086. 😅")
    await diary.tell("2026-03-09", "lose the shed one", intents="forget")
    assert await diary.memories() == []


async def test_a_clause_with_the_fact_that_is_named_goes_whatever_is_read(diary: Diary) -> None:
    told, request = "mum's birthday is 14 May, dad's is 3 November, we were late", "forget my dad's birthday"
    diary.answers = FakeAnswerReader(answers={request: {told: "3 November"}}, clauses={request: ("late",)})
    await diary.tell("2026-03-02", told, "mum | birthday | 14 May", "dad | birthday | 3 November")
    await diary.tell("2026-03-09", request, intents="forget")
    assert await diary.memories() == ["mum's birthday is 14 May"]
    assert [fact.object for fact in await diary.facts(status=FactStatus.ACTIVE)] == ["14 May"]


async def test_a_fact_of_somebody_whom_only_the_other_part_names_goes_with_it(diary: Diary) -> None:
    told, request = "Tom plays chess, and now he lives in Leeds", "forget that Tom plays chess"
    diary.answers = FakeAnswerReader(answers={request: {told: ""}}, clauses={request: ("chess",)})
    await diary.tell("2026-03-02", told, "Tom | likes | chess", "Tom | lives_in | Leeds")
    await diary.tell("2026-03-09", request, intents="forget")
    assert [fact.object for fact in await diary.facts(status=FactStatus.ACTIVE)] == []


def test_a_clause_stays_only_where_it_is_surely_not_meant() -> None:
    assert meant_clauses([0.9, STAYS_BELOW, STAYS_BELOW / 2]) == [True, True, False]
    assert meant_clauses([0.01, 0.02]) == [True, True]
