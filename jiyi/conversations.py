"""Recorded conversations in several file formats, as turns to replay."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_LOCOMO_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)$")


@dataclass(frozen=True)
class RecordedTurn:
    """One turn, with the id that makes its replay repeatable."""

    session_id: str
    turn_id: str
    role: str
    content: str
    speaker: str | None = None
    created_at: datetime | None = None

    def as_message(self) -> dict[str, Any]:
        """The turn as `POST /memories` takes it."""
        fields = {
            "role": self.role,
            "content": self.content,
            "speaker": self.speaker,
            "turn_id": self.turn_id,
            "created_at": self.created_at.isoformat() if self.created_at else None,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Question:
    """A question about a conversation, with its answer where the recording has one."""

    text: str
    answer: str = ""


@dataclass(frozen=True)
class Conversation:
    """All recorded turns of one user."""

    user: str
    turns: list[RecordedTurn]
    questions: list[Question] = field(default_factory=list)


def read_conversations(path: Path) -> list[Conversation]:
    """Reads a recording; the format is recognised by its structure.

    Known are LoCoMo (a list with `conversation` and `qa`), MemoryBank (names with `history`), a list of messages with
    `role` and `content` (as OpenAI's API takes them), and the same, one per line (`.jsonl`).

    Raises:
        ValueError: The file has none of these formats; the message says what was expected.
    """
    text = path.read_text(encoding="utf-8")
    data: Any
    if path.suffix == ".jsonl":
        data = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        data = json.loads(text)
    if isinstance(data, list) and _all_hold(data, "conversation"):
        return [_locomo(item) for item in data]
    if isinstance(data, list) and _all_hold(data, "content"):
        return [_messages(path.stem, data)]
    if isinstance(data, dict) and _all_hold(list(data.values()), "history"):
        return [_memory_bank(name, person) for name, person in data.items()]
    raise ValueError(
        f"{path.name}: expected a list of messages with role and content, LoCoMo (conversation, qa) or "
        "MemoryBank (names with history)"
    )


def _all_hold(items: list[Any], key: str) -> bool:
    return bool(items) and all(isinstance(item, dict) and key in item for item in items)


def _locomo(item: dict[str, Any]) -> Conversation:
    talk = item["conversation"]
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION.match(key)))
    turns = [
        RecordedTurn(
            session_id=f"session_{number}",
            turn_id=turn["dia_id"],
            role="user",
            speaker=turn["speaker"],
            content=_with_image(turn),
            created_at=datetime.strptime(talk[f"session_{number}_date_time"], _LOCOMO_DATE).replace(tzinfo=UTC)
            + timedelta(seconds=index),
        )
        for number in numbers
        for index, turn in enumerate(talk[f"session_{number}"])
    ]
    questions = [Question(qa["question"], str(qa.get("answer", ""))) for qa in item["qa"] if qa.get("evidence")]
    return Conversation(item["sample_id"], turns, questions)


def _with_image(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else str(turn["text"])


def _memory_bank(name: str, person: dict[str, Any]) -> Conversation:
    return Conversation(name, list(_memory_bank_turns(person["history"])))


def _memory_bank_turns(history: dict[str, Any]) -> Iterator[RecordedTurn]:
    for date, exchanges in history.items():
        start = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC, hour=9)
        for index, exchange in enumerate(exchanges):
            for role, key in (("user", "query"), ("assistant", "response")):
                if content := str(exchange.get(key) or "").strip():
                    at = start + timedelta(seconds=2 * index + (role == "assistant"))
                    yield RecordedTurn(date, f"{date}:{index}:{role}", role, content, created_at=at)


def _messages(name: str, messages: list[dict[str, Any]]) -> Conversation:
    turns = [
        RecordedTurn(
            session_id=str(message.get("session_id", name)),
            turn_id=str(message.get("turn_id", f"{name}:{index}")),
            role=str(message.get("role", "user")),
            content=str(message["content"]),
            speaker=message.get("speaker") or message.get("name"),
            created_at=datetime.fromisoformat(message["created_at"]) if message.get("created_at") else None,
        )
        for index, message in enumerate(messages)
        if message.get("role", "user") in ("user", "assistant")
    ]
    return Conversation(str(messages[0].get("user_id", name)), turns)
