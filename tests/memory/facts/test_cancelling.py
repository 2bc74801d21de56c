"""What is called off in words is planned no longer."""

import pytest

from memory.values.facts import Ending
from tests.memory.diary import Diary


@pytest.mark.parametrize(
    ("plan", "fact", "off"),
    [
        ("我們十月要去京都團建", "user | attended | 京都團建 | planned", "京都團建取消了"),
        ("我们五月要去里斯本旅游", "user | travels_to | 里斯本 | planned", "里斯本的旅行取消了"),
        ("我三月要去聽演唱會", "user | plans | 聽演唱會", "演唱會取消了。"),
        ("音乐会在三月", "音乐会 | scheduled_at | 三月", "可惜音乐会泡汤了"),
        (
            "we have the Lisbon offsite in May",
            "user | attended | Lisbon offsite | planned",
            "the offsite is called off",
        ),
        ("We are flying to Lisbon in May.", "user | travels_to | Lisbon | planned", "Our Lisbon trip is cancelled."),
        ("I plan to run a marathon", "user | plans | run a marathon", "I'm not running the marathon any more."),
        ("The concert is in March", "concert | scheduled_at | in March", "The concert has been cancelled, sadly"),
    ],
)
async def test_what_is_called_off_is_planned_no_longer(diary: Diary, plan: str, fact: str, off: str) -> None:
    await diary.tell("2026-03-02", plan, fact)
    await diary.tell("2026-03-09", off)
    [planned] = await diary.facts()
    assert (planned.ending, planned.ended_by) == (Ending.CANCELLED, "r2")


@pytest.mark.parametrize(
    ("message", "intents"),
    [
        ("Is the concert cancelled?", "question"),
        ("演唱會取消了嗎？", "question"),
        ("演唱會沒有取消", "statement"),
        ("the concert was not cancelled after all", "statement"),
        ("if the concert is cancelled I'll stay home", "statement"),
        ("Thursday's lesson is cancelled", "statement"),
        ("Tom isn't going to the concert any more", "statement"),
        ("I'm off to the concert", "statement"),
    ],
)
async def test_what_is_not_said_to_be_called_off_is_still_planned(diary: Diary, message: str, intents: str) -> None:
    await diary.tell("2026-03-02", "I go to the concert on Thursday", "concert | scheduled_at | Thursday")
    await diary.tell("2026-03-02", "演唱會在三月", "演唱會 | scheduled_at | 三月")
    await diary.tell("2026-03-09", message, intents=intents)
    assert [fact.ending for fact in await diary.facts()] == [None, None]


async def test_where_one_of_several_may_be_called_off_none_is(diary: Diary) -> None:
    await diary.tell("2026-03-02", "a concert in Bath", "user | attended | concert in Bath | planned")
    await diary.tell("2026-03-03", "a concert in York", "user | attended | concert in York | planned")
    await diary.tell("2026-03-09", "the concert is cancelled")
    assert [fact.ending for fact in await diary.facts()] == [None, None]
    await diary.tell("2026-03-10", "the concert in York is cancelled")
    assert [fact.ending for fact in await diary.facts()] == [None, Ending.CANCELLED]
