"""Ranks what was said or given by how well it matches a request to forget."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..language.keywords import KeywordAnalyzer
from ..language.questions import is_question
from ..values.facts import SPEAKER, Fact
from ..values.records import Memory
from ..values.text import fold_lower
from .forget_targets import ForgetTarget


@dataclass(frozen=True)
class MatchBounds:
    """From which scores on something is meant.

    Args:
        sure: From here on it is.
        possible: From here on it may be, so that the user is asked.
        near: What has this share of the best one's score may be meant as well.
    """

    sure: float
    possible: float
    near: float


BY_WORDS = MatchBounds(sure=0.5, possible=0.25, near=0.9)
"""Of the share of the weight of the request's words."""
BY_READING = MatchBounds(sure=0.6, possible=0.2, near=0.6)
"""Of the shares of probability that a reader gives, of which those that are near the best count together; chosen on the
72 requests of the tuning part of `forgets`."""
_UNKNOWN = 0.5
"""Weight of a word that nothing has, as a share of that of a word that one thing has."""


@dataclass(frozen=True)
class Match:
    """Something that a request may mean.

    Args:
        memory: What was said; None for a fact that was given and never said.
        facts: Those of the facts that it states which the request may mean.
        score: From 0 to 1.
    """

    memory: Memory | None
    facts: tuple[Fact, ...]
    score: float


@dataclass(frozen=True)
class Matches:
    """The best matches of a request, best first, and whether they are good enough to act on.

    `is_read` says that a reader has chosen them, so that all of them together are what is meant.
    """

    matches: tuple[Match, ...] = ()
    is_sure: bool = False
    is_read: bool = False


@dataclass(frozen=True)
class _Candidate:
    memory: Memory | None
    facts: tuple[Fact, ...]
    words: frozenset[str]


def match_words(
    target: ForgetTarget, facts: Sequence[Fact], memories: Sequence[Memory], analyzer: KeywordAnalyzer
) -> list[Match]:
    """All that could be meant, that with most of the request's words first; a rare word weighs more than a common one.

    A predicate that the request names counts as a word of what states a fact with it: of the speaker, or of a subject
    that the request names.

    Args:
        target: What the request is about.
        facts: All of the user that are not deleted.
        memories: What the user has said.
        analyzer: Splits texts into terms.
    """
    candidates = _candidates(facts, memories, analyzer)
    frequency = Counter(word for candidate in candidates for word in candidate.words)
    rarest = math.log(1 + len(candidates))
    weights = {
        word: math.log(1 + len(candidates) / frequency[word]) if word in frequency else _UNKNOWN * rarest
        for word in target.words | target.terms
    }
    matches = [_match(candidate, target, weights, rarest, analyzer) for candidate in candidates]
    return sorted(matches, key=lambda match: -match.score)


def with_reading(match: Match, share: float, words: str) -> Match:
    """The match of a memory with what a reader says of it as its score.

    Of several facts that the memory states, those are meant whose objects the answering words have, if any.

    Args:
        match: By words.
        share: Of the probability, that the memory is meant.
        words: Those of the memory that are meant; empty where none stand out.
    """
    folded = fold_lower(words)
    meant = tuple(fact for fact in match.facts if folded and fold_lower(fact.object) in folded)
    return replace(match, facts=meant or match.facts, score=share)


def likely_places(shares: Sequence[float], *, everything: bool = False) -> tuple[list[int], bool]:
    """The places of what a request means, or may mean, by a reader's shares of probability; and whether it is sure.

    Of several that are likely one is meant, unless the request means everything.

    Args:
        shares: Of each line; with that of none they sum to 1.
        everything: Whether all that fits is meant, and not one thing.
    """
    best = max(shares, default=0.0)
    if best < BY_READING.possible:
        return [], False
    near = BY_READING.near / 2 if everything else BY_READING.near
    likely = [place for place, share in enumerate(shares) if share >= near * best]
    is_one = everything or len(likely) == 1
    return likely, is_one and sum(shares[place] for place in likely) >= BY_READING.sure


