"""A request to forget in chat: carried out before the reply, which says what is gone; never learned, quoted or kept."""

import pytest

from memory.answering.forgetting import forget_reply, names_of
from memory.chat.messages import ChatMessage
from memory.extraction.extractor import ReadingExtractor
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.errors import ModelUnavailable, Unavailable
from memory.values.governance.changes import Change, ChangeActor, ChangeKind
from memory.values.governance.forgetting import ForgetOutcome, ForgetReport, Forgettable
from testing.fakes.reader import FakeReader, stated
from tests.memory.conftest import World

LOCKERS = [
    (
        ("學校的置物櫃密碼是 405617", "學校的置物櫃"),
        ("健身房的置物櫃密碼是 881342", "健身房的置物櫃"),
        "忘掉置物櫃密碼",
        "健身房的",
        "好的，已從記憶裡刪除：健身房的置物櫃的密碼。我不會再提起。",
    ),
    (
        ("学校的储物柜密码是 405617", "学校的储物柜"),
        ("健身房的储物柜密码是 881342", "健身房的储物柜"),
        "忘掉储物柜密码",
        "健身房那个",
        "好的，已从记忆里删除：健身房的储物柜的密码。我不会再提起。",
    ),
    (
        ("the school locker has code 405617", "school locker"),
        ("the gym locker has code 881342", "gym locker"),
        "forget the locker code",
        "the gym one",
        "Done. Removed from memory: the code of your gym locker. I will not bring it up again.",
    ),
]


class Killed(BaseException):
    """The end of the process."""


async def wishes(world: World, user: str = "ann") -> list[Change]:
    async with world.record.reading(user_id=user) as unit:
        return await unit.changes.list(kind=ChangeKind.FORGET)


async def tell(world: World, message: str, *facts: str, intents: str = "statement") -> None:
    world.language.scripted[message] = stated(message, *facts, intents=intents)
    await world.say(message)


async def reply_to(world: World, message: str, *, intents: str | None = None) -> str:
    if intents is not None:
        world.language.scripted[message] = stated(message, intents=intents)
    _, replied, _ = await world.say(message)
    return replied.answer.text


async def everything_of(world: World) -> str:
    """All that is stored of the user, as text."""
    session = await world.sessions.load("s", user_id="ann")
    return repr(world.record._users["ann"]) + repr(session) + repr(world.record._runs._runs)


@pytest.mark.parametrize(
    ("told", "thing", "request_", "question", "said"),
    [
        (
            "我的置物櫃密碼是 405617",
            "置物櫃",
            "忘掉我的置物櫃密碼",
            "置物櫃密碼是多少？",
            "好的，已從記憶裡刪除：置物櫃的密碼。我不會再提起。",
        ),
        (
            "我的储物柜密码是 405617",
            "储物柜",
            "忘掉我的储物柜密码",
            "储物柜密码是多少？",
            "好的，已从记忆里删除：储物柜的密码。我不会再提起。",
        ),
        (
            "my locker code is 405617",
            "locker",
            "Forget my locker code",
            "What is my locker code?",
            "Done. Removed from memory: the code of your locker. I will not bring it up again.",
        ),
    ],
)
async def test_one_thing_is_removed_before_the_reply_which_names_it_without_its_value(
    world: World, told: str, thing: str, request_: str, question: str, said: str
) -> None:
    await tell(world, told, f"{thing} | code | 405617")
    assert "405617" in await reply_to(world, question)
    assert await reply_to(world, request_) == said
    session = await world.sessions.load("s", user_id="ann")
    assert "405617" not in str(session)
    assert request_ not in str(session)
    assert "405617" not in await reply_to(world, question)


