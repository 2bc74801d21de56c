"""Finds all that is known of someone or something, where that is asked for: no one line answers such a question."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from typing_extensions import override

from ..answering.evidence import may_answer
from ..extraction.comparable_text import ComparableText
from ..facts.relatives import find_relative, relation_words
from ..facts.statements import bare_name
from ..facts.validity import is_current
from ..language.keywords import KeywordAnalyzer
from ..language.messages.overviews import predicates_named, topic_terms
from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.entities import Entity
from ..values.errors import Unavailable
from ..values.facts import SPEAKER, Fact
from ..values.hits import SearchRequest, SearchResult
from ..values.predicates import CategoryName, category_of
from ..values.records import Memory
from ..values.text import fold_lower, has_han, normalise
from ..values.understanding.dialogue import Role
from .answers import PART
from .legs import matches_filter
from .ranking import memory_hit
from .retriever import is_found, log_degraded
from .validity import ValidityRetriever

_FIRST = (
    "name", "occupation", "works_at", "studies_at", "lives_in", "spouse", "partner", "child", "allergic_to",
    "condition", "medication", "pet", "hobby",
)  # fmt: skip
"""Predicates that say most of who somebody is."""
_MAX_SEARCHED = 1_000
"""Latest facts, and latest memories beside those that mention a named entity, among which is looked for what is known.
"""


class OverviewRetriever(Retriever):
    """Wraps a retriever: a request for an overview gets what is known of what it names, the latest first.

    That is, in this order: the entities and relatives that it names ("my sister"), with what states a fact of them or
    names them; the kinds of things that it names, with what states one of the user's and what is known of those that
    are someone; what has most of its other words; and where it has none, the user. What answers the request as a
    question is added to things of a kind, and from corpora. What nothing is known of has no answer.

    Args:
        retriever: Searches.
        record: Stores facts and memories.
        analyzer: Splits texts into terms.
    """

    def __init__(self, retriever: Retriever, *, record: SystemOfRecord, analyzer: KeywordAnalyzer) -> None:
        self._retriever = retriever
        self._known = ValidityRetriever(_KnownLines(record, analyzer), record=record, analyzer=analyzer)

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        if not request.overview:
            return await self._retriever.search(request)
        known = await self._search_known(request)
        if known.degraded or request.corpus_ids or predicates_named(request.query):
            return _together(known, await self._retriever.search(request), top_k=request.top_k)
        return known

    async def _search_known(self, request: SearchRequest) -> SearchResult:
        """What is known, without earlier requests for an overview, which validity tells."""
        known = await self._known.search(request)
        return known.model_copy(update={"hits": tuple(hit for hit in known.hits if not hit.only_asks)})


def _together(known: SearchResult, found: SearchResult, *, top_k: int) -> SearchResult:
    """What is known, then what else was found."""
    ids = {hit.id for hit in known.hits}
    hits = (*known.hits, *(hit for hit in found.hits if hit.id not in ids))
    degraded = tuple(dict.fromkeys((*known.degraded, *found.degraded)))
    unanswered = 0.0 if known.hits else found.unanswered
    return SearchResult(hits=hits[:top_k], unanswered=unanswered, degraded=degraded)


class _KnownLines(Retriever):
    """The memories of an overview; none while the record is down."""

    def __init__(self, record: SystemOfRecord, analyzer: KeywordAnalyzer) -> None:
        self._record = record
        self._analyzer = analyzer

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        try:
            async with self._record.reading(user_id=request.user_id) as unit:
                named = await self._named(unit, request.query)
                known = await _read_known(unit, request, named.ids if named else frozenset())
                found = self._find(request.query, named, known)
        except Unavailable as error:
            return SearchResult(degraded=(log_degraded("record", error),))
        hits = [
            memory_hit(memory, 1.0, {PART: 1.0, "overview": 1.0}).model_copy(update={"words": ""}) for memory in found
        ]
        answering = tuple(hit for hit in hits if may_answer(hit))[: request.top_k]
        return SearchResult(hits=answering, unanswered=0.0 if answering else 1.0)

    def _find(self, query: str, named: "_Named | None", known: "_Known") -> list[Memory]:
        predicates = predicates_named(query)
        if named is not None:
            facts = [fact for fact in known.facts if named.has(fact) and fact.predicate in predicates]
            return known.stating(facts) or known.about(named)
        own = [fact for fact in known.facts if fact.subject == SPEAKER]
        if predicates:
            facts = [fact for fact in own if fact.predicate in predicates]
            people = [
                _Named.by_fact(fact) for fact in facts if category_of(fact.predicate) is CategoryName.RELATIONSHIPS
            ]
            return _distinct([*known.stating(facts), *(line for one in people for line in known.about(one))])
        terms = topic_terms(query, self._analyzer)
        return known.sharing_most(terms, self._analyzer) if terms else known.stating(_one_of_each(own))

    async def _named(self, unit: UnitOfWork, query: str) -> "_Named | None":
        """The entities that a query names, and the user's relatives; None where it names none."""
        entities: list[Entity] = await unit.entities.found_in(query)
        names = {name for entity in entities for name in entity.names}
        for word in relation_words(query):
            names.add(word)
            relative = await find_relative(unit, word)
            if relative is not None:
                names.add(bare_name(relative.object))
                entities += await unit.entities.get([relative.object_id] if relative.object_id else [])
        if not names:
            return None
        return _Named(frozenset(map(normalise, names)), frozenset(entity.entity_id for entity in entities))


