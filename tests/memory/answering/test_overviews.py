"""What is replied to "what do you know about Ivy?": all that is known, the latest first, and nothing else."""

from collections.abc import Sequence

import pytest

from memory.answering.answers import Answer
from memory.values.hits import HitKind
from memory.values.records import EXPIRES_ON
from testing.fakes.answer_reader import FakeAnswerReader
from testing.fakes.reader import stated
from tests.memory.conftest import World
from tests.memory.diary import day

Told = tuple[str, ...]
"""Date, message and facts."""
ENGLISH: tuple[Told, ...] = (
    ("2026-03-01", "My daughter Ivy plays the violin", "user | child | Ivy", "Ivy | instrument | violin"),
    ("2026-03-02", "I like chess and rowing", "user | hobby | chess", "user | hobby | rowing"),
    ("2026-03-05", "Ivy is allergic to cashews", "Ivy | allergic_to | cashews"),
    ("2026-03-09", "my sister lives in Leeds", "sister | lives_in | Leeds"),
    ("2026-04-01", "I take atorvastatin", "user | medication | atorvastatin"),
    ("2026-04-02", "the boiler was serviced again"),
    ("2026-05-01", "I gave up chess", "user | hobby | chess | ended"),
    ("2026-05-03", "my sister moved to York", "sister | lives_in | York"),
    ("2026-05-04", "What was Ivy's teacher called?"),
)
CHINESE: tuple[Told, ...] = (
    ("2026-03-01", "我女兒小芸在學琵琶", "user | child | 小芸", "小芸 | instrument | 琵琶"),
    ("2026-03-02", "我喜歡爬山", "user | hobby | 爬山"),
    ("2026-03-05", "小芸對蝦子過敏", "小芸 | allergic_to | 蝦子"),
)


async def ask(
    world: World, asked: str, told: Sequence[Told] = ENGLISH, *, overview: bool = True, read: str = ""
) -> Answer:
    """The answer to a request for an overview, weeks later, where the reader of answers would quote what it reads."""
    for number, (date, message, *facts) in enumerate(told):
        intents = "question" if message.endswith("?") else "statement"
        world.language.scripted[message] = stated(message, *facts, intents=intents)
        world.now = day(date)
        await world.say(message, session=f"s{number}")
    world.language.scripted[asked] = stated(asked, intents="request", overview=overview)
    world.now = day("2026-06-01")
    world.read_by(FakeAnswerReader(answers={asked: {read: read} if read else {}}))
    _, replied, _ = await world.say(asked, session="asking")
    return replied.answer


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("Tell me about Ivy", ("Ivy is allergic to cashews", "My daughter Ivy plays the violin")),
        ("daughter: recap", ("Ivy is allergic to cashews", "My daughter Ivy plays the violin")),
        ("What's my sister like?", ("my sister moved to York",)),
        ("list my hobbies", ("I like chess and rowing",)),
        ("what about my kids?", ("Ivy is allergic to cashews", "My daughter Ivy plays the violin")),
        ("everything on the boiler", ("the boiler was serviced again",)),
        (
            "what have you got on me",
            ("I take atorvastatin", "I like chess and rowing", "My daughter Ivy plays the violin"),
        ),
    ],
)
async def test_what_is_known_is_told_the_latest_first(world: World, asked: str, lines: tuple[str, ...]) -> None:
    answer = await ask(world, asked)
    heading, *quoted = answer.text.splitlines()
    assert heading == "This is what I have:"
    assert [line.partition("“")[2].strip("”") for line in quoted] == list(lines)
    assert {source.kind for source in answer.sources} == {HitKind.MEMORY}


async def test_in_chinese(world: World) -> None:
    answer = await ask(world, "小芸的事說來聽聽", CHINESE)
    assert answer.text.splitlines() == [
        "我記得的有：",
        "您說過（2026-03-05）：「小芸對蝦子過敏」",
        "您說過（2026-03-01）：「我女兒小芸在學琵琶」",
    ]


async def test_there_may_be_more_where_as_much_is_told_as_can_be(world: World) -> None:
    told = [
        (f"2026-03-{number:02}", f"Ivy likes story {number}", f"Ivy | likes | story {number}")
        for number in range(1, 12)
    ]
    answer = await ask(world, "Ivy, everything", told)
    assert len(answer.sources) == 8
    assert answer.text.splitlines()[-1] == "For more, ask me about one thing of it."


async def test_what_nothing_is_known_of_has_no_answer(world: World) -> None:
    answer = await ask(world, "Tell me about Marcus", read="boiler")
    assert answer.text == "I have nothing about that in memory."


async def test_to_things_of_a_kind_is_added_what_answers_the_request_as_a_question(world: World) -> None:
    answer = await ask(world, "list my pets", read="boiler")
    assert "boiler" in answer.text
    answer = await ask(world, "list my hobbies", ENGLISH[:2] + ENGLISH[5:6], read="boiler")
    assert [line.partition("“")[2].strip("”") for line in answer.text.splitlines()[1:]] == [
        "the boiler was serviced again", "I like chess and rowing",
    ]  # fmt: skip


async def test_what_only_asked_for_an_overview_is_not_told(world: World) -> None:
    await ask(world, "Tell me about Ivy")
    answer = await ask(world, "Ivy, everything", ())
    assert [line.partition("“")[2].strip("”") for line in answer.text.splitlines()[1:]] == [
        "Ivy is allergic to cashews", "My daughter Ivy plays the violin",
    ]  # fmt: skip


async def test_a_question_that_asks_for_one_thing_gets_no_overview(world: World) -> None:
    answer = await ask(world, "Tell me about Ivy", overview=False, read="violin")
    assert "violin" in answer.text
    assert "cashews" not in answer.text


async def test_what_is_over_since_its_last_day_is_not_told(world: World) -> None:
    await ask(world, "Tell me about Ivy")
    async with world.record.writing(user_id="ann") as unit:
        memories = await unit.memories.recent(limit=100)
        over = [memory for memory in memories if "cashews" in memory.text]
        await unit.memories.save(
            [memory.model_copy(update={"metadata": {EXPIRES_ON: "2026-05-01"}}) for memory in over]
        )
        await unit.commit()
    answer = await ask(world, "Ivy, everything", ())
    assert over
    assert [line.partition("“")[2].strip("”") for line in answer.text.splitlines()[1:]] == [
        "My daughter Ivy plays the violin"
    ]


async def test_one_user_gets_nothing_of_another(world: World) -> None:
    await ask(world, "Tell me about Ivy")
    world.language.scripted["Ivy?"] = stated("Ivy?", intents="question", overview=True)
    _, replied, _ = await world.say("Ivy?", session="other", user="bob")
    assert "cashews" not in replied.answer.text
    assert not replied.answer.sources
