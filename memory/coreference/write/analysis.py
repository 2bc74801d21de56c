"""The analysis of a query: its references, their ranked candidates and the substitutions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...values.resolutions import Clarification, CoreferenceResolution, CoreferenceResult, ReferenceSource
from ..antecedents.candidates import Candidate
from ..antecedents.coordination import Coordination
from ..antecedents.discourse import Discourse
from ..antecedents.ranking import Ranked, confidence
from ..detect.references import Form, Kind, Reference
from .clarifying import alternative, clarification
from .reasons import reason
from .rewriting import Edit, apply_edits, concatenate, edit_for, fit_edit

_SHOWN = 5  # alternatives in a result


@dataclass(frozen=True, slots=True)
class Substitution:
    """A resolution, the edit that writes it into the query, and the ids of its entities."""

    resolution: CoreferenceResolution
    edit: Edit
    entity_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceRanking:
    """A reference and its candidates.

    Attributes:
        reference: A reference or a gap.
        ranked: Its candidates, best first.
        around: The texts before and after the antecedent where a rewriter inserted it ("of ", 的); None where the form
            of the reference decides.
    """

    reference: Reference
    ranked: tuple[Ranked, ...]
    around: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of a query, from which a rewriter or a later correction continues.

    Attributes:
        result: The resolved query.
        references: All references and gaps found, in order, resolved or not.
        bound: References whose antecedent stands in their own clause, so that no edit is needed.
        written: The substitutions, in the order of `result.resolutions`.
        questions: Clarifying questions about the unresolved references, in order.
        rankings: The candidates of each reference, in order.
        candidates: The candidates of the session; empty where the query has no reference or gap.
        coordinations: See `CoordinationTracker.current`.
        spaces: Whether the user writes spaces between Latin and Han.
    """

    result: CoreferenceResult
    references: tuple[Reference, ...] = ()
    bound: tuple[Reference, ...] = ()
    written: tuple[Substitution, ...] = ()
    questions: tuple[Clarification, ...] = ()
    rankings: tuple[ReferenceRanking, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    coordinations: tuple[Coordination, ...] = ()
    spaces: bool = True


class AnalysisBuilder:
    """Collects the resolutions of one query while its references are read from left to right.

    Args:
        query: As the user wrote it.
        user_texts: The earlier messages of the user, latest first.
        spaces: Whether the user writes spaces between Latin and Han.
    """

    def __init__(self, query: str, user_texts: Sequence[str], *, spaces: bool) -> None:
        self.query = query
        self.position = 0
        self.bound: list[Reference] = []
        self._texts = (query, *user_texts)
        self._spaces = spaces
        self._written: list[Substitution] = []
        self._unresolved: list[CoreferenceResolution] = []
        self._questions: list[Clarification] = []
        self._rankings: list[ReferenceRanking] = []

    def consider(self, reference: Reference, ranked: Sequence[Ranked]) -> None:
        """Records the candidates of a reference, best first."""
        self._rankings.append(ReferenceRanking(reference, tuple(ranked)))

    def resolve(self, reference: Reference, ranked: Sequence[Ranked], *, inferred: bool = False) -> None:
        """Substitutes the best candidate for the reference."""
        substitution = substitution_for(self.query, reference, ranked, spaces=self._spaces)
        if inferred:
            resolution = substitution.resolution.model_copy(update={"source": ReferenceSource.INFERENCE})
            substitution = replace(substitution, resolution=resolution)
        self._written.append(substitution)

    def leave(self, reference: Reference, ranked: Sequence[Ranked]) -> None:
        """Leaves the reference unresolved, with a clarifying question where a candidate is likely."""
        self._unresolved.append(_resolution(self.query, reference, ranked, resolved=reference.text))
        question = clarification(reference, ranked, texts=self._texts, spaces=self._spaces)
        if question:
            self._questions.append(question)

    def analysis(self, references: Sequence[Reference], discourse: Discourse | None = None) -> Analysis:
        """Builds the analysis."""
        return Analysis(
            build_result(self.query, self._written, self._unresolved, self._questions),
            tuple(references),
            tuple(self.bound),
            tuple(self._written),
            tuple(self._questions),
            tuple(self._rankings),
            discourse.session() if discourse else (),
            discourse.coordinations if discourse else (),
            self._spaces,
        )


def substitution_for(
    query: str,
    reference: Reference,
    ranked: Sequence[Ranked],
    *,
    spaces: bool,
    around: tuple[str, str] | None = None,
) -> Substitution:
    """The substitution of the best candidate for a reference.

    Args:
        query: The original query.
        reference: Its offsets are into `query`.
        ranked: Best first, not empty.
        spaces: Whether the user writes spaces between Latin and Han.
        around: See `ReferenceRanking.around`.
    """
    best = ranked[0].candidate
    if around is None:
        change = edit_for(query, reference, best.text, number=best.number, spaces=spaces)
    else:
        text = concatenate((around[0], best.text, around[1]), spaces=spaces)
        change = fit_edit(query, reference.start, reference.end, text, spaces=spaces)
    owned = reference.kind is Kind.ELLIPSIS and reference.form is Form.POSSESSIVE
    found = _resolution(query, reference, ranked, resolved=change.text.strip() if owned else best.text)
    return Substitution(found, change, tuple(_ids(best)))


def build_result(
    query: str,
    written: Sequence[Substitution],
    unresolved: Sequence[CoreferenceResolution] = (),
    questions: Sequence[Clarification] = (),
) -> CoreferenceResult:
    """The result with all substitutions applied, and the question about the first unresolved reference."""
    resolutions = tuple(substitution.resolution for substitution in written)
    still_open = {(resolution.start, resolution.end) for resolution in unresolved}
    return CoreferenceResult(
        original_query=query,
        resolved_query=apply_edits(query, [substitution.edit for substitution in written]),
        resolutions=resolutions,
        unresolved=tuple(unresolved),
        confidence=min((resolution.confidence for resolution in resolutions), default=0.0 if unresolved else 1.0),
        entities_found=tuple(dict.fromkeys(found for substitution in written for found in substitution.entity_ids)),
        clarification=next((question for question in questions if (question.start, question.end) in still_open), None),
    )


def _resolution(query: str, reference: Reference, ranked: Sequence[Ranked], *, resolved: str) -> CoreferenceResolution:
    changed = resolved != reference.text
    best = ranked[0].candidate if ranked else None
    return CoreferenceResolution(
        original_text=reference.text,
        resolved_text=resolved,
        entity_id=best.entity_id if best and changed else None,
        source=best.source if best else ReferenceSource.SESSION,
        confidence=confidence(ranked),
        start=reference.start,
        end=reference.end,
        reason=reason(query, ranked) if changed else "",
        alternatives=tuple(alternative(option) for option in ranked[1 if changed else 0 :][:_SHOWN]),
    )


def _ids(candidate: Candidate) -> list[str]:
    members = candidate.members or (candidate,)
    return [member.entity_id for member in members if member.entity_id]
