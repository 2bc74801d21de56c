"""A chat turn over a whole memory of fakes (DESIGN §3)."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from memory.answering.answers import Assistant
from memory.extraction.extractor import ReadingExtractor
from memory.ports.models.language import Reader
from memory.values.errors import ModelUnavailable, Overloaded, StoreBusy, StoreUnavailable, Unavailable
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context, MessageKind
from memory.values.understanding.resolutions import ReferenceSource
from testing.fakes.reader import FakeReader, stated
from tests.memory.conftest import World


async def test_a_reference_is_resolved_and_the_answer_quotes_what_was_said(world: World) -> None:
    await world.say("我們公司上個月買了 AI-Box。")
    await world.say("AI-Box 放在三樓機房。")
    understood, replied, _ = await world.say("它放在哪裡？")
    assert understood.resolution.resolved_query == "AI-Box 放在哪裡？"
    assert "AI-Box 放在三樓機房。" in replied.answer.text
    assert replied.answer.sources


async def test_the_same_in_english_and_in_simplified_chinese(world: World) -> None:
    await world.say("We bought an AI-Box. The AI-Box is in the server room.", session="en")
    understood, replied, _ = await world.say("Where is it?", session="en")
    assert "AI-Box" in understood.resolution.resolved_query
    assert "server room" in replied.answer.text
    await world.say("我们的 AI-Box 放在三楼机房。", session="zh", user="li")
    understood, replied, _ = await world.say("它放在哪里？", session="zh", user="li")
    assert understood.resolution.resolved_query == "AI-Box 放在哪里？"
    assert "三楼机房" in replied.answer.text
    assert "您说过" in replied.answer.text


async def test_another_user_in_a_session_of_the_same_name_sees_none_of_it(world: World) -> None:
    await world.say("我的車位是 B2-17。")
    understood, replied, _ = await world.say("我的車位在哪？", user="bob")
    assert "B2-17" not in replied.answer.text
    assert understood.resolution.resolved_query == "我的車位在哪？"


async def test_a_request_to_remember_is_confirmed_with_what_is_remembered(world: World) -> None:
    _, replied, _ = await world.say("幫我記住，我的車位是 B2-17")
    assert "我的車位是 B2-17" in replied.answer.text


async def test_a_question_that_nothing_answers_gets_an_honest_reply_in_its_language(world: World) -> None:
    for question, reply in [
        ("我的護照號碼是多少？", "我的記憶裡沒有相關的內容。"),
        ("我的护照号码是多少？", "我的记忆里没有相关的内容。"),
        ("What is my passport number?", "I have nothing about that in memory."),
    ]:
        _, replied, _ = await world.say(question, user="nobody", session=question)
        assert replied.answer.text == reply


async def test_a_message_that_could_be_either_script_is_answered_in_the_one_its_user_writes(world: World) -> None:
    await world.say("我們公司買了 AI-Box。")
    _, replied, _ = await world.say("AI-Box 多大？")
    assert replied.answer.text.startswith("您說過")


async def test_nothing_can_be_referred_to_in_a_stock_phrase(world: World) -> None:
    _, replied, _ = await world.say("在嗎？")
    assert replied.answer.text == "我的記憶裡沒有相關的內容。"
    understood, replied, _ = await world.say("它在哪裡？")
    assert understood.resolution.resolved_query == "它在哪裡？"
    assert replied.answer.sources == ()


async def test_a_memory_that_shares_only_function_words_with_a_question_does_not_answer_it(world: World) -> None:
    await world.say("我的車位是 B2-17。")
    _, replied, _ = await world.say("我的護照號碼是多少？")
    assert replied.answer.text == "我的記憶裡沒有相關的內容。"


async def test_sending_a_turn_again_with_its_id_appends_nothing(world: World) -> None:
    first = await world.say("我們用 RM05-008。", turn_id="t1")
    second = await world.say("我們用 RM05-008。", turn_id="t1")
    assert first[2].turn_id == second[2].turn_id
    async with world.record.reading(user_id="ann") as unit:
        entity = await unit.entities.get_by_value("RM05-008")
        assert entity is not None
        assert entity.mention_count == 1
        assert len(await unit.log.session("s", limit=10)) == 2


async def test_a_turn_goes_on_without_the_parts_that_only_improve_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise Unavailable("gone", component="x")

    monkeypatch.setattr(world.reader._extractor, "extract", down)
    monkeypatch.setattr(world.reader._resolver, "resolve", down)
    monkeypatch.setattr(world.retriever, "search", down)
    with capture_logs() as logs:
        understood, replied, acknowledged = await world.say("它放在哪裡？")
    assert understood.resolution.resolved_query == "它放在哪裡？"
    assert replied.answer.text
    assert {"extractor", "resolver", "retriever"} <= set(acknowledged.degraded)
    [error] = [log for log in logs if log["event"] == "entity_extraction_failed"]
    assert (error["log_level"], error["exc_info"]) == ("error", True)  # 000 §9.3: with the traceback


async def test_a_turn_that_cannot_be_written_down_is_not_acknowledged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*, user_id: str) -> None:
        raise StoreUnavailable("disk full", component="record")

    monkeypatch.setattr(world.record, "writing", down)
    with pytest.raises(StoreUnavailable):
        await world.say("重要的事")


async def test_time_words_stay_in_the_session(world: World) -> None:
    await world.say("昨天我們試了 AI-Box")
    session = await world.sessions.load("s", user_id="ann")
    assert "昨天" in session.context.deixis
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value("昨天") is None


async def test_a_question_is_never_the_answer_to_itself(world: World) -> None:
    await world.say("備用鑰匙放在哪裡？")
    _, replied, _ = await world.say("備用鑰匙放在哪裡？")
    assert replied.answer.sources == ()


async def test_while_the_record_cannot_be_read_the_session_is_still_understood_and_the_turn_says_what_is_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = world.record.reading

    def down(*, user_id: str) -> None:
        raise StoreUnavailable("gone", component="record")

    monkeypatch.setattr(world.record, "reading", down)
    await world.say("我們公司買了 AI-Box。")
    understood, replied, acknowledged = await world.say("它多少錢？")
    assert understood.resolution.resolved_query == "AI-Box 多少錢？"
    assert replied.answer.text
    assert acknowledged.degraded.count("record") == 1
    monkeypatch.setattr(world.record, "reading", reading)
    await world.learn()
    async with world.record.reading(user_id="ann") as unit:
        assert await unit.entities.get_by_value("AI-Box")


async def test_where_two_things_fit_the_reply_asks_and_the_answer_resolves_the_question(world: World) -> None:
    await world.say("我們買了 AI-Box 和 ThinkPad。")
    understood, replied, _ = await world.say("它放在哪裡？")
    assert understood.resolution.resolved_query == "它放在哪裡？"
    assert understood.resolution.clarification
    assert replied.answer.text == understood.resolution.clarification.question == "「它」是指 AI-Box 還是 ThinkPad？"
    assert replied.answer.sources == ()
    await world.note("ThinkPad 放在三樓機房。")
    understood, replied, _ = await world.say("後者")
    assert understood.resolution.resolved_query == "ThinkPad 放在哪裡？"
    assert "三樓機房" in replied.answer.text


async def test_what_memory_says_of_one_of_the_options_is_no_answer_but_what_it_says_of_neither_is(world: World) -> None:
    await world.say("We run Grafana and Jenkins.")
    await world.note("Grafana uses port 3000.")
    _, replied, _ = await world.say("Which port does it use?")
    assert replied.answer.text == "By “it”, do you mean Grafana or Jenkins?"
    await world.note("Every service uses a port above 3000.")
    understood, replied, _ = await world.say("Which port does it use?")
    assert understood.resolution.clarification
    assert "above 3000" in replied.answer.text


async def test_a_statement_is_not_answered_with_a_question(world: World) -> None:
    await world.say("我們買了 AI-Box 和 ThinkPad。")
    understood, replied, _ = await world.say("它很貴。")
    assert understood.resolution.clarification
    assert replied.answer.text == "好的，我記下了。"


async def test_a_correction_is_answered_learned_and_kept_in_the_session(world: World) -> None:
    await world.say("我們買了 HCI-500。")
    await world.say("我在看 AI-Box。")
    understood, _, _ = await world.say("它多少錢？")
    assert understood.resolution.resolved_query == "AI-Box 多少錢？"
    await world.note("宏康 DXP 的報價是 30 萬。")
    understood, _, _ = await world.say("不是，我是說宏康 DXP")
    assert understood.resolution.resolved_query == "宏康 DXP 多少錢？"
    assert understood.resolution.revision
    assert understood.resolution.revision.rejected
    assert understood.resolution.revision.rejected.text == "AI-Box"
    async with world.record.reading(user_id="ann") as unit:
        learned = await unit.entities.get_by_value("宏康 DXP")
        [said] = [message for message in await unit.log.session("s", limit=20) if message.content.startswith("不是")]
    assert learned
    assert said.resolved == "宏康 DXP 多少錢？"
    context = (await world.sessions.load("s", user_id="ann")).context
    assert context.last_referred_entity == learned.entity_id
    wrong, right = context.coreference_history[-2:]
    assert (wrong["original_text"], wrong["resolved_text"], wrong["corrected"]) == ("它", "AI-Box", "宏康 DXP")
    assert (right["original_text"], right["resolved_text"], right.get("corrected")) == ("它", "宏康 DXP", None)
    understood, _, _ = await world.say("它有保固嗎？")
    assert understood.resolution.resolved_query == "宏康 DXP 有保固嗎？"


@pytest.mark.parametrize(
    ("statement", "correction", "question", "meant"),
    [
        ("鑰匙放在二樓。", "不是，我是說一樓。", "鑰匙放在哪裡？", "鑰匙放在一樓。"),
        ("会议在周三下午三点。", "不对，是周四。", "会议在什么时候？", "会议在周四下午三点。"),
        (
            "The key is on the second floor.",
            "No, I meant the first.",
            "Where is the key?",
            "The key is on the first floor.",
        ),
    ],
)
async def test_a_corrected_statement_is_remembered_as_it_was_meant(
    world: World, statement: str, correction: str, question: str, meant: str
) -> None:
    await world.say(statement)
    understood, _, _ = await world.say(correction)
    assert understood.resolution.resolved_query == meant
    _, replied, _ = await world.say(question)
    assert meant in replied.answer.text
    assert statement not in replied.answer.text
    assert [hit.text for hit in replied.answer.sources] == [correction]
    async with world.record.reading(user_id="ann") as unit:
        logged = [message.content for message in await unit.log.session("s", limit=10)]
    assert [message for message in logged if message in (statement, correction)] == [statement, correction]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("上週提到的那個系統多少錢？", "AI-Box"),
        ("昨天說的那台機器放在哪裡？", "ThinkPad"),
        ("它多少錢？", "ThinkPad"),
        ("Where is the tool we discussed last week?", "AI-Box"),
    ],
)
async def test_names_of_the_time_that_a_message_names_are_offered_first(world: World, query: str, first: str) -> None:
    await world.say("我們在評估 AI-Box。", session="first")
    world.now += timedelta(days=7)
    await world.say("ThinkPad 到貨了。", session="second")
    world.now += timedelta(days=1)
    await world.say(query, session="third")
    assert world.language.requests[-1].context.names[0] == first


async def test_an_entity_mentioned_before_and_after_a_time_is_offered_by_the_memories_of_it(world: World) -> None:
    for days, message in (
        (0, "AI-Box 的簡報做好了。"),
        (20, "AI-Box 漲價了。"),
        (9, "AI-Box 下單了。"),
        (1, "ThinkPad 到貨了。"),
    ):
        world.now += timedelta(days=days)
        await world.say(message, session=message)
    await world.say("十天前說的那個系統多少錢？", session="last")
    assert world.language.requests[-1].context.names == ("AI-Box", "ThinkPad")
    understood, _, _ = await world.say("它多少錢？", session="new")
    assert understood.resolution.resolved_query == "ThinkPad 多少錢？"
    assert [resolution.source for resolution in understood.resolution.resolutions] == [ReferenceSource.LONG_TERM]


async def test_names_of_another_user_are_never_offered(world: World) -> None:
    await world.say("我們在評估 AI-Box。")
    await world.say("它多少錢？", user="bob")
    assert world.language.requests[-1].context == Context()


async def test_a_full_queue_of_the_reader_refuses_the_message_and_stores_nothing(world: World) -> None:
    world.language.error = Overloaded("The queue is full.")
    with pytest.raises(Overloaded):
        await world.say("它多少錢？")
    assert (await world.sessions.load("s", user_id="ann")).turns == ()


async def test_without_the_reader_the_query_stays_and_the_turn_says_so(world: World) -> None:
    await world.say("我們買了 AI-Box。")
    world.language.error = ModelUnavailable("no weights", component="reader")
    understood, replied, acknowledged = await world.say("它多少錢？")
    assert understood.resolution.resolved_query == "它多少錢？"
    assert understood.resolution.degraded == ("reader",)
    assert replied.answer.text
    assert acknowledged.degraded == ("reader",)


class CountingExtractor(ReadingExtractor):
    """Counts its calls, and can be of another version."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.calls: list[list[str]] = []
        self.degraded: tuple[str, ...] = ()

    @property
    @override
    def version(self) -> str:
        return "counting"

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        self.calls.append(list(texts))
        return [
            extraction.model_copy(update={"version": self.version, "degraded": self.degraded})
            for extraction in await super().extract(texts, known=known, contexts=contexts)
        ]


