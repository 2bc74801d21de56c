"""The persona memory: who the assistant is for each user (003 §2.1, §2.2).

What is given is one item of the record, each trait that was learned another, with the session that told it: where that
is erased, the trait goes as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from itertools import accumulate

import numpy as np
import structlog

from ..answering.answers import Assistant
from ..language.predicate_nouns import OTHER_NOUNS, PREDICATE_NOUNS
from ..language.written import Language
from ..ports.models.language import FloatMatrix, TextKind
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..prompting.checked_model import estimate_tokens
from ..values.base import utc_now
from ..values.errors import NotFound, Unavailable
from ..values.ids import derive_id
from ..values.items import ItemCollection, ItemPlace, StoredItem
from ..values.personas import DEFAULT_PERSONA, MAX_LEARNED, Persona, PersonaProfile, Trait
from ..values.text import normalise, to_simplified
from .persona_rules import Told, consolidated, with_told
from .state import RecalledPersona

RECALLED = 12
"""Learned traits that a prompt holds: where there are more, those nearest to the message."""
MAX_PERSONAS = 32
"""Personas of one user."""
MAX_TOKENS = 1_500
"""Of what a prompt says of a persona, as `estimate_tokens` has them."""
_PROFILE = "profile"
_LEARNED = "learned"
_PERSONAS = ItemCollection.PERSONAS
_log = structlog.get_logger(__name__)

Embed = Callable[[Sequence[str], TextKind], Awaitable[FloatMatrix]]
"""Encodes texts with the live model: an array of shape (texts, dimension), rows of length 1."""


class PersonaMemory:
    """Loads, learns and recalls personas.

    Args:
        record: Stores them.
        given: Personas that every user has until they have one of their own by this id, as a file of the settings has
            them.
        embed: Finds the traits that are near to a message; without it the surest are recalled.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        given: Sequence[PersonaProfile] = (),
        embed: Embed | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._given = {profile.persona_id: profile for profile in given}
        self._embed = embed
        self._now = now

    async def load(self, user_id: str, persona_id: str) -> Persona:
        """The persona; one that nobody has given is empty, so that it can be learned.

        Raises:
            StoreUnavailable: The record is down.
        """
        async with self._record.reading(user_id=user_id) as unit:
            return await self._read(unit, user_id, persona_id)

    async def assistant(self, user_id: str) -> Assistant:
        """Who replies where no persona is chosen: what is given of the default one; nobody while the record is down."""
        try:
            persona = await self.load(user_id, DEFAULT_PERSONA)
        except Unavailable as error:
            _log.warning("persona_skipped", error=error.message)
            return Assistant()
        return Assistant(name=next(iter(persona.names), ""), facts=persona.profile.facts)

    async def list(self, user_id: str) -> list[Persona]:
        """All personas of a user, those of the settings included, by id."""
        async with self._record.reading(user_id=user_id) as unit:
            items = await unit.items.page(_PERSONAS, limit=MAX_PERSONAS * (MAX_LEARNED + 1))
            ids = {item.namespace[0] for item in items} | set(self._given)
            return [await self._read(unit, user_id, id_) for id_ in sorted(ids)]

    async def save(self, user_id: str, profile: PersonaProfile) -> Persona:
        """Gives a persona in place of what was given before; what was learned stays, unless it contradicts."""
        now = self._now()
        async with self._record.writing(user_id=user_id) as unit:
            known = await self._read(unit, user_id, profile.persona_id)
            item = _item(user_id, _place(profile.persona_id), profile.model_dump(mode="json"), at=now)
            await unit.items.put([item])
            kept = [trait for trait in known.learned if not (profile.name and trait.predicate == "name")]
            await _write_learned(unit, known, kept, session_id=None, at=now)
            saved = await self._read(unit, user_id, profile.persona_id)
            await unit.commit()
        return saved

    async def delete(self, user_id: str, persona_id: str) -> int:
        """Removes what was given and learned of a persona; one of the settings is then as the settings have it.

        Returns:
            How many traits and profiles were removed.

        Raises:
            NotFound: The user has nothing of this persona.
        """
        async with self._record.writing(user_id=user_id) as unit:
            items = await unit.items.page(_PERSONAS, prefix=(persona_id,), limit=MAX_LEARNED + 1)
            removed = await unit.items.delete([item.place for item in items])
            await unit.commit()
        if not removed:
            raise NotFound(f"persona_id: nothing is stored of a persona {persona_id!r}")
        return removed

    async def learn(self, user_id: str, persona_id: str, told: Sequence[Told], *, session_id: str) -> Persona | None:
        """Keeps what a turn has told about a persona, once for each log entry; the persona where that changed it."""
        if not told:
            return None
        async with self._record.writing(user_id=user_id) as unit:
            known = await self._read(unit, user_id, persona_id)
            traits = with_told(known.learned, told, known.profile)
            if list(known.learned) == traits:
                return None
            await _write_learned(unit, known, traits, session_id=session_id, at=self._now())
            learned = await self._read(unit, user_id, persona_id)
            await unit.commit()
        return learned

    async def consolidate(self, user_id: str, now: datetime) -> int:
        """Joins traits that say the same and drops those that nobody has repeated for long; how many are gone."""
        gone = 0
        async with self._record.writing(user_id=user_id) as unit:
            items = await unit.items.page(_PERSONAS, limit=MAX_PERSONAS * (MAX_LEARNED + 1))
            for persona_id in sorted({item.namespace[0] for item in items}):
                known = await self._read(unit, user_id, persona_id)
                kept = consolidated(known.learned, now=now)
                gone += len(known.learned) - len(kept)
                await _write_learned(unit, known, kept, session_id=None, at=now)
            await unit.commit()
        return gone

    async def recall(self, user_id: str, persona_id: str, query: str, *, language: Language) -> RecalledPersona:
        """What a prompt says of a persona: all that is given, and of what was learned that nearest to the query.

        Raises:
            Unavailable: The record or the encoder is down.
            Overloaded: The encoder's queue is full.
        """
        persona = await self.load(user_id, persona_id)
        nearest = await self._nearest(persona.learned, query, language)
        return recalled_persona(persona.model_copy(update={"learned": tuple(nearest)}), language)

    async def _nearest(self, traits: Sequence[Trait], query: str, language: Language) -> Sequence[Trait]:
        if len(traits) <= RECALLED or self._embed is None:
            return traits[:RECALLED]
        lines = [trait_line(trait, language) for trait in traits]
        wanted, known = await asyncio.gather(self._embed([query], TextKind.QUERY), self._embed(lines, TextKind.PASSAGE))
        best = np.argsort(-(known @ wanted[0]), kind="stable")[:RECALLED]
        return [traits[place] for place in best]

    async def _read(self, unit: UnitOfWork, user_id: str, persona_id: str) -> Persona:
        items = await unit.items.page(_PERSONAS, prefix=(persona_id,), limit=MAX_LEARNED + 1)
        profile = self._given.get(persona_id, PersonaProfile(persona_id=persona_id))
        learned = []
        for item in items:
            if item.namespace == (persona_id,):
                profile = PersonaProfile.model_validate(item.value)
            else:
                learned.append(Trait.model_validate(item.value))
        return Persona(
            user_id=user_id,
            profile=profile,
            learned=tuple(sorted(learned, key=lambda trait: (-trait.confidence, trait.predicate, trait.object))),
            updated_at=max((item.updated_at for item in items), default=None),
        )


