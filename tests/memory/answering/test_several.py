"""Several questions in one message are answered each by itself, in the order in which they were asked."""

from collections.abc import Mapping

import pytest

from testing.fakes.answer_reader import FakeAnswerReader, Lines
from testing.fakes.reader import stated
from tests.memory.conftest import World
from tests.memory.diary import day

TOLD_HANT = (("2026-03-02", "我的狗叫豆漿"), ("2026-03-05", "豆漿昨天打了疫苗"))
TOLD_HANS = (("2026-03-02", "我老公开了一家五金店"), ("2026-03-05", "店叫远诚五金"))
TOLD_ENGLISH = (("2026-03-02", "The spare key is in the drawer"), ("2026-03-05", "The bank opens at ten"))
KEY, BANK = "Where is the spare key", "when does the bank open"


async def ask(world: World, told: tuple[tuple[str, str], ...], asked: str, answers: Mapping[str, Lines]) -> list[str]:
    for number, (date, message) in enumerate(told):
        world.now = day(date)
        await world.say(message, session=f"s{number}")
    world.language.scripted[asked] = stated(asked, intents="question")
    world.now = day("2026-06-01")
    world.read_by(FakeAnswerReader(answers=answers))
    return (await world.say(asked, session="asking"))[1].answer.text.splitlines()


@pytest.mark.parametrize(
    ("told", "asked", "answers", "lines"),
    [
        (
            TOLD_ENGLISH,
            "Where is the spare key? And when does the bank open?",
            {KEY: {"key": "in the drawer"}, BANK: {"bank": "at ten"}},
            [
                "in the drawer.",
                "You said (2026-03-02): “The spare key is in the drawer”",
                "at ten.",
                "You said (2026-03-05): “The bank opens at ten”",
            ],
        ),
        (
            TOLD_HANS,
            "我老公是做什么生意的？他的店叫什么名字？",
            {
                "我老公是做什么生意的？他的店叫什么名字？": {"五金店": "五金店", "远诚": "远诚五金"},
                "我老公是做什么生意的": {"五金店": "五金店"},
                "他的店叫什么名字": {"远诚": "远诚五金"},
            },
            [
                "五金店。",
                "您说过（2026-03-02）：“我老公开了一家五金店”",
                "远诚五金。",
                "您说过（2026-03-05）：“店叫远诚五金”",
            ],
        ),
        (
            TOLD_HANT,
            "我的狗叫什麼名字？我弟弟今年幾歲？",
            {"我的狗叫什麼名字": {"狗": "豆漿"}, "我弟弟今年幾歲": {}},
            ["豆漿。", "您說過（2026-03-02）：「我的狗叫豆漿」", "我弟弟今年幾歲？我的記憶裡沒有相關的內容。"],
        ),
        (
            TOLD_ENGLISH,
            "when does the bank open? Where is the spare key?",
            {BANK: {"bank": "at ten"}, KEY: {}},
            [
                "at ten.",
                "You said (2026-03-05): “The bank opens at ten”",
                "Where is the spare key? I have nothing about that in memory.",
            ],
        ),
    ],
)
async def test_each_question_is_answered_in_the_order_asked_or_named_as_open(
    world: World, told: tuple[tuple[str, str], ...], asked: str, answers: Mapping[str, Lines], lines: list[str]
) -> None:
    assert await ask(world, told, asked, {asked: {}, **answers}) == lines


async def test_a_question_with_a_pronoun_answers_no_surer_than_the_whole_and_is_not_named_as_open(
    world: World,
) -> None:
    asked = "Where is the spare key? When does it open to the public?"
    answers: dict[str, Lines] = {asked: {"key": "in the drawer"}, KEY: {"key": "in the drawer"}}
    wrongly: dict[str, Lines] = {"When does it open to the public": {"bank": "at ten"}}
    lines = await ask(world, TOLD_ENGLISH, asked, answers | wrongly)
    assert lines == ["in the drawer.", "You said (2026-03-02): “The spare key is in the drawer”"]


async def test_where_no_question_is_answered_by_itself_the_message_is_answered_as_a_whole(world: World) -> None:
    asked = "Where is the spare key? And when does the bank open?"
    lines = await ask(world, TOLD_ENGLISH, asked, {asked: {"key": "in the drawer"}, KEY: {}, BANK: {}})
    assert lines == ["in the drawer.", "You said (2026-03-02): “The spare key is in the drawer”"]


async def test_what_is_said_beside_one_question_is_no_question(world: World) -> None:
    asked = "The bank was closed today. Where is the spare key?"
    answers: Mapping[str, Lines] = {asked: {"key": "in the drawer"}}
    lines = await ask(world, TOLD_ENGLISH, asked, answers)
    assert lines == ["in the drawer.", "You said (2026-03-02): “The spare key is in the drawer”"]
