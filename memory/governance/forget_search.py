"""Finds what a request to forget means, and everything that quotes it; reads only."""

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..facts.relatives import find_relative
from ..facts.statements import bare_name
from ..language.keywords import KeywordAnalyzer
from ..ports.models.answer_reading import AnswerReader
from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity
from ..values.facts import SPEAKER, Fact, FactStatus
from ..values.governance.forgetting import ForgetOutcome, ForgetRequest, Forgettable
from ..values.ids import memory_id, reply_id
from ..values.predicates import ONE_VALUED
from ..values.records import Memory, Resource
from ..values.text import fold_lower, normalise
from ..values.understanding.dialogue import Role
from ..values.understanding.mentions import KNOWN_NAME
from ..values.understanding.readings import OVER, Intent
from .forget_choices import choose
from .forget_matches import Match, best_matches, match_words, weigh_together
from .forget_parts import Rest, find_rests
from .forget_reading import read_matches
from .forget_targets import STATES, ForgetTarget, find_target

MAX_SEARCHED = 2_000
"""Latest facts and memories in which is looked for what is meant."""
MAX_OPTIONS = 5
"""So many things a question names; where there are more, the latest."""
_MIN_QUOTE = 3
_MIN_QUOTED_TEXT = 6
_SHOWN = 24
_MAX_NAMED = 2
"""Statements of a message that are named; one of more is named by its date."""
_RECENT_TURNS = 8
_PAGE = 256
_PEOPLE = frozenset({"spouse", "partner"})
"""Predicates that a word for someone names: "my wife" is a person as well."""
_NUMBER = re.compile(r"[A-Za-z]*\d[\w-]*")


@dataclass(frozen=True)
class Meant:
    """What a request to forget means.

    Args:
        outcome: REMOVED where there is something to remove.
        things: What is meant, as it can be named; with WHICH the things to choose from.
        facts: Facts of any status.
        memories: Memories of what was said.
        entities: Entities that are forgotten altogether.
        messages: The log entries that stated or quote it, replies included.
        rests: What stays of them.
    """

    outcome: ForgetOutcome
    things: tuple[Forgettable, ...] = ()
    facts: tuple[Fact, ...] = ()
    memories: tuple[Memory, ...] = ()
    entities: tuple[Entity, ...] = ()
    messages: tuple[Resource, ...] = ()
    rests: tuple[Rest, ...] = ()


NOT_FOUND = Meant(ForgetOutcome.NOT_FOUND)


async def find_meant(
    unit: UnitOfWork, request: ForgetRequest, *, analyzer: KeywordAnalyzer, reader: AnswerReader | None = None
) -> Meant | None:
    """Finds what a message asks to forget; None where it does not ask for that.

    Args:
        unit: Of the user.
        request: The message, and what the last reply asked about.
        analyzer: Splits texts into terms.
        reader: Reads which memories the message is about; without it, or while it is away, their words alone tell.
    """
    if request.options and (picked := await _picked(unit, request, analyzer)) is not None:
        return picked
    if Intent.FORGET not in request.extraction.intents:
        return None
    target = find_target(request.message.content, analyzer)
    states = _states(request)
    if target.points_back:
        if states:
            return Meant(ForgetOutcome.NOT_KEPT)
        if target.is_whole:
            return Meant(ForgetOutcome.EVERYTHING)
        resolved = find_target(request.message.resolved or "", analyzer)
        meant = NOT_FOUND if resolved.points_back else await _search(unit, request, resolved, analyzer, reader)
        is_found = meant.outcome is ForgetOutcome.REMOVED
        return await _with_quotes(unit, meant if is_found else await _said_before(unit, request.message))
    meant = await _search(unit, request, target, analyzer, reader)
    if states and meant.outcome is ForgetOutcome.NOT_FOUND:
        return Meant(ForgetOutcome.NOT_KEPT)
    return await _with_quotes(unit, meant)