def recalled_persona(persona: Persona, language: Language) -> RecalledPersona:
    """A persona for a prompt: what is given, then the first of what was learned, as much as there is room for."""
    profile = persona.profile
    learned = [trait_line(trait, language) for trait in persona.learned[:RECALLED]]
    return RecalledPersona(
        persona_id=profile.persona_id,
        name=next(iter(persona.names), ""),
        names=list(persona.names),
        style=profile.style,
        state=profile.state,
        lines=_within([*profile.facts, *learned]),
    )


def trait_line(trait: Trait, language: Language) -> str:
    """A trait as a line of a prompt: `喜好：爵士樂`, "favourites: jazz"."""
    english, chinese = PREDICATE_NOUNS.get(trait.predicate, OTHER_NOUNS)
    if language is Language.ENGLISH:
        return f"{english}: {trait.object}"
    return f"{to_simplified(chinese) if language is Language.SIMPLIFIED_CHINESE else chinese}：{trait.object}"


def _within(lines: Sequence[str]) -> list[str]:
    """As many of the lines as a prompt has room for."""
    tokens = accumulate(map(estimate_tokens, lines))
    return [line for line, so_far in zip(lines, tokens, strict=True) if so_far <= MAX_TOKENS]


async def _write_learned(
    unit: UnitOfWork, known: Persona, traits: Iterable[Trait], *, session_id: str | None, at: datetime
) -> None:
    """Writes the traits that changed and deletes those that are gone; a trait keeps the session that told it first."""
    persona_id = known.profile.persona_id
    before = {_trait_place(persona_id, trait): trait for trait in known.learned}
    after = {_trait_place(persona_id, trait): trait for trait in traits}
    await unit.items.delete([place for place in before if place not in after])
    changed = {place: trait for place, trait in after.items() if before.get(place) != trait}
    sessions = {item.place: item.session_id for item in await unit.items.get(list(changed))}
    await unit.items.put(
        [
            _item(
                known.user_id,
                place,
                trait.model_dump(mode="json"),
                at=at,
                session_id=sessions.get(place, session_id),
            )
            for place, trait in changed.items()
        ]
    )


def _place(persona_id: str) -> ItemPlace:
    return ItemPlace(_PERSONAS, (persona_id,), _PROFILE)


def _trait_place(persona_id: str, trait: Trait) -> ItemPlace:
    key = derive_id("trait", persona_id, trait.predicate, normalise(trait.object))
    return ItemPlace(_PERSONAS, (persona_id, _LEARNED), key)


def _item(
    user_id: str, place: ItemPlace, value: dict[str, object], *, at: datetime, session_id: str | None = None
) -> StoredItem:
    return StoredItem.model_validate(
        {
            "user_id": user_id,
            **place._asdict(),
            "value": value,
            "created_at": at,
            "updated_at": at,
            "session_id": session_id,
        }
    )