@pytest.fixture
def counting(world: World) -> CountingExtractor:
    """Takes the place of the extractor that turns and the learner use."""
    extractor = CountingExtractor(FakeReader())
    world.reader._extractor = extractor
    world.learner._extractor = extractor
    return extractor


async def _stored(world: World, turn_id: str, user: str = "ann") -> Extraction | None:
    async with world.record.reading(user_id=user) as unit:
        [said] = await unit.log.get([turn_id])
    return said.understanding


async def test_a_message_is_extracted_from_once_and_learned_from_that(
    world: World, counting: CountingExtractor
) -> None:
    understood, _, acknowledged = await world.say("我們用 RM05-008 測試。")
    assert counting.calls == [["我們用 RM05-008 測試。"]]
    assert acknowledged.learned
    assert [entity.entity_value for entity in acknowledged.learned.entities] == ["RM05-008"]
    assert await _stored(world, acknowledged.turn_id) == understood.extraction


async def test_what_another_version_understood_is_extracted_anew(world: World, counting: CountingExtractor) -> None:
    world.reader._extractor = ReadingExtractor(FakeReader())
    _, _, acknowledged = await world.say("我們用 RM05-008 測試。")
    assert counting.calls == [["我們用 RM05-008 測試。"]]
    assert acknowledged.learned
    assert acknowledged.learned.new_entities == 1


