"""Summaries of categories: chosen from the facts' own sentences, or written by a model; kept with their category.

A large category is summarised in levels (002 §9.2): parts of it first, then the summaries of the parts.
"""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2s
from typing import TypeVar

import structlog
from typing_extensions import override

from ..facts.validity import is_told
from ..language.wording import Statement, labels_of, language_of, own_words, statements_of
from ..language.written import Language
from ..ports.models.summaries import SourceSentence, SummaryRequest, SummaryWriter
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.errors import ModelUnavailable
from ..values.facts import SPEAKER, Category, Fact
from ..values.ids import category_id
from ..values.text import normalise
from ..values.text_caches import clear_with_texts

MAX_PART = 24
"""A category of more statements is summarised in parts."""

MAX_FACTS = 500
"""A category is told by this many facts at most, the latest recorded: whoever tells it reads them all, to see whether
its summary still holds.
"""

_ABOUT_USER, _KNOWN_BEFORE = 0.3, 0.2
_ItemT = TypeVar("_ItemT")
_log = structlog.get_logger(__name__)


class ExtractiveWriter(SummaryWriter):
    """Chooses the weightiest sentences and tells them in their order.

    A sentence of the previous summary, perhaps with other values, is preferred to one of about the same weight: a new
    fact changes one sentence and leaves the others.
    """

    @property
    @override
    def writer_id(self) -> str:
        return "extractive-1"

    @override
    async def write(self, request: SummaryRequest) -> str:
        return self.choose(request)

    def choose(self, request: SummaryRequest) -> str:
        """See `write`; needs no event loop."""
        scores = [
            round(sentence.weight, 1) + (_KNOWN_BEFORE if _was_in(sentence, request.previous) else 0.0)
            for sentence in request.sentences
        ]
        best = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[: request.max_sentences]
        joint = " " if request.language is Language.ENGLISH else ""
        return joint.join(request.sentences[index].text for index in sorted(best))


def _was_in(sentence: SourceSentence, summary: str) -> bool:
    """Whether a sentence was in a summary, perhaps with other values."""
    return (sentence.opening or sentence.text) in summary


class CachedWriter(SummaryWriter):
    """Has another writer write each summary once; holds texts, so it is emptied when somebody is forgotten.

    Args:
        writer: Writes them.
        max_summaries: So many are held.
    """

    def __init__(self, writer: SummaryWriter, *, max_summaries: int = 2_048) -> None:
        self._writer = writer
        self._max = max_summaries
        self._written: OrderedDict[str, str] = OrderedDict()
        clear_with_texts(self._written_clear)

    @property
    @override
    def writer_id(self) -> str:
        return self._writer.writer_id

    @override
    async def write(self, request: SummaryRequest) -> str:
        key = blake2s(request.model_dump_json(exclude={"previous"}).encode("utf-8", "replace")).hexdigest()
        if key not in self._written:
            self._written[key] = await self._writer.write(request)
            if len(self._written) > self._max:
                self._written.popitem(last=False)
        self._written.move_to_end(key)
        return self._written[key]

    def _written_clear(self) -> None:
        self._written.clear()


async def summarise(
    facts: Sequence[Fact], *, writer: SummaryWriter, user_id: str, category: str, previous: str = ""
) -> str:
    """A summary of the facts of a category, in the language that most of them are in; empty for none.

    Raises:
        ModelUnavailable: The writer is away.
    """
    language = language_of(facts)
    parts = _parts(statements_of(facts))
    sentences = [_sentences(part, language) for part in parts]
    while sentences:
        requests = [
            SummaryRequest(
                user_id=user_id, category=category, language=language, sentences=tuple(part), previous=previous
            )
            for part in sentences
        ]
        texts = [await writer.write(request) for request in requests]
        if len(texts) == 1:
            return texts[0]
        weights = [max(sentence.weight for sentence in part) for part in sentences]
        level = [SourceSentence(text=text, weight=weight) for text, weight in zip(texts, weights, strict=True) if text]
        sentences = _chunks(level)
    return ""


async def refresh_summaries(
    record: SystemOfRecord, user_id: str, *, writer: SummaryWriter, now: datetime, force: bool = False
) -> int:
    """Writes the summaries of a user's categories again where their facts have changed; how many have changed.

    While the writer is away, summaries are extractive; the next time the writer is asked again.

    Raises:
        StoreUnavailable: The record is down; finished categories keep their new summaries.
    """
    async with record.reading(user_id=user_id) as unit:
        stored = {category.name: category for category in await unit.categories.list()}
        names = sorted({*stored, *await unit.facts.list_distinct_categories()})
    changed = 0
    for name in names:
        known = stored.get(name)
        async with record.reading(user_id=user_id) as unit:
            facts = await list_told(unit, name, now)
        stamp = stamp_of(facts)
        digest = f"{writer.writer_id} {stamp}"
        if known is not None and known.digest == digest and not force:
            continue
        previous = known.summary if known else ""
        try:
            summary = await summarise(facts, writer=writer, user_id=user_id, category=name, previous=previous)
        except ModelUnavailable as error:
            _log.warning("extractive_summary_used", category=name, error=error.message)
            extractive = ExtractiveWriter()
            digest = f"{extractive.writer_id} {stamp}"
            summary = await summarise(facts, writer=extractive, user_id=user_id, category=name, previous=previous)
        async with record.writing(user_id=user_id) as unit:
            await unit.categories.upsert(
                Category(
                    category_id=category_id(user_id, name),
                    user_id=user_id,
                    name=name,
                    summary=summary,
                    digest=digest,
                    updated_at=now if known is None or summary != previous else known.updated_at,
                )
            )
            await unit.commit()
        changed += summary != previous
    return changed


async def list_told(unit: UnitOfWork, category: str, now: datetime) -> list[Fact]:
    """The facts of a category that are told at a time (`is_told`), of the `MAX_FACTS` latest recorded."""
    return [fact for fact in await unit.facts.list(category=category, limit=MAX_FACTS) if is_told(fact, now)]


def stamp_of(facts: Sequence[Fact]) -> str:
    """What changes whenever other facts are told, or the same ones otherwise: in doubt, negated, no longer planned.

    Uses, and what they or age do to confidence, leave it as it is.
    """
    digest = blake2s(digest_size=16)
    for fact in facts:
        said = (fact.fact_id, fact.subject, fact.predicate, fact.object, own_words(fact) or "", *labels_of(fact))
        digest.update("\0".join((*said, "\n")).encode("utf-8", "replace"))
    return digest.hexdigest()


def holds(category: Category, stamp: str) -> bool:
    """Whether the summary of a category is that of its facts as they are now."""
    return category.digest.endswith(f" {stamp}")


def _parts(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Statements in parts, the user's own first; a new statement changes the last part of one of both."""
    if len(statements) <= MAX_PART:
        return [list(statements)] if statements else []
    own = [statement for statement in statements if _is_about_user(statement)]
    return _chunks(own) + _chunks([statement for statement in statements if not _is_about_user(statement)])


def _chunks(items: Sequence[_ItemT]) -> list[list[_ItemT]]:
    return [list(items[first : first + MAX_PART]) for first in range(0, len(items), MAX_PART)]


def _is_about_user(statement: Statement) -> bool:
    return normalise(statement.facts[0].subject) == SPEAKER


def _sentences(statements: Sequence[Statement], language: Language) -> list[SourceSentence]:
    return [
        SourceSentence(
            text=statement.sentence(language),
            opening=statement.opening(language),
            weight=statement.weight + (_ABOUT_USER if _is_about_user(statement) else 0.0),
        )
        for statement in statements
    ]
