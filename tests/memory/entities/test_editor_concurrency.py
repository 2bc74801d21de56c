"""64 turns, merges, aliases and undos at once over SQLite: no entity is there twice, every mention is counted once."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.entities.editor import EntityEditor
from memory.entities.undo import undo
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.values.entities import EntityStatus
from memory.values.errors import BadRequest
from memory.values.records import Resource
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.vectors import InMemoryVectors
from storage.sqlite.record import SqliteRecord
from testing.fakes.encoder import FakeEncoderEngine
from testing.fakes.reader import FakeReader

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NAMES = [f"RM{number:02d}-00{number % 10}" for number in range(1, 17)]
TURNS = 32


async def test_64_turns_and_merges_at_once_count_every_mention_once(tmp_path: Path) -> None:
    record = SqliteRecord.open(tmp_path / "record.db", durable=False)
    encoder, index = BatchedEncoder(FakeEncoderEngine(dimension=8)), InMemoryVectors(dimension=8)
    learners = [
        Learner(
            record=record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(record=record, spaces=OneSpace(encoder=encoder, index=index), analyzer=KeywordAnalyzer()),
        )
        for _ in range(2)
    ]
    service = EntityEditor(record=record, on_change=lambda _: None, now=lambda: AT)
    mentions: Counter[str] = Counter()

    async def say(number: int) -> None:
        names = [NAMES[number % 16], NAMES[(number * 5 + 1) % 16], "AI-Box"]
        mentions.update(names)
        turn = Resource(
            resource_id=f"r{number}",
            user_id="ann",
            session_id=f"s{number % 4}",
            content=f"{'、'.join(names)} 都到了。",
            created_at=AT + timedelta(minutes=number),
        )
        await record.append([turn], user_id="ann")
        await learners[number % 2].learn(user_id="ann")

    async def change(number: int) -> None:
        try:
            if number % 4 == 3:
                await service.add_alias(NAMES[number % 16], "第一台", user_id="ann")
                return
            _, change_record = await service.merge(NAMES[number % 16], NAMES[(number + 3) % 16], user_id="ann")
            if number % 4 == 2:
                await undo(record, change_record.change_id, user_id="ann", at=AT)
        except BadRequest:
            return

    await asyncio.gather(*(say(number) for number in range(16)))
    await asyncio.gather(*(say(16 + number // 2) if number % 2 else change(number // 2) for number in range(2 * TURNS)))
    async with record.reading(user_id="ann") as unit:
        entities = await unit.entities.page(limit=1000)
        memories = await unit.memories.page(limit=1000)
    active = [entity for entity in entities if entity.status is EntityStatus.ACTIVE and entity.mention_count]
    names = [name for entity in active for name in {entity.normalised_value, *map(str.casefold, entity.aliases)}]
    assert len(names) == len(set(names))
    assert sum(entity.mention_count for entity in active) == mentions.total()
    assert next(entity for entity in active if entity.entity_value == "AI-Box").mention_count == mentions["AI-Box"]
    assert sum(entity.merged_into is not None for entity in entities) >= 3
    assert len(memories) == 16 + TURNS
    assert {id_ for memory in memories for id_ in memory.entity_ids} <= {entity.entity_id for entity in active}
    await encoder.close()
    await record.close()
