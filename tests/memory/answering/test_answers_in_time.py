"""What is answered when facts have changed: what holds is quoted, what held before is named as older (issue: facts).

Each situation is told on dates, with what the reader finds in each message in the notation of the chat corpus.
"""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from testing.fakes.reader import stated
from tests.memory.conftest import World
from tests.memory.diary import day

Told = tuple[str, ...]
"""Date, message and facts; a message that begins with "correction:" is one."""


@dataclass(frozen=True)
class Situation:
    """What is told, asked, and what must and must not be in the answer."""

    told: tuple[Told, ...]
    asked: tuple[str, str]
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


async def answer(world: World, situation: Situation) -> str:
    """The reply to the question, in a session of its own."""
    for number, (date, message, *facts) in enumerate(situation.told):
        text = message.removeprefix("correction:")
        intents = "correction" if text != message else "statement"
        world.language.scripted[text] = stated(text, *facts, intents=intents)
        world.now = day(date)
        await world.say(text, session=f"s{number}")
    date, question = situation.asked
    world.now = day(date) + timedelta(hours=3)
    _, replied, _ = await world.say(question, session="asking")
    return replied.answer.text


MOVED_HANT = (
    ("2026-03-02", "我住在板橋", "user | lives_in | 板橋"),
    ("2026-05-10", "上個月搬到三峽了", "user | lives_in | 三峽 | time=上個月"),
)
MOVED_HANS = (
    ("2026-03-02", "我住在浦东", "user | lives_in | 浦东"),
    ("2026-05-10", "上个月搬到苏州了", "user | lives_in | 苏州 | time=上个月"),
)
MOVED_ENGLISH = (
    ("2026-03-02", "I live in Leeds", "user | lives_in | Leeds"),
    ("2026-05-10", "We moved to York last month", "user | lives_in | York | time=last month"),
)

