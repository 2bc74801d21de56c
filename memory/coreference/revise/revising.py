"""Resolves an earlier query again with the antecedent that the user names: as a correction, or as an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from ...language.questions import is_question
from ...values.dialogue import Role
from ...values.mentions import Mention, MentionLevel
from ...values.resolutions import Alternative, CoreferenceResult, ReferenceSource, ResolutionRequest, Revision
from ...values.text import has_han, is_traditional, normalise, to_simplified
from ..antecedents.candidates import Candidate, described, join
from ..antecedents.counterparts import counterpart
from ..antecedents.discourse import Discourse
from ..antecedents.ranking import Ranked, score
from ..detect.corrections import Choice, find_choice
from ..detect.phrases import noun_phrases
from ..detect.references import Number, Reference
from ..detect.self_contained import names_nothing
from ..detect.value_expressions import is_value
from ..write.analysis import Analysis, ReferenceRanking, Substitution, substitution_for
from ..write.rewriting import Edit, apply_edits
from .history import TURNS
from .placing import candidate_of, may_become, places_for, replaceable_span, suits

_STATED = 0.95  # confidence of an antecedent that the user has named
_SHORTEST_PART = 2  # characters of a name that identify it
_MIN_OPTIONS = 2
_STATEMENTS = 2  # statements before a question that a correction may concern

Analyse = Callable[[ResolutionRequest], Awaitable[Analysis]]
Find = Callable[[str], Awaitable[tuple[Mention, ...]]]


async def revise(request: ResolutionRequest, *, analyse: Analyse, find: Find) -> Analysis | None:
    """The earlier query, resolved again by this correction or answer; None where the request is neither.

    A correction concerns the user's last message. If that is a question, or the correction names the rejected text, it
    may also concern an earlier statement that contains the rejected text or that the reply repeats.

    Args:
        request: The new query.
        analyse: Analyses an earlier message in its own context.
        find: Finds the mentions of a text.
    """
    choice = find_choice(request.query)
    earlier = _earlier(request) if choice and _may_answer(choice, request) else []
    if choice is None or not earlier:
        return None
    last, *before = earlier
    revised = await _revise_message(request, choice, last, analyse=analyse, find=find)
    if revised is not None or not choice.denies or not (choice.wrong or is_question(last.query)):
        return revised
    replied = normalise(request.turns[-1].content)
    statements = [message for message in before if not is_question(message.query)]
    for statement in statements[:_STATEMENTS]:
        revised = await _revise_message(request, choice, statement, analyse=analyse, find=find)
        revision = revised.result.revision if revised else None
        taken_back = normalise(revision.resolution.original_text) if revision else ""
        if taken_back and (taken_back in replied or taken_back == normalise(choice.wrong)):
            return revised
    return None


async def _revise_message(
    request: ResolutionRequest, choice: Choice, earlier: ResolutionRequest, *, analyse: Analyse, find: Find
) -> Analysis | None:
    """One earlier message, resolved again; None where the correction or answer does not fit it."""
    analysis = await analyse(earlier)
    if not choice.firm and not choice.denies and not analysis.questions:
        return None
    if choice.all or choice.place is not None:
        meant = _chosen_option(choice, request, analysis)
        if meant is not None or not choice.denies:
            return None if meant is None else _build_revision(request, analysis, choice, meant)
    message = analysis.result.revision.query if analysis.result.revision else analysis.result.original_query
    if choice.wrong and not names_nothing(choice.wrong) and not _mentions(analysis, message, choice.wrong):
        return None
    if choice.firm or choice.denies:
        part = await asyncio.to_thread(counterpart, message, choice)
        if part is not None:
            by_form = replace(analysis, questions=(), rankings=(replaceable_span(message, part.start, part.end),))
            return _build_revision(request, by_form, choice, candidate_of(part.text, None))
        if is_value(choice.text):
            return None
    meant = _known_candidate(choice, request, analysis)
    if meant is None and (choice.firm or (choice.denies and _was_mentioned(choice, request))):
        meant = _new_candidate(choice, request.query, await find(request.query))
    if meant is None:
        return None
    analysis = replace(
        analysis,
        rankings=tuple(ranking for ranking in analysis.rankings if may_become(message, ranking, meant)),
    )
    if (
        choice.denies
        and not analysis.questions
        and not any(suits(ranking.reference, meant) for ranking in analysis.rankings)
    ):
        places = places_for(choice, meant, message, await find(message), referring=bool(analysis.references))
        analysis = replace(analysis, rankings=places or analysis.rankings)
    return _build_revision(request, analysis, choice, meant)


def _mentions(analysis: Analysis, message: str, wrong: str) -> bool:
    """Whether a message contains the rejected text, or one of its references could mean it."""
    key = normalise(wrong)
    texts = [message, *(option.candidate.text for ranking in analysis.rankings for option in ranking.ranked)]
    texts += [substitution.resolution.resolved_text for substitution in analysis.written]
    return any(key in normalise(text) for text in texts)


def _may_answer(choice: Choice, request: ResolutionRequest) -> bool:
    """Whether the earlier query must be analysed: nearly every short message has the form of an answer."""
    if choice.firm or choice.denies or choice.all or choice.place is not None:
        return True
    return _was_mentioned(choice, request) and not is_question(request.query)


def _was_mentioned(choice: Choice, request: ResolutionRequest) -> bool:
    key = normalise(choice.text).removeprefix("the ")
    return any(key in normalise(turn.content) for turn in request.turns[-TURNS:])


def _earlier(request: ResolutionRequest) -> list[ResolutionRequest]:
    """The user's earlier messages, each with the turns before it, latest first."""
    turns = request.turns[-TURNS:]
    skipped = len(request.turns) - len(turns)
    return [
        request.model_copy(update={"query": turn.content, "turns": request.turns[: skipped + at]})
        for at, turn in reversed(list(enumerate(turns)))
        if turn.role is Role.USER
    ]


