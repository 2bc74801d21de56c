"""The format of an export: JSON lines, a header, the values of the domain as they serialise themselves, and an end."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from ..values.access.identity import DEFAULT_APP, AppId
from ..values.base import Timestamp, UserId, Value
from ..values.entities import Entity, EntityRelation
from ..values.errors import InvalidField
from ..values.facts import Category, CategoryAccess, Fact, GraphEdge
from ..values.governance.changes import Change
from ..values.items import StoredItem
from ..values.records import Memory, Resource
from ..values.typed_memories import TypedMemory
from ..values.understanding.dialogue import Session

ValueT = TypeVar("ValueT", bound=Value)

FORMAT = 1
"""Version of the format; an import reads files of this version alone."""
MAX_LINE_BYTES = 1_048_576
"""Bytes of a line, but that of a change: several times the longest text with all that was understood of it."""
MAX_CHANGE_BYTES = 33_554_432
"""Bytes of a line with a change, which holds every memory that it touched, before and after, or with a stored item."""
_LARGE = (b'{"type":"change"', b'{"type":"stored_item"')


class ItemType(StrEnum):
    """The kind of a value, in the order of the file: what is referred to comes before what refers to it."""

    RESOURCE = "resource"
    ENTITY = "entity"
    RELATION = "relation"
    MEMORY = "memory"
    FACT = "fact"
    CATEGORY = "category"
    CATEGORY_ACCESS = "category_access"
    EDGE = "edge"
    TYPED_MEMORY = "typed_memory"
    """In exports of earlier versions; an import makes facts of them."""
    CHANGE = "change"
    STORED_ITEM = "stored_item"
    SESSION = "session"


_MODELS: Mapping[ItemType, type[Value]] = {
    ItemType.RESOURCE: Resource,
    ItemType.ENTITY: Entity,
    ItemType.RELATION: EntityRelation,
    ItemType.MEMORY: Memory,
    ItemType.FACT: Fact,
    ItemType.CATEGORY: Category,
    ItemType.CATEGORY_ACCESS: CategoryAccess,
    ItemType.EDGE: GraphEdge,
    ItemType.TYPED_MEMORY: TypedMemory,
    ItemType.CHANGE: Change,
    ItemType.STORED_ITEM: StoredItem,
    ItemType.SESSION: Session,
}
_ID_FIELDS: Mapping[ItemType, str] = {
    ItemType.RESOURCE: "resource_id",
    ItemType.ENTITY: "entity_id",
    ItemType.RELATION: "relation_id",
    ItemType.MEMORY: "memory_id",
    ItemType.FACT: "fact_id",
    ItemType.CATEGORY: "category_id",
    ItemType.CATEGORY_ACCESS: "access_id",
    ItemType.EDGE: "edge_id",
    ItemType.TYPED_MEMORY: "memory_id",
    ItemType.CHANGE: "change_id",
    ItemType.STORED_ITEM: "item_id",
}
_LEFT_OUT: Mapping[ItemType, set[str]] = {
    ItemType.RESOURCE: {"sequence"},
    ItemType.CHANGE: {"sequence"},
    ItemType.STORED_ITEM: {"vectors"},
}
"""Numbers that each store gives anew, in the order of the lines, and vectors, which a search makes again."""


class Header(Value):
    """The first line.

    Args:
        format: Version of the format.
        jiyi: Version of Jiyi that wrote the file.
        app: The app of the user; ids in the file may be derived from both.
        user_id: The user's own id (`identity.shown_user`); every value of the file is of this user.
        created_at: When it was written.
    """

    type: Literal["header"] = "header"
    format: int = FORMAT
    jiyi: str
    app: AppId = DEFAULT_APP
    user_id: UserId
    created_at: Timestamp


class End(Value):
    """The last line: without it the file is not whole.

    Args:
        counts: Number of lines of each type.
        sha256: Digest of the lines between the header and this one, in hexadecimal: equal memory has an equal digest.
    """

    type: Literal["end"] = "end"
    counts: dict[ItemType, int]
    sha256: str


@dataclass(frozen=True)
class Item:
    """A value of a user; `learned` says of a log entry that it is not waiting for the learner."""

    type: ItemType
    value: Any
    learned: bool = True

    @property
    def item_id(self) -> str:
        """Its id; no other item of this type and user has it."""
        if self.type is ItemType.SESSION:
            return str(self.value.context.session_id)
        return str(getattr(self.value, _ID_FIELDS[self.type]))

    @property
    def user_id(self) -> str:
        """The user that it says it is of."""
        return str(self.value.context.user_id if self.type is ItemType.SESSION else self.value.user_id)

    def to_line(self) -> bytes:
        """The item as a line."""
        body = self.value.model_dump_json(exclude=_LEFT_OUT.get(self.type))
        learned = "" if self.type is not ItemType.RESOURCE else f'"learned":{str(self.learned).lower()},'
        return f'{{"type":"{self.type.value}",{learned}"value":{body}}}\n'.encode()


class Digest:
    """Counts and digests the lines between header and end."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._counts = dict.fromkeys(ItemType, 0)

    def add(self, type_: ItemType, line: bytes) -> None:
        """Takes in one line."""
        self._counts[type_] += 1
        self._hash.update(line)

    def end(self) -> End:
        """The last line for all that was taken in."""
        return End(
            counts={type_: count for type_, count in self._counts.items() if count}, sha256=self._hash.hexdigest()
        )


def to_line(value: Header | End) -> bytes:
    """The first or last line."""
    return value.model_dump_json().encode() + b"\n"


def parse_line(line: bytes, number: int) -> Header | Item | End:
    """What a line holds.

    Args:
        line: The line, with or without its end.
        number: Counted from 1, for errors.

    Raises:
        InvalidField: It is no line of an export; names line and field.
    """
    limit = MAX_CHANGE_BYTES if line.startswith(_LARGE) else MAX_LINE_BYTES
    if len(line) > limit:
        raise refused(number, "", "is too long", f"at most {limit} bytes")
    try:
        fields = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise refused(number, "", f"is no JSON: {error}", "a JSON object") from None
    if not isinstance(fields, dict):
        raise refused(number, "", "is no object", "a JSON object")
    type_ = fields.get("type")
    if type_ == "header":
        return _validated(Header, fields, number)
    if type_ == "end":
        return _validated(End, fields, number)
    if type_ not in set(ItemType):
        raise refused(number, "type", "is none of an export", ", ".join(["header", *ItemType, "end"]))
    return _item(ItemType(type_), fields, number)


def _item(type_: ItemType, fields: dict[str, Any], number: int) -> Item:
    expected = {"type", "value", "learned"} if type_ is ItemType.RESOURCE else {"type", "value"}
    if fields.keys() != expected:
        field = min(fields.keys() ^ expected)
        raise refused(number, field, "is missing" if field in expected else "is unknown", ", ".join(sorted(expected)))
    learned = fields.get("learned", True)
    if not isinstance(learned, bool):
        raise refused(number, "learned", "is no truth value", "true or false")
    return Item(type_, _validated(_MODELS[type_], fields["value"], number, within="value"), learned)


def _validated(model: type[ValueT], fields: Any, number: int, *, within: str = "") -> ValueT:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in (*([within] if within else []), *first["loc"]))
        raise refused(number, path, first["msg"], first["msg"]) from None


def refused(number: int, field: str, problem: str, allowed: str) -> InvalidField:
    """The error that names a line and a field of it."""
    place = f"line {number}: {field}" if field else f"line {number}"
    return InvalidField(f"{place}: {problem}", field=place, allowed=allowed)
