"""The learner: raw log → entities and memories → vector index, each step repeatable (DESIGN §3.6).

Results and the mark that an entry was learned are written in one transaction, so a crash leaves all or nothing; the
index follows through the outbox (`memory.indexing.indexer`).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..extraction.recognition import recognise
from ..indexing.indexer import Indexer
from ..ports.language import Extractor, Priority
from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.services import LearnReport
from ..values.dialogue import Role
from ..values.entities import Entity
from ..values.extractions import Extraction
from ..values.records import Resource
from .aliases import learn_aliases
from .learned_turns import LearnedTurn, save_entities, save_memories
from .relations import save_relations

LEARN_BATCH = 64


class Learner:
    """Learns the backlog of a user; calls for different users may run concurrently.

    Args:
        record: Stores the backlog and the results.
        extractor: Finds mentions in turns.
        indexer: Indexes the results.
    """

    def __init__(self, *, record: SystemOfRecord, extractor: Extractor, indexer: Indexer) -> None:
        self.indexer = indexer
        self._record = record
        self._extractor = extractor

    async def learn(
        self, *, user_id: str, priority: Priority = Priority.BATCH, batches: int | None = None, index: bool = True
    ) -> LearnReport:
        """Learns and indexes a user's backlog.

        Args:
            user_id: The user.
            priority: Priority of the encoder's work.
            batches: At most so many batches to learn, and to index; None for all.
            index: False leaves the results in the outbox.

        Raises:
            Unavailable: A store or model is down; the rest stays on the backlog.
            Overloaded: The queue of a model is full; the rest stays on the backlog.
        """
        async with self.indexer.lock(user_id):
            learned = await self._learn(user_id, batches)
        indexed = await self.indexer.index(user_id=user_id, priority=priority, batches=batches) if index else 0
        return learned.model_copy(update={"indexed": indexed})

    async def _learn(self, user_id: str, batches: int | None) -> LearnReport:
        report = LearnReport()
        seen: dict[str, Entity] = {}
        for _ in itertools.count() if batches is None else range(batches):
            resources = await self._record.backlog.unlearned(limit=LEARN_BATCH, user_id=user_id)
            if not resources:
                break
            turns = await self._read_turns(user_id, resources)
            async with self._record.writing(user_id=user_id) as unit:
                taken = set(await unit.log.mark_learned([resource.resource_id for resource in resources]))
                turns = [turn for turn in turns if turn.resource.resource_id in taken]
                learned = await learn_from(unit, user_id, turns)
                await unit.commit()
            seen |= {entity.entity_id: entity for entity in learned.entities}
            report = LearnReport(
                resources=report.resources + len(taken),
                memories=report.memories + learned.memories,
                new_entities=report.new_entities + learned.new_entities,
                entities=tuple(seen.values()),
            )
        return report

    async def _read_turns(self, user_id: str, resources: Sequence[Resource]) -> list[LearnedTurn]:
        """Reads the previous entries and extracts, before the transaction."""
        async with self._record.reading(user_id=user_id) as unit:
            before = [
                await unit.log.session(resource.session_id, limit=1, before=resource.sequence) for resource in resources
            ]
        extractions = await self._extractions(user_id, resources)
        return [
            LearnedTurn(resource, extraction, previous[0] if previous else None)
            for resource, extraction, previous in zip(resources, extractions, before, strict=True)
        ]

    async def _extractions(self, user_id: str, resources: Sequence[Resource]) -> list[Extraction]:
        """The extraction of each entry: the stored one if it has the extractor's version; empty for the assistant's."""
        stored = {
            resource.resource_id: resource.understanding
            for resource in resources
            if resource.understanding and resource.understanding.is_by(self._extractor.version)
        }
        unread = [
            resource for resource in resources if resource.role is Role.USER and resource.resource_id not in stored
        ]
        if unread:
            texts = [resource.content for resource in unread]
            found = await recognise(texts, user_id=user_id, record=self._record, extractor=self._extractor)
            stored |= {resource.resource_id: extraction for resource, extraction in zip(unread, found, strict=True)}
        return [stored.get(resource.resource_id, Extraction()) for resource in resources]


@dataclass(frozen=True)
class LearnedBatch:
    """The entities of learned turns, and the numbers of new entities and memories."""

    entities: tuple[Entity, ...] = ()
    new_entities: int = 0
    memories: int = 0


async def learn_from(unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn]) -> LearnedBatch:
    """Saves entities, memories, relations and aliases of turns in the order of the log; the caller commits.

    Aliases are saved before the next entry, which may use them.
    """
    touched: dict[str, Entity] = {}
    new = memories = 0
    for run in _runs_up_to_aliases(turns):
        saved = await save_entities(unit, user_id, run)
        memories += await save_memories(unit, run, saved.targets)
        await save_relations(unit, user_id, run, saved.targets.ids)
        renamed = await learn_aliases(unit, user_id, run, saved.targets.ids)
        new += saved.new
        touched |= {entity.entity_id: entity for entity in (*saved.entities, *renamed)}
    return LearnedBatch(tuple(touched.values()), new, memories)


def _runs_up_to_aliases(turns: Sequence[LearnedTurn]) -> Iterator[Sequence[LearnedTurn]]:
    """The turns in runs that end with a turn that states aliases."""
    start = 0
    for place, turn in enumerate(turns, start=1):
        if turn.aliases():
            yield turns[start:place]
            start = place
    if start < len(turns):
        yield turns[start:]
