"""What a trained tagger finds: names with their types, before rules and long-term memory have their say."""

from .base import Value
from .mentions import EntitySubtype


class TaggedSpan(Value):
    """A name: half-open code-point offsets into the text as it was given.

    `label` is the tagger's own, finer name of the type; `subtype` is what it comes to here, None where the label is no
    type of entity (a time). `score` is how sure the tagger is of span and type, 0 to 1 (not calibrated).
    """

    start: int
    end: int
    label: str
    subtype: EntitySubtype | None = None
    score: float = 1.0
