"""Whose name a name is: an entity has one value and any number of aliases, and no two living ones share a name."""

from ..ports.record import UnitOfWork
from ..values.entities import Entity
from ..values.errors import Conflict, InvalidField, NotFound
from ..values.text import normalise

MAX_NAME = 256
MAX_ALIASES = 64


def names_of(entity: Entity) -> tuple[str, ...]:
    """All spellings under which an entity is found: the value first."""
    return (entity.entity_value, *entity.aliases)


def is_named(entity: Entity, name: str) -> bool:
    """Whether this is the entity's name or an alias, whatever its width, case or script."""
    wanted = normalise(name)
    return any(normalise(one) == wanted for one in names_of(entity))


def checked_name(name: str, field: str) -> str:
    """The name without white space around it.

    Raises:
        InvalidField: It holds no letter or digit, or is too long.
    """
    stripped = name.strip()
    if len(stripped) > MAX_NAME or not any(character.isalnum() for character in stripped):
        raise InvalidField(
            f"{field} {stripped[:40]!r} is no name",
            field=field,
            allowed=f"1 to {MAX_NAME} characters, a letter among them",
        )
    return stripped


async def living(unit: UnitOfWork, entity: Entity) -> Entity:
    """The entity that this one was merged into, at the end of the chain; itself where it was not merged."""
    seen = {entity.entity_id}
    while entity.merged_into and entity.merged_into not in seen:
        seen.add(entity.merged_into)
        found = await unit.entities.get([entity.merged_into])
        if not found:
            break
        entity = found[0]
    return entity


async def owner_of(unit: UnitOfWork, name: str) -> Entity | None:
    """The entity that a name means now; None where nothing has it, or only what was archived."""
    found = await unit.entities.get_by_value(name)
    if found is None:
        return None
    entity = await living(unit, found)
    return entity if entity.is_current else None


async def referred(unit: UnitOfWork, entity: str, *, field: str = "entity_id") -> Entity:
    """The entity that an id, a name or an alias means, an archived one only by its id.

    Raises:
        NotFound: The user has no such entity.
    """
    found = next(iter(await unit.entities.get([entity])), None) or await owner_of(unit, entity)
    if found is None:
        raise NotFound(f"{field}: there is no entity {entity!r}.")
    return found


async def existing(unit: UnitOfWork, entity_id: str, *, field: str = "entity_id") -> Entity:
    """The entity with this id or name, where it can be changed.

    Raises:
        NotFound: The user has no such entity.
        Conflict: It is archived, or was merged into another; the message says which.
    """
    entity = await referred(unit, entity_id, field=field)
    if entity.merged_into:
        raise Conflict(f"{field}: the entity {entity.entity_value!r} was merged into {entity.merged_into}.")
    if not entity.is_current:
        raise Conflict(f"{field}: the entity {entity.entity_value!r} is archived; restore it first.")
    return entity


async def free_for(unit: UnitOfWork, name: str, entity: Entity, *, field: str) -> None:
    """Returns where a name is nobody else's.

    Raises:
        Conflict: Another entity has it; the message says which.
    """
    owner = await owner_of(unit, name)
    if owner is not None and owner.entity_id != entity.entity_id:
        raise Conflict(
            f"{field}: {name!r} is a name of the entity {owner.entity_value!r} ({owner.entity_id}); "
            "merge the two, or take the name off that one first."
        )
