"""What is read of the exports of other services, and what is left out and why."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest

from memory.portability.checking import check_file, read_lines
from memory.portability.foreign.entries import ForeignExport, NotThisFormat
from memory.portability.foreign.letta import read_letta
from memory.portability.foreign.mem0 import read_mem0
from memory.portability.foreign.openai import read_openai
from memory.portability.foreign.readers import READERS, ForeignFormat
from memory.portability.foreign.zep import read_zep
from memory.portability.lines import Item
from tests.memory.portability.foreign_exports import LETTA, MEM0, OPENAI, ZEP

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def told(export: ForeignExport) -> list[tuple[str, str, str]]:
    return [(entry.session_id, entry.role.value, entry.content) for entry in export.entries]


def test_memories_of_mem0_are_notes_with_their_run_labels_and_metadata() -> None:
    export = read_mem0(MEM0)
    assert told(export) == [("r1", "user", "User likes oolong tea"), ("mem0", "user", "使用者住在波士頓")]
    assert export.entries[0].metadata == {
        "agent_id": "bot",
        "expires_on": "2099-03-01",
        "room": "kitchen",
        "tags": '["a", "b"]',
    }
    assert export.entries[0].created_at == datetime(2025, 1, 15, 18, 30, tzinfo=UTC)
    assert (export.counts(), export.skipped) == ({"note": 2}, {"without a time": 1})
    for same in (MEM0["results"], {"memories": MEM0["results"]}, [MEM0]):
        assert told(read_mem0(same)) == told(export)


def test_of_several_users_one_has_to_be_named() -> None:
    other = {"id": "m4", "memory": "x", "user_id": "bob", "created_at": "2025-01-01T00:00:00Z"}
    several = [*MEM0["results"], other]
    with pytest.raises(NotThisFormat, match="ada, bob"):
        read_mem0(several, user="carl")
    export = read_mem0(several, user="bob")
    assert (told(export), export.skipped) == ([("mem0", "user", "x")], {"of another user": 3})


def test_of_a_letta_agent_what_was_said_is_taken_and_not_what_it_thought() -> None:
    export = read_letta(LETTA)
    assert told(export) == [
        ("sam", "user", "I study in Berkeley."),
        ("sam", "assistant", "Go Bears!"),
        ("sam", "assistant", "Done."),
        ("letta", "user", "First name: Chad"),
    ]
    assert export.counts() == {"turn": 3, "note": 1}
    assert export.skipped == {
        "messages of role system": 1,
        "messages of role tool": 1,
        "tools, events and thoughts": 2,
        "blocks about the agent": 1,
    }


def test_threads_of_zep_and_the_facts_that_hold_are_taken() -> None:
    export = read_zep(ZEP)
    assert told(export) == [
        ("t1", "user", "I work at Acme."),
        ("t1", "assistant", "Noted."),
        ("zep", "user", "Jane works at Acme."),
    ]
    assert (export.entries[0].speaker, export.entries[2].metadata) == ("Jane", {"relation": "WORKS_AT"})
    assert export.skipped == {"messages of role tool": 1, "facts that hold no longer": 1}
    assert told(read_zep(ZEP["edges"])) == told(export)[2:]
    assert [content for _, _, content in told(read_zep(ZEP["threads"][0]))] == ["I work at Acme.", "Noted."]


def test_of_a_conversation_of_chatgpt_the_branch_is_taken_that_was_shown() -> None:
    export = read_openai(OPENAI)
    assert told(export) == [("c1", "user", "我喜歡烏龍茶"), ("c1", "assistant", "The second answer.")]
    assert export.entries[0].created_at == datetime.fromtimestamp(1_700_000_000.5, UTC)
    assert export.skipped == {
        "messages of role system": 1,
        "messages of other branches": 1,
        "tools, code and thoughts": 1,
    }


@pytest.mark.parametrize("source", ForeignFormat)
@pytest.mark.parametrize("data", [None, 3, "x", {}, [3], {"agents": 3}, {"messages": "x"}, {"results": [{"id": 1}]}])
def test_what_is_of_no_service_is_refused(source: ForeignFormat, data: Any) -> None:
    with pytest.raises(NotThisFormat):
        READERS[source](data, user="ada")


@pytest.mark.parametrize(("source", "data"), [*zip(ForeignFormat, (MEM0, LETTA, ZEP, OPENAI), strict=True)])
def test_the_lines_are_a_sound_export_and_the_same_each_time(source: ForeignFormat, data: Any) -> None:
    export = READERS[source](data, user="ada")
    lines = b"".join(export.lines(user_id="ada", version="1", now=NOW))
    assert lines == b"".join(READERS[source](data, user="ada").lines(user_id="ada", version="1", now=NOW))
    file = io.BytesIO(lines)
    assert check_file(file, user_id="ada").unlearned is not None
    items = [line.content for line in read_lines(file) if isinstance(line.content, Item)]
    assert len(items) == len(export.entries)
    assert [item.value.created_at for item in items] == sorted(item.value.created_at for item in items)
    assert len({item.item_id for item in items}) == len(items)
    others = b"".join(export.lines(user_id="bob", version="1", now=NOW))
    assert not {item.item_id for item in items} & {
        line.content.item_id for line in read_lines(io.BytesIO(others)) if isinstance(line.content, Item)
    }


def test_what_the_service_would_not_take_is_counted() -> None:
    long = [{"id": "m", "memory": "x" * 40_000, "created_at": "2025-01-01T00:00:00Z"}, {"id": "n", "memory": "  "}]
    assert read_mem0(long).skipped == {"longer than 32768 characters": 1, "without text": 1}
