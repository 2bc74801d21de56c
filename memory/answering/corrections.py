"""Corrections among memories: the corrected statement is quoted instead of the correction and of what it corrects.

「鑰匙放在二樓。」 — 「不是，我是說一樓。」 The second turn was resolved to 「鑰匙放在一樓。」. Quoted as it is, it
answers no question, and the first turn gives a wrong answer.
"""

from collections.abc import Sequence
from os.path import commonprefix

from ..coreference.corrections import Choice, find_choice, is_clause
from ..values.hits import Hit
from ..values.text import normalise


def corrected_text(hit: Hit) -> str | None:
    """What a memory states: its text, or the corrected statement of a correction; None where it states nothing."""
    choice = find_choice(hit.text)
    if choice is None:
        return hit.text
    if _revises(choice, hit):
        return hit.resolved
    return None if choice.firm and not is_clause(choice, hit.text) else hit.text


def drop_corrected(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those that a later hit of the same session corrects."""
    corrections = [hit for hit in hits if (choice := find_choice(hit.text)) and _revises(choice, hit)]
    return [hit for hit in hits if not any(_corrects(correction, hit) for correction in corrections)]


def _revises(choice: Choice, hit: Hit) -> bool:
    """Whether resolution replaced this message by an earlier one."""
    opening = hit.text[: choice.start].strip()
    return bool(hit.resolved and opening and not hit.resolved.startswith(opening))


def _corrects(correction: Hit, hit: Hit) -> bool:
    if hit.session_id != correction.session_id or hit.created_at >= correction.created_at or not correction.resolved:
        return False
    corrected = normalise(correction.resolved)
    statements = (normalise(hit.text), normalise(hit.resolved or ""))
    return any(
        _replaces_span(normalise(correction.text), corrected, statement)
        for statement in statements
        if statement != corrected
    )


def _replaces_span(correction: str, corrected: str, statement: str) -> bool:
    """Whether the corrected text is the statement with one span replaced by words of the correction."""
    prefix = len(commonprefix([corrected, statement]))  # noqa: RUF071 - by characters
    suffix = len(commonprefix([corrected[prefix:][::-1], statement[prefix:][::-1]]))  # noqa: RUF071
    new, old = corrected[prefix : len(corrected) - suffix], statement[prefix : len(statement) - suffix]
    return bool(new and old and prefix + suffix) and new in correction
