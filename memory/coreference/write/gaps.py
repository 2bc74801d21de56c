"""Decides whether a rewriter may fill a gap, where the rules find no reference."""

import re
from collections.abc import Sequence

from ...language.questions import is_question
from ...values.mentions import EntitySubtype
from ...values.rewrites import Replacement
from ...values.text import fold_lower, normalise
from ..antecedents.question_target import asks_when
from ..detect.lexicon import ATTRIBUTES
from ..detect.self_contained import has_look_alike, is_pointing
from ..detect.value_expressions import time_of, times
from .analysis import Analysis

OVERRIDE = 0.8
"""Confidence from which the rewriter overrides the rules, also where it leaves the query unchanged."""

DECISIVE = 0.9
"""Confidence from which it decides where the rules would ask the user."""

_MIN_NEED = 0.75
"""Least probability that the query is incomplete, for any gap to be filled."""

_GAP_MARGIN = 0.1
"""Added to the floor of references for gaps."""

_NOUN_BEFORE = re.compile(r"\b(?:(?:phone|post|postal|area|zip|serial) (?P<unit>numbers?|codes?)|[a-z]+)(?=\W*\Z)")
_OWNED = re.compile(r"(?:'s|s'|\b(?:my|your|our|its|his|her|their)) (?:\w+ ){0,2}\w+\W*\Z")
_OF_A_PLACE = re.compile(r"天气|气温|(?:会|在)下[雨雪]|去哪(?:里|儿|边)?(?:玩|逛)|\bweather\b|\brain(?:ing)?\b")
_BEHIND_A_SUBJECT = re.compile(r"(?:附近|旁边|周围|里面|那边)?(?:还|也)?有(?:没有)?|哪一?[个台家种款]")
_MOVES = re.compile(r"(?:to|from|into) ")  # copied with the antecedent from another sentence


class Gaps:
    """Decides which of a rewriter's insertions into one query are accepted.

    Args:
        query: The original query.
        analysis: The rules' analysis of it.
        floor: Confidence below which the rewriter's edits are ignored, 0–1.
    """

    def __init__(self, query: str, analysis: Analysis, *, floor: float) -> None:
        self._query = query
        self._folded = fold_lower(query)
        self._references = analysis.references
        self._places = {candidate.key for candidate in analysis.candidates if candidate.subtype is EntitySubtype.PLACE}
        self._is_found = bool(analysis.written)
        self._asks = is_question(query)
        self._floor = floor + _GAP_MARGIN

    def placed(self, replacement: Replacement) -> Replacement:
        """Moves an inserted subject to the front of a question (X 附近有車站嗎, X 和 Y 哪個快), without its 把."""
        start, text = replacement.start, replacement.text
        if not self._asks or start < replacement.end:
            return replacement
        if _BEHIND_A_SUBJECT.fullmatch(self._before(replacement)):
            start, text = 0, text.removesuffix("的")
        if start == 0:
            text = text.removeprefix("把")
        return replacement.model_copy(update={"start": start, "end": start, "text": text})

    def accepts(self, replacement: Replacement, sure: float, *, needed: float) -> bool:
        """Whether a replacement outside the references is accepted.

        Args:
            replacement: The rewriter's edit.
            sure: Its probability, 0–1, already multiplied by `needed`.
            needed: Probability that the query is incomplete, 0–1.
        """
        if needed < _MIN_NEED or self._tells_time(replacement) or self._needs_place(replacement):
            return False
        if is_pointing(self._query, replacement.start, replacement.end):
            return sure >= OVERRIDE
        if self._is_misplaced(replacement) or sure < self._least(replacement):
            return False
        return not has_look_alike(self._query, self._references)  # which may have misled the rewriter

    def _tells_time(self, replacement: Replacement) -> bool:
        """Whether it adds a time to a query that already contains or asks for one."""
        texts = _antecedents(replacement)
        if asks_when(self._folded):
            return any(map(times, texts))
        return bool(times(self._folded)) and any(map(time_of, texts))

    def _needs_place(self, replacement: Replacement) -> bool:
        """Whether the question can only be about a place, and no antecedent is one."""
        return bool(_OF_A_PLACE.search(self._folded)) and not any(map(self._holds_place, _antecedents(replacement)))

    def _holds_place(self, text: str) -> bool:
        normalised = normalise(text)
        return any(place in normalised for place in self._places)

    def _is_misplaced(self, replacement: Replacement) -> bool:
        """Whether it stands where no gap can be: 那是誰的, "the restaurant installed Redis", AI-Box 是誰在用.

        Of the query's words it may only replace the article, by an owner.
        """
        if self._folded[replacement.start : replacement.end] not in ("", "the"):
            return True
        before = any(reference.start == replacement.start < reference.end for reference in self._references)
        behind = any(reference.start < reference.end == replacement.start for reference in self._references)
        if replacement.text.startswith("of "):
            return before or _OWNED.search(self._before(replacement)) is not None
        return before or behind or (self._asks and replacement.text.endswith("是"))

    def _least(self, replacement: Replacement) -> float:
        """Least probability at which the edit is accepted.

        It is higher in a statement, where the rules have resolved a reference, for a second place in the query, and for
        an antecedent copied with its preposition: "I moved to Lyon. How is the weather?".
        """
        if replacement.text.startswith("of ") and not self._lacks_owner(replacement):
            return DECISIVE
        texts = _antecedents(replacement)
        is_second_place = any(map(self._holds_place, texts)) and self._holds_place(self._query)
        is_moved = any(map(_MOVES.match, texts))
        is_unlikely = self._is_found or not self._asks or is_second_place or is_moved
        return OVERRIDE if is_unlikely else self._floor

    def _lacks_owner(self, replacement: Replacement) -> bool:
        """Whether the gap follows an attribute ("the phone number", not "the plan") and the filling is none itself."""
        noun = _NOUN_BEFORE.search(self._before(replacement))
        owner = [word for text in _antecedents(replacement) for word in text.split()]
        return noun is not None and bool(noun["unit"] or _is_attribute(noun[0])) and not any(map(_is_attribute, owner))

    def _before(self, replacement: Replacement) -> str:
        return self._folded[: replacement.start]


def _antecedents(replacement: Replacement) -> Sequence[str]:
    return [fold_lower(antecedent.text) for antecedent in replacement.antecedents]


def _is_attribute(word: str) -> bool:
    return not ATTRIBUTES.isdisjoint((word, word.removesuffix("s"), word.removesuffix("es")))