@dataclass(frozen=True)
class _Named:
    """How someone or something is called, normalised, and the ids of the entities that it is."""

    names: frozenset[str]
    ids: AbstractSet[str]

    @classmethod
    def by_fact(cls, fact: Fact) -> "_Named":
        """What a fact is about: its object."""
        ids = frozenset({fact.object_id} if fact.object_id else ())
        return cls(frozenset({normalise(bare_name(fact.object))}), ids)

    def has(self, fact: Fact) -> bool:
        """Whether a fact is about it."""
        return fact.subject_id in self.ids or normalise(bare_name(fact.subject)) in self.names

    def is_in(self, memory: Memory) -> bool:
        """Whether a memory names it."""
        if not self.ids.isdisjoint(memory.entity_ids):
            return True
        if not _has_any(memory, self.names):
            return False
        text = ComparableText(memory.resolved or memory.text)
        return any(next(text.find(name), None) is not None for name in self.names)


@dataclass(frozen=True)
class _Known:
    """What the record holds of a user now, latest first."""

    facts: Sequence[Fact]
    memories: Sequence[Memory]

    def stating(self, facts: Iterable[Fact]) -> list[Memory]:
        """The memories that state facts, in the order of the facts, no memory twice."""
        by_entry = {memory.resource_id: memory for memory in self.memories}
        entries = dict.fromkeys(entry for fact in facts for entry in (*fact.evidence[::-1], fact.resource_id))
        return [by_entry[entry] for entry in entries if entry in by_entry]

    def about(self, named: _Named) -> list[Memory]:
        """The memories that state a fact of it, then those that name it."""
        stating = self.stating(fact for fact in self.facts if named.has(fact))
        return _distinct([*stating, *filter(named.is_in, self.memories)])

    def sharing_most(self, terms: AbstractSet[str], analyzer: KeywordAnalyzer) -> list[Memory]:
        """The memories that have most of these terms."""
        parts = [term if has_han(term) else term[:-1] for term in terms]  # "ivi" is the stem of "Ivy"
        likely = [memory for memory in self.memories if _has_any(memory, parts)]  # to analyse a text takes longer
        shared = [len(terms & analyzer.content_terms(memory.resolved or memory.text)) for memory in likely]
        most = max(shared, default=0)
        return [memory for memory, count in zip(likely, shared, strict=True) if most and count == most]


async def _read_known(unit: UnitOfWork, request: SearchRequest, entity_ids: Iterable[str]) -> _Known:
    facts = [fact for fact in await unit.facts.list(limit=_MAX_SEARCHED) if is_current(fact, request.now)]
    memories = await unit.memories.recent(limit=_MAX_SEARCHED)
    mentioning = [memory for id_ in sorted(entity_ids) for memory in await unit.memories.mentioning(id_)]
    memories = sorted(_distinct([*memories, *mentioning]), key=lambda memory: memory.created_at, reverse=True)
    said = [
        memory
        for memory in memories
        if memory.role is Role.USER and matches_filter(memory, request.filters) and is_found(memory, request)
    ]
    return _Known(facts, said)


def _has_any(memory: Memory, parts: Iterable[str]) -> bool:
    """Whether the text of a memory has one of these folded parts anywhere."""
    folded = fold_lower(memory.resolved or memory.text)
    return any(part in folded for part in parts)


def _distinct(memories: Iterable[Memory]) -> list[Memory]:
    return list({memory.memory_id: memory for memory in memories}.values())


def _one_of_each(facts: Sequence[Fact]) -> list[Fact]:
    """Facts in turns, one of each predicate: an overview that is cut has something of everything.

    What says most of who somebody is comes first.
    """
    turns: dict[str, int] = {}
    ordered: list[tuple[int, int, int, Fact]] = []
    for place, fact in enumerate(facts):
        turns[fact.predicate] = turn = turns.get(fact.predicate, -1) + 1
        rank = _FIRST.index(fact.predicate) if fact.predicate in _FIRST else len(_FIRST)
        ordered.append((turn, rank, place, fact))
    return [fact for *_, fact in sorted(ordered, key=lambda item: item[:3])]
