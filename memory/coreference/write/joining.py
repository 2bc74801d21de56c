"""Combines the substitutions of the rules with the edits of a trained rewriter.

The rules know agreement, plurals, reference chains, long-term memory and words that only look like references; the
rewriter knows gaps and the extent of antecedents. So the rewriter's antecedent of a reference is taken unless the rules
exclude it; a confident rewriter that leaves the query unchanged removes the rules' substitutions from its own turns;
only the rewriter fills gaps; and nothing but references and gaps is replaced.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ...values.dialogue import Turn
from ...values.resolutions import Alternative, CoreferenceResolution, ReferenceSource, ResolutionRequest
from ...values.rewrites import Antecedent, Replacement, RewriteResult
from ...values.text import has_han, normalise
from ..antecedents.candidates import Candidate
from ..antecedents.coordination import has_peer
from ..antecedents.entity_lookup import EntityLookup
from ..antecedents.question_target import is_target, question_target
from ..antecedents.ranking import Ranked, score
from ..detect.references import Form, Kind, Number, Reference
from ..detect.self_contained import is_self_contained, names_nothing
from .analysis import Analysis, ReferenceRanking, Substitution, build_result
from .gaps import DECISIVE, OVERRIDE, Gaps
from .reasons import copy_reason
from .rewriting import Edit, edit_for, fit_edit

_RULES_ONLY = frozenset({Kind.FORMER, Kind.LATTER, Kind.BOTH, Kind.RECALL, Kind.TIME})
"""References that only the rules resolve."""

_OUTSIDE_NAME = re.compile(
    r"^(?:(?:the|an?|my|your|our) |[我你您咱](?:们|們)?的)|(?:的|['’]s?)$|[《》「」『』“”\"]", re.IGNORECASE
)
_CLAUSE = re.compile(r"[，。！？；]|[,.!?;](?:\s|$)")
"""A boundary between clauses."""
_FROM_TO = re.compile(r"\s(?:to|from|into|than|versus|vs\.?)\s|[我你您他她们]把.")

_OPENS_A_SENTENCE = re.compile(r"(?:My|Our|Your|The|This|That|An?) ")
_POSSESSIVE = re.compile(r"(?:的|['’]s?)$")


class Joiner:
    """Combines the rules' analysis of one query with a rewrite of it.

    Args:
        request: The request.
        turns: The turns that the rewriter has read.
        analysis: The rules' analysis.
        floor: Confidence below which the rewriter's edits are ignored, 0–1.
    """

    def __init__(self, request: ResolutionRequest, turns: Sequence[Turn], analysis: Analysis, *, floor: float) -> None:
        self._query = request.query
        self._turns = turns
        self._analysis = analysis
        self._floor = floor
        self._gaps = Gaps(request.query, analysis, floor=floor)
        self._lookup = EntityLookup(request.long_term, turns)

    def join(self, rewrite: RewriteResult) -> Analysis:
        """The combined analysis."""
        rewrite = self._with_whole_names(rewrite)
        by_rule = self._analysis.written
        copied = any(replacement.antecedents for replacement in rewrite.replacements)
        rules_only = any(reference.kind in _RULES_ONLY for reference in self._analysis.references)
        if not copied and not rules_only and rewrite.keep_probability >= OVERRIDE:
            return self._with_substitutions(
                [substitution for substitution in by_rule if not self._was_read_by_rewriter(substitution)]
            )
        if not copied or rules_only or is_self_contained(self._query):
            return self._analysis
        needed = 1.0 - rewrite.keep_probability
        if by_rule and all(self._is_written_by_rules(replacement) for replacement in rewrite.replacements):
            return self._confirm(rewrite, needed)
        accepted: list[Substitution] = []
        rankings: list[ReferenceRanking] = []
        for replacement in rewrite.replacements:
            sure = needed * replacement.confidence
            if self._is_accepted(replacement, sure, needed=needed):
                accepted.append(self._substitution(replacement, sure, rewrite))
                rankings += self._rankings(replacement, sure)
            elif any(not replacement.antecedents for replacement in rewrite.replacements):
                return self._analysis  # its edits are only valid together
        kept = [
            substitution
            for substitution in by_rule
            if not any(_touch(substitution.edit, other.edit) or _repeats(other, substitution) for other in accepted)
        ]
        return self._with_substitutions([*kept, *accepted], rankings)

    def _with_whole_names(self, rewrite: RewriteResult) -> RewriteResult:
        """The rewrite with each copied span extended to the known name around it."""
        completed = []
        for replacement in rewrite.replacements:
            whole = tuple(map(self._lookup.whole, replacement.antecedents))
            text = replacement.text
            for cut, other in zip(replacement.antecedents, whole, strict=True):
                text = text if cut == other else text.replace(cut.text, other.text, 1)
            completed.append(self._gaps.placed(replacement.model_copy(update={"text": text, "antecedents": whole})))
        return rewrite.model_copy(update={"replacements": tuple(completed)})

    def _confirm(self, rewrite: RewriteResult, needed: float) -> Analysis:
        """The rules' substitutions with the higher confidence of both, and the rewriter's for bound references."""
        sure = needed * min(replacement.confidence for replacement in rewrite.replacements)
        written = [_with_confidence(substitution, sure) for substitution in self._analysis.written]
        written += [
            self._substitution(replacement, sure, rewrite)
            for replacement in rewrite.replacements
            if replacement.antecedents and self._reference_at(replacement) in self._analysis.bound
        ]
        return self._with_substitutions(written)

    def _with_substitutions(
        self, written: Sequence[Substitution], rankings: Sequence[ReferenceRanking] = ()
    ) -> Analysis:
        known = self._analysis
        written = sorted(written, key=lambda substitution: substitution.edit.start)
        still_open = [
            resolution
            for resolution in known.result.unresolved
            if not any(
                other.resolution.start < resolution.end and resolution.start < other.resolution.end for other in written
            )
        ]
        open_spans = {(resolution.start, resolution.end) for resolution in still_open}
        questions = tuple(question for question in known.questions if (question.start, question.end) in open_spans)
        return replace(
            known,
            result=build_result(self._query, written, still_open, questions),
            written=tuple(written),
            questions=questions,
            rankings=tuple(sorted((*known.rankings, *rankings), key=lambda ranking: ranking.reference.start)),
        )

    def _rankings(self, replacement: Replacement, sure: float) -> list[ReferenceRanking]:
        """The ranking of a gap that the rewriter filled, so that the user can correct it."""
        if len(replacement.antecedents) != 1 or self._reference_at(replacement):
            return []
        [antecedent] = replacement.antecedents
        before, found, behind = replacement.text.partition(antecedent.text)
        if not found:
            return []
        start, end = replacement.start, replacement.end
        place = Reference(
            start, end, self._query[start:end], Kind.ELLIPSIS, None, quiet=True, chinese=has_han(self._query)
        )
        entity_id = next(iter(self._lookup.ids((antecedent,))), None)
        source = _source((antecedent,), left_out=True)
        meant = Candidate(antecedent.text, normalise(antecedent.text), source, entity_id=entity_id)
        return [ReferenceRanking(place, (Ranked(meant, sure),), (before.lstrip(), behind.strip()))]

    def _is_written_by_rules(self, replacement: Replacement) -> bool:
        """Whether the rules write the same antecedents; true for an edit without antecedents (their → the)."""
        names = [_bare_name(substitution.resolution.resolved_text) for substitution in self._analysis.written]
        return all(any(_bare_name(antecedent.text) in name for name in names) for antecedent in replacement.antecedents)

    def _was_read_by_rewriter(self, written: Substitution) -> bool:
        """Whether the turns that the rewriter has read contain the rules' antecedent."""
        name = _bare_name(written.resolution.resolved_text)
        return any(name in normalise(turn.content) for turn in self._turns)

    def _is_accepted(self, replacement: Replacement, sure: float, *, needed: float) -> bool:
        reference = self._reference_at(replacement)
        instead_of = next(
            (substitution for substitution in self._analysis.written if _touch(substitution.edit, replacement)), None
        )
        if instead_of is None:
            if replacement.antecedents and self._is_written_by_rules(replacement):
                return False
        else:
            known = instead_of.entity_ids or instead_of.resolution.source is ReferenceSource.LONG_TERM
            same_gap = (replacement.start, replacement.end) == (instead_of.edit.start, instead_of.edit.end)
            if known or sure < OVERRIDE or self._is_part(replacement, instead_of) or not (reference or same_gap):
                return False
        if sure < self._floor or any(
            names_nothing(antecedent.text) or self._spans_several_things(antecedent)
            for antecedent in replacement.antecedents
        ):
            return False
        if reference is None:
            return self._gaps.accepts(replacement, sure, needed=needed)
        return self._can_be_meant(replacement, reference, sure)

    @staticmethod
    def _is_part(replacement: Replacement, instead_of: Substitution) -> bool:
        """Whether the rewriter's antecedent is a part of the rules'."""
        return _bare_name(replacement.text) in _bare_name(instead_of.resolution.resolved_text)

    def _reference_at(self, replacement: Replacement) -> Reference | None:
        """The reference that the replacement overlaps."""
        for reference in self._analysis.references:
            if reference.start < replacement.end and replacement.start < reference.end:
                return reference
        return None

    def _can_be_meant(self, replacement: Replacement, reference: Reference, sure: float) -> bool:
        if reference in self._analysis.bound:
            return False
        if reference.number is Number.PLURAL and len(self._lookup.ids(replacement.antecedents)) == 1:
            return False
        if self._is_of_other_gender(replacement, reference):
            return False
        meant = self._known_name(replacement)
        is_open = any(reference.start == resolution.start for resolution in self._analysis.result.unresolved)
        if (meant is None or is_open) and sure < OVERRIDE:
            return False
        if meant and self._is_option(reference, meant) and (sure < DECISIVE or self._has_peer(reference, meant)):
            return False
        return meant is None or (score(reference, meant) is not None and not self._is_target(reference, meant))

    def _spans_several_things(self, antecedent: Antecedent) -> bool:
        """Whether a copied span is more than one thing: it crosses a clause boundary, "Slack to Teams", 我把車."""
        apart = _CLAUSE.search(antecedent.text) or _FROM_TO.search(antecedent.text)
        return apart is not None and not any(
            candidate.named and _bare_name(candidate.text) == _bare_name(antecedent.text)
            for candidate in self._analysis.candidates
        )

    def _is_target(self, reference: Reference, meant: Candidate) -> bool:
        """Whether the question asks for such a candidate, and the rules rank another first."""
        ranked = self._ranked(reference)
        target = question_target(self._query, reference)
        return target is not None and is_target(target, meant) and bool(ranked) and ranked[0].candidate.key != meant.key

    def _is_option(self, reference: Reference, meant: Candidate) -> bool:
        """Whether the rules would ask the user to choose between this and another candidate."""
        question = next((question for question in self._analysis.questions if question.start == reference.start), None)
        options = [_bare_name(option.text) for option in question.options] if question else []
        return len(options) > 1 and _bare_name(meant.text) in options

    def _has_peer(self, reference: Reference, meant: Candidate) -> bool:
        """Whether it is coordinated with a candidate of equal score: then the rewriter's choice is a guess."""
        return has_peer(meant.key, self._ranked(reference), self._analysis.coordinations)

    def _ranked(self, reference: Reference) -> Sequence[Ranked]:
        """The rules' candidates of a reference, best first."""
        return next((ranking.ranked for ranking in self._analysis.rankings if ranking.reference == reference), ())

    def _is_of_other_gender(self, replacement: Replacement, reference: Reference) -> bool:
        """Whether the known gender of the rewriter's antecedent contradicts that of the reference."""
        key = _bare_name(replacement.text)
        genders = {
            candidate.gender
            for candidate in self._analysis.candidates
            if _bare_name(candidate.text) == key and candidate.gender
        }
        return bool(reference.gender and genders) and reference.gender not in genders

    def _known_name(self, replacement: Replacement) -> Candidate | None:
        """The longest known name in the rewriter's antecedent; descriptions are not checked."""
        key = _bare_name(replacement.text)
        known = [
            candidate
            for candidate in self._analysis.candidates
            if candidate.named and _bare_name(candidate.text) in key
        ]
        return max(known, key=lambda candidate: len(candidate.text), default=None)

    def _substitution(self, replacement: Replacement, sure: float, rewrite: RewriteResult) -> Substitution:
        reference = self._reference_at(replacement)
        # their → the, with "of Golden Wok" after it: the other edit has the antecedent
        meant = replacement.antecedents or tuple(
            antecedent for edited in rewrite.replacements for antecedent in edited.antecedents
        )
        back = None if meant[0].turn is None else len(self._turns) - meant[0].turn
        ids = self._lookup.ids(meant)
        start, end = (reference.start, reference.end) if reference else (replacement.start, replacement.end)
        resolution = CoreferenceResolution(
            original_text=self._query[start:end],
            resolved_text=replacement.text if replacement.antecedents else meant[0].text,
            entity_id=ids[0] if len(ids) == 1 else None,
            source=_source(meant, left_out=reference is None),
            confidence=sure,
            start=start,
            end=end,
            reason=copy_reason(self._query, back, left_out=reference is None),
            alternatives=tuple(self._alternative(antecedent) for antecedent in replacement.alternatives),
        )
        return Substitution(resolution, self._edit(replacement, reference), ids)

    def _edit(self, replacement: Replacement, reference: Reference | None) -> Edit:
        start, end, text = replacement.start, replacement.end, replacement.text
        if reference is None or not replacement.antecedents or (start, end) != (reference.start, reference.end):
            return fit_edit(self._query, start, end, text, spaces=self._analysis.spaces)
        if start and _OPENS_A_SENTENCE.match(text):
            text = text[0].lower() + text[1:]
        if reference.form is Form.POSSESSIVE:
            text = _POSSESSIVE.sub("", text)
        return edit_for(self._query, reference, text, spaces=self._analysis.spaces)

    def _alternative(self, antecedent: Antecedent) -> Alternative:
        ids = self._lookup.ids((antecedent,))
        source = _source((antecedent,), left_out=False)
        return Alternative(
            text=antecedent.text, entity_id=ids[0] if ids else None, source=source, score=antecedent.probability
        )