async def test_what_stated_or_answered_it_is_erased_and_the_request_was_never_stored(world: World) -> None:
    await tell(world, "我的置物櫃密碼是 405617", "置物櫃 | code | 405617")
    await tell(world, "我住板橋", "user | lives_in | 板橋")
    await reply_to(world, "置物櫃密碼是多少？")
    await reply_to(world, "忘掉我的置物櫃密碼")
    assert await world.erasing.work()
    stored = await everything_of(world)
    assert "405617" not in stored
    assert "忘掉" not in stored
    assert "我住板橋" in stored
    [change] = await wishes(world)
    assert (change.actor, change.items) == (ChangeActor.USER, ())
    assert len(change.subjects) == 2  # the request and the fact


@pytest.mark.parametrize(
    ("told", "thing", "request_", "asked", "yes"),
    [
        (
            "my locker code is 405617",
            "locker",
            "keep the locker code to yourself",
            "Should I forget the code of your locker? Until you say so, I remove nothing.",
            "yes please",
        ),
        (
            "我的置物櫃密碼是 405617",
            "置物櫃",
            "置物櫃密碼別跟人說",
            "您要我忘掉的是置物櫃的密碼嗎？在您確認之前，我什麼都不會刪。",
            "對，刪掉",
        ),
        (
            "我的储物柜密码是 405617",
            "储物柜",
            "储物柜密码别跟人说",
            "您要我忘掉的是储物柜的密码吗？在您确认之前，我什么都不会删。",
            "是的",
        ),
    ],
)
async def test_what_may_be_meant_alone_is_asked_about_and_a_yes_removes_it(
    world: World, told: str, thing: str, request_: str, asked: str, yes: str
) -> None:
    await tell(world, told, f"{thing} | code | 405617")
    world.language.scripted[request_] = stated(request_, intents="forget", surely=False)
    assert await reply_to(world, request_) == asked
    assert "405617" in await everything_of(world)
    await reply_to(world, yes)
    assert await world.erasing.work()
    assert "405617" not in await everything_of(world)


async def test_a_message_of_many_facts_is_named_by_its_date(world: World) -> None:
    told = "the flat costs 900, its lease ends in March and the gate opens with 4417"
    facts = ("flat | price | 900", "lease | deadline | March", "gate | code | 4417")
    request_ = "forget about the flat, its lease and the gate"
    await tell(world, told, *facts)
    said = await reply_to(world, request_, intents="forget")
    assert said.startswith("Done. Removed from memory: what you said on 20")


@pytest.mark.parametrize(("first", "second", "request_", "choice", "said"), LOCKERS)
async def test_of_several_the_reply_asks_which_and_the_next_message_chooses(
    world: World, first: tuple[str, str], second: tuple[str, str], request_: str, choice: str, said: str
) -> None:
    await tell(world, first[0], f"{first[1]} | code | 405617")
    await tell(world, second[0], f"{second[1]} | code | 881342")
    asked = await reply_to(world, request_)
    assert first[1] in asked
    assert second[1] in asked
    assert "405617" not in asked
    assert "405617" in await everything_of(world)
    assert await reply_to(world, choice) == said
    assert await world.erasing.work()
    stored = await everything_of(world)
    assert "881342" not in stored
    assert request_ not in stored
    assert choice not in stored
    assert "405617" in stored


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("the first one", {"881342"}),
        ("the second", {"405617"}),
        ("both of them", set()),
        ("never mind, keep them", {"405617", "881342"}),
        ("My sister lives in Hamburg", {"405617", "881342"}),
        ("I bought a new gym bag last week", {"405617", "881342"}),
        ("We are all moving house", {"405617", "881342"}),
        ("What is my locker code?", {"405617", "881342"}),
    ],
)
async def test_the_choice_may_be_by_number_all_none_or_no_choice(world: World, choice: str, left: set[str]) -> None:
    first, second, request_, _, _ = LOCKERS[2]
    await tell(world, second[0], f"{second[1]} | code | 881342")
    await tell(world, first[0], f"{first[1]} | code | 405617")
    await reply_to(world, request_)
    await reply_to(world, choice)
    await world.erasing.work()
    stored = await everything_of(world)
    assert {code for code in ("405617", "881342") if code in stored} == left