def best_matches(matches: Sequence[Match], target: ForgetTarget) -> Matches:
    """What a request means, or may mean, by its words: what is nearly as good as the best match.

    "My …" means something of the speaker, where anything of the speaker may be meant.

    Args:
        matches: Best first.
        target: What the request is about.
    """
    best = matches[0].score if matches else 0.0
    if best < BY_WORDS.possible:
        return Matches()
    is_sure = best >= BY_WORDS.sure
    least = max(BY_WORDS.sure, BY_WORDS.near * best) if is_sure else BY_WORDS.near * best
    if target.everything:
        least = min(least, BY_WORDS.sure)
    found = [match for match in matches if match.score >= least]
    if target.is_own and not target.everything:
        own = [match for match in found if any(fact.subject == SPEAKER for fact in match.facts)]
        found = own or found
    return Matches(tuple(found), is_sure=is_sure)


def weigh_together(read: Matches, by_words: Matches, *, everything: bool) -> Matches:
    """What a request means by its reading and by its words together; both must be good enough to act against the other.

    Where the words are sure of one thing and the reading thinks it the likeliest, it is meant. Where they are sure of
    anything else, the user is asked about what either found: what is removed cannot be given back.

    Args:
        read: Chosen by a reader.
        by_words: Chosen by words, from the same memories and from facts that were given and never said.
        everything: Whether all that fits is meant, and not one thing.
    """
    if not by_words.is_sure:
        return read
    if not any(match.memory for match in by_words.matches) and not read.matches:
        return by_words
    worded, reading = _by_memory(by_words), _by_memory(read)
    best = next(iter(reading), None)
    if len(worded) == 1 and best in worded:
        return Matches((reading[best],), is_sure=True, is_read=True)
    agree = bool(reading) if everything else reading.keys() == worded.keys()
    return Matches(tuple({**worded, **reading}.values()), is_sure=agree, is_read=bool(reading))


def _by_memory(matches: Matches) -> dict[str, Match]:
    """Matches by the id of their memory, or of the fact that was never said."""
    return {
        match.memory.memory_id if match.memory else ",".join(fact.fact_id for fact in match.facts): match
        for match in matches.matches
    }


def _candidates(facts: Sequence[Fact], memories: Iterable[Memory], analyzer: KeywordAnalyzer) -> list[_Candidate]:
    stated: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        for entry in dict.fromkeys((fact.resource_id, *fact.evidence)):
            stated[entry].append(fact)
    candidates = []
    for memory in memories:
        of_memory = stated.pop(memory.resource_id, [])
        if not of_memory and is_question(memory.text):
            continue  # it tells nothing that could be meant
        candidates.append(_Candidate(memory, tuple(of_memory), frozenset(_words(memory.text, of_memory, analyzer))))
    rest = {fact.fact_id: fact for others in stated.values() for fact in others}
    said = {fact.fact_id for candidate in candidates for fact in candidate.facts}
    unsaid = [fact for fact in rest.values() if fact.fact_id not in said]
    return candidates + [_Candidate(None, (fact,), frozenset(_words("", [fact], analyzer))) for fact in unsaid]


def _words(text: str, facts: Sequence[Fact], analyzer: KeywordAnalyzer) -> set[str]:
    subjects = (fact.subject for fact in facts if fact.subject != SPEAKER)
    return analyzer.content_terms("\n".join([text, *subjects, *(fact.object for fact in facts)]))


def _match(
    candidate: _Candidate,
    target: ForgetTarget,
    weights: Mapping[str, float],
    rarest: float,
    analyzer: KeywordAnalyzer,
) -> Match:
    whole = sum(weights[word] for word in target.words)
    by_words = sum(weights[word] for word in target.words & candidate.words) / whole if whole else 0.0
    named = [fact for fact in candidate.facts if _is_named(fact, target, analyzer)]
    if named:
        whole = rarest + sum(weights[word] for word in target.terms)
        by_predicate = (rarest + sum(weights[word] for word in target.terms & candidate.words)) / whole
        if by_predicate >= by_words:
            return Match(candidate.memory, tuple(named), by_predicate)
    return Match(candidate.memory, tuple(named) or candidate.facts, by_words)


def _is_named(fact: Fact, target: ForgetTarget, analyzer: KeywordAnalyzer) -> bool:
    if fact.predicate not in target.predicates:
        return False
    return fact.subject == SPEAKER or not target.terms.isdisjoint(analyzer.content_terms(fact.subject))
