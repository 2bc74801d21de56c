"""Finding an entity by id, name or alias; no two active entities share a name."""

from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity
from ..values.errors import Conflict, InvalidField, NotFound
from ..values.text import normalise

MAX_NAME = 256
MAX_ALIASES = 64


def is_named(entity: Entity, name: str) -> bool:
    """Whether this is the entity's name or an alias; width, case and script are ignored."""
    wanted = normalise(name)
    return any(normalise(own) == wanted for own in entity.names)


def validate_name(name: str, field: str) -> str:
    """The name in one line: without surrounding white space, and with one space for each run of it.

    Raises:
        InvalidField: It holds no letter or digit, or is too long.
    """
    stripped = " ".join(name.split())
    if len(stripped) > MAX_NAME or not any(character.isalnum() for character in stripped):
        raise InvalidField(
            f"{field} {stripped[:40]!r} is not a valid name",
            field=field,
            allowed=f"1 to {MAX_NAME} characters with at least one letter or digit",
        )
    return stripped


async def follow_merges(unit: UnitOfWork, entity: Entity) -> Entity:
    """The entity that this one was merged into, directly or by several merges; itself where it was not merged."""
    seen = {entity.entity_id}
    while entity.merged_into and entity.merged_into not in seen:
        seen.add(entity.merged_into)
        found = await unit.entities.get([entity.merged_into])
        if not found:
            break
        entity = found[0]
    return entity


async def find_by_name(unit: UnitOfWork, name: str) -> Entity | None:
    """The entity that a name refers to now; None where there is none or it is archived."""
    found = await unit.entities.get_by_value(name)
    if found is None:
        return None
    entity = await follow_merges(unit, found)
    return entity if entity.is_current else None


async def get_entity(unit: UnitOfWork, id_or_name: str, *, field: str = "entity_id") -> Entity:
    """The entity with this id, name or alias; an archived one is found by its id only.

    Raises:
        NotFound: The user has no such entity.
    """
    entity = next(iter(await unit.entities.get([id_or_name])), None) or await find_by_name(unit, id_or_name)
    if entity is None:
        raise NotFound(f"{field}: there is no entity {id_or_name!r}.")
    return entity


async def get_editable(unit: UnitOfWork, id_or_name: str, *, field: str = "entity_id") -> Entity:
    """The entity with this id, name or alias, if it can be changed.

    Raises:
        NotFound: The user has no such entity.
        Conflict: It is archived, or was merged into another one; the message names it.
    """
    entity = await get_entity(unit, id_or_name, field=field)
    if entity.merged_into:
        raise Conflict(f"{field}: the entity {entity.entity_value!r} was merged into {entity.merged_into}.")
    if not entity.is_current:
        raise Conflict(f"{field}: the entity {entity.entity_value!r} is archived; restore it first.")
    return entity


async def require_name_free(unit: UnitOfWork, name: str, entity: Entity, *, field: str) -> None:
    """Returns if no entity but `entity` has this name.

    Raises:
        Conflict: Another entity has it; the message names that entity.
    """
    owner = await find_by_name(unit, name)
    if owner is not None and owner.entity_id != entity.entity_id:
        raise Conflict(
            f"{field}: {name!r} is a name of the entity {owner.entity_value!r} ({owner.entity_id}); "
            "merge the two entities, or remove the name from that one first."
        )
