"""Extraction with the user's long-term memory: finds known names, and gives each mention the id of its entity."""

from collections.abc import Iterable, Sequence

from ..ports.models.language import Extractor
from ..ports.stores.record import SystemOfRecord
from ..values.entities import Entity
from ..values.ids import entity_id
from ..values.text import normalise
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import Mention, MentionLevel


async def recognise(
    texts: Sequence[str], *, user_id: str, record: SystemOfRecord, extractor: Extractor
) -> list[Extraction]:
    """Extracts from each text with the user's known names; every long-term mention gets an entity id.

    Raises:
        Unavailable: The record or the extractor cannot answer.
        Overloaded: The reader's queue is full.
    """
    async with record.reading(user_id=user_id) as unit:
        known = [await unit.entities.found_in(text) for text in texts]
    extractions = await extractor.extract(
        texts, known=[[name for entity in entities for name in entity.names] for entities in known]
    )
    return [
        link_mentions(extraction, entities, user_id=user_id)
        for extraction, entities in zip(extractions, known, strict=True)
    ]


def link_mentions(extraction: Extraction, known: Iterable[Entity], *, user_id: str) -> Extraction:
    """Gives each long-term mention the id of the known entity with that name or alias, else the id of a new entity."""
    ids = {normalise(name): entity.entity_id for entity in known for name in entity.names}

    def link(mention: Mention) -> Mention:
        if mention.level is not MentionLevel.LONG_TERM:
            return mention
        id_ = ids.get(normalise(mention.text)) or entity_id(user_id, mention.text)
        return mention.model_copy(update={"entity_id": id_})

    return extraction.model_copy(update={"mentions": tuple(map(link, extraction.mentions))})