def _with_confidence(substitution: Substitution, sure: float) -> Substitution:
    resolution = substitution.resolution
    sure = max(sure, resolution.confidence)
    return Substitution(resolution.model_copy(update={"confidence": sure}), substitution.edit, substitution.entity_ids)


def _source(antecedents: Sequence[Antecedent], *, left_out: bool) -> ReferenceSource:
    if all(antecedent.turn is None for antecedent in antecedents):
        return ReferenceSource.LONG_TERM
    return ReferenceSource.INFERENCE if left_out else ReferenceSource.SESSION


def _touch(edit: Edit, other: Edit | Replacement) -> bool:
    """Whether two edits overlap or stand side by side."""
    return edit.start <= other.end and other.start <= edit.end


def _repeats(longer: Substitution, shorter: Substitution) -> bool:
    """Whether both fill gaps, and the text of the first contains the second's: 怎麼去台大面試 contains 台大."""
    names = [_bare_name(substitution.resolution.resolved_text) for substitution in (longer, shorter)]
    return not longer.resolution.original_text and not shorter.resolution.original_text and names[1] in names[0]


def _bare_name(text: str) -> str:
    """A normalised name without determiners, possessive endings and quotation marks."""
    return normalise(_OUTSIDE_NAME.sub("", text.strip()))