def _candidates(analysis: Analysis) -> list[Candidate]:
    """The candidates of the earlier query: those of its open questions first, those of the session last."""
    open_spans = {(question.start, question.end) for question in analysis.questions}
    rankings = sorted(
        analysis.rankings,
        key=lambda ranking: (ranking.reference.start, ranking.reference.end) not in open_spans,
    )
    considered = [option.candidate for ranking in rankings for option in ranking.ranked]
    return [*considered, *(candidate for candidate in analysis.candidates if not candidate.members)]


def _chosen_option(choice: Choice, request: ResolutionRequest, analysis: Analysis) -> Candidate | None:
    """The option with this index, or a group of all options."""
    options = _options(request, analysis)
    if len(options) < _MIN_OPTIONS:
        return None
    if choice.all:
        keys = [candidate.key for candidate in options]
        joined = next(
            (candidate for candidate in analysis.candidates if [member.key for member in candidate.members] == keys),
            None,
        )
        return joined or replace(
            options[0],
            text=join([candidate.text for candidate in options]),
            key="\x1f".join(keys),
            entity_id=None,
            number=Number.PLURAL,
            members=tuple(options),
        )
    place = choice.place or 0
    return options[place] if place < len(options) else None


def _options(request: ResolutionRequest, analysis: Analysis) -> list[Candidate]:
    """The options that an index counts: in the order of the assistant's reply, else in that of their mentions."""
    by_key = {candidate.key: candidate for candidate in reversed(_candidates(analysis))}
    if analysis.questions:
        offered = [normalise(alternative.text) for alternative in analysis.questions[0].options]
    else:
        ranked = next((ranking.ranked for ranking in analysis.rankings if len(ranking.ranked) >= _MIN_OPTIONS), ())
        offered = [
            option.candidate.key for option in sorted(ranked[:_MIN_OPTIONS], key=lambda option: option.candidate.order)
        ]
    options = [by_key[key] for key in offered if key in by_key]
    last = request.turns[-1]
    reply = normalise(last.content) if last.role is Role.ASSISTANT else ""
    if sum(candidate.key in reply for candidate in options) >= _MIN_OPTIONS:
        options = sorted(
            (candidate for candidate in options if candidate.key in reply),
            key=lambda candidate: reply.index(candidate.key),
        )
    return options


def _known_candidate(choice: Choice, request: ResolutionRequest, analysis: Analysis) -> Candidate | None:
    """The candidate with this name, or the only one whose name contains it: 宏康 for 宏康 HCI."""
    key = normalise(choice.text)
    offered = (
        [normalise(alternative.text) for alternative in analysis.questions[0].options] if analysis.questions else []
    )
    if not choice.firm and not choice.denies:
        pool = [candidate for candidate in _candidates(analysis) if candidate.key in offered]
    else:
        pool = [*_candidates(analysis), *Discourse(request.long_term).long_term]
    for bare in (key, key.removeprefix("the ")):
        named = next((candidate for candidate in pool if candidate.key in (bare, f"the {bare}")), None)
        if named:
            return named
    if len(key) < _SHORTEST_PART:
        return None
    parts = {candidate.key: candidate for candidate in reversed(pool) if _is_part(key, candidate.key)}
    return next(iter(parts.values())) if len(parts) == 1 else None


def _is_part(short: str, full: str) -> bool:
    return short in full if has_han(short) else f" {short} " in f" {full} "


