"""Facts that say the same, or about the same, become one; the others are archived (002 §5.1, §5.2)."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ..language.wording import fact_sentence, language_of
from ..ports.models.language import Encoder, Priority, TextKind
from ..ports.stores.record import SystemOfRecord
from ..typed_memories.bands import SimilarityBands
from ..typed_memories.identifiers import are_distinct
from ..values.facts import Fact, FactStatus
from ..values.text import normalise
from ..values.understanding.readings import Qualifier
from .decay import MaintenanceRules

MAX_COMPARED = 200
"""So many facts of one subject and predicate are compared with each other, the latest recorded."""

_PAGE = 256


async def merge_duplicates(record: SystemOfRecord, user_id: str, *, now: datetime) -> int:
    """Merges active facts of equal subject, predicate and object; returns how many were archived.

    Raises:
        StoreUnavailable: The record is down; finished groups stay merged.
    """
    async with record.reading(user_id=user_id) as unit:
        duplicates = await unit.facts.list_duplicates()
    groups = [
        [fact.fact_id for fact in group if frozenset(fact.qualifiers) == qualifiers]
        for group in duplicates
        for qualifiers in dict.fromkeys(frozenset(fact.qualifiers) for fact in group)
    ]
    return await _merge(record, user_id, groups, now=now)


class SimilarFacts:
    """Finds facts that say about the same of one subject by one predicate.

    A cosine alone shows no paraphrase (`SimilarityBand`), so values that may name two things are never merged, nor is
    anything of a lasting predicate (allergies).

    Args:
        encoder: Encodes the facts' sentences.
        bands: Calibrated for the encoder.
    """

    def __init__(self, *, encoder: Encoder, bands: SimilarityBands) -> None:
        self._encoder = encoder
        self._bands = bands

    async def groups(self, facts: Sequence[Fact]) -> list[list[str]]:
        """Ids of facts that say about the same, from facts of one subject and predicate; surest first in each group.

        Raises:
            Unavailable: The encoder is away.
        """
        ranked = sorted(facts, key=lambda fact: (-fact.confidence, fact.recorded_at, fact.fact_id))
        if all(
            are_distinct(left.object, right.object) for index, left in enumerate(ranked) for right in ranked[:index]
        ):
            return []
        language = language_of(ranked)
        sentences = [fact_sentence(fact, language) for fact in ranked]
        vectors = await self._encoder.encode(sentences, kind=TextKind.PASSAGE, priority=Priority.BATCH)
        groups: list[list[int]] = []
        for index, fact in enumerate(ranked):
            for group in groups:
                kept = ranked[group[0]]
                threshold = self._bands.of(sentences[index], sentences[group[0]]).duplicate
                is_close = float(np.dot(vectors[index], vectors[group[0]])) >= threshold
                if is_close and not are_distinct(kept.object, fact.object):
                    group.append(index)
                    break
            else:
                groups.append([index])
        return [[ranked[index].fact_id for index in group] for group in groups if len(group) > 1]


async def merge_similar(
    record: SystemOfRecord, user_id: str, *, similar: SimilarFacts, rules: MaintenanceRules, now: datetime
) -> int:
    """Merges active facts that say about the same; returns how many were archived.

    Raises:
        StoreUnavailable: The record is down; finished groups stay merged.
        Unavailable: The encoder is away.
    """
    by_statement: dict[tuple[str, str, frozenset[Qualifier]], list[tuple[datetime, str]]] = defaultdict(list)
    after = None
    while True:
        async with record.reading(user_id=user_id) as unit:
            page = await unit.facts.page(after=after, limit=_PAGE)
        for fact in page:
            if fact.status is FactStatus.ACTIVE and fact.predicate not in rules.lasting:
                key = normalise(fact.subject), normalise(fact.predicate), frozenset(fact.qualifiers)
                by_statement[key].append((fact.recorded_at, fact.fact_id))
        if not page:
            break
        after = page[-1].fact_id
    merged = 0
    for recorded in by_statement.values():
        if len(recorded) > 1:
            async with record.reading(user_id=user_id) as unit:
                facts = await unit.facts.get_many([fact_id for _, fact_id in sorted(recorded)[-MAX_COMPARED:]])
            merged += await _merge(record, user_id, await similar.groups(facts), now=now)
    return merged


async def _merge(record: SystemOfRecord, user_id: str, groups: Sequence[Sequence[str]], *, now: datetime) -> int:
    """Merges groups of ids into the first of each, as far as they are active still; some groups to a transaction."""
    merged = 0
    for first in range(0, len(groups), _PAGE):
        async with record.writing(user_id=user_id) as unit:
            for ids in groups[first : first + _PAGE]:
                current = [fact for fact in await unit.facts.get_many(ids) if fact.status is FactStatus.ACTIVE]
                for others in current[1:]:
                    await unit.facts.update_status(others.fact_id, FactStatus.ARCHIVED, now=now)
                if len(current) > 1:
                    await unit.facts.update(_joined(current, now=now))
                    merged += len(current) - 1
            await unit.commit()
    return merged


def _joined(facts: Sequence[Fact], *, now: datetime) -> Fact:
    """The first fact with what the others add: confidence, uses, the time in which it is known to hold."""
    begins = [fact.valid_from for fact in facts if fact.valid_from is not None]
    ends = [fact.valid_to for fact in facts if fact.valid_to is not None]
    uses = [fact.accessed_at for fact in facts if fact.accessed_at is not None]
    evidence = [said for fact in facts for said in (fact.resource_id, *fact.evidence)]
    is_sure = any(fact.doubtful_since is None for fact in facts)
    return facts[0].model_copy(
        update={
            "confidence": max(fact.confidence for fact in facts),
            "access_count": sum(fact.access_count for fact in facts),
            "accessed_at": max(uses, default=None),
            "valid_from": min(begins, default=None),
            "valid_to": max(ends) if len(ends) == len(facts) else None,
            "supersedes": next((fact.supersedes for fact in facts if fact.supersedes is not None), None),
            "evidence": tuple(dict.fromkeys(said for said in evidence if said != facts[0].resource_id)),
            **({"doubtful_since": None, "doubted_by": None} if is_sure else {}),
            "updated_at": now,
        }
    )
