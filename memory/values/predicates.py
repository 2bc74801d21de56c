"""The predicates of facts (chat corpus; document 002 §3): what conversation says of people and things.

With their cardinality, their category (002 §4.3) and the type that they have as typed memories (001 §2.1).
"""

from enum import StrEnum

ONE_VALUED = frozenset(
    {
        "name", "age", "birthday", "gender", "hometown", "lives_in", "address", "phone", "email", "works_at",
        "occupation", "studies_at", "major", "spouse", "partner", "manager", "located_in", "stored_in", "price", "size",
        "version", "quantity", "deadline", "warranty", "code", "colour", "status", "scheduled_at", "blood_type",
        "weight", "height",
    }
)  # fmt: skip
"""Predicates that hold one value at a time: a newer one replaces it."""

_OF_THINGS = frozenset(
    {
        "located_in", "stored_in", "price", "size", "version", "quantity", "deadline", "warranty", "code", "colour",
        "status", "scheduled_at",
    }
)  # fmt: skip
"""Those that say something of a thing: a typed memory does not name it, so that a user may have several."""

MANY_VALUED = frozenset(
    {
        "nickname", "nationality", "graduated_from", "commutes_by", "child", "parent", "sibling", "relative", "friend",
        "colleague", "teacher", "roommate", "neighbour", "pet", "knows", "likes", "dislikes", "favourite", "prefers",
        "diet", "eats", "allergic_to", "hobby", "wants", "goal", "habit", "rule", "skill", "speaks", "instrument",
        "certificate", "learning", "owns", "uses", "drives", "bought", "sold", "lost", "lent_to", "borrowed_from",
        "subscribes_to", "brand", "made_by", "part_of", "member_of", "works_on", "responsible_for", "supports",
        "depends_on", "replaced_by", "attended", "visited", "met", "happened", "plans", "travels_to", "condition",
        "medication", "doctor",
    }
)  # fmt: skip

TYPES = {
    "allergic_to": "allergy",
    "lives_in": "home_city",
    "works_at": "employer",
}
"""The type of a typed memory (001 §2.1) whose facts have another name for their predicate; for every other predicate
the type is its name, and a type that no conversation teaches (`part_number`, `intent`, `preference`) is a predicate of
its own.
"""
_PREDICATES_OF_TYPES = {type_: predicate for predicate, type_ in TYPES.items()}

LASTING = frozenset(
    {
        "name", "birthday", "gender", "nationality", "hometown", "blood_type", "allergic_to", "condition", "medication",
        "spouse", "child", "parent", "sibling", "graduated_from",
    }
)  # fmt: skip
"""Predicates that age makes no less true, and that a user must not be asked twice: no job lowers, archives or merges
them with something similar.
"""

OTHER = "other"
"""A relation without a predicate of its own."""

PREDICATES: tuple[str, ...] = (*sorted(ONE_VALUED | MANY_VALUED), OTHER)

EVENTS = frozenset({"attended", "visited", "met", "happened", "bought", "sold", "lost", "graduated_from"})
"""Predicates of what happens once: a time is when it happened, and having passed does not end it."""
SCHEDULES = frozenset({"scheduled_at", "deadline", "travels_to", "plans", "goal", "wants"})
"""Predicates of what lies ahead: a later time does not make a plan of them."""
DATED = frozenset({"scheduled_at", "deadline"})
"""Those of `SCHEDULES` of an event itself, whose object is its time."""


class CategoryName(StrEnum):
    """The categories of 002 §4.3, which are there for every user."""

    PREFERENCES = "preferences"
    FACTS = "facts"
    GOALS = "goals"
    SKILLS = "skills"
    RELATIONSHIPS = "relationships"
    EVENTS = "events"


_PREDICATES: dict[CategoryName, frozenset[str]] = {
    CategoryName.PREFERENCES: frozenset(
        {"likes", "dislikes", "favourite", "prefers", "preference", "diet", "eats", "hobby", "habit", "supports"}
    ),
    CategoryName.GOALS: frozenset({"wants", "goal", "plans", "intent"}),
    CategoryName.SKILLS: frozenset({"skill", "speaks", "instrument", "certificate", "learning"}),
    CategoryName.RELATIONSHIPS: frozenset(
        {
            "spouse", "partner", "child", "parent", "sibling", "relative", "friend", "colleague", "manager", "teacher",
            "roommate", "neighbour", "pet", "knows", "doctor",
        }
    ),
    CategoryName.EVENTS: frozenset(
        {
            "attended", "visited", "met", "happened", "scheduled_at", "deadline", "travels_to", "bought", "sold",
            "lost",
        }
    ),
}  # fmt: skip
_CATEGORIES = {predicate: category for category, predicates in _PREDICATES.items() for predicate in predicates}


def category_of(predicate: str) -> CategoryName:
    """The category of facts with this predicate; FACTS where none is better."""
    return _CATEGORIES.get(predicate, CategoryName.FACTS)


def type_of(predicate: str) -> str:
    """The type of typed memories with this predicate."""
    return TYPES.get(predicate, predicate)


def predicate_of(entity_type: str) -> str:
    """The predicate of typed memories of this type."""
    return _PREDICATES_OF_TYPES.get(entity_type, entity_type)


def shown_type(entity_type: str) -> str:
    """The type as typed memories show it, where the name of its predicate may have been given instead."""
    return type_of(predicate_of(entity_type))


def has_one_value(entity_type: str) -> bool:
    """Whether a user has one value of this type at a time (`home_city`): any other value contradicts it."""
    return predicate_of(entity_type) in ONE_VALUED - _OF_THINGS


def has_many_values(entity_type: str) -> bool:
    """Whether a user has several values of this type at once (`allergy`)."""
    return predicate_of(entity_type) in MANY_VALUED
