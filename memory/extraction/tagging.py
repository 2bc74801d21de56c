"""What a trained tagger finds: names with their types, before rules and long-term memory have their say."""

from ..values import Value
from .mentions import EntitySubtype


class TaggedSpan(Value):
    """A name: half-open code-point offsets into the text as it was given.

    `label` is the tagger's own, finer name of the type; `subtype` is what it comes to here, None where the label is no
    type of entity (a time). `score` is the calibrated probability that span and type are right, 0 to 1.
    """

    start: int
    end: int
    label: str
    subtype: EntitySubtype | None = None
    score: float = 1.0
