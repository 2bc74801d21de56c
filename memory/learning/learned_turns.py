"""Saves the entities and memories of entries of the raw log (DESIGN §3.6)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..entities.seeding import missing_seeds
from ..entities.statuses import log_restoration
from ..extraction.alias_patterns import AliasClaim, find_aliases
from ..extraction.assertions import Assertions, assertions_of
from ..extraction.junk import is_junk
from ..facts.statements import told_facts
from ..language.questions import only_asks
from ..ports.models.language import FactReader, FactRequest
from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity, EntitySource, raised_confidence
from ..values.ids import entity_id, memory_id
from ..values.records import Memory, MemoryKind, Resource, ResourceKind
from ..values.text import is_han, normalise
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import KNOWN_NAME, SEED_NAME, Mention
from ..values.understanding.readings import Intent, StatedFact
from .mention_targets import MentionTargets, find_mention_targets

_KNOWN_SOURCES = (KNOWN_NAME, SEED_NAME)
_TELLING = frozenset({Intent.STATEMENT, Intent.REMEMBER, Intent.CORRECTION, Intent.CONFIRM})
_SMALL_TALK = frozenset({Intent.GREETING, Intent.THANKS, Intent.CHITCHAT})
MIN_CONFIDENCE = 0.6
"""Mentions of lower confidence are used in the session but not learned."""
TURNS_BEFORE = 6
"""Turns of its session in which a message is read by `FactReader`."""


@dataclass(frozen=True)
class LearnedTurn:
    """A log entry with its extraction.

    Attributes:
        resource: The entry.
        extraction: What was found in it.
        previous: The entry before it in its session.
        replaces: The ids of the memories that hold no longer after it.
    """

    resource: Resource
    extraction: Extraction
    previous: Resource | None
    replaces: tuple[str, ...] = ()

    @property
    def forgets(self) -> bool:
        """Whether a message asks to forget something: nothing is learned from it, and it is never quoted."""
        is_message = self.resource.role is Role.USER and self.resource.kind is ResourceKind.TURN
        return is_message and Intent.FORGET in self.extraction.intents

    @property
    def may_state_facts(self) -> bool:
        """Whether a message of the user's is worth reading for facts: it is no small talk and no request to forget."""
        intents = self.extraction.intents
        return self.teaches_entities and not (intents and _SMALL_TALK.issuperset(intents))

    @property
    def is_said(self) -> bool:
        """Whether it is what the user said, and not only asked, nor asked to forget."""
        return self.teaches_entities and not only_asks(self.resource.content)

    @property
    def may_change(self) -> bool:
        """Whether something said before may hold no longer after it."""
        return self.is_said and self.extraction.may_change

    @property
    def remembers(self) -> bool:
        """Whether the user asks to remember something in this text."""
        return self.resource.role is Role.USER and any(intent.content for intent in self.extraction.remember)

    @property
    def points_back(self) -> bool:
        """Whether the user only asks to remember the previous entry ("記住這個")."""
        intents = self.extraction.remember if self.resource.role is Role.USER else ()
        return bool(intents) and not any(intent.content for intent in intents)

    @property
    def teaches_entities(self) -> bool:
        """Whether entities are learned from it: only from the user's own messages, but those that ask to forget."""
        return self.resource.role is Role.USER and not self.forgets

    @property
    def told_facts(self) -> list[StatedFact]:
        """The facts that it tells; see `memory.facts.statements.told_facts`."""
        return told_facts(self.resource.content, self.extraction)

    @property
    def tells(self) -> bool:
        """Whether it tells something, so that new names, aliases and relations are learned from it.

        A note does; a message where the reader finds so, or finds facts in a question or request, and not where it only
        chats. A message that was extracted without the reader does.
        """
        intents = self.extraction.intents
        is_free = not intents or self.resource.kind is not ResourceKind.TURN
        states_facts = bool(self.told_facts) and Intent.CHITCHAT not in intents
        return self.teaches_entities and (is_free or states_facts or not _TELLING.isdisjoint(intents))

    def mentions(self) -> list[tuple[str, Mention]]:
        """The mentions to learn, by entity id: names of the user's own messages from `MIN_CONFIDENCE`, without junk.

        A new name is learned only where the message tells something: not from a quotation in it, nor from a question in
        it unless a stated fact names it.
        """
        if not self.teaches_entities:
            return []
        assertions = assertions_of(self.resource.content)
        return [
            (mention.entity_id, mention)
            for mention in self.extraction.mentions
            if mention.entity_id
            and mention.confidence >= MIN_CONFIDENCE
            and not is_junk(mention.text)
            and (mention.source in _KNOWN_SOURCES or (self.tells and self._is_told(assertions, mention)))
        ]

    def aliases(self) -> list[AliasClaim]:
        """The aliases that the user states."""
        return find_aliases(self.resource.content, self.extraction.mentions) if self.tells else []

    def _is_told(self, assertions: Assertions, mention: Mention) -> bool:
        intents = self.extraction.intents
        may_ask = not intents or (Intent.QUESTION in intents and Intent.REMEMBER not in intents)
        is_asked = may_ask and assertions.asks(mention.start) and not self._states_fact_of(mention)
        is_character = len(mention.text) == 1 and is_han(mention.text)  # as a known name it would be found everywhere
        return not (is_asked or is_character or assertions.quotes(mention.start, mention.end))

    def _states_fact_of(self, mention: Mention) -> bool:
        spans = [span for fact in self.told_facts for span in (fact.subject, fact.object) if span]
        return any(span.turn is None and span.start < mention.end and mention.start < span.end for span in spans)