async def test_only_the_next_message_chooses(world: World) -> None:
    first, second, request_, choice, _ = LOCKERS[2]
    await tell(world, first[0], f"{first[1]} | code | 405617")
    await tell(world, second[0], f"{second[1]} | code | 881342")
    await reply_to(world, request_)
    await reply_to(world, "My sister lives in Hamburg")
    await reply_to(world, choice)
    assert "881342" in await everything_of(world)


@pytest.mark.parametrize(("request_", "phrases"), [("把那件事忘掉", TRADITIONAL), ("把这件事忘掉", SIMPLIFIED)])
async def test_that_thing_is_what_was_said_last(world: World, request_: str, phrases: Phrases) -> None:
    await tell(world, "我住板橋", "user | lives_in | 板橋")
    await tell(world, "我考試不及格", "user | happened | 考試不及格")
    said = await reply_to(world, request_, intents="forget")
    assert said == phrases.forgotten.format(things=phrases.just_said)
    await world.erasing.work()
    stored = await everything_of(world)
    assert "不及格" not in stored
    assert "板橋" in stored


async def test_after_a_question_that_is_what_the_answer_quoted(world: World) -> None:
    await tell(world, "my locker code is 405617", "locker | code | 405617")
    assert "405617" in await reply_to(world, "What is my locker code?")
    await reply_to(world, "Forget that.")
    await world.erasing.work()
    assert "405617" not in await everything_of(world)


async def test_a_person_goes_from_entities_facts_memories_sessions_and_vectors(world: World) -> None:
    await tell(world, "陳怡君在台積電上班", "陳怡君 | works_at | 台積電")
    await tell(world, "陳怡君喜歡爬山", "陳怡君 | likes | 爬山")
    await tell(world, "我住板橋", "user | lives_in | 板橋")
    said = await reply_to(world, "刪除所有關於陳怡君的記憶", intents="forget")
    assert said == "好的，已從記憶裡刪除：所有關於陳怡君的內容。我不會再提起。"
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value("陳怡君") is None
        assert await unit.entities.get_by_value("台積電") is None
    assert await world.erasing.work()
    await world.learn()
    assert "怡君" not in await everything_of(world)
    assert [hit.text for hit in (await world.find("陳怡君")).hits if "怡君" in hit.text] == []


async def test_what_an_answer_said_of_it_goes_too(world: World) -> None:
    await tell(world, "我住板橋", "user | lives_in | 板橋")
    assert "板橋" in await reply_to(world, "我住哪裡？")
    await reply_to(world, "忘掉我住哪裡")
    await world.erasing.work()
    assert "板橋" not in await everything_of(world)


@pytest.mark.parametrize(
    ("told", "facts", "request_", "said"),
    [
        (
            "媽媽的生日是四月十八，爸爸的生日是十一月三號",
            ("媽媽 | birthday | 四月十八", "爸爸 | birthday | 十一月三號"),
            "忘掉爸爸的生日",
            "好的，已從記憶裡刪除：爸爸的生日和媽媽的生日。我不會再提起。",
        ),
        (
            "the shed padlock has code 405617 and the bike lock has code 881342",
            ("shed padlock | code | 405617", "bike lock | code | 881342"),
            "forget the bike lock code",
            "Done. Removed from memory: the code of your bike lock and the code of your shed padlock. "
            "I will not bring it up again.",
        ),
    ],
)
async def test_what_goes_with_it_is_named_too(
    world: World, told: str, facts: tuple[str, ...], request_: str, said: str
) -> None:
    await tell(world, told, *facts)
    assert await reply_to(world, request_, intents="forget") == said


async def test_an_entity_that_something_else_tells_of_stays(world: World) -> None:
    await tell(world, "王小明在台積電上班", "王小明 | works_at | 台積電")
    await tell(world, "台積電在新竹", "台積電 | located_in | 新竹")
    await reply_to(world, "刪除所有關於王小明的記憶", intents="forget")
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value("台積電") is not None
        assert await unit.entities.get_by_value("王小明") is None


