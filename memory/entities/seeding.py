"""The entities that every user's memory starts with (000 §10.1): stored at the first contact, and once."""

from datetime import datetime

from ..extraction.seeds import SEEDS
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.entities import Entity, EntitySource
from ..values.ids import entity_id
from ..values.text import normalise


def names_seed(text: str) -> bool:
    """Whether a text holds the name of a preloaded entity, or is the name of one."""
    folded = normalise(text)
    return any(normalise(seed.name) in folded for seed in SEEDS)


def system_entities(user_id: str, *, at: datetime) -> list[Entity]:
    """The preloaded entities for a user, without mentions."""
    return [
        Entity(
            entity_id=entity_id(user_id, seed.name),
            user_id=user_id,
            entity_value=seed.name,
            normalised_value=normalise(seed.name),
            subtype=seed.subtype,
            source=EntitySource.SYSTEM,
            first_mentioned=at,
            last_mentioned=at,
        )
        for seed in SEEDS
    ]


async def missing_seeds(unit: UnitOfWork, user_id: str, *, at: datetime) -> list[Entity]:
    """The preloaded entities that this user has never had; one that was deleted stays deleted."""
    seeds = system_entities(user_id, at=at)
    present = {entity.entity_id for entity in await unit.entities.get([seed.entity_id for seed in seeds])}
    return [
        seed
        for seed in seeds
        if seed.entity_id not in present and not await unit.changes.list(subject=seed.entity_id, limit=1)
    ]


async def preload(record: SystemOfRecord, user_id: str, *, at: datetime) -> None:
    """Stores the preloaded entities that a user has never had.

    Raises:
        StoreUnavailable: They were not stored.
    """
    async with record.reading(user_id=user_id) as unit:
        if not await missing_seeds(unit, user_id, at=at):
            return
    async with record.writing(user_id=user_id) as unit:
        await unit.entities.save(await missing_seeds(unit, user_id, at=at))
        await unit.commit()
