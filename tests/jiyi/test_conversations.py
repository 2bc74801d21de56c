"""Recordings in the forms that people have them."""

import json
from pathlib import Path
from typing import Any

import pytest

from jiyi.conversations import read_conversations

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_2_date_time": "9:00 am on 2 June, 2023",
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Back again."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a dog"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice."},
            ],
        },
        "qa": [
            {"question": "What did Ann show?", "answer": "a dog", "evidence": ["D1:1"]},
            {"question": "Adversarial?", "adversarial_answer": "x", "evidence": []},
        ],
    }
]
MEMORY_BANK = {"李雪": {"history": {"2023-04-27": [{"query": "你好", "response": "你好，李雪"}]}}}
MESSAGES = [
    {"role": "user", "content": "hi"},
    {"role": "system", "content": "x"},
    {"role": "assistant", "content": "yo"},
]


def _write(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def test_locomo_gives_dated_turns_in_the_order_of_its_sessions_and_its_answerable_questions(tmp_path: Path) -> None:
    [talk] = read_conversations(_write(tmp_path, "locomo.json", LOCOMO))
    assert talk.user == "conv-1"
    assert [turn.turn_id for turn in talk.turns] == ["D1:1", "D1:2", "D2:1"]
    assert talk.turns[0].content == "Look! [image: a dog]"
    assert talk.turns[0].created_at is not None
    assert talk.turns[0].created_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert [question.answer for question in talk.questions] == ["a dog"]


def test_memory_bank_gives_both_sides_of_each_exchange(tmp_path: Path) -> None:
    [talk] = read_conversations(_write(tmp_path, "bank.json", MEMORY_BANK))
    assert [(turn.role, turn.content) for turn in talk.turns] == [("user", "你好"), ("assistant", "你好，李雪")]
    assert len({turn.turn_id for turn in talk.turns}) == 2


def test_messages_come_as_a_list_or_one_a_line_and_only_what_people_said_counts(tmp_path: Path) -> None:
    lines = tmp_path / "talk.jsonl"
    lines.write_text("\n".join(json.dumps(message) for message in MESSAGES))
    for path in (lines, _write(tmp_path, "talk.json", MESSAGES)):
        [talk] = read_conversations(path)
        assert [turn.role for turn in talk.turns] == ["user", "assistant"]
        assert talk.turns[0].as_message() == {"role": "user", "content": "hi", "turn_id": "talk:0"}


def test_the_same_file_gives_the_same_ids_each_time(tmp_path: Path) -> None:
    path = _write(tmp_path, "bank.json", MEMORY_BANK)
    assert read_conversations(path) == read_conversations(path)


def test_another_form_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="LoCoMo"):
        read_conversations(_write(tmp_path, "other.json", {"a": 1}))