@pytest.mark.parametrize(
    ("message", "phrases"),
    [
        ("請忘掉我的血型。", TRADITIONAL),
        ("请忘掉我的血型。", SIMPLIFIED),
        ("Please forget my blood type.", ENGLISH),
    ],
)
async def test_what_is_not_there_is_said_to_be_not_there(world: World, message: str, phrases: Phrases) -> None:
    _, replied, acknowledged = await world.say(message)
    assert replied.answer.text == phrases.forget_nothing
    [wish] = await wishes(world)
    assert wish.subjects == (acknowledged.turn_id,)
    assert await wishes(world, "bob") == []


@pytest.mark.parametrize("message", ["Forget everything you know", "忘掉所有記憶", "删掉全部资料"])
async def test_the_whole_memory_is_not_erased_by_a_message(world: World, message: str) -> None:
    await tell(world, "我住板橋", "user | lives_in | 板橋")
    _, _, acknowledged = await world.say(message)
    assert acknowledged.forgotten
    assert acknowledged.forgotten.outcome is ForgetOutcome.EVERYTHING
    assert "板橋" in await everything_of(world)


async def test_nothing_is_learned_from_it(world: World) -> None:
    await world.say("AI-Box 到貨了。")
    _, _, acknowledged = await world.say("忘掉 Qdrant 跟王小明的事。")
    assert acknowledged.learned
    assert (acknowledged.learned.memories, acknowledged.learned.new_entities) == (0, 0)
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value("王小明") is None
        assert [memory.text for memory in await unit.memories.recent(limit=10)] == ["AI-Box 到貨了。"]
        assert [entry.content for entry in await unit.log.list() if "忘掉" in entry.content] == []


async def test_it_is_not_quoted_later(world: World) -> None:
    await world.say("忘掉保險箱的密碼是 4711。")
    _, replied, _ = await world.say("保險箱的密碼是多少？")
    assert "4711" not in replied.answer.text
    assert replied.answer.sources == ()


async def test_a_repeated_message_is_carried_out_once(world: World) -> None:
    await tell(world, "我的生日是五月三號", "user | birthday | 五月三號")
    await world.say("忘掉我的生日。", turn_id="t1")
    _, replied, _ = await world.say("忘掉我的生日。", turn_id="t1")
    assert replied.answer.text == TRADITIONAL.forgotten_already
    assert len(await wishes(world)) == 1


async def test_a_message_that_was_read_without_intents_is_read_again_before_it_is_learned(world: World) -> None:
    world.reader._extractor = ReadingExtractor(FakeReader(error=ModelUnavailable("no weights", component="reader")))
    await world.say("忘掉我的生日。")
    assert len(await wishes(world)) == 1
    await world.erasing.work()
    assert "忘掉" not in await everything_of(world)


async def test_while_the_learner_is_away_it_waits_in_the_log_and_the_reply_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(request: object) -> None:
        raise Unavailable("It is away.", component="learner")

    await tell(world, "我的置物櫃密碼是 405617", "置物櫃 | code | 405617")
    monkeypatch.setattr(world.worker, "forget", away)
    _, replied, acknowledged = await world.say("忘掉我的置物櫃密碼")
    assert replied.answer.text == TRADITIONAL.forget
    assert acknowledged.degraded == ("learner",)
    await world.erasing.work()
    stored = await everything_of(world)
    assert "405617" not in stored
    assert "忘掉" not in stored


