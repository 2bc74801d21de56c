"""What each intent is answered with, in the user's language and script: short, honest, and never 了解 to a request."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.answering.answers import Answer, AnswerRequest, Assistant
from memory.answering.extractive import ExtractiveAnswerer
from memory.language.keywords import KeywordAnalyzer
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.hits import CosineBounds, Hit, HitKind
from memory.values.text import to_simplified
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.extractions import Extraction, RememberIntent
from memory.values.understanding.mentions import KNOWN_NAME, Mention
from memory.values.understanding.readings import FactSpan, Intent, MessageKind, StatedFact
from memory.values.understanding.resolutions import Alternative, Clarification, ReferenceSource

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ANSWERER = ExtractiveAnswerer(analyzer=KeywordAnalyzer(), min_cosine=CosineBounds(chinese=0.9, other=0.9))
FACT = StatedFact(predicate="likes", object=FactSpan(text="茶", start=0, end=1))
_LANGUAGES = [("幫個忙，謝謝你們", TRADITIONAL), ("帮个忙，谢谢你们", SIMPLIFIED), ("Lend a hand", ENGLISH)]
_BY_INTENT = [
    (Intent.GREETING, "greeting"),
    (Intent.THANKS, "thanks"),
    (Intent.CHITCHAT, "chitchat"),
    (Intent.STATEMENT, "noted"),
    (Intent.CONFIRM, "confirmed"),
    (Intent.DENY, "denied"),
    (Intent.CORRECTION, "correction"),
    (Intent.FORGET, "forget"),
    (Intent.QUESTION, "nothing_found"),
]
_BY_KIND = [
    (MessageKind.GREETING, "greeting"),
    (MessageKind.FAREWELL, "farewell"),
    (MessageKind.THANKS, "thanks"),
    (MessageKind.ACKNOWLEDGEMENT, "acknowledged"),
    (MessageKind.STATE, "how_i_am"),
    (MessageKind.OPINION, "opinion"),
    (MessageKind.GENERAL, "general"),
    (MessageKind.REQUEST, "request"),
]


async def reply(
    message: str, *intents: Intent, kind: MessageKind | None = None, hits: tuple[Hit, ...] = (), **fields: object
) -> Answer:
    extraction = fields.pop("extraction", Extraction(intents=intents, kind=kind))
    given = {"message": message, "resolved": message, "extraction": extraction, "hits": hits, "now": AT} | fields
    return await ANSWERER.answer(AnswerRequest.model_validate(given))


def memory(text: str, *, cosine: float = 0.99) -> Hit:
    return Hit(id=text, kind=HitKind.MEMORY, text=text, score=1.0, parts={"cosine": cosine}, created_at=AT)


@pytest.mark.parametrize(("message", "phrases"), _LANGUAGES)
@pytest.mark.parametrize(("intent", "name"), _BY_INTENT)
async def test_every_intent_has_its_own_reply(message: str, phrases: Phrases, intent: Intent, name: str) -> None:
    answer = await reply(message, intent)
    assert answer.text == getattr(phrases, name)
    assert answer.sources == ()


@pytest.mark.parametrize(("message", "phrases"), _LANGUAGES)
@pytest.mark.parametrize(("kind", "name"), _BY_KIND)
@pytest.mark.parametrize("intent", [Intent.QUESTION, Intent.STATEMENT])
async def test_what_is_not_for_memory_has_its_own_reply_whatever_its_intents(
    message: str, phrases: Phrases, kind: MessageKind, name: str, intent: Intent
) -> None:
    near = memory("近日聽說", cosine=0.1)
    answer = await reply(message, intent, kind=kind, hits=(near,))
    expected = "request_with_facts" if (name, intent) == ("request", Intent.STATEMENT) else name
    assert (answer.text, answer.sources) == (getattr(phrases, expected), ())


@pytest.mark.parametrize("kind", [MessageKind.ASSISTANT, MessageKind.STATE, MessageKind.PRESENT])
async def test_what_asks_about_the_user_alone_is_asked_of_memory(kind: MessageKind) -> None:
    note = read("我改送 Uber Eats 了")
    answer = await reply("我現在是送哪個平台的", Intent.QUESTION, kind=kind, hits=(note,), unanswered=0.1)
    assert answer.sources == (note,)


async def test_a_request_for_an_overview_is_one_whatever_its_kind() -> None:
    everything = Extraction(intents=(Intent.REQUEST,), kind=MessageKind.ASSISTANT, overview=True)
    assert (await reply("說說我是誰", extraction=everything)).text == TRADITIONAL.nothing_found
    who = await reply("你是誰啊", extraction=everything)
    assert who.text == TRADITIONAL.who_i_am.format(name=TRADITIONAL.my_name)


async def test_small_talk_that_asks_to_remember_is_remembered() -> None:
    found = RememberIntent(trigger="記住", content="茶", content_start=0, content_end=1)
    asking = Extraction(kind=MessageKind.GREETING, remember=(found,))
    assert (await reply("早，記住茶", extraction=asking)).text == TRADITIONAL.remember.format(content="茶")


async def test_what_a_message_is_for_holds_whatever_its_words_may_refer_to() -> None:
    asked = await reply("what day is it", kind=MessageKind.PRESENT, resolved="what day is the night night")
    assert asked.text == "Monday, 2 March 2026 (UTC)."
    unsure = Extraction(intents=(Intent.GREETING,), kind=MessageKind.FAREWELL, facts=(FACT,))
    assert (await reply("off to bed, night", extraction=unsure)).text == ENGLISH.farewell


def test_the_replies_differ_in_every_language() -> None:
    names = {name for _, name in (*_BY_INTENT, *_BY_KIND)}
    for phrases in (TRADITIONAL, SIMPLIFIED, ENGLISH):
        assert len({getattr(phrases, name) for name in names}) == len(names)


@pytest.mark.parametrize(("message", "phrases"), _LANGUAGES)
async def test_a_request_that_tells_something_is_told_that_it_is_kept(message: str, phrases: Phrases) -> None:
    stated = await reply(message, Intent.STATEMENT, kind=MessageKind.REQUEST)
    with_a_fact = await reply(message, extraction=Extraction(kind=MessageKind.REQUEST, facts=(FACT,)))
    assert stated.text == with_a_fact.text == phrases.request_with_facts


async def test_a_request_that_memory_can_help_with_gets_what_it_knows() -> None:
    note = memory("我的車牌是 BKX-5207。")
    answer = await reply("把我的車牌傳給我太太", Intent.REQUEST, kind=MessageKind.REQUEST, hits=(note,))
    assert answer.text.startswith(TRADITIONAL.request_with_memories)
    assert "BKX-5207" in answer.text
    assert answer.sources == (note,)
    beside = memory("我住台北", cosine=0.1)
    assert (await reply("幫我訂披薩", kind=MessageKind.REQUEST, hits=(beside,))).text == TRADITIONAL.request


async def test_a_request_for_what_was_told_is_answered_like_a_question() -> None:
    note = memory("我的車牌是 BKX-5207。")
    answer = await reply("告訴我我的車牌", Intent.REQUEST, kind=MessageKind.MEMORY, hits=(note,))
    assert answer.sources == (note,)
    assert not answer.text.startswith(TRADITIONAL.request_with_memories)
    assert (await reply("告訴我我的車牌", Intent.REQUEST)).text == TRADITIONAL.nothing_found
    told = await reply("我把車賣了，改開豐田", Intent.REQUEST, Intent.STATEMENT, kind=MessageKind.MEMORY)
    assert told.text == TRADITIONAL.noted


@pytest.mark.parametrize(
    ("intents", "name"),
    [
        ((Intent.STATEMENT, Intent.GREETING), "noted"),
        ((Intent.THANKS, Intent.STATEMENT), "noted"),
        ((Intent.DENY, Intent.CORRECTION), "correction"),
        ((Intent.CONFIRM, Intent.REQUEST), "nothing_found"),
        ((Intent.STATEMENT, Intent.FORGET), "forget"),
        ((Intent.QUESTION, Intent.FORGET), "forget"),
        ((Intent.GREETING, Intent.QUESTION), "nothing_found"),
        ((Intent.GREETING, Intent.CHITCHAT), "greeting"),
    ],
)
async def test_of_several_intents_the_weightier_is_answered(intents: tuple[Intent, ...], name: str) -> None:
    assert (await reply("幫個忙，謝謝你們", *intents)).text == getattr(TRADITIONAL, name)


@pytest.mark.parametrize(
    ("message", "content", "said"),
    [
        ("幫我記住，我的車位是 B2-17", "我的車位是 B2-17", "好的，我會記住：我的車位是 B2-17"),
        ("帮我记住，我的车位是 B2-17", "我的车位是 B2-17", "好的，我会记住：我的车位是 B2-17"),
        ("Remember that I park at B2-17", "I park at B2-17", "I will remember: I park at B2-17"),
    ],
)
async def test_what_is_to_be_remembered_is_quoted(message: str, content: str, said: str) -> None:
    found = RememberIntent(trigger="", content=content, content_start=0, content_end=1)
    assert (await reply(message, extraction=Extraction(remember=(found,)))).text == said
    both = Extraction(remember=(found,), intents=(Intent.REMEMBER, Intent.QUESTION))
    assert (await reply(message, extraction=both)).text == said


async def test_without_words_for_it_the_whole_message_or_the_one_before_is_quoted() -> None:
    message = "車位 B2-17，別搞丟"
    assert (await reply(message, Intent.REMEMBER)).text == f"好的，我會記住：{message}"
    points_back = RememberIntent(trigger="記住這個", content="", content_start=4, content_end=4)
    turn = Turn(role=Role.USER, content="車位是 B2-17", created_at=AT)
    answer = await reply("記住這個", extraction=Extraction(remember=(points_back,)), turns=(turn,))
    assert answer.text == "好的，我會記住：車位是 B2-17"
    long = await reply("長" * 1000, Intent.REMEMBER)
    assert len(long.text) < 250


async def test_a_wish_to_forget_quotes_nothing_of_what_is_to_be_forgotten() -> None:
    answer = await reply("忘掉我的車牌 BKX-5207", Intent.FORGET, hits=(memory("我的車牌是 BKX-5207。"),))
    assert "BKX" not in answer.text
    assert answer.sources == ()


async def test_a_corrected_statement_is_confirmed_and_a_corrected_question_answered() -> None:
    stated = await reply("鑰匙放在一樓。", Intent.CORRECTION, resolved="鑰匙放在一樓。", revised=True)
    assert stated.text == "好的，更正為：鑰匙放在一樓。"
    note = memory("HCI-500 的報價是 30 萬。")
    asked = await reply("HCI-500 的報價多少？", Intent.CORRECTION, revised=True, hits=(note,))
    assert asked.sources == (note,)


async def test_only_a_question_is_answered_with_a_question() -> None:
    options = tuple(Alternative(text=name, source=ReferenceSource.SESSION, score=0.5) for name in ("Redis", "Qdrant"))
    asked = Clarification(question="哪一個？", original_text="它", start=0, end=1, options=options)
    assert (await reply("它多少錢？", Intent.QUESTION, clarification=asked)).text == "哪一個？"
    assert (await reply("它很貴。", Intent.STATEMENT, clarification=asked)).text == TRADITIONAL.noted
    assert (await reply("把它印出來", kind=MessageKind.REQUEST, clarification=asked)).text == TRADITIONAL.request


@pytest.mark.parametrize(("message", "name"), [("我的護照號碼？", "nothing_found"), ("我換工作了", "noted")])
async def test_while_nobody_reads_intents_the_form_decides(message: str, name: str) -> None:
    assert (await reply(message)).text == getattr(TRADITIONAL, name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (MessageKind.GENERAL, "general"),
        (MessageKind.OPINION, "opinion"),
        (MessageKind.MEMORY, "nothing_found"),
        (None, "nothing_found"),
    ],
)
@pytest.mark.parametrize(("message", "phrases"), _LANGUAGES)
async def test_a_question_that_memory_cannot_answer_is_told_why(
    message: str, phrases: Phrases, kind: MessageKind | None, name: str
) -> None:
    answer = await reply(message, Intent.QUESTION, kind=kind, unanswered=0.97)
    assert (answer.text, answer.confidence) == (getattr(phrases, name), 0.97)


async def test_a_question_that_names_what_the_user_knows_is_asked_of_memory() -> None:
    ann = Mention(text="Ann", start=14, end=17, source=KNOWN_NAME)
    extraction = Extraction(intents=(Intent.QUESTION,), kind=MessageKind.GENERAL, mentions=(ann,))
    answer = await reply("Which year was Ann born?", extraction=extraction, unanswered=0.97)
    assert answer.text == ENGLISH.nothing_found


async def test_what_seems_a_question_about_the_world_is_answered_by_what_was_told() -> None:
    deck = read("Otto is building the deck", answers=0.4)
    told = await reply("Who's building the deck?", kind=MessageKind.GENERAL, hits=(deck,), unanswered=0.1)
    assert told.sources == (deck,)
    beside = read("Tea is nice", answers=0.1)
    unknown = await reply("Who wrote Hamlet?", kind=MessageKind.GENERAL, hits=(beside,), unanswered=0.1)
    assert unknown.text == ENGLISH.general


def test_the_replies_to_what_is_not_known_differ_in_every_language() -> None:
    for phrases in (TRADITIONAL, SIMPLIFIED, ENGLISH):
        assert len({phrases.nothing_found, phrases.opinion, phrases.general}) == 3
    assert to_simplified(TRADITIONAL.general) == SIMPLIFIED.general
    assert to_simplified(TRADITIONAL.opinion) == SIMPLIFIED.opinion


async def test_what_was_read_and_is_for_nothing_is_not_said_to_be_kept() -> None:
    assert (await reply("把燈關了", extraction=Extraction(version="1"))).text == TRADITIONAL.chitchat
    told = Extraction(version="1", facts=(FACT,))
    assert (await reply("喝茶的人，我", extraction=told)).text == TRADITIONAL.noted


ASSISTANT = [("你叫什麼名字？", TRADITIONAL), ("你会做什么？", SIMPLIFIED), ("What can you do?", ENGLISH)]


@pytest.mark.parametrize(("message", "phrases"), ASSISTANT)
async def test_a_question_about_the_assistant_is_answered_by_who_it_is_and_by_no_memory(
    message: str, phrases: Phrases
) -> None:
    near = (memory(f"我最喜歡的話是「{message}」"),)
    answer = await reply(message, kind=MessageKind.ASSISTANT, hits=near, unanswered=0.1)
    assert (answer.text, answer.sources) == (phrases.who_i_am.format(name=phrases.my_name), ())
    named = await reply(
        message, kind=MessageKind.ASSISTANT, assistant=Assistant(name="Aria", facts=("Aria likes jazz.",))
    )
    assert "Aria" in named.text
    assert named.text.endswith("Aria likes jazz.")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("今天星期幾？", "2026年3月2日，星期一（UTC）。"),
        ("明天几号？", "2026年3月3日，星期二（UTC）。"),
        ("What time is it?", "Monday, 2 March 2026, 09:00 (UTC)."),
        ("What year is it?", "Monday, 2 March 2026 (UTC)."),
    ],
)
async def test_the_present_date_and_time_are_told(message: str, said: str) -> None:
    answer = await reply(message, kind=MessageKind.PRESENT, hits=(memory("我每個星期三打羽球"),), unanswered=0.1)
    assert (answer.text, answer.sources) == (said, ())


async def test_the_time_is_that_of_the_zone_in_which_the_message_was_sent() -> None:
    in_taipei = datetime(2026, 3, 2, 1, 5, tzinfo=timezone(timedelta(hours=8)))
    assert (await reply("現在幾點？", kind=MessageKind.PRESENT, now=in_taipei)).text == "2026年3月2日，星期一，01:05。"


READ = {"answers": 0.9, "words": 0.1}


def read(text: str, **parts: float) -> Hit:
    """A memory that was read together with the message."""
    return Hit(id=text, kind=HitKind.MEMORY, text=text, words="", score=1.0, parts=READ | parts, created_at=AT)


@pytest.mark.parametrize(
    ("message", "hit", "is_quoted"),
    [
        ("幫我設一個明天早上的鬧鐘", read("羽球改到星期五"), False),
        ("幫我設一個打羽球的鬧鐘", read("羽球改到星期五"), True),
        ("幫我設一個打羽球的鬧鐘", read("羽球改到星期五", answers=0.4), False),
        ("幫我點一杯我能喝的", read("冬瓜檸檬沒問題"), True),
        ("Set an alarm for 7am", read("Noah is five"), False),
        ("Book me a table at Rosso", read("Rosso was the place with the good gnocchi"), True),
    ],
)
async def test_a_request_gets_only_what_surely_concerns_it(message: str, hit: Hit, is_quoted: bool) -> None:
    answer = await reply(message, kind=MessageKind.REQUEST, hits=(hit,), unanswered=0.1)
    assert bool(answer.sources) is is_quoted


@pytest.mark.parametrize(
    ("message", "hit", "phrases"),
    [
        ("你覺得那家餐廳好吃嗎？", read("那家餐廳我去過兩次"), TRADITIONAL),
        ("你觉得这家餐厅怎么样？", read("那家餐厅我去过两次"), SIMPLIFIED),
        ("What do you think of Elbow?", read("I love the band Elbow"), ENGLISH),
    ],
)
async def test_asked_for_an_opinion_it_has_none_and_says_what_it_knows(
    message: str, hit: Hit, phrases: Phrases
) -> None:
    answer = await reply(message, kind=MessageKind.OPINION, hits=(hit,), unanswered=0.1)
    assert answer.text.splitlines()[0] == phrases.opinion_with_memories
    assert answer.sources == (hit,)
    beside = read("《黑暗榮耀》還不錯，it was good")
    assert (await reply(message, kind=MessageKind.OPINION, hits=(beside,), unanswered=0.1)).text == phrases.opinion


@pytest.mark.parametrize("intent", [Intent.CHITCHAT, Intent.STATEMENT])
async def test_only_what_asks_gets_an_overview(intent: Intent) -> None:
    praise = Extraction(intents=(intent,), overview=True)
    assert (await reply("妳好聰明喔", extraction=praise)).text in (TRADITIONAL.chitchat, TRADITIONAL.noted)


async def test_a_message_that_both_scripts_share_is_answered_in_the_script_written_before() -> None:
    assert (await reply("早安", Intent.GREETING, written=("好的", "我在学日语"))).text == SIMPLIFIED.greeting
    assert (await reply("早安", Intent.GREETING, written=("ok",))).text == TRADITIONAL.greeting
