"""Facts that a language model reads: every word stands in the conversation, or the reader's facts hold."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from memory.ports.models.chat_models import ChatReply, ChatRequest
from memory.ports.models.language import FactRequest
from memory.prompting.checked_model import CheckedModel, estimate_tokens
from memory.prompting.facts import CONFIDENCE, PROMPT, ModelFactReader
from memory.values.errors import ModelUnavailable
from memory.values.predicates import PREDICATES
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.readings import FactSpan, Qualifier, StatedFact
from testing.fakes.chat_model import FakeChatModel

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def answer(*facts: dict[str, Any]) -> str:
    empty: dict[str, Any] = {"subject": "user", "qualifiers": [], "time": None}
    return json.dumps({"facts": [empty | fact for fact in facts]}, ensure_ascii=False)


def turn(content: str, role: Role = Role.USER) -> Turn:
    return Turn(role=role, content=content, created_at=NOW)


async def read(model: FakeChatModel, text: str, *turns: Turn, **settings: Any) -> tuple[StatedFact, ...] | None:
    [facts] = await ModelFactReader(CheckedModel(model, **settings)).read_facts([FactRequest(text=text, turns=turns)])
    return facts


async def test_words_are_found_where_they_stand() -> None:
    model = FakeChatModel(
        answer(
            {"predicate": "works_at", "object": "台积电", "time": "去年"},
            {"subject": "美玲", "predicate": "occupation", "object": "國小老師", "qualifiers": ["hedged", "past"]},
        )
    )
    text = "我去年在台積電上班，美玲以前好像是國小老師。"
    assert await read(model, text) == (
        StatedFact(
            predicate="works_at",
            object=FactSpan(text="台積電", start=4, end=7),
            time=FactSpan(text="去年", start=1, end=3),
            confidence=CONFIDENCE,
        ),
        StatedFact(
            subject=FactSpan(text="美玲", start=10, end=12),
            predicate="occupation",
            object=FactSpan(text="國小老師", start=17, end=21),
            qualifiers=(Qualifier.PAST, Qualifier.HEDGED),
            confidence=CONFIDENCE,
        ),
    )


@pytest.mark.parametrize("speaker", ["user", "I", "my", "我", "我們"])
async def test_the_speaker_is_no_name(speaker: str) -> None:
    facts = await read(
        FakeChatModel(answer({"subject": speaker, "predicate": "likes", "object": "tea"})), "I like tea."
    )
    assert facts is not None
    assert facts[0].subject is None


async def test_a_name_that_the_message_leaves_out_is_found_in_the_latest_turn_that_has_it() -> None:
    said = [turn("Ann lives in Leeds."), turn("Ann is a nurse?", Role.ASSISTANT), turn("Anna called.")]
    model = FakeChatModel(answer({"subject": "ann", "predicate": "occupation", "object": "nurse"}))
    facts = await read(model, "Yes, she is.", *said)
    assert facts is not None
    assert facts[0].subject == FactSpan(text="Ann", start=0, end=3, turn=1)
    assert facts[0].object.turn == 1
    assert model.requests[0].messages[1].content == (
        "Turns before:\nUser: Ann lives in Leeds.\nAssistant: Ann is a nurse?\nUser: Anna called.\n\n"
        "Message: Yes, she is."
    )


@pytest.mark.parametrize(
    ("wrong", "said_of_it"),
    [
        (answer({"predicate": "likes", "object": "coffee"}), "'coffee' does not stand"),
        (answer({"predicate": "likes", "object": "te"}), "'te' does not stand"),
        (answer({"subject": "Bob", "predicate": "likes", "object": "tea"}), "'Bob' does not stand"),
        (answer({"predicate": "likes", "object": "tea", "time": "today"}), "'today' does not stand"),
        (answer({"predicate": "adores", "object": "tea"}), "not one of the predicates"),
        (answer({"predicate": "likes", "object": "tea", "qualifiers": ["never"]}), "facts.0.qualifiers.0"),
        (answer({"predicate": "likes", "object": "tea", "more": 1}), "facts.0.more"),
        (answer({"predicate": "likes", "object": ""}), "facts.0.object"),
        ('{"facts": [{"predicate"', "no JSON object"),
        ('{"facts": [}', "JSON"),
        ("The user likes tea.", "no JSON object"),
        (ChatReply(text='{"facts": []}', is_whole=False), "cut off"),
    ],
)
async def test_an_answer_that_is_not_valid_is_asked_for_again_with_what_is_wrong(
    wrong: str | ChatReply, said_of_it: str
) -> None:
    model = FakeChatModel(wrong, answer({"predicate": "likes", "object": "tea"}))
    facts = await read(model, "I like tea.")
    assert facts is not None
    assert [fact.object.text for fact in facts] == ["tea"]
    assert said_of_it in model.requests[1].messages[-1].content
    assert model.requests[1].messages[:2] == model.requests[0].messages


async def test_after_the_last_wrong_answer_the_readers_facts_hold_and_it_is_logged_and_counted() -> None:
    checked = CheckedModel(FakeChatModel(otherwise=lambda request: answer({"predicate": "likes", "object": "gin"})))
    with capture_logs() as logs:
        assert await ModelFactReader(checked).read_facts([FactRequest(text="I like tea.")]) == [None]
    assert [line["event"] for line in logs] == ["answer_refused", "answer_refused", "facts_of_the_reader_used"]
    assert (logs[0]["reason"], logs[2]["messages"]) == ("words", 1)
    assert "gin" not in str(logs)
    assert checked.figures() == {"facts_refused": 2, "facts_missing": 1}


async def test_a_model_that_is_away_costs_only_its_own_facts() -> None:
    model = FakeChatModel(
        answer({"predicate": "likes", "object": "tea"}),
        ModelUnavailable("away"),
        answer({"predicate": "likes", "object": "gin"}),
    )
    checked = CheckedModel(model, at_once=1)
    texts = ("I like tea.", "I like rum.", "I like gin.")
    found = await ModelFactReader(checked).read_facts([FactRequest(text=text) for text in texts])
    assert [facts and facts[0].object.text for facts in found] == ["tea", None, "gin"]
    assert checked.figures() == {"facts_answered": 2, "facts_missing": 1}
    assert await ModelFactReader(checked).read_facts([]) == []


async def test_messages_that_are_not_read_in_time_keep_the_readers_facts() -> None:
    class SlowModel(FakeChatModel):
        async def complete(self, request: ChatRequest) -> ChatReply:
            await asyncio.sleep(60 if "rum" in request.messages[-1].content else 0)
            return ChatReply(text=answer())

    checked = CheckedModel(SlowModel())
    reader = ModelFactReader(checked, deadline_s=0.05)
    found = await reader.read_facts([FactRequest(text="I like rum."), FactRequest(text="Hi.")])
    assert found == [None, ()]
    assert checked.figures() == {"facts_answered": 1, "facts_missing": 1}


async def test_an_error_that_is_no_outage_is_not_hidden() -> None:
    def fail(request: ChatRequest) -> str:
        raise KeyError("defect")

    with pytest.raises(KeyError):
        await read(FakeChatModel(otherwise=fail), "I like tea.")


async def test_a_long_prompt_loses_its_earliest_turns_and_a_long_message_is_not_sent() -> None:
    room = estimate_tokens(PROMPT) + 100
    model = FakeChatModel(otherwise=lambda request: answer())
    assert await read(model, "Hi.", turn("a" * 200), turn("b" * 200), max_prompt_tokens=room) == ()
    assert "bbb" in model.requests[0].messages[1].content
    assert "aaa" not in model.requests[0].messages[1].content
    assert await read(model, "長" * 101, max_prompt_tokens=room) is None
    assert len(model.requests) == 1


async def test_json_is_found_in_what_a_model_writes_around_it() -> None:
    wrapped = "<think>one fact</think>\n```json\n" + answer({"predicate": "likes", "object": "tea"}) + "\n```"
    facts = await read(FakeChatModel(wrapped), "I like tea.")
    assert facts is not None
    assert facts[0].object.text == "tea"


def test_the_prompt_names_all_predicates_and_qualifiers() -> None:
    assert all(name in PROMPT for name in (*PREDICATES, *Qualifier))
