"""The cases of the coreference suite: reading them, putting each before a resolver, judging what comes back.

A case is a line of `cases.jsonl`. `turns` is the conversation before the query (the user speaks
first), `expected` what the query becomes; it equals the query where nothing may be resolved. `known` is what long-term
memory holds: names with their type, how many days ago each mention was, and what was said then. `options` are what a
clarification must offer, `source` where every antecedent must come from. Cases of the set `tuned` are those that the
rules of earlier versions were made on; those of `held_out` and, later, of `held_out_2` were written before the system
had answered any of them. The lines of the dialogues beside it are cases too, of the sets `dialogues` and
`dialogues_held_out`. They measure; no test asks for all of them.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL
from memory.ports.stores.record import SystemOfRecord
from memory.values.base import Value
from memory.values.entities import Entity
from memory.values.ids import entity_id, memory_id
from memory.values.records import Memory
from memory.values.text import has_han, normalise
from memory.values.understanding.dialogue import Role, Turn
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.resolutions import CoreferenceResult, ReferenceSource

NOW = datetime(2026, 2, 4, 12, tzinfo=UTC)
"""A Wednesday."""
USER = "user-1"
DIALOGUES = ("dialogues", "dialogues_held_out")
"""Sets of whole dialogues: files of this name in this folder."""
_FOLDER = Path(__file__).parent
_STOCK = {text for phrases in (ENGLISH, SIMPLIFIED, TRADITIONAL) for text in astuple(phrases)} | {
    "了解。",
    "Understood.",
}


class KnownName(Value):
    """A name of long-term memory; `said` was said `days` days ago, once for each of them."""

    name: str
    subtype: EntitySubtype | None = None
    days: tuple[float, ...]
    said: str = ""


class Case(Value):
    """One query, and what it should become; see the module."""

    set: str
    type: str
    language: str
    turns: tuple[str, ...] = ()
    query: str
    expected: str
    known: tuple[KnownName, ...] = ()
    options: tuple[str, ...] = ()
    source: ReferenceSource | None = None

    def conversation(self) -> tuple[Turn, ...]:
        """The turns before the query; stock phrases of the assistant are known to mention nothing."""
        return tuple(
            Turn(
                role=Role.ASSISTANT if at % 2 else Role.USER,
                content=text,
                created_at=NOW - timedelta(minutes=len(self.turns) - at),
                mentions=() if text in _STOCK else None,
            )
            for at, text in enumerate(self.turns)
        )

    async def remember(self, record: SystemOfRecord) -> None:
        """Fills a record with what long-term memory is to hold."""
        if not self.known:
            return
        async with record.writing(user_id=USER) as unit:
            await unit.entities.save([_entity(name) for name in self.known])
            await unit.memories.save([memory for name in self.known for memory in _memories(name)])
            await unit.commit()


class Verdict(Value):
    """What became of a case.

    Attributes:
        right: Whether it is as expected.
        guessed: Whether it is not, and the query was changed all the same: answered wrongly above the floor.
        confidence: That of the result.
        became: What the query became, with the options of a clarification.
    """

    case: Case
    right: bool
    guessed: bool
    confidence: float
    became: str


def read_cases(*sets: str) -> list[Case]:
    """All cases, or those of some sets, in the order of the files."""
    lines = (_FOLDER / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [Case.model_validate(json.loads(line)) for line in lines]
    cases += [case for name in DIALOGUES for case in _read_dialogues(name)]
    return [case for case in cases if not sets or case.set in sets]


def _read_dialogues(name: str) -> Iterator[Case]:
    """Every line of the user in a file of dialogues: what it becomes stands behind `=>`, the reply behind `>`."""
    for block in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("## ")[1:]:
        title, *lines = block.strip().splitlines()
        turns: list[str] = []
        for line, reply in zip(lines[::2], lines[1::2], strict=True):
            query, _, expected = line.partition(" => ")
            yield Case(
                set=name,
                type="dialogue",
                language=title.split()[0],
                turns=tuple(turns),
                query=query,
                expected=expected or query,
            )
            turns += [query, reply.removeprefix("> ")]


def judge(case: Case, result: CoreferenceResult) -> Verdict:
    """Exact match; of a clarification, that it offers what it must and that nothing is resolved meanwhile."""
    right = _key(result.resolved_query) == _key(case.expected)
    offered = [option.text for option in result.clarification.options] if result.clarification else []
    if case.options:
        right = right and {normalise(option) for option in case.options} <= {normalise(option) for option in offered}
    if case.source:
        right = right and {resolution.source for resolution in result.resolutions} == {case.source}
    changed = _key(result.resolved_query) != _key(case.query)
    became = result.resolved_query + (f" [{' / '.join(offered)}?]" if offered else "")
    return Verdict(case=case, right=right, guessed=changed and not right, confidence=result.confidence, became=became)


def share(values: Iterable[bool]) -> float:
    """Percentage of true values; 0 of none."""
    counted = list(values)
    return 100 * sum(counted) / len(counted) if counted else 0.0


def _key(text: str) -> str:
    """Chinese compares without white space, English without case and punctuation."""
    if has_han(text):
        return re.sub(r"\s+", "", text)
    return " ".join(re.sub(r"[^\w\s]", "", text.lower()).split())


def _entity(known: KnownName) -> Entity:
    return Entity(
        entity_id=entity_id(USER, known.name),
        user_id=USER,
        entity_value=known.name,
        normalised_value=normalise(known.name),
        subtype=known.subtype,
        first_mentioned=NOW - timedelta(days=max(known.days)),
        last_mentioned=NOW - timedelta(days=min(known.days)),
        mention_count=len(known.days),
    )


def _memories(known: KnownName) -> list[Memory]:
    memories = []
    for days in known.days if known.said else ():
        source = f"{known.name} {days}"
        at = NOW - timedelta(days=days)
        memories.append(
            Memory(
                memory_id=memory_id(USER, source),
                user_id=USER,
                session_id="earlier",
                resource_id=source,
                text=known.said,
                entity_ids=(entity_id(USER, known.name),),
                created_at=at,
                updated_at=at,
            )
        )
    return memories
