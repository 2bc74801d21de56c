"""What a message is read in: the last turns, and the names of long-term memory that they do not contain."""

from datetime import timedelta

from memory.coreference.context import NAMES, TURNS, offered_entities, reading_context
from memory.language.time_windows import TimeWindow
from memory.values.entities import EntityStatus
from memory.values.understanding.dialogue import Role
from tests.memory.coreference.notation import NOW, entity, request

LAST_WEEK = TimeWindow(NOW - timedelta(days=9), NOW - timedelta(days=2))


def test_the_last_turns_are_read_but_for_stock_phrases_of_the_assistant() -> None:
    said = [f"{number}" for number in range(2 * TURNS)]
    turns = [
        turn.model_copy(update={"mentions": ()}) if turn.content == said[-1] else turn
        for turn in request("", said).turns
    ]
    assert turns[-1].role is Role.ASSISTANT
    assert reading_context(turns, ()).turns == tuple(said[-1 - TURNS : -1])


def test_a_message_of_the_user_that_names_nothing_is_read() -> None:
    turns = [turn.model_copy(update={"mentions": ()}) for turn in request("", ["早安"]).turns]
    assert reading_context(turns, ()).turns == ("早安",)


def test_the_first_names_that_no_turn_contains_are_offered() -> None:
    known = [entity("ＡＩ-Box"), entity("舊機", status=EntityStatus.ARCHIVED), *(entity(f"甲{n}") for n in range(9))]
    context = reading_context(request("", ["我在看 AI-Box"]).turns, known)
    assert context.names == tuple(f"甲{n}" for n in range(NAMES))


def test_preloaded_names_that_the_user_never_mentioned_are_not_offered() -> None:
    assert offered_entities([entity("IBM", mention_count=0, source="system"), entity("Redis")]) == (entity("Redis"),)


def test_names_of_the_time_that_a_message_names_are_offered_first() -> None:
    days = {"A": 0, "B": 3, "C": 20, "D": 30}
    known = [
        entity(name, last_mentioned=NOW - timedelta(days=ago), first_mentioned=NOW - timedelta(days=ago))
        for name, ago in days.items()
    ]
    spoken_of = {known[3].entity_id}
    offered = offered_entities(known, window=LAST_WEEK, spoken_of=spoken_of)
    assert [found.entity_value for found in offered] == ["B", "D", "A", "C"]
    assert [found.entity_value for found in offered_entities(known)] == list(days)