async def _search(
    unit: UnitOfWork,
    request: ForgetRequest,
    target: ForgetTarget,
    analyzer: KeywordAnalyzer,
    reader: AnswerReader | None,
) -> Meant:
    """What a target means: known entities, else what matches it best of what was said or given.

    Where the message may be no request, what is found is asked about first.
    """
    facts = [fact for fact in await unit.facts.list(status=None, limit=MAX_SEARCHED) if not _is_deleted(fact)]
    recent = await unit.memories.recent(limit=MAX_SEARCHED)
    memories = [memory for memory in recent if memory.resource_id != request.message.resource_id]
    named = await _named(unit, request, target, analyzer)
    if named and request.extraction.forgets_surely:
        return _all_about(named, facts, memories)
    matches = match_words(target, facts, memories, analyzer)
    by_words = best_matches(matches, target)
    read = await read_matches(matches, request, target, reader=reader) if reader else None
    found = by_words if read is None else weigh_together(read, by_words, everything=target.everything)
    if not found.matches:  # what was given and never said is not read
        found = best_matches([match for match in matches if match.memory is None], target)
    if not found.matches:
        return NOT_FOUND
    groups = _by_meaning(found.matches)
    is_one = len(groups) == 1 and by_words.is_sure and (found.is_read or found.is_sure)
    is_clear = is_one or (found.is_sure and (found.is_read or target.everything))
    if not (is_clear and request.extraction.forgets_surely):
        is_said = _states(request) and not found.is_read  # words alone tell it from what is there too poorly
        return NOT_FOUND if is_said else _which(map(_as_option, groups))
    meant_facts = [fact for match in found.matches for fact in _with_former_values(match.facts, facts, target)]
    of_facts = _meant_facts(list({fact.fact_id: fact for fact in meant_facts}.values()), memories)
    stating = {memory.memory_id for memory in of_facts.memories}
    more = [match.memory for match in found.matches if match.memory and match.memory.memory_id not in stating]
    memories = [*of_facts.memories, *more]
    rests = await find_rests(unit, request, target, memories, of_facts.facts, reader=reader) if reader else []
    staying = {fact.fact_id for rest in rests for fact in rest.facts}
    facts = [fact for fact in facts if fact.fact_id not in staying]
    gone = [(match.memory, _gone_with(match, facts)) for match in found.matches]
    told = [memory for memory, stated in gone if memory and not _names_briefly(stated)]
    things = _things_of([fact for _, stated in gone if _names_briefly(stated) for fact in stated], told)
    removed = tuple(fact for fact in of_facts.facts if fact.fact_id not in staying)
    return Meant(ForgetOutcome.REMOVED, things, removed, tuple(memories), rests=tuple(rests))


async def _picked(unit: UnitOfWork, request: ForgetRequest, analyzer: KeywordAnalyzer) -> Meant | None:
    """What the message picks of the things that the last reply asked about; None where it picks none."""
    if Intent.QUESTION in request.extraction.intents or request.extraction.facts:
        return None
    options: list[tuple[list[Fact], list[Memory]]] = []
    for ids in request.options:
        facts = [fact for fact in await unit.facts.get_many(ids) if not _is_deleted(fact)]
        options.append((facts, await unit.memories.get(ids)))
    described = [
        " ".join([*(f"{fact.subject} {fact.object}" for fact in facts), *(memory.text for memory in memories)])
        for facts, memories in options
    ]
    places = choose(request.message.content, described, analyzer)
    if places is None:
        return None
    if not places:
        return Meant(ForgetOutcome.KEPT)
    picked_facts = [fact for place in places for fact in options[place][0]]
    picked_memories = [memory for place in places for memory in options[place][1]]
    if not picked_facts and not picked_memories:
        return NOT_FOUND
    recent = await unit.memories.recent(limit=MAX_SEARCHED)
    of_facts = _meant_facts(picked_facts, recent)
    more = tuple(memory for memory in picked_memories if memory not in of_facts.memories)
    named = [fact for place in places if not options[place][1] for fact in options[place][0]]
    both = Meant(ForgetOutcome.REMOVED, _things_of(named, picked_memories), of_facts.facts, (*of_facts.memories, *more))
    return await _with_quotes(unit, both)


async def _said_before(unit: UnitOfWork, message: Resource) -> Meant:
    """The user's last message of the session before this one, with what was learned of it.

    Where that only asked, the facts and memories that the reply to it quoted.
    """
    turns = await unit.log.session(message.session_id, limit=_RECENT_TURNS, before=message.sequence or None)
    said = [turn for turn in turns if turn.role is Role.USER and turn.learn and not _asks_to_forget(turn)]
    if not said:
        return NOT_FOUND
    last = said[-1]
    stored = [fact for fact in await unit.facts.list(status=None, limit=MAX_SEARCHED) if not _is_deleted(fact)]
    facts = _stated_in(last.resource_id, stored)
    memories = await unit.memories.get([memory_id(last.user_id, last.resource_id)])
    thing = Forgettable(ids=(*(fact.fact_id for fact in facts), *(memory.memory_id for memory in memories)))
    if facts or last.understanding is None or Intent.QUESTION not in last.understanding.intents:
        return Meant(ForgetOutcome.REMOVED, (thing,), tuple(facts), tuple(memories)) if thing.ids else NOT_FOUND
    replies = await unit.log.get([reply_id(last.user_id, last.session_id, last.resource_id)])
    reply = normalise("\n".join(reply.content for reply in replies))
    recent = await unit.memories.recent(limit=MAX_SEARCHED)
    quoted = [memory for memory in recent if _is_long(memory.text) and normalise(memory.text) in reply]
    sources = {memory.resource_id for memory in quoted}
    answered = [fact for fact in stored if not sources.isdisjoint((fact.resource_id, *fact.evidence))]
    if answered:
        return _meant_facts(answered, recent)
    return Meant(ForgetOutcome.REMOVED, tuple(map(_of_memory, quoted)), (), tuple(quoted)) if quoted else NOT_FOUND