async def test_a_backend_is_told_what_would_be_forgotten_and_then_it_is(world: World) -> None:
    await tell(world, "我的置物櫃密碼是 405617", "置物櫃 | code | 405617")
    memory = world.entity_memory
    before = await memory.before_reply("忘掉我的置物櫃密碼", "s", "ann")
    assert before.forgotten
    assert before.forgotten.outcome is ForgetOutcome.REMOVED
    assert "置物櫃的密碼" in before.context
    assert "405617" not in before.context
    assert "405617" in await everything_of(world)
    after = await memory.after_reply("忘掉我的置物櫃密碼", "s", "ann", reply="好，405617 我忘了")
    assert after.forgotten
    assert after.forgotten.facts == 1
    await world.erasing.work()
    stored = await everything_of(world)
    assert "405617" not in stored
    assert "忘" not in stored
    asked = await memory.before_reply("我的置物櫃密碼是多少？", "s", "ann")
    assert "405617" not in asked.model_dump_json()


async def test_a_backend_asks_which_and_the_next_message_chooses(world: World) -> None:
    first, second, request_, choice, _ = LOCKERS[0]
    await tell(world, first[0], f"{first[1]} | code | 405617")
    await tell(world, second[0], f"{second[1]} | code | 881342")
    memory = world.entity_memory
    before = await memory.before_reply(request_, "s", "ann")
    assert all(name in before.context for name in (first[1], second[1]))
    await memory.after_reply(request_, "s", "ann", reply="哪一個？")
    assert (await memory.before_reply(choice, "s", "ann")).forgotten
    after = await memory.after_reply(choice, "s", "ann", reply="好")
    assert after.forgotten
    assert after.forgotten.outcome is ForgetOutcome.REMOVED
    await world.erasing.work()
    assert "881342" not in await everything_of(world)


@pytest.mark.parametrize("phrases", [TRADITIONAL, SIMPLIFIED, ENGLISH])
@pytest.mark.parametrize("outcome", ForgetOutcome)
def test_every_outcome_has_a_reply(outcome: ForgetOutcome, phrases: Phrases) -> None:
    reply = forget_reply(ForgetReport(outcome=outcome), phrases)
    assert reply
    assert "{" not in reply


@pytest.mark.parametrize(
    ("subject", "predicate", "phrases", "name"),
    [
        (None, "met", TRADITIONAL, "您見過的人"),
        ("美玲", "drives", SIMPLIFIED, "美玲开的车"),
        ("車位密碼", "code", TRADITIONAL, "您的車位密碼"),
        ("車位", "code", TRADITIONAL, "車位的密碼"),
        ("gate code at the allotment", "code", ENGLISH, "your gate code at the allotment"),
        ("gym locker", "code", ENGLISH, "the code of your gym locker"),
        ("Kate", "phone", ENGLISH, "Kate's phone number"),
        (None, "neighbour", ENGLISH, "your neighbours"),
    ],
)
def test_what_is_gone_is_named_as_people_name_it(
    subject: str | None, predicate: str, phrases: Phrases, name: str
) -> None:
    assert names_of([Forgettable(ids=("f",), subject=subject, predicate=predicate)], phrases) == [name]


async def test_a_failure_before_the_commit_removes_nothing_and_one_after_it_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(messages: object, *, user_id: str) -> None:
        raise Unavailable("It is away.", component="record")

    def die() -> None:
        raise Killed

    await tell(world, "我的置物櫃密碼是 405617", "置物櫃 | code | 405617")
    message = ChatMessage(user_id="ann", session_id="s", message="忘掉我的置物櫃密碼", now=world.now)
    understood = await world.reader.read(message.message, session_id="s", user_id="ann", now=world.now)
    with monkeypatch.context() as patched:
        patched.setattr(world.erasing, "prepare", broken)
        assert await world.additions.forget(message, understood) is None
    assert await wishes(world) == []
    assert "405617" in await reply_to(world, "置物櫃密碼是多少？")
    # The process ends right after the commit: sessions are not told, and nobody works on the request.
    monkeypatch.setattr(world.erasing, "wake", die)
    with pytest.raises(Killed):
        await world.additions.forget(message, understood)
    assert "405617" in str(await world.sessions.load("s", user_id="ann"))
    assert await world.erasing.work()  # what the next process finds among the recorded requests
    assert "405617" not in await everything_of(world)
