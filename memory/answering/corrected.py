"""What corrections leave of what was said: they state nothing themselves, and what they take back no longer holds.

「鑰匙放在二樓。」 — 「不是，我是說一樓。」 The second turn is a memory of 「鑰匙放在一樓。」, as which it
was resolved; quoted as it stands it answers no question, and the first turn would answer it wrongly.
"""

import re
from collections.abc import Sequence

from ..coreference.detect.corrections import Choice, find_choice
from ..language.han_tokens import cut
from ..values.hits import Hit
from ..values.text import fold_lower, normalise

_CLAUSE = re.compile(
    r"^(?:i|you|he|she|it|we|they|that|this|there)\b|\b(?:is|was|are|were|has|had|have|will|can|could|did|does|do|\w+n't)\b"
)
_SUBJECT = re.compile(r"\b(?:it's|it is|it was|that's) $")


def as_meant(hit: Hit) -> str | None:
    """What a memory states: itself, of a correction what it makes of what was said before; None if that is nothing."""
    choice = find_choice(hit.text)
    if choice is None:
        return hit.text
    if _revises(choice, hit):
        return hit.resolved
    return None if choice.firm and not _is_clause(choice, hit.text) else hit.text


def still_said(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those that a later one of the same session takes back."""
    corrections = [hit for hit in hits if (choice := find_choice(hit.text)) and _revises(choice, hit)]
    return [hit for hit in hits if not any(_takes_back(one, hit) for one in corrections)]


def _revises(choice: Choice, hit: Hit) -> bool:
    """Whether an earlier message took the place of this one when its references were resolved."""
    opening = hit.text[: choice.start].strip()
    return bool(hit.resolved and opening and not hit.resolved.startswith(opening))


def _is_clause(choice: Choice, text: str) -> bool:
    """Whether what was meant is told in a clause of its own: 我是說他辭職了, "no, it's broken"."""
    folded = fold_lower(choice.text)
    if _CLAUSE.search(folded) or _SUBJECT.search(fold_lower(text[: choice.start])):
        return True
    return any(word.tag in ("v", "r") for word in cut(folded))


def _takes_back(correction: Hit, hit: Hit) -> bool:
    if hit.session_id != correction.session_id or hit.created_at >= correction.created_at or not correction.resolved:
        return False
    meant, said = normalise(correction.resolved), [normalise(hit.text), normalise(hit.resolved or "")]
    return any(_differs_by(normalise(correction.text), meant, one) for one in said if one != meant)


def _differs_by(correction: str, meant: str, said: str) -> bool:
    """Whether what was meant is what was said with one span replaced by words of the correction."""
    before = _shared(meant, said)
    behind = _shared(meant[before:][::-1], said[before:][::-1])
    replacing, replaced = meant[before : len(meant) - behind], said[before : len(said) - behind]
    return bool(replacing and replaced and before + behind) and replacing in correction


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
