"""Hits with the validity of what they state, and in the place of what is out of date, what holds (002 §1.1)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from typing_extensions import override

from ..facts.asked_times import AskedTime, find_asked_time
from ..facts.statements import bare_name
from ..facts.validity import Standings, entries_instead, standings_of, validity_of
from ..language.keywords import KeywordAnalyzer
from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.errors import Unavailable
from ..values.facts import SPEAKER, Fact, Standing
from ..values.hits import Hit, HitKind, SearchRequest, SearchResult
from ..values.ids import memory_id
from ..values.periods import Period
from ..values.predicates import MANY_VALUED
from ..values.records import Memory
from ..values.text import normalise
from .legs import matches_filter
from .ranking import memory_hit
from .retriever import log_degraded

_MAX_TIMELINES = 16
"""So many subjects and predicates that the hits state are followed through time, best hits first."""
_MAX_FACTS = 200
"""So many facts of a subject and predicate are followed, the latest."""
_MAX_BESIDE = 5
"""So many further values of a many-valued predicate are added to the best hit that states one."""

_Timelines = Mapping[str, Sequence[Fact]]
"""By the id of a fact, all facts with its subject and predicate."""
_CODE = re.compile(r"(?=.*\d).*[^\W\d_]")


class _Others(NamedTuple):
    """The log entries that state what takes the place of a memory, and those that belong beside it."""

    instead: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


class ValidityRetriever(Retriever):
    """Wraps a retriever: says of each memory how the facts that it states stand, and adds what is to be said instead.

    The memory that states what holds comes before the one whose place it takes, however badly it matched itself
    (`Hit.instead_of`); what contradicts a hit, and the other values of a many-valued predicate that is asked about,
    come right behind it. Where the query asks about an earlier time, what held then comes in the place of what holds
    now. A query with a code (ZX0002-77) that a memory holds is about that memory: nothing takes its place.

    Args:
        retriever: Finds the hits.
        record: Stores facts and memories; while it is down hits are as they were found, with `record` in `degraded`.
        analyzer: Splits texts into terms.
    """

    def __init__(self, retriever: Retriever, *, record: SystemOfRecord, analyzer: KeywordAnalyzer) -> None:
        self._retriever = retriever
        self._record = record
        self._analyzer = analyzer

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        result = await self._retriever.search(request)
        if all(hit.kind is not HitKind.MEMORY for hit in result.hits):
            return result
        try:
            async with self._record.reading(user_id=request.user_id) as unit:
                hits = await self._annotated(unit, request, result.hits)
        except Unavailable as error:
            degraded = (*result.degraded, log_degraded("record", error))
            return result.model_copy(update={"degraded": tuple(dict.fromkeys(degraded))})
        return result.model_copy(update={"hits": tuple(hits[: request.top_k])})

    async def _annotated(self, unit: UnitOfWork, request: SearchRequest, hits: Sequence[Hit]) -> list[Hit]:
        found = await unit.memories.get([hit.id for hit in hits if hit.kind is HitKind.MEMORY])
        memories = {memory.memory_id: memory for memory in found}
        timelines, asking = await _timelines(unit, list(memories.values()))
        asked = await _resolved(unit, find_asked_time(request.query, request.now), request)
        standings: Standings = {}
        for timeline in timelines:
            standings |= standings_of(timeline, asked, request.now)
        stated = _facts_by_entry(timelines)
        timeline_of = {fact.fact_id: timeline for timeline in timelines for fact in timeline}
        codes = {term for term in self._analyzer.terms(request.query) if _CODE.match(term)}
        others = {
            id_: self._others(
                request.query,
                memory,
                stated[memory.resource_id],
                timeline_of,
                standings,
                replaced_by=memory.replaced_by if asked is None else None,
            )
            for id_, memory in memories.items()
            if not codes or codes.isdisjoint(self._analyzer.terms(memory.text))
        }
        wanted = {
            memory_id(request.user_id, entry): entry
            for entries in others.values()
            for entry in (*entries.instead, *entries.beside)
        }
        added = await unit.memories.get([id_ for id_ in wanted if id_ not in memories])
        memories |= {memory.memory_id: memory for memory in added if matches_filter(memory, request.filters)}
        ranked = _with_others(hits, memories, others)
        entries = {memory.resource_id for memory in memories.values()}
        changed = await _changed(unit, stated)
        return [
            hit.model_copy(
                update={
                    "only_asks": memories[hit.id].resource_id in asking,
                    "is_replaced": asked is None and memories[hit.id].replaced_by in entries,
                    "validity": tuple(
                        validity_of(fact, standings[fact.fact_id], changed=changed.get(fact.doubted_by or ""))
                        for fact in stated[memories[hit.id].resource_id]
                    ),
                }
            )
            if hit.id in memories
            else hit
            for hit in ranked
        ]

    def _others(
        self,
        query: str,
        memory: Memory,
        facts: Sequence[Fact],
        timeline_of: _Timelines,
        standings: Standings,
        *,
        replaced_by: str | None,
    ) -> _Others:
        instead = [replaced_by] if replaced_by else []
        beside: list[str] = []
        for fact in facts:
            timeline = timeline_of[fact.fact_id]
            if standings[fact.fact_id] is Standing.OUTDATED:
                entries = entries_instead(fact, timeline, standings)
                instead += entries[:1]
                beside += entries[1:]
                continue
            beside += [rival.resource_id for rival in timeline if rival.fact_id in fact.conflicts_with]
            if fact.predicate in MANY_VALUED and self._asks_for_values(query, memory, timeline):
                alike = [other for other in timeline if standings[other.fact_id] is standings[fact.fact_id]]
                beside += [other.resource_id for other in alike][:_MAX_BESIDE]
        return _Others(
            tuple(entry for entry in dict.fromkeys(instead) if entry != memory.resource_id),
            tuple(entry for entry in dict.fromkeys(beside) if entry not in {memory.resource_id, *instead}),
        )

    def _asks_for_values(self, query: str, memory: Memory, timeline: Iterable[Fact]) -> bool:
        """Whether a query shares words with a memory other than the values of these facts, and names none of them."""
        asked = self._analyzer.content_terms(query)
        values = [self._analyzer.content_terms(bare_name(fact.object)) for fact in timeline]
        shared = asked & self._analyzer.content_terms(memory.text)
        return bool(shared) and not any(value and value <= asked for value in values)


async def _timelines(unit: UnitOfWork, memories: Sequence[Memory]) -> tuple[list[list[Fact]], AbstractSet[str]]:
    """All facts of each subject and predicate of which the memories state one, and the entries that only ask.

    A memory that only says again what another one said first, or only asks, is known by what was understood of it.
    """
    entries = [memory.resource_id for memory in memories]
    first_stated = await unit.facts.stated_in(entries)
    rank = {entry: position for position, entry in enumerate(entries)}
    statements = [
        (fact.subject, fact.predicate) for fact in sorted(first_stated, key=lambda fact: rank[fact.resource_id])
    ]
    others = set(entries) - {fact.resource_id for fact in first_stated}
    asking = set()
    for resource in await unit.log.get([entry for entry in entries if entry in others]):
        if resource.understanding is None:
            continue
        if resource.understanding.only_asks:
            asking.add(resource.resource_id)
        statements += [
            (bare_name(fact.subject.text) if fact.subject else SPEAKER, fact.predicate)
            for fact in resource.understanding.facts
        ]
    timelines: dict[tuple[str, str], list[Fact]] = {}
    for subject, predicate in statements:
        key = (normalise(subject), predicate)
        if key not in timelines and len(timelines) < _MAX_TIMELINES:
            timelines[key] = await unit.facts.history(subject, predicate, limit=_MAX_FACTS)
    return list(timelines.values()), asking


async def _resolved(unit: UnitOfWork, asked: AskedTime | None, request: SearchRequest) -> AskedTime | None:
    """The time that is asked about, with the period before a change filled in where that is known."""
    if asked is None or not asked.changed:
        return asked
    ended = [
        fact
        for predicate in sorted(asked.changed)
        for fact in await unit.facts.history(SPEAKER, predicate)
        if fact.ending is not None and fact.valid_to is not None and fact.valid_to <= request.now
    ]
    if not ended:
        return AskedTime()
    last = max(ended, key=lambda fact: fact.valid_to or request.now)
    return AskedTime(Period(last.valid_from, last.valid_to))


async def _changed(unit: UnitOfWork, stated: Mapping[str, Sequence[Fact]]) -> dict[str, Fact]:
    """By id, the facts whose end put one of these in doubt."""
    ids = {fact.doubted_by for facts in stated.values() for fact in facts if fact.doubted_by is not None}
    return {fact.fact_id: fact for fact in await unit.facts.get_many(sorted(ids))}


def _facts_by_entry(timelines: Iterable[Sequence[Fact]]) -> dict[str, list[Fact]]:
    """The facts that each log entry states, for the first time or again."""
    stated: dict[str, list[Fact]] = defaultdict(list)
    for timeline in timelines:
        for fact in timeline:
            for entry in dict.fromkeys((fact.resource_id, *fact.evidence)):
                stated[entry].append(fact)
    return stated


def _with_others(hits: Sequence[Hit], memories: Mapping[str, Memory], others: Mapping[str, _Others]) -> list[Hit]:
    """The hits, each between the memories that take its place and those that belong beside it; no memory twice."""
    by_entry = {memory.resource_id: memory for memory in memories.values()}
    given = {hit.id: hit for hit in hits}
    ranked: dict[str, Hit] = {}

    def add(entries: Iterable[str], hit: Hit) -> None:
        for memory in filter(None, map(by_entry.get, entries)):
            own = ranked.get(memory.memory_id) or given.get(memory.memory_id)
            if own is None or own.score < hit.score:
                own = memory_hit(memory, hit.score, hit.parts)
            ranked[memory.memory_id] = own.model_copy(update={"instead_of": own.instead_of or hit.text})

    for hit in hits:
        instead, beside = others.get(hit.id, _Others())
        add(instead, hit)
        ranked.setdefault(hit.id, hit)
        add(beside, hit)
    return list(ranked.values())
