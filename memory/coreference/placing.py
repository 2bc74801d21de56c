"""Where a thing belongs in a query that has no place for it, because a user says that it was about that thing.

"What is the monthly price?" — "No, I meant Slack." Nothing of the query refers, and nobody put anything in; but now it
is certain that something was left out. English leaves out the owner of a definite noun; a Chinese question its owner or
its topic, both of which stand at its head.
"""

import re

from ..questions import is_question
from ..text import has_han
from .references import Form, Kind, Reference
from .words import cut, fold

_OPENING = re.compile(r"(?:那么?|请问|还有|然后|所以)?[，,]?\s*")
_OWNED = re.compile(r"(?:^|.* )(?P<thing>the (?:[a-z-]+ ){0,2}[a-z-]+)\s*\?*\s*$")
_NOUNS = ("n", "vn", "nz", "nl")


def left_out_of(query: str) -> Reference | None:
    """The owner or topic that a question may lack; None where it is no question, or nothing shows where that stands.

    Args:
        query: Without references.
    """
    if not is_question(query):
        return None
    folded = fold(query)
    if not has_han(query):
        match = _OWNED.match(folded)
        return _owner(query, *match.span("thing"), chinese=False) if match else None
    opening = _OPENING.match(folded)
    start = opening.end() if opening else 0
    words = [word for word in cut(folded) if word.start >= start]
    if words and words[0].tag in _NOUNS:
        return _owner(query, start, words[0].end, chinese=True)
    return Reference(start, start, "", Kind.ELLIPSIS, None, quiet=True, chinese=True)


def _owner(query: str, start: int, end: int, *, chinese: bool) -> Reference:
    return Reference(
        start, end, query[start:end], Kind.ELLIPSIS, None, form=Form.POSSESSIVE, quiet=True, chinese=chinese
    )
