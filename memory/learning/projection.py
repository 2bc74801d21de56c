"""What the vector index sees of an entity or a memory (DESIGN §6)."""

from ..entities import Entity
from ..records import Memory, Resource
from ..text import has_han


def entity_text(entity: Entity) -> str:
    """An entity's names: what it is embedded and searched by."""
    return "、".join((entity.entity_value, *entity.aliases)) if entity.aliases else entity.entity_value


def dense_text(memory: Memory, resource: Resource | None) -> str:
    """A memory as a passage: the turn before it, then itself with its references resolved.

    Embedding a turn together with the one before it lifts recall (DESIGN §6, measured).
    """
    own = _spoken(memory, resource)
    return f"{memory.context}\n{own}" if memory.context else own


def keyword_text(memory: Memory, resource: Resource | None) -> str:
    """A memory as terms: its date in words, then itself with its references resolved (DESIGN §6, measured)."""
    at = memory.created_at
    date = f"{at.year}年{at.month}月{at.day}日" if has_han(memory.text) else f"{at.day} {at:%B} {at.year}"
    return f"{date} {_spoken(memory, resource)}"


def _spoken(memory: Memory, resource: Resource | None) -> str:
    text = (resource.resolved if resource else None) or memory.text
    return f"{memory.speaker}: {text}" if memory.speaker else text
