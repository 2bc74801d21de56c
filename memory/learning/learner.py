"""The learner: raw log → entities, memories and facts → vector index, each step repeatable (DESIGN §3.6).

Results and the mark that an entry was learned are written in one transaction, so a crash leaves all or nothing; the
index follows through the outbox (`memory.indexing.indexer`).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..extraction.recognition import recognise
from ..governance.forget_search import NOT_FOUND, find_meant
from ..governance.forgetting import forget, report_of, was_carried_out
from ..indexing.indexer import Indexer
from ..language.keywords import KeywordAnalyzer
from ..ports.erasures import ErasureRequests
from ..ports.models.answer_reading import AnswerReader
from ..ports.models.language import Extractor, FactReader, Priority
from ..ports.services import LearnReport
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.entities import Entity
from ..values.governance.forgetting import ForgetOutcome, ForgetReport, ForgetRequest
from ..values.records import Resource
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from .aliases import learn_aliases
from .facts import save_facts
from .learned_turns import TURNS_BEFORE, LearnedTurn, save_entities, save_memories, with_facts
from .relations import save_relations
from .replacements import mark_replaced, with_replaced

LEARN_BATCH = 64
_ANALYZER = KeywordAnalyzer()


class Learner:
    """Learns the backlog of a user; calls for different users may run concurrently.

    Args:
        record: Stores the backlog and the results.
        extractor: Finds mentions in turns.
        indexer: Indexes the results.
        facts: Reads the facts of messages, in place of those that the extractor found; None where nothing else does.
        erasures: Has the messages of what the user asked to forget erased from the log, sessions and files; without it
            they stay there.
        answers: Reads which memories a request to forget is about, and which a message replaces; without it the words
            of a request alone tell, and no message replaces anything but facts.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        extractor: Extractor,
        indexer: Indexer,
        facts: FactReader | None = None,
        erasures: ErasureRequests | None = None,
        answers: AnswerReader | None = None,
    ) -> None:
        self.indexer = indexer
        self._erasures = erasures
        self._record = record
        self._extractor = extractor
        self._facts = facts
        self._answers = answers

    async def learn(
        self, *, user_id: str, priority: Priority = Priority.BATCH, batches: int | None = None, index: bool = True
    ) -> LearnReport:
        """Learns and indexes a user's backlog.

        Args:
            user_id: The user.
            priority: Priority of the encoder's work.
            batches: At most so many batches to learn, and to index; None for all.
            index: False leaves the results in the outbox.

        Raises:
            Unavailable: A store or model is down; the rest stays on the backlog.
            Overloaded: The queue of a model is full; the rest stays on the backlog.
        """
        async with self.indexer.lock(user_id):
            learned = await self._learn(user_id, batches, facts=self._facts)
        indexed = await self.indexer.index(user_id=user_id, priority=priority, batches=batches) if index else 0
        return learned.model_copy(update={"indexed": indexed})

    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        """Carries out a request to forget that is on no backlog, after all that the user said before it.

        A reply waits for it, so that what is still to be learned keeps the facts of the extractor.

        Returns:
            What became of it; None where the message does not ask to forget anything.

        Raises:
            Unavailable: A store or model is down; nothing was removed.
            Overloaded: The queue of a model is full; nothing was removed.
        """
        async with self.indexer.lock(request.message.user_id):
            await self._learn(request.message.user_id, None, facts=None)
            return await self._forget(request, is_logged=False)

    async def _learn(self, user_id: str, batches: int | None, *, facts: FactReader | None) -> LearnReport:
        report = LearnReport()
        seen: dict[str, Entity] = {}
        for _ in itertools.count() if batches is None else range(batches):
            resources = await self._record.backlog.unlearned(limit=LEARN_BATCH, user_id=user_id)
            if not resources:
                break
            for forgets, group in itertools.groupby(await self._read_turns(user_id, resources, facts), _forgets):
                turns = list(group)
                if forgets:
                    await self._forget_logged(turns)
                    learned, taken = LearnedBatch(), len(turns)
                else:
                    learned, taken = await self._learn_turns(user_id, turns)
                seen |= {entity.entity_id: entity for entity in learned.entities}
                report = LearnReport(
                    resources=report.resources + taken,
                    memories=report.memories + learned.memories,
                    new_entities=report.new_entities + learned.new_entities,
                    entities=tuple(seen.values()),
                )
        return report

    async def _learn_turns(self, user_id: str, turns: Sequence[LearnedTurn]) -> tuple["LearnedBatch", int]:
        """Learns turns that nobody else has learned, and that do not ask to forget; and how many those were."""
        async with self._record.writing(user_id=user_id) as unit:
            taken = set(await unit.log.mark_learned([turn.resource.resource_id for turn in turns]))
            learned = await learn_from(unit, user_id, [turn for turn in turns if turn.resource.resource_id in taken])
            await unit.commit()
        return learned, len(taken)

    async def _forget_logged(self, turns: Sequence[LearnedTurn]) -> None:
        for turn in turns:
            await self._forget(ForgetRequest(message=turn.resource, extraction=turn.extraction), is_logged=True)

    async def _forget(self, request: ForgetRequest, *, is_logged: bool) -> ForgetReport | None:
        """Finds what is meant, removes it, and records what erasure has to do, in one transaction."""
        message = request.message
        async with self._record.reading(user_id=message.user_id) as unit:
            if not is_logged and await was_carried_out(unit, message):
                return ForgetReport(outcome=ForgetOutcome.ALREADY)
            meant = await find_meant(unit, request, analyzer=_ANALYZER, reader=self._answers)
        if request.is_preview or (meant is None and not is_logged):
            return report_of(meant) if meant else None
        async with self._record.writing(user_id=message.user_id) as unit:
            if is_logged and not await unit.log.mark_learned([message.resource_id]):
                return None
            report = await forget(unit, message, meant or NOT_FOUND)
            if self._erasures is not None:
                erased = [id_ for ids in report.turns.values() for id_ in ids] + [message.resource_id] * is_logged
                await unit.erasure.request(self._erasures.prepare(erased, user_id=message.user_id))
            await unit.commit()
        if self._erasures is not None:
            self._erasures.wake()
        return report

    async def _read_turns(
        self, user_id: str, resources: Sequence[Resource], facts: FactReader | None
    ) -> list[LearnedTurn]:
        """Reads the previous entries and extracts, before the transaction."""
        limit = 1 if facts is None else TURNS_BEFORE
        async with self._record.reading(user_id=user_id) as unit:
            before = [
                await unit.log.session(resource.session_id, limit=limit, before=resource.sequence)
                for resource in resources
            ]
        extractions = await self._extractions(user_id, resources)
        turns = [
            LearnedTurn(resource, extraction, previous[-1] if previous else None)
            for resource, extraction, previous in zip(resources, extractions, before, strict=True)
        ]
        if facts is not None:
            turns = await with_facts(turns, before, facts)
        if self._answers is None:
            return turns
        return await with_replaced(turns, user_id, record=self._record, reader=self._answers, analyzer=_ANALYZER)

    async def _extractions(self, user_id: str, resources: Sequence[Resource]) -> list[Extraction]:
        """The extraction of each entry: the stored one if it has the extractor's version; empty for the assistant's."""
        stored = {
            resource.resource_id: resource.understanding
            for resource in resources
            if resource.understanding and resource.understanding.is_by(self._extractor.version)
        }
        unread = [
            resource for resource in resources if resource.role is Role.USER and resource.resource_id not in stored
        ]
        if unread:
            texts = [resource.content for resource in unread]
            found = await recognise(texts, user_id=user_id, record=self._record, extractor=self._extractor)
            stored |= {resource.resource_id: extraction for resource, extraction in zip(unread, found, strict=True)}
        return [stored.get(resource.resource_id, Extraction()) for resource in resources]


