"""Conversations that were learned, for erasures of a part of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory.learning.learned_turns import LearnedTurn
from memory.learning.learner import learn_from
from memory.portability.exporting import export_user
from memory.ports.stores.record import SystemOfRecord
from memory.values.ids import entity_id
from memory.values.records import Resource
from memory.values.understanding.dialogue import Role
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import Mention
from storage.inmemory.sessions import InMemorySessions

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """A message: where and when it was said, and the names in it."""

    session: str
    minute: int
    names: tuple[str, ...]
    words: str = "met"
    resolved: str | None = None

    @property
    def text(self) -> str:
        return f"{f' {self.words} '.join(self.names)} at {self.session}{self.minute}."

    @property
    def at(self) -> datetime:
        return NOON + timedelta(minutes=self.minute)

    def resource(self, user_id: str = "ann") -> Resource:
        places = [(name, self.text.index(name)) for name in self.names]
        mentions = tuple(
            Mention(text=name, start=start, end=start + len(name), entity_id=entity_id(user_id, name))
            for name, start in sorted(places, key=lambda place: place[1])
        )
        return Resource(
            resource_id=f"{self.session}-{self.minute}",
            user_id=user_id,
            session_id=self.session,
            role=Role.USER,
            content=self.text,
            resolved=self.resolved,
            understanding=Extraction(mentions=mentions, version="1"),
            created_at=self.at,
        )


async def learn(record: SystemOfRecord, messages: Sequence[Said], user_id: str = "ann") -> None:
    """Logs and learns messages, each as the learner does."""
    for message in messages:
        async with record.writing(user_id=user_id) as unit:
            await unit.log.append([message.resource(user_id)])
            [stored] = await unit.log.get([message.resource(user_id).resource_id])
            before = await unit.log.session(message.session, limit=1, before=stored.sequence)
            assert stored.understanding is not None
            turn = LearnedTurn(stored, stored.understanding, before[0] if before else None)
            await unit.log.mark_learned([stored.resource_id])
            await learn_from(unit, user_id, [turn])
            await unit.commit()


async def everything(record: SystemOfRecord, user_id: str = "ann") -> str:
    """All that the record returns of a user: the lines of an export, and what waits."""
    pages = export_user(record, InMemorySessions(), user_id=user_id, version="1", now=NOON)
    lines = b"".join([page async for page in pages]).decode()
    async with record.reading(user_id=user_id) as unit:
        graph = [edge.model_dump_json() for edge in await unit.graph.list_all()]
    waiting = [str(entry.item_id) for entry in await record.backlog.outbox(limit=10_000, user_id=user_id)]
    return "\n".join([lines, *graph, *waiting])


async def shape(record: SystemOfRecord, user_id: str = "ann") -> dict[str, object]:
    """What was learned, without how sure that is, and without what the turn before a message was."""
    async with record.reading(user_id=user_id) as unit:
        entities = await unit.entities.page(limit=1000)
        relations = await unit.relations.page(limit=1000)
        memories = await unit.memories.page(limit=1000)
        return {
            "log": [entry.resource_id for entry in await unit.log.page(limit=1000)],
            "entities": sorted(
                (entity.names, entity.mention_count, entity.first_mentioned, entity.last_mentioned)
                for entity in entities
                if entity.mention_count
            ),
            "relations": sorted(
                (relation.relation_id, relation.evidence, relation.created_at, round(relation.weight, 9))
                for relation in relations
            ),
            "memories": sorted((memory.text, memory.entity_ids) for memory in memories),
        }
