"""What is replied where the memories were read with the question: the answer first, then who said it and when.

The reader of these tests says what the trained one is to say; the facts are those that the learner makes of the
messages. Each situation is told on dates, in sessions of its own.
"""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from memory.answering.answers import Answer
from memory.values.errors import ModelUnavailable
from memory.values.understanding.readings import MessageKind
from testing.fakes.answer_reader import FakeAnswerReader, Lines
from testing.fakes.reader import stated
from tests.memory.conftest import World
from tests.memory.diary import day

Told = tuple[str, ...]
"""Date, message and facts."""
TOLD_HANT = (
    ("2026-03-01", "我住板橋，跟我媽一起", "user | lives_in | 板橋"),
    ("2026-05-10", "上個月搬到三峽了", "user | lives_in | 三峽 | time=上個月"),
)
TOLD_HANS = (
    ("2026-03-01", "我住浦东", "user | lives_in | 浦东"),
    ("2026-05-10", "上个月搬到苏州了", "user | lives_in | 苏州 | time=上个月"),
)
WITH_FACTS = (
    ("2026-03-01", "I live in Leeds with mum", "user | lives_in | Leeds"),
    ("2026-05-10", "We moved to York last month", "user | lives_in | York | time=last month"),
)


@dataclass(frozen=True)
class Situation:
    """What is told and asked, what the reader says, and the lines of the reply."""

    told: tuple[Told, ...]
    asked: str
    answers: Lines
    lines: tuple[str, ...]
    outdated: Lines = field(default_factory=dict)


async def ask(world: World, situation: Situation, reader: FakeAnswerReader | None = None) -> Answer:
    """The answer to the question, in a session of its own, weeks later."""
    for number, (date, message, *facts) in enumerate(situation.told):
        world.language.scripted[message] = stated(message, *facts)
        world.now = day(date)
        await world.say(message, session=f"s{number}")
    world.language.scripted[situation.asked] = stated(situation.asked, intents="question")
    world.now = day("2026-06-01") + timedelta(hours=3)
    asked, outdated = {situation.asked: situation.answers}, {situation.asked: situation.outdated}
    world.read_by(reader or FakeAnswerReader(answers=asked, outdated=outdated))
    _, replied, _ = await world.say(situation.asked, session="asking")
    return replied.answer