async def _named(
    unit: UnitOfWork, request: ForgetRequest, target: ForgetTarget, analyzer: KeywordAnalyzer
) -> list[Entity]:
    """The known entities that are meant altogether: everything about them, or nothing but their names is said."""
    if target.is_own and target.predicates <= _PEOPLE:
        relatives = {word: fact for word in target.words if (fact := await find_relative(unit, word))}
        named = {fact.object_id for fact in relatives.values() if fact.object_id}
        if len(named) == 1 and target.terms <= relatives.keys():
            return await unit.entities.get([*named])
    if target.predicates:
        return []
    mentions = request.extraction.mentions
    meant = [mention for mention in mentions if any(fold_lower(mention.text) in clause for clause in target.asking)]
    ids = [mention.entity_id for mention in meant if mention.source == KNOWN_NAME and mention.entity_id]
    found = await unit.entities.get(list(dict.fromkeys(ids)))
    words = {term for entity in found for name in entity.names for term in analyzer.content_terms(name)}
    return found if target.everything or target.terms <= words else []


def _all_about(entities: Sequence[Entity], facts: Iterable[Fact], memories: Iterable[Memory]) -> Meant:
    ids = {entity.entity_id for entity in entities}
    names = {normalise(name) for entity in entities for name in entity.names}
    about = [
        fact
        for fact in facts
        if not ids.isdisjoint({fact.subject_id, fact.object_id})
        or not names.isdisjoint({normalise(fact.subject), normalise(fact.object)})
    ]
    mentioning = [
        memory
        for memory in memories
        if not ids.isdisjoint(memory.entity_ids) or any(name in normalise(memory.text) for name in names)
    ]
    things = tuple(Forgettable(ids=(entity.entity_id,), name=entity.entity_value) for entity in entities)
    return Meant(ForgetOutcome.REMOVED, things, tuple(about), tuple(mentioning), tuple(entities))


def _by_meaning(matches: Sequence[Match]) -> list[list[Match]]:
    """Matches by what they tell of: those that state the same subject and predicate are one thing."""
    groups: dict[object, list[Match]] = {}
    for match in matches:
        stated = frozenset(map(_statement, match.facts))
        key = stated or (match.memory.memory_id if match.memory else None)
        groups.setdefault(key, []).append(match)
    return list(groups.values())


def _as_option(group: Sequence[Match]) -> Forgettable:
    facts = list({fact.fact_id: fact for match in group for fact in match.facts}.values())
    memory = next((match.memory for match in group if match.memory), None)
    if memory and len(_by_statement(facts)) != 1:
        ids = (*(fact.fact_id for fact in facts), memory.memory_id)
        return _of_memory(memory, quoted=True).model_copy(update={"ids": ids})
    return _of_facts(facts)


def _with_former_values(stated: Sequence[Fact], facts: Iterable[Fact], target: ForgetTarget) -> list[Fact]:
    """Facts, with every other value that those had which the request names by their predicate."""
    named = target.predicates & ONE_VALUED
    statements = {_statement(fact) for fact in stated if fact.predicate in named}
    ids = {fact.fact_id for fact in stated}
    return [fact for fact in facts if fact.fact_id in ids or _statement(fact) in statements]


def _meant_facts(facts: Sequence[Fact], memories: Iterable[Memory]) -> Meant:
    """Facts, with the memories that stated them, or quote their values beside what they are values of."""
    quotes = _Quotes(facts=facts)
    quoting = [memory for memory in memories if memory.resource_id in quotes.stated or quotes.values_in(memory.text)]
    return Meant(ForgetOutcome.REMOVED, _things_of(facts), tuple(facts), tuple(quoting))


async def _with_quotes(unit: UnitOfWork, meant: Meant) -> Meant:
    """What is meant, with the entries of the log that stated or quote it."""
    if meant.outcome is not ForgetOutcome.REMOVED:
        return meant
    quotes = _Quotes(facts=meant.facts, memories=meant.memories, entities=meant.entities)
    messages: dict[str, Resource] = {}
    replies: set[str] = set()
    async for resource in _log_of(unit):
        if resource.resource_id in quotes.stated:
            replies.add(reply_id(resource.user_id, resource.session_id, resource.resource_id))
        elif resource.resource_id not in replies and not quotes.are_in(resource):
            continue
        messages[resource.resource_id] = resource
    known = {memory.memory_id for memory in meant.memories}
    quoting = [memory_id(resource.user_id, resource.resource_id) for resource in messages.values()]
    more = await unit.memories.get([id_ for id_ in quoting if id_ not in known])
    return replace(meant, memories=(*meant.memories, *more), messages=tuple(messages.values()))