@dataclass(frozen=True)
class SavedEntities:
    """The saved entities of turns, the number of new ones, and the entity of each mention."""

    entities: tuple[Entity, ...]
    new: int
    targets: MentionTargets


async def with_facts(
    turns: Sequence[LearnedTurn], before: Sequence[Sequence[Resource]], reader: FactReader
) -> list[LearnedTurn]:
    """The turns with the facts of the reader, where it has them.

    Args:
        turns: As they were extracted.
        before: The entries before each in its session.
        reader: Reads those that may state facts.
    """
    asked = [place for place, turn in enumerate(turns) if turn.may_state_facts]
    found = await reader.read_facts(
        [
            FactRequest(text=turns[place].resource.content, turns=tuple(entry.as_turn() for entry in before[place]))
            for place in asked
        ]
    )
    read = list(turns)
    for place, facts in zip(asked, found, strict=True):
        if facts is not None:
            extraction = turns[place].extraction.model_copy(update={"facts": facts})
            read[place] = replace(turns[place], extraction=extraction)
    return read


async def save_entities(unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn]) -> SavedEntities:
    """Saves the entities of all mentions."""
    mentions = {id_: mention for turn in turns for id_, mention in turn.mentions()}
    targets = await find_mention_targets(unit, user_id, mentions)
    seeds = await missing_seeds(unit, user_id, at=turns[0].resource.created_at) if turns else []
    for seed in seeds:
        targets.set_entity(seed)
    await _join_aliases(unit, user_id, turns, targets)
    touched: dict[str, Entity] = {}
    new = 0
    for turn in turns:
        at, remembered = turn.resource.created_at, turn.remembers
        for id_, mention in turn.mentions():
            entity = targets.entity_of(id_)
            if entity is None:
                own = mention.model_copy(update={"entity_id": targets.ids[id_]})
                entity = first_mention(own, user_id=user_id, at=at, remembered=remembered)
                new += 1
            else:
                known = entity
                entity = mention_again(known, mention, at=at, remembered=remembered)
                await log_restoration(unit, known, entity, at=at)
            targets.set_entity(entity)
            touched[entity.entity_id] = entity
    await unit.entities.save([*(seed for seed in seeds if seed.entity_id not in touched), *touched.values()])
    return SavedEntities(tuple(touched.values()), new, targets)


async def _join_aliases(unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn], targets: MentionTargets) -> None:
    """Assigns the mentions of a new name that is stated as an alias to the entity that it is an alias of."""
    for turn in turns:
        for claim in turn.aliases():
            named = targets.ids.get(claim.mention.entity_id or "")
            alias = entity_id(user_id, claim.alias)
            if named is not None and alias in targets.ids and targets.entity_of(alias) is None:
                targets.ids[alias] = named


async def save_memories(unit: UnitOfWork, turns: Sequence[LearnedTurn], targets: MentionTargets) -> int:
    """Saves a memory of each entry; an entry that only says "remember this" marks the previous memory instead.

    A request to forget becomes no memory.
    """
    memories: dict[str, Memory] = {}
    for turn in turns:
        if turn.forgets:
            continue
        if turn.points_back:
            await _remember_previous(unit, turn, memories)
            continue
        memory = Memory.from_resource(
            turn.resource,
            context=turn.previous.content if turn.previous else None,
            entity_ids=tuple(dict.fromkeys(targets.ids[id_] for id_, _ in turn.mentions())),
            remembered=turn.remembers,
        )
        memories[memory.memory_id] = memory
    await unit.memories.save(list(memories.values()))
    return len(memories)


async def _remember_previous(unit: UnitOfWork, turn: LearnedTurn, memories: dict[str, Memory]) -> None:
    """Marks the session's last memory before this entry as remembered on request."""
    earlier = await unit.log.session(turn.resource.session_id, limit=4, before=turn.resource.sequence)
    for resource in reversed(earlier):
        if not resource.learn:
            continue
        id_ = memory_id(resource.user_id, resource.resource_id)
        stored = [memories[id_]] if id_ in memories else await unit.memories.get([id_])
        if stored:
            memories[id_] = stored[0].model_copy(update={"kind": MemoryKind.REMEMBERED, "confidence": 1.0})
            return


def mention_again(entity: Entity, mention: Mention, *, at: datetime, remembered: bool) -> Entity:
    """The entity after one more mention: the confidence never falls (001 §3.2), and an archived entity is restored.

    A mention found by its known name raises the confidence by a tenth of the distance to 1, one found by other evidence
    by more (`raised_confidence`).
    """
    return entity.mentioned_again(at).model_copy(
        update={
            "confidence": 1.0 if remembered else _reinforced(entity.confidence, mention),
            "subtype": entity.subtype or mention.subtype,
            "source": EntitySource.USER if remembered and entity.mention_count == 0 else entity.source,
        }
    )


def _reinforced(confidence: float, mention: Mention) -> float:
    return raised_confidence(confidence, 0.0 if mention.source == KNOWN_NAME else mention.confidence)


def first_mention(mention: Mention, *, user_id: str, at: datetime, remembered: bool) -> Entity:
    """The new entity of a mention."""
    return Entity(
        entity_id=mention.entity_id or entity_id(user_id, mention.text),
        user_id=user_id,
        entity_value=mention.text,
        normalised_value=normalise(mention.text),
        subtype=mention.subtype,
        confidence=1.0 if remembered else mention.confidence,
        source=EntitySource.USER if remembered else EntitySource.CONVERSATION,
        first_mentioned=at,
        last_mentioned=at,
        mention_count=1,
    )
