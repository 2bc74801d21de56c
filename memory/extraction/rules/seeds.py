"""The entities that every user's memory starts with (000 §10.1)."""

from dataclasses import dataclass

from ...values.mentions import EntitySubtype


@dataclass(frozen=True, slots=True)
class Seed:
    """A preloaded system entity: its name as it is shown, and its finer type."""

    name: str
    subtype: EntitySubtype


SEEDS: tuple[Seed, ...] = (
    Seed("AI-Box", EntitySubtype.PRODUCT),
    Seed("宏康 HCI", EntitySubtype.ORGANISATION),
    Seed("mm-agent", EntitySubtype.PRODUCT),
    Seed("KA-Agent", EntitySubtype.PRODUCT),
    Seed("ArangoDB", EntitySubtype.PRODUCT),
    Seed("Qdrant", EntitySubtype.PRODUCT),
    Seed("ChromaDB", EntitySubtype.PRODUCT),
    Seed("SeaweedFS", EntitySubtype.PRODUCT),
    Seed("Redis", EntitySubtype.PRODUCT),
    Seed("Ollama", EntitySubtype.PRODUCT),
    Seed("FastAPI", EntitySubtype.PRODUCT),
    Seed("MCP", EntitySubtype.PRODUCT),
)
"""000 §10.1, in its order."""
