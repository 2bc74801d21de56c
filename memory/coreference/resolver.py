"""The resolver: makes resolutions of what the trained reader understood (DESIGN §3, 000 §4.4)."""

from collections.abc import Sequence

from typing_extensions import override

from ..ports.models.language import Resolver
from ..values.errors import InvalidField
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from ..values.understanding.readings import Action, ContextSpan, Replacement, Rewrite
from ..values.understanding.resolutions import (
    Alternative,
    Clarification,
    CoreferenceResolution,
    CoreferenceResult,
    ReferenceSource,
    ResolutionRequest,
)
from .antecedents import Antecedents
from .clarifying import clarification, options_of
from .reasons import reason
from .revising import revise
from .writing import Edit, apply_edits, fit_edit, name_in, writes_spaces

_MIN_OPTIONS = 2  # for a question that the reader did not want to ask


class ReadingResolver(Resolver):
    """Resolves references as the reader rewrote them; a correction or an answer resolves the earlier query.

    It decides nothing about the language: it adds sources, entities, reasons and questions, and holds back what is
    not sure enough. Without a rewrite in the extraction the query stays as it is.

    Args:
        floor: Confidence below which a reference stays unresolved, 0–1.
        remembered_floor: The same where only names of long-term memory can be meant: with nothing said before it, a
            message that names its thing by a noun ("the van") is found as it is, and a wrong name hides it.
    """

    def __init__(self, *, floor: float = 0.2, remembered_floor: float = 0.5) -> None:
        for name, given in (("floor", floor), ("remembered_floor", remembered_floor)):
            if not 0.0 <= given <= 1.0:
                raise InvalidField(f"{name} is {given}, it must lie in 0–1.", field=name, allowed="0–1")
        self._floor = floor
        self._remembered_floor = remembered_floor

    @override
    async def resolve(self, request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult:
        result = revise(request, extraction) or self._read(request, extraction.rewrite)
        return result.model_copy(update={"degraded": extraction.degraded})

    def _read(self, request: ResolutionRequest, rewrite: Rewrite | None) -> CoreferenceResult:
        if rewrite is None or rewrite.action is Action.KEEP or not rewrite.replacements:
            return CoreferenceResult(original_query=request.query, resolved_query=request.query)
        query = _Query(request)
        edited = _edit_probability(rewrite)
        edits: list[Edit] = []
        resolved: list[CoreferenceResolution] = []
        unresolved: list[CoreferenceResolution] = []
        questions: list[Clarification] = []
        entity_ids: list[str] = []
        for replacement in rewrite.replacements:
            confidence = min(1.0, edited * replacement.confidence)
            is_remembered = _source(replacement) is ReferenceSource.LONG_TERM
            floor = max(self._floor, self._remembered_floor) if is_remembered else self._floor
            if rewrite.action is Action.REWRITE and confidence >= floor:
                edit = query.edit(replacement)
                edits.append(edit)
                resolved.append(query.resolution(replacement, edit, confidence))
                entity_ids += query.antecedents.ids(replacement.antecedents)
                continue
            unresolved.append(query.unresolved(replacement, confidence))
            if rewrite.action is Action.ASK or not is_remembered:
                questions += query.questions(replacement, asked=rewrite.action is Action.ASK)
        return CoreferenceResult(
            original_query=request.query,
            resolved_query=apply_edits(request.query, edits),
            resolutions=tuple(resolved),
            unresolved=tuple(unresolved),
            confidence=min((resolution.confidence for resolution in resolved), default=0.0),
            entities_found=tuple(dict.fromkeys(entity_ids)),
            clarification=questions[0] if questions else None,
        )


def _edit_probability(rewrite: Rewrite) -> float:
    """Probability that the message is to be edited at all."""
    least = min(replacement.confidence for replacement in rewrite.replacements)
    return min(1.0, rewrite.confidence / least) if least and rewrite.action is Action.REWRITE else 1.0


class _Query:
    """The query of a request, with what resolutions and questions about it need."""

    def __init__(self, request: ResolutionRequest) -> None:
        self.antecedents = Antecedents(request)
        self._text = request.query
        earlier = (turn.content for turn in reversed(request.turns) if turn.role is Role.USER)
        self._user_texts = (request.query, *earlier)
        self._spaces = writes_spaces([request.query, *(turn.content for turn in request.turns)])

    def edit(self, replacement: Replacement) -> Edit:
        """The edit with the spaces that its user writes."""
        return fit_edit(self._text, replacement.start, replacement.end, replacement.written, spaces=self._spaces)

    def resolution(self, replacement: Replacement, edit: Edit, confidence: float) -> CoreferenceResolution:
        """The resolution of an edit."""
        spans = replacement.antecedents
        ids = self.antecedents.ids(spans)
        return CoreferenceResolution(
            original_text=self._text[edit.start : edit.end],
            resolved_text=name_in(replacement.written, spans[0].text) if len(spans) == 1 else edit.text.strip(),
            entity_id=ids[0] if len(ids) == 1 else None,
            source=_source(replacement),
            confidence=confidence,
            start=edit.start,
            end=edit.end,
            written=edit.text,
            reason=self._reason(replacement) if spans else "",
            alternatives=self._alternatives(replacement.alternatives),
        )

    def unresolved(self, replacement: Replacement, confidence: float) -> CoreferenceResolution:
        """A reference that stays as it is, with the antecedents that it may have."""
        original = self._text[replacement.start : replacement.end]
        return CoreferenceResolution(
            original_text=original,
            resolved_text=original,
            source=_source(replacement),
            confidence=confidence,
            start=replacement.start,
            end=replacement.end,
            written=original,
            alternatives=self._alternatives((*replacement.antecedents[:1], *replacement.alternatives)),
        )

    def questions(self, replacement: Replacement, *, asked: bool) -> list[Clarification]:
        """The question about a reference that stays open; none where nothing can be offered.

        Args:
            replacement: The edit that was not made.
            asked: Whether the reader wants to ask; else a question needs two options that are nearly as likely.
        """
        options = options_of(replacement, asked=asked)
        if len(options) < (1 if asked else _MIN_OPTIONS):
            return []
        return [clarification(replacement, options, self.antecedents, texts=self._user_texts, spaces=self._spaces)]

    def _alternatives(self, spans: Sequence[ContextSpan]) -> tuple[Alternative, ...]:
        return tuple(map(self.antecedents.alternative, spans))

    def _reason(self, replacement: Replacement) -> str:
        first, *more = replacement.antecedents
        return reason(
            self._text,
            exchanges_back=self.antecedents.exchanges_back(first),
            subtype=None if more else self.antecedents.subtype(first),
            left_out=replacement.start == replacement.end,
            others=self._alternatives([span for span in replacement.alternatives if not _is_part(span, first)]),
        )


def _source(replacement: Replacement) -> ReferenceSource:
    if replacement.antecedents and all(span.turn is None for span in replacement.antecedents):
        return ReferenceSource.LONG_TERM
    return ReferenceSource.INFERENCE if replacement.start == replacement.end else ReferenceSource.SESSION


def _is_part(span: ContextSpan, other: ContextSpan) -> bool:
    """Whether one text is a part of the other, so that they are no rivals."""
    return span.text in other.text or other.text in span.text
