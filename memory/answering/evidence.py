"""Which of the memories that were read together with a question answer it, by thresholds that are data.

A hit that was read carries `answers` and `outdated` among its parts and the answering `words`
(`memory.retrieval.answers`). What nobody has read is chosen by `nearness` instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..extraction.junk import Junk, junk_kind
from ..language.questions import asks_one_thing, only_asks
from ..values.evidence import EvidenceBounds
from ..values.facts import Ending, Standing
from ..values.hits import Hit, HitKind
from ..values.text import normalise
from ..values.understanding.dialogue import Role
from .corrections import corrected_text, drop_corrected
from .validity import contradict, names_any, states_outdated

SAYS_NOTHING = frozenset({Junk.EMPTY, Junk.PRONOUN, Junk.GREETING})
"""Kinds of texts that can be a whole turn but answer no question: 前者, "yes"."""
_MAX_ANSWERS = 8
_MAX_EARLIER = 1
_REPLACING = 0.35
"""Of how surely a memory answers, the share from which on what replaced or contradicts it is about what was asked: a
memory may say more than that. Chosen on a dozen pairs that were looked at."""


@dataclass(frozen=True)
class Evidence:
    """What answers a question.

    Attributes:
        current: The memories that answer, newest first.
        earlier: What held before them, newest first.
        confidence: The calibrated probability that they answer, 0 to 1.
    """

    current: tuple[Hit, ...]
    earlier: tuple[Hit, ...]
    confidence: float

    @property
    def may_be_cut(self) -> bool:
        """Whether there are as many as are told, so that more may answer."""
        return len(self.current) >= _MAX_ANSWERS

    @property
    def is_overview(self) -> bool:
        """Whether it is all that is known of someone or something."""
        return any(hit.is_part_of_overview for hit in self.current)


def may_answer(hit: Hit) -> bool:
    """Whether a memory can answer anything: not a turn that only asked, that said nothing by itself, or corrected."""
    if hit.only_asks or corrected_text(hit) is None or junk_kind(hit.meant) in SAYS_NOTHING:
        return False
    return not only_asks(hit.meant) or (bool(hit.validity) and not asks_one_thing(hit.meant))


def choose_evidence(hits: Sequence[Hit], unanswered: float, bounds: EvidenceBounds) -> Evidence | None:
    """The memories that answer a question; None where none does.

    Of several that may, the one with the best score is told first: it weighs how they were found, too. Where an earlier
    time is asked about, what is known to have held until then leaves no room for what is not.

    Args:
        hits: What was found; those that were not read are left out.
        unanswered: The calibrated probability that none answers.
        bounds: The thresholds.
    """
    if unanswered >= bounds.abstain_from:
        return None
    memories = [hit for hit in drop_corrected(hits) if hit.kind.is_quotable and hit.words is not None]
    answering = _without_outdated([hit for hit in memories if _answers(hit) >= _least(hit, bounds)], bounds)
    if not answering:
        return None
    answering = [hit for hit in answering if _states_what_held(hit)] or answering
    best = max(answering, key=lambda hit: (hit.score, _answers(hit)))
    further = sorted((hit for hit in answering if hit is not best), key=_answers, reverse=True)
    beside = [hit for hit in further if _answers(hit) >= bounds.beside_from]
    current = _newest_first([best, *beside][:_MAX_ANSWERS])
    return Evidence(
        current=tuple(current),
        earlier=tuple(_earlier(memories, current, bounds)),
        confidence=min(1.0 - unanswered, _answers(best)),
    )


def choose_for_prompt(hits: Sequence[Hit], bounds: EvidenceBounds) -> list[Hit]:
    """The memories that were read, help to answer the question, and hold; in the order given."""
    helpful = [hit for hit in hits if hit.words is not None and _answers(hit) >= bounds.prompt_from]
    return _without_outdated(helpful, bounds)


def holds_no_longer(hit: Hit) -> bool:
    """Whether what answers in a memory is known to be out of date: the facts that it states say so, or a correction."""
    return hit.parts.get("replaced", 0.0) > 0 or states_outdated(hit.meant, hit.words or "", hit.validity)


def seems_outdated(hit: Hit, bounds: EvidenceBounds) -> bool:
    """Whether whoever read a memory took what answers in it for out of date."""
    outdated = hit.parts.get("outdated", 0.0)
    return outdated >= bounds.outdated_from and outdated > _answers(hit)


def takes_place_of(hit: Hit, other: Hit, words: str) -> bool:
    """Whether a memory is to be told where another one matched: what holds instead of it, or what contradicts it.

    Args:
        hit: The memory to be told.
        other: The memory that matched.
        words: The words of `other` that answer.
    """
    if hit.instead_of != other.text or hit.id == other.id:
        return False
    if states_outdated(other.meant, words, other.validity):
        return True
    is_about_it = _answers(hit) >= _REPLACING * _answers(other)
    return is_about_it and (other.is_replaced or contradict(hit.validity, other.validity))


def _without_outdated(answering: Sequence[Hit], bounds: EvidenceBounds) -> list[Hit]:
    """Those that hold; what only seems out of date is left out where something else answers."""
    holding = [hit for hit in answering if not holds_no_longer(hit)]
    return [hit for hit in holding if not seems_outdated(hit, bounds)] or holding


def _states_what_held(hit: Hit) -> bool:
    """Whether what answers is known to have held at the time that is asked about, and to have ended since."""
    held = [fact for fact in hit.validity if fact.standing is Standing.HELD and fact.ending is not None]
    return names_any(hit.words or "", held)


def _earlier(memories: Sequence[Hit], current: Sequence[Hit], bounds: EvidenceBounds) -> list[Hit]:
    """What held before the newest answer and says something else; never what was taken back or called off.

    Nor what the assistant said: the user's life is told by the user. What is not known to be over, by its facts or by
    what is told in its place, must be read as answering: one that only was read as out of date is mostly of another
    matter.
    """
    said = {normalise(hit.words or "") for hit in current}
    replaced = {hit.instead_of for hit in current}
    return _newest_first(
        hit
        for hit in memories
        if (
            holds_no_longer(hit)
            or hit.text in replaced
            or (seems_outdated(hit, bounds) and _answers(hit) >= _least(hit, bounds))
        )
        and max(_answers(hit), hit.parts.get("outdated", 0.0)) >= bounds.beside_from
        and hit.created_at < current[0].created_at
        and hit.words
        and normalise(hit.words) not in said
        and hit.role is not Role.ASSISTANT
        and not _was_taken_back(hit)
    )[:_MAX_EARLIER]


def _was_taken_back(hit: Hit) -> bool:
    endings = {fact.ending for fact in hit.validity if fact.standing is Standing.OUTDATED}
    return not endings.isdisjoint({Ending.RETRACTED, Ending.CANCELLED})


def _newest_first(hits: Iterable[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: hit.created_at, reverse=True)


def _least(hit: Hit, bounds: EvidenceBounds) -> float:
    """The probability from which on a hit is quoted."""
    return bounds.document_from if hit.kind is HitKind.KNOWLEDGE else bounds.answer_from


def _answers(hit: Hit) -> float:
    return hit.parts.get("answers", 0.0)
