"""The question–passage sets that reranking is measured on: what is stored, and which of it answers what."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from jiyi.conversations import read_conversations
from memory.values.records import Resource, ResourceKind

_START = datetime(2024, 4, 1, 9, tzinfo=UTC)
_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_ANSWERABLE = 4
"""Categories of LoCoMo that have an answer."""
_MEMDAILY_TOGETHER = 15
_SHORTEST_ANSWER = 20


@dataclass(frozen=True)
class Question:
    """A question: `gold` holds the ids of the resources that answer it; a `group` is not split between parts."""

    text: str
    gold: frozenset[str]
    group: str
    kind: str = ""


@dataclass(frozen=True)
class Corpus:
    """One user's memory and the questions about it."""

    data_set: str
    user: str
    resources: list[Resource]
    questions: list[Question] = field(default_factory=list)


def read_corpora(data: Path) -> Iterator[Corpus]:
    """The corpora of all data sets in the folder."""
    yield _paragraphs("drcd", data / "retrieval" / "drcd" / "DRCD_dev.json")
    yield _paragraphs("cmrc2018", data / "retrieval" / "cmrc2018" / "cmrc2018_dev_half.json")
    yield _answers(data / "rewriting" / "canard" / "dev.txt")
    yield from _locomo(data / "memory" / "locomo" / "locomo.json")
    yield from _memdaily(data / "memory" / "memdaily_zh")


def _note(data_set: str, user: str, number: int, text: str) -> Resource:
    # a session of its own, so that no note is another's context
    return Resource(
        resource_id=f"{data_set}-{number}",
        user_id=user,
        session_id=f"{data_set}-{number}",
        kind=ResourceKind.NOTE,
        content=text,
        created_at=_START,
    )


def _paragraphs(data_set: str, path: Path) -> Corpus:
    corpus = Corpus(data_set, data_set, [])
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            note = _note(data_set, data_set, len(corpus.resources), paragraph["context"])
            corpus.resources.append(note)
            gold = frozenset({note.resource_id})
            corpus.questions.extend(
                Question(question["question"], gold, article["title"]) for question in paragraph["qas"]
            )
    return corpus


def _answers(path: Path) -> Corpus:
    """CANARD: each rewritten question with its answer, which stands in the history of the next row."""
    corpus = Corpus("canard", "canard", [])
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    for (title, section, *turns, _, rewritten), following in pairwise(rows):
        answer_at = 2 + len(turns) + 1
        if following[:2] != [title, section] or len(following) <= answer_at + 1:
            continue
        answer = following[answer_at]
        if len(answer) < _SHORTEST_ANSWER:
            continue
        note = _note("canard", "canard", len(corpus.resources), answer)
        corpus.resources.append(note)
        corpus.questions.append(Question(rewritten, frozenset({note.resource_id}), title))
    return corpus


def _locomo(path: Path) -> Iterator[Corpus]:
    questions_by_user = {item["sample_id"]: item["qa"] for item in json.loads(path.read_text(encoding="utf-8"))}
    for conversation in read_conversations(path):
        resources = [
            Resource(
                resource_id=turn.turn_id,
                user_id=conversation.user,
                session_id=turn.session_id,
                speaker=turn.speaker,
                content=turn.content,
                created_at=turn.created_at or _START,
            )
            for turn in conversation.turns
        ]
        known = {resource.resource_id for resource in resources}
        questions = []
        for qa in questions_by_user[conversation.user]:
            named = (
                f"D{session}:{turn}" for evidence in qa["evidence"] for session, turn in _EVIDENCE.findall(evidence)
            )
            gold = frozenset(named) & known
            if gold and qa["category"] <= _ANSWERABLE:
                questions.append(Question(qa["question"], gold, conversation.user, str(qa["category"])))
        yield Corpus("locomo", conversation.user, resources, questions)


def _memdaily(folder: Path) -> Iterator[Corpus]:
    """The first trajectories of each file in one memory, so that each is hard to find among the others."""
    for path in sorted(folder.glob("*.json")):
        corpus = Corpus("memdaily", path.stem, [])
        for item in json.loads(path.read_text(encoding="utf-8"))[:_MEMDAILY_TOGETHER]:
            session = f"{path.stem}-{item['tid']}"
            corpus.resources.extend(_said(corpus.user, session, message) for message in item["message_list"])
            corpus.questions.extend(
                Question(
                    question["question"],
                    frozenset(f"{session}-{step}" for step in question["target_step_id"]),
                    session,
                    path.stem,
                )
                for question in item["question_list"]
            )
        yield corpus


def _said(user: str, session: str, message: dict[str, Any]) -> Resource:
    return Resource(
        resource_id=f"{session}-{message['mid']}",
        user_id=user,
        session_id=session,
        content=message["message"],
        created_at=_START + timedelta(hours=message["mid"]),
    )