async def test_what_was_understood_without_a_part_is_not_kept(world: World, counting: CountingExtractor) -> None:
    counting.degraded = ("reader",)
    _, _, acknowledged = await world.say("我們用 RM05-008 測試。")
    assert len(counting.calls) == 2
    assert await _stored(world, acknowledged.turn_id) is None


async def test_what_is_added_without_an_understanding_is_extracted_by_the_learner(
    world: World, counting: CountingExtractor
) -> None:
    await world.note("我們用 RM05-008 測試。", "RM05-009 到了。")
    assert counting.calls == [["我們用 RM05-008 測試。", "RM05-009 到了。"]]


async def test_while_too_much_waits_for_the_record_a_turn_is_refused_and_not_answered_worse(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise StoreBusy("it was busy for 5 s", component="record")

    for part, name in ((world.record, "reading"), (world.retriever, "search")):
        with monkeypatch.context() as patched:
            patched.setattr(part, name, busy)
            with pytest.raises(StoreBusy):
                await world.say("備用鑰匙放在哪裡？")


@pytest.mark.parametrize(
    ("told", "greeted"), [("我在学日语，报了周二的班", "您好！有什么"), ("我在學日語，報了週二的班", "您好！有什麼")]
)
async def test_a_message_that_both_scripts_share_is_answered_in_the_one_of_earlier_sessions(
    world: World, told: str, greeted: str
) -> None:
    await world.say(told, session="first")
    await world.say("Good evening", session="second")
    _, replied, _ = await world.say("你好", session="third")
    assert replied.answer.text.startswith(greeted)
    _, other, _ = await world.say("你好", user="bob", session="third")
    assert other.answer.text.startswith("您好！有什麼"), "another user's script does not count"


async def test_a_question_about_the_assistant_is_answered_by_its_persona(world: World) -> None:
    async def assistant(user_id: str) -> Assistant:
        return Assistant(name=f"Aria of {user_id}")

    await world.say("My dog's name is Bean.")
    world.chat_turn._assistant = assistant
    question = "What's your name?"
    world.language.scripted[question] = stated(question, intents="question", kind=MessageKind.ASSISTANT)
    _, replied, _ = await world.say(question)
    assert "Aria of ann" in replied.answer.text
    assert "Bean" not in replied.answer.text