SITUATIONS = {
    "the newest value, the older one as older": Situation(
        TOLD_HANT,
        "我現在住哪裡？",
        {"三峽": "三峽"},
        ("三峽。", "您說過（2026-05-10）：「上個月搬到三峽了」", "之前（2026-03-01）的說法：「我住板橋，跟我媽一起」"),
        outdated={"板橋": "板橋"},
    ),
    "the same in Simplified": Situation(
        TOLD_HANS,
        "我现在住哪里？",
        {"苏州": "苏州"},
        ("苏州。", "您说过（2026-05-10）：“上个月搬到苏州了”", "之前（2026-03-01）的说法：“我住浦东”"),
        outdated={"浦东": "浦东"},
    ),
    "the same in English": Situation(
        WITH_FACTS,
        "Where do I live?",
        {"York": "York"},
        (
            "York.",
            "You said (2026-05-10): “We moved to York last month”",
            "Before that (2026-03-01): “I live in Leeds with mum”",
        ),
        outdated={"Leeds": "Leeds"},
    ),
    "what only seems out of date and does not answer is not named as older": Situation(
        (("2026-03-01", "我住板橋，跟我媽一起"), ("2026-05-10", "上個月搬到三峽了")),
        "我現在住哪裡？",
        {"三峽": "三峽"},
        ("三峽。", "您說過（2026-05-10）：「上個月搬到三峽了」"),
        outdated={"板橋": "板橋"},
    ),
    "a value that is over beside what still holds": Situation(
        (
            (
                "2026-03-01",
                "Jess lives in Leeds with her husband Aaron",
                "Jess | lives_in | Leeds",
                "Jess | spouse | Aaron",
            ),
            ("2026-05-10", "Jess just moved to York", "Jess | lives_in | York"),
        ),
        "Where does Jess live?",
        {"Leeds": "Leeds", "York": "York"},
        (
            "York.",
            "You said (2026-05-10): “Jess just moved to York”",
            "Before that (2026-03-01): “Jess lives in Leeds with her husband Aaron”",
        ),
    ),
    "facts know better what holds than the reader": Situation(
        WITH_FACTS,
        "Where do I live?",
        {"Leeds": "Leeds"},
        (
            "York.",
            "You said (2026-05-10): “We moved to York last month”",
            "Before that (2026-03-01): “I live in Leeds with mum”",
        ),
    ),
    "what was replaced answers a question about the past": Situation(
        WITH_FACTS,
        "Where did I live before?",
        {"Leeds": "Leeds"},
        ("Leeds.", "You said (2026-03-01): “I live in Leeds with mum” That was so until 2026-04-01."),
        outdated={"Leeds": "Leeds"},
    ),
    "what was taken back is not named as older": Situation(
        (
            ("2026-03-02", "會議是週三", "會議 | scheduled_at | 週三"),
            ("2026-03-03", "弄錯了，會議是週四", "會議 | scheduled_at | 週四"),
        ),
        "會議是週幾？",
        {"週四": "週四"},
        ("週四。", "您說過（2026-03-03）：「弄錯了，會議是週四」"),
    ),
    "several things, in one sentence": Situation(
        (("2026-03-02", "我會彈吉他"), ("2026-03-05", "也學過鋼琴"), ("2026-03-07", "我住台北")),
        "我會什麼樂器？",
        {"吉他": "吉他", "鋼琴": "鋼琴"},
        ("鋼琴和吉他。", "您說過（2026-03-05）：「也學過鋼琴」", "您說過（2026-03-02）：「我會彈吉他」"),
    ),
    "what a pronoun means": Situation(
        (("2026-03-02", "我們公司上個月買了 AI-Box。"),),
        "AI-Box 保固多久？",
        {"保固": "三年"},
        ("三年。", "您說過（2026-03-02）：「它（AI-Box）的保固是三年。」"),
    ),
    "by its date alone": Situation(
        (("2026-03-02", "終於拿到駕照了！"),),
        "我什麼時候拿到駕照？",
        {"駕照": ""},
        ("2026年3月2日。", "您說過（2026-03-02）：「終於拿到駕照了！」"),
    ),
    "asked in another language": Situation(
        (("2026-03-02", "The spare key lies under the flowerpot."),),
        "備用鑰匙放在哪裡？",
        {"spare key": "under the flowerpot"},
        ("under the flowerpot.", "您說過（2026-03-02）：「The spare key lies under the flowerpot.」"),
    ),
    "several English words in a Chinese reply": Situation(
        (("2026-03-02", "Jess moved to Cardiff"), ("2026-03-03", "Aaron is in Bristol")),
        "他們住哪裡？",
        {"Cardiff": "Cardiff", "Bristol": "Bristol"},
        (
            "Bristol and Cardiff.",
            "您說過（2026-03-03）：「Aaron is in Bristol」",
            "您說過（2026-03-02）：「Jess moved to Cardiff」",
        ),
    ),
    "Chinese words in an English reply": Situation(
        (("2026-03-02", "我对海鲜过敏"),),
        "What am I allergic to?",
        {"海鲜": "海鲜"},
        ("海鲜。", "You said (2026-03-02): “我对海鲜过敏”"),
    ),
    "a code keeps the point of the reply": Situation(
        (("2026-03-02", "網路密碼是 hz2024wifi，別外傳"),),
        "網路密碼是多少？",
        {"hz2024wifi": "hz2024wifi"},
        ("hz2024wifi。", "您說過（2026-03-02）：「網路密碼是 hz2024wifi，別外傳」"),
    ),
    "a quotation in a quotation": Situation(
        (("2026-03-02", "我的店叫「花時間」，在新竹"),),
        "我的店叫什麼？",
        {"花時間": "花時間"},
        ("花時間。", "您說過（2026-03-02）：「我的店叫『花時間』，在新竹」"),
    ),
    "a quotation in a Simplified one": Situation(
        (("2026-03-02", "我的店叫“远诚五金”，开在拱墅"),),
        "我的店叫什么？",
        {"远诚": "远诚五金"},
        ("远诚五金。", "您说过（2026-03-02）：“我的店叫‘远诚五金’，开在拱墅”"),
    ),
    "a yes or no is read in the quotation": Situation(
        (("2026-03-02", "Our dog is called Bean and hates the postman"),),
        "Does our dog hate the postman?",
        {"Bean": "the postman"},
        ("You said (2026-03-02): “Our dog is called Bean and hates the postman”",),
    ),
    "a short line is not said twice": Situation(
        (("2026-03-02", "在三樓機房。"),),
        "備份機放在哪裡？",
        {"機房": "在三樓機房"},
        ("您說過（2026-03-02）：「在三樓機房。」",),
    ),
    "in doubt since something changed": Situation(
        (
            ("2026-03-02", "I live in Leeds", "user | lives_in | Leeds"),
            ("2026-03-03", "I walk to work", "user | commutes_by | walk"),
            ("2026-05-10", "We moved to York", "user | lives_in | York"),
        ),
        "How do I get to work?",
        {"walk": "walk"},
        (
            "This is as of before you moved from Leeds (2026-05-10), and may have changed since. "
            "You said (2026-03-03): “I walk to work”",
        ),
    ),
    "what contradicts itself": Situation(
        (
            ("2026-03-02", "Mina works at Acme", "Mina | works_at | Acme"),
            ("2026-03-09", "I think Mina is at Globex, maybe", "Mina | works_at | Globex | hedged"),
        ),
        "Where does Mina work?",
        {"Acme": "Acme", "Globex": "Globex"},
        (
            "These do not agree, and I don't know which is right now:",
            "You said (2026-03-09): “I think Mina is at Globex, maybe”",
            "You said (2026-03-02): “Mina works at Acme”",
        ),
    ),
    "what contradicts it in what was not asked": Situation(
        (
            ("2026-03-02", "羽球改到星期五，跟阿凱打", "羽球 | scheduled_at | 星期五"),
            ("2026-03-09", "訂了12月18號的班機", "羽球 | scheduled_at | 12月18號 | hedged"),
        ),
        "羽球跟誰打？",
        {"阿凱": "阿凱"},
        ("阿凱。", "您說過（2026-03-02）：「羽球改到星期五，跟阿凱打」"),
    ),
    "ended, and nothing came after": Situation(
        (
            ("2026-03-02", "I work at Acme", "user | works_at | Acme"),
            ("2026-05-10", "I quit at Acme today", "user | works_at | Acme | ended"),
        ),
        "Where do I work?",
        {"work at Acme": "Acme"},
        (
            "You said (2026-05-10): “I quit at Acme today”",
            "Before that (2026-03-02): “I work at Acme”",
        ),
    ),
    "nothing answers, though something is near": Situation(
        (("2026-03-02", "My car insurance renews on 3 May"),),
        "When does my home insurance renew?",
        {},
        ("I have nothing about that in memory.",),
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
async def test_the_reply_says_what_answers_and_whose_words_they_are(world: World, name: str) -> None:
    if name == "what a pronoun means":
        world.now = day("2026-03-02")
        await world.say("我們公司上個月買了 AI-Box。", session="s")
        await world.say("它的保固是三年。", session="s")
    reply = await ask(world, SITUATIONS[name])
    assert reply.text.splitlines() == list(SITUATIONS[name].lines)


async def test_a_reply_says_how_sure_it_is(world: World) -> None:
    answered = await ask(world, SITUATIONS["the newest value, the older one as older"])
    assert answered.confidence == pytest.approx(0.95)
    nothing = await ask(world, SITUATIONS["nothing answers, though something is near"])
    assert nothing.confidence == pytest.approx(0.98)
    assert nothing.sources == ()
    assert (await world.say("謝謝"))[1].answer.confidence is None


async def test_what_is_named_as_older_is_among_the_sources(world: World) -> None:
    reply = await ask(world, SITUATIONS["the same in English"])
    assert [source.text for source in reply.sources] == ["We moved to York last month", "I live in Leeds with mum"]


async def test_while_the_reader_is_away_the_nearest_memory_is_quoted(world: World) -> None:
    away = FakeAnswerReader(error=ModelUnavailable("gone", component="answers"))
    situation = Situation((("2026-03-02", "The spare key is blue."),), "Where is the spare key?", {}, ())
    reply = await ask(world, situation, reader=away)
    assert reply.text == "You said (2026-03-02): “The spare key is blue.”"
    assert reply.confidence is None
    _, _, stored = await world.say("Where is the spare key?", session="again")
    assert stored.degraded == ("answers",)


async def test_a_request_says_that_it_cannot_be_done_and_what_memory_has_for_it(world: World) -> None:
    told = (("2026-03-02", "我最愛的餐廳是鼎泰豐"),)
    wish = "幫我訂一家我最愛的餐廳"
    world.language.scripted[wish] = stated(wish, intents="request", kind=MessageKind.REQUEST)
    await ask(world, Situation(told, "我最愛哪家餐廳？", {"鼎泰豐": "鼎泰豐"}, ()))
    world.read_by(FakeAnswerReader(answers={wish: {"鼎泰豐": "鼎泰豐"}}))
    assert (await world.say(wish, session="w"))[1].answer.text.splitlines() == [
        "這件事我沒辦法代勞，不過我記得：",
        "鼎泰豐。",
        "您說過（2026-03-02）：「我最愛的餐廳是鼎泰豐」",
    ]
    world.read_by(FakeAnswerReader(answers={wish: {}}))
    assert (await world.say(wish, session="v"))[1].answer.text.startswith("這件事我沒辦法代勞，我只能記住您說的")


@pytest.mark.parametrize(("sure", "first"), [(0.6, "三峽。"), (0.4, "您說過（2026-05-10）：「上個月搬到三峽了」")])
async def test_words_that_are_not_sure_are_not_told_before_their_quotation(
    world: World, sure: float, first: str
) -> None:
    situation = Situation(TOLD_HANT, "我現在住哪裡？", {"三峽": "三峽"}, ())
    reader = FakeAnswerReader(answers={situation.asked: situation.answers}, words=sure)
    answer = await ask(world, situation, reader)
    assert answer.text.splitlines()[0] == first


async def test_the_date_that_is_asked_for_is_told_where_the_words_are_not_sure(world: World) -> None:
    told = (("2026-03-10", "I bought the kayak yesterday"),)
    situation = Situation(told, "When did I buy the kayak?", {"kayak": "kayak"}, ())
    reader = FakeAnswerReader(answers={situation.asked: situation.answers}, words=0.2)
    answer = await ask(world, situation, reader)
    assert answer.text.splitlines()[0] == "9 March 2026."
    assert "yesterday" in answer.text.splitlines()[1]