SITUATIONS = {
    "moved, asked now": Situation(MOVED_HANT, ("2026-06-01", "我住在哪裡？"), ("三峽", "2026-05-10"), ("板橋",)),
    "moved, asked now, Simplified": Situation(MOVED_HANS, ("2026-06-01", "我住在哪里？"), ("苏州",), ("浦东",)),
    "moved, asked now, English": Situation(MOVED_ENGLISH, ("2026-06-01", "Where do I live?"), ("York",), ("Leeds",)),
    "asked where before": Situation(
        MOVED_HANT, ("2026-06-01", "我以前住在哪裡？"), ("板橋", "到 2026-04-01 為止"), ("三峽",)
    ),
    "asked where before the move": Situation(
        MOVED_HANS, ("2026-06-01", "搬家前我住在哪里？"), ("浦东", "到 2026-04-01 为止"), ("苏州",)
    ),
    "asked where before, English": Situation(
        MOVED_ENGLISH, ("2026-06-01", "Where did I live before?"), ("Leeds", "until 2026-04-01"), ("York",)
    ),
    "asked where in March": Situation(
        MOVED_ENGLISH, ("2026-06-01", "Where did I live in March?"), ("Leeds", "until 2026-04-01"), ("York",)
    ),
    "asked where last month": Situation(MOVED_HANT, ("2026-06-01", "我上個月住在哪裡？"), ("三峽",), ("板橋",)),
    "one of two things is out of date": Situation(
        (
            ("2026-03-02", "我住板橋，養了一隻貓叫麻糬", "user | lives_in | 板橋", "user | pet | 麻糬"),
            ("2026-05-10", "我們搬到三峽了", "user | lives_in | 三峽"),
        ),
        ("2026-06-01", "貓叫什麼？"),
        ("麻糬",),
        ("板橋",),
    ),
    "ended without another": Situation(
        (
            ("2026-03-02", "I work at Acme", "user | works_at | Acme"),
            ("2026-05-10", "I quit at Acme today", "user | works_at | Acme | ended"),
        ),
        ("2026-06-01", "Where do I work?"),
        ("I quit at Acme today",),
        ("“I work at Acme”",),
    ),
    "liked no longer": Situation(
        (
            ("2026-03-02", "我最愛喝拿鐵", "user | likes | 拿鐵"),
            ("2026-05-10", "我現在不碰咖啡了", "user | likes | 拿鐵 | ended"),
        ),
        ("2026-06-01", "我喜歡喝拿鐵嗎？"),
        ("不碰咖啡",),
        ("最愛",),
    ),
    "corrected": Situation(
        (
            ("2026-03-02", "會議是週三", "會議 | scheduled_at | 週三"),
            ("2026-03-03", "correction:弄錯了，會議是週四", "會議 | scheduled_at | 週四"),
        ),
        ("2026-03-03", "會議是週幾？"),
        ("週四",),
        ("週三",),
    ),
    "cancelled": Situation(
        (
            ("2026-03-02", "下個月要去京都", "user | travels_to | 京都 | planned, time=下個月"),
            ("2026-03-09", "那趟旅行不去了", "user | travels_to | 京都 | ended"),
        ),
        ("2026-03-10", "下個月要去京都嗎？"),
        ("不去了",),
        ("要去京都",),
    ),
    "in doubt since the move": Situation(
        (
            *MOVED_HANT[:1],
            ("2026-03-03", "我走路上班", "user | commutes_by | 走路"),
            MOVED_HANT[1],
        ),
        ("2026-06-01", "我怎麼上班？"),
        ("這是您從板橋搬走（2026-05-10）之前的情況", "現在不一定還是這樣", "走路"),
    ),
    "in doubt since the move, Simplified": Situation(
        (
            *MOVED_HANS[:1],
            ("2026-03-03", "我走路上班", "user | commutes_by | 走路"),
            MOVED_HANS[1],
        ),
        ("2026-06-01", "我怎么上班？"),
        ("这是您从浦东搬走（2026-05-10）之前的情况", "走路"),
    ),
    "in doubt since the move, English": Situation(
        (
            *MOVED_ENGLISH[:1],
            ("2026-03-03", "I walk to work", "user | commutes_by | walk"),
            MOVED_ENGLISH[1],
        ),
        ("2026-06-01", "How do I get to work?"),
        ("as of before you moved from Leeds (2026-05-10)", "I walk to work"),
    ),
    "in doubt, asked about before the move": Situation(
        (
            *MOVED_ENGLISH[:1],
            ("2026-03-03", "I walk to work", "user | commutes_by | walk"),
            MOVED_ENGLISH[1],
        ),
        ("2026-06-01", "How did I get to work before we moved?"),
        ("I walk to work",),
        ("may have changed",),
    ),
    "open conflict": Situation(
        (
            ("2026-03-02", "Mina works at Acme", "Mina | works_at | Acme"),
            ("2026-03-09", "I think Mina is at Globex, maybe", "Mina | works_at | Globex | hedged"),
        ),
        ("2026-03-10", "Where does Mina work?"),
        ("do not agree", "Acme", "2026-03-02", "Globex", "2026-03-09"),
    ),
    "several values": Situation(
        (
            ("2026-03-02", "我對花生過敏", "user | allergic_to | 花生"),
            ("2026-03-05", "蝦子也不行", "user | allergic_to | 蝦子"),
        ),
        ("2026-03-10", "我對什麼過敏？"),
        ("花生", "蝦子"),
        ("對不上",),
    ),
    "moved twice, the chain leads to the last": Situation(
        (*MOVED_ENGLISH, ("2026-07-01", "New flat in Durham!", "user | lives_in | Durham")),
        ("2026-08-01", "Where do I live?"),
        ("Durham",),
        ("Leeds", "York"),
    ),
    "told as past, and nothing newer": Situation(
        (("2026-03-02", "我大學念台大", "user | studies_at | 台大 | past"),),
        ("2026-03-10", "我大學念哪裡？"),
        ("台大",),
        ("為止",),
    ),
    "moved back": Situation(
        (*MOVED_HANT, ("2026-07-01", "又搬回板橋了", "user | lives_in | 板橋")),
        ("2026-08-01", "我住在哪裡？"),
        ("又搬回板橋了",),
        ("三峽", "我住在板橋"),
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
async def test_the_answer_says_what_holds_and_names_what_is_older(world: World, name: str) -> None:
    situation = SITUATIONS[name]
    reply = await answer(world, situation)
    assert [words for words in situation.has if words not in reply] == [], reply
    assert [words for words in situation.lacks if words in reply] == [], reply