async def _log_of(unit: UnitOfWork) -> AsyncIterator[Resource]:
    after: int | None = None
    while page := await unit.log.page(after=after, limit=_PAGE):
        for resource in page:
            yield resource
        after = page[-1].sequence


class _Quotes:
    """Recognises what quotes something that is to be forgotten."""

    def __init__(
        self, *, facts: Sequence[Fact] = (), memories: Sequence[Memory] = (), entities: Sequence[Entity] = ()
    ) -> None:
        self.stated: AbstractSet[str] = {id_ for fact in facts for id_ in (fact.resource_id, *fact.evidence)} | {
            memory.resource_id for memory in memories
        }
        self._values = {fold_lower(fact.object): fold_lower(bare_name(fact.subject)) for fact in facts}
        self._texts = {normalise(memory.text) for memory in memories if _is_long(memory.text)}
        self._names = {normalise(name) for entity in entities for name in entity.names}

    def values_in(self, text: str) -> bool:
        """Whether a text has the value of a fact: one with digits in any text, another beside what it is a value of."""
        folded = fold_lower(text)
        return any(
            len(value) >= _MIN_QUOTE and value in folded and (_has_digit(value) or subject in folded)
            for value, subject in self._values.items()
        )

    def are_in(self, resource: Resource) -> bool:
        """Whether a log entry quotes it: a value, the name of an entity, in a reply a whole memory, in Jiyi's own any
        value, since it says it without what it is a value of.
        """
        text, folded = normalise(resource.content), fold_lower(resource.content)
        is_quoted = resource.role is Role.ASSISTANT and any(quoted in text for quoted in self._texts)
        is_answer = resource.role is Role.ASSISTANT and not resource.learn
        is_quoted = is_quoted or (is_answer and any(value in folded for value in self._values))
        return is_quoted or self.values_in(resource.content) or any(name in text for name in self._names)


def _states(request: ForgetRequest) -> bool:
    """Whether the message states something itself, which is then not to be kept: "rent went up, don't store it"."""
    states = any(set(OVER).isdisjoint(fact.qualifiers) for fact in request.extraction.facts)
    return states or not STATES.isdisjoint(request.extraction.intents)


def _which(options: Iterable[Forgettable]) -> Meant:
    return Meant(ForgetOutcome.WHICH, tuple(options)[:MAX_OPTIONS])


def _things_of(facts: Iterable[Fact], memories: Iterable[Memory] = ()) -> tuple[Forgettable, ...]:
    return (*map(_of_facts, _by_statement(facts)), *map(_of_memory, memories))


def _gone_with(match: Match, facts: Sequence[Fact]) -> Sequence[Fact]:
    """Of these facts those that are meant, and behind them the others of the message."""
    stated = _stated_in(match.memory.resource_id, facts) if match.memory else []
    return [*(fact for fact in match.facts if fact in facts), *(fact for fact in stated if fact not in match.facts)]


def _stated_in(entry: str, facts: Iterable[Fact]) -> list[Fact]:
    """The facts that an entry of the log states."""
    return [fact for fact in facts if entry in (fact.resource_id, *fact.evidence)]


def _names_briefly(facts: Sequence[Fact]) -> bool:
    """Whether facts can be named instead of what stated them."""
    return 0 < len(_by_statement(facts)) <= _MAX_NAMED


def _of_facts(facts: Sequence[Fact]) -> Forgettable:
    subject = None if facts[0].subject == SPEAKER else facts[0].subject
    return Forgettable(ids=tuple(fact.fact_id for fact in facts), subject=subject, predicate=facts[0].predicate)


def _of_memory(memory: Memory, *, quoted: bool = False) -> Forgettable:
    shown = " ".join(_NUMBER.sub("…", memory.text).split())
    quote = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return Forgettable(ids=(memory.memory_id,), said_at=memory.created_at, quote=quote if quoted else None)


def _by_statement(facts: Iterable[Fact]) -> list[list[Fact]]:
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(_statement(fact), []).append(fact)
    return list(groups.values())


def _statement(fact: Fact) -> tuple[str, str]:
    return normalise(bare_name(fact.subject)), fact.predicate


def _is_long(text: str) -> bool:
    return len(text) >= _MIN_QUOTED_TEXT


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _asks_to_forget(turn: Resource) -> bool:
    return turn.understanding is not None and Intent.FORGET in turn.understanding.intents


def _is_deleted(fact: Fact) -> bool:
    return fact.status is FactStatus.DELETED