@dataclass(frozen=True)
class LearnedBatch:
    """The entities of learned turns, and the numbers of new entities and memories."""

    entities: tuple[Entity, ...] = ()
    new_entities: int = 0
    memories: int = 0


async def learn_from(unit: UnitOfWork, user_id: str, turns: Sequence[LearnedTurn]) -> LearnedBatch:
    """Saves entities, memories, relations, aliases and facts of turns in the order of the log; the caller commits.

    Aliases are saved before the next entry, which may use them. None of the turns asks to forget something.
    """
    touched: dict[str, Entity] = {}
    new = memories = 0
    for run in _runs(turns):
        saved = await save_entities(unit, user_id, run)
        memories += await save_memories(unit, run, saved.targets)
        await mark_replaced(unit, run)
        await save_relations(unit, user_id, run, saved.targets.ids)
        renamed = await learn_aliases(unit, user_id, run, saved.targets.ids)
        await save_facts(unit, run)
        new += saved.new
        touched |= {entity.entity_id: entity for entity in (*saved.entities, *renamed)}
    return LearnedBatch(tuple(touched.values()), new, memories)


def _forgets(turn: LearnedTurn) -> bool:
    return turn.forgets


def _runs(turns: Sequence[LearnedTurn]) -> Iterator[Sequence[LearnedTurn]]:
    """The turns in runs that end with a turn that states aliases."""
    start = 0
    for place, turn in enumerate(turns, start=1):
        if turn.aliases():
            yield turns[start:place]
            start = place
    if start < len(turns):
        yield turns[start:]