def _new_candidate(choice: Choice, message: str, mentions: Sequence[Mention]) -> Candidate | None:
    """A candidate that the conversation has not mentioned yet; None where the text is no name or description."""
    for mention in mentions:
        whole = mention.start <= choice.start + _article(choice.text) and choice.end <= mention.end
        if whole and mention.level is MentionLevel.LONG_TERM:
            return candidate_of(mention.text, mention)
    for phrase in noun_phrases(message):
        if phrase.start <= choice.start + _article(choice.text) and phrase.end == choice.end:
            text = choice.text if phrase.named else described(choice.text, by_user=True)
            found = candidate_of(text, None)
            return replace(
                found, subtype=phrase.subtype, person=phrase.person, number=phrase.number, named=phrase.named
            )
    return None


def _article(text: str) -> int:
    return len("the ") if text.lower().startswith("the ") else 0


def _build_revision(
    request: ResolutionRequest, analysis: Analysis, choice: Choice, meant: Candidate
) -> Analysis | None:
    """The earlier query with the corrected antecedent; None where it fits no reference."""
    target = _target(analysis, choice, meant)
    if target is None:
        return None
    query = analysis.result.revision.query if analysis.result.revision else analysis.result.original_query
    reference, understood = target.reference, _earlier_antecedent(target, analysis, request)
    rejected = understood if understood and normalise(understood.text) != meant.key else None
    considered = [option for option in target.ranked if option.candidate.key != meant.key]
    chosen = substitution_for(
        query, reference, [Ranked(meant, _STATED), *considered], spaces=analysis.spaces, around=target.around
    )
    resolution = chosen.resolution.model_copy(update={"confidence": _STATED, "reason": _reason(request.query)})
    kept = [other for other in analysis.written if not _is_replaced(other, reference, chosen.edit)]
    ids = (found for substitution in (*kept, chosen) for found in substitution.entity_ids)
    result = CoreferenceResult(
        original_query=request.query,
        resolved_query=apply_edits(query, [substitution.edit for substitution in (*kept, chosen)]),
        confidence=_STATED,
        entities_found=tuple(dict.fromkeys(ids)),
        revision=Revision(query=query, resolution=resolution, rejected=rejected),
        degraded=analysis.result.degraded,
    )
    return replace(analysis, result=result, written=(*kept, replace(chosen, resolution=resolution)), questions=())


def _is_replaced(other: Substitution, reference: Reference, change: Edit) -> bool:
    """Whether an earlier substitution is replaced by this edit; two insertions at one offset do not overlap."""
    same = (other.resolution.start, other.resolution.end) == (reference.start, reference.end)
    return same or (other.edit.start < change.end and change.start < other.edit.end)


def _target(analysis: Analysis, choice: Choice, meant: Candidate) -> ReferenceRanking | None:
    """The reference that is corrected: the one that was asked about, else the last that can mean the antecedent."""
    spans = {(question.start, question.end) for question in analysis.questions}
    rankings = [ranking for ranking in analysis.rankings if ranking.reference not in analysis.bound]
    for ranking in rankings:
        if (ranking.reference.start, ranking.reference.end) in spans:
            return ranking
    if not choice.denies and not choice.firm:
        return None
    fitting = [ranking for ranking in rankings if score(ranking.reference, meant) is not None]
    if fitting:
        return fitting[-1]
    if len(rankings) == 1:
        return rankings[0]
    return None


def _earlier_antecedent(target: ReferenceRanking, analysis: Analysis, request: ResolutionRequest) -> Alternative | None:
    """The antecedent that the reference had: as recorded in the session, else as it is resolved now."""
    text, span = target.reference.text, (target.reference.start, target.reference.end)
    resolved = next(
        (
            substitution.resolution
            for substitution in analysis.written
            if (substitution.resolution.start, substitution.resolution.end) == span
        ),
        None,
    )
    for entry in reversed(request.history):
        same = bool(text) or (resolved and entry.get("resolved_text") == resolved.resolved_text)  # a gap has no text
        if same and entry.get("original_text") == text and not entry.get("corrected"):
            return Alternative(
                text=str(entry.get("resolved_text") or ""),
                entity_id=str(entry["entity_id"]) if entry.get("entity_id") else None,
                source=ReferenceSource(str(entry.get("source") or ReferenceSource.SESSION.value)),
                score=float(entry.get("confidence") or 0.0),
            )
    if resolved is None:
        return None
    return Alternative(
        text=resolved.resolved_text, entity_id=resolved.entity_id, source=resolved.source, score=resolved.confidence
    )


def _reason(message: str) -> str:
    if not has_han(message):
        return "the user said so"
    text = "使用者指明的"
    return text if is_traditional(message) else to_simplified(text)
