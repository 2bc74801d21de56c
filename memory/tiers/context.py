"""What is known of a user, for a prompt: categories by priority with summary and facts (002 §4.2, §4.3, §8.1)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from ..governance.accesses import AccessTally
from ..language.wording import language_of, statements_of
from ..language.written import Language
from ..ports.models.language import TokenCounter
from ..ports.models.summaries import SourceSentence, SummaryRequest
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..values.base import Timestamp, UserId, Value
from ..values.facts import Category, Fact
from ..values.governance.changes import Held
from .priority import PriorityRules, prioritise
from .summaries import ExtractiveWriter, holds, list_told, stamp_of
from .truncation import SEPARATOR, Budget, fitting

MAX_ITEMS_PER_CATEGORY = 10
"""The default of 002 §8.1."""

HEADING = "### "
"""What the title of each category begins with: hooks split a context there (002 §4.3)."""

_LATEST = 200
"""A summary that holds no longer is replaced, for this answer, by one of so many latest facts."""

_TITLES: Mapping[Language, Mapping[str, str]] = {
    Language.ENGLISH: {
        "preferences": "Preferences", "facts": "Facts", "goals": "Goals",
        "skills": "Skills", "relationships": "Relationships", "events": "Events",
    },
    Language.TRADITIONAL_CHINESE: {
        "preferences": "偏好", "facts": "基本資料", "goals": "目標",
        "skills": "技能", "relationships": "人際關係", "events": "事件",
    },
    Language.SIMPLIFIED_CHINESE: {
        "preferences": "偏好", "facts": "基本资料", "goals": "目标",
        "skills": "技能", "relationships": "人际关系", "events": "事件",
    },
}  # fmt: skip


class ContextRequest(Value):
    """Which categories a context holds, and how long it may be; None is all of them, and no limit (002 §8.1)."""

    user_id: UserId
    categories: tuple[str, ...] | None = None
    max_chars: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_items_per_category: int = Field(default=MAX_ITEMS_PER_CATEGORY, ge=0)
    now: Timestamp


class CategoryBlock(Value):
    """A category as it stands in a context.

    `summary` is empty where the items say all that is known; `text` holds title, summary and items.
    """

    category: str
    title: str
    priority: float
    total: int
    summary: str
    items: tuple[Fact, ...]
    text: str


class Context(Value):
    """A context, ready for a prompt. `left_out` are the categories that exceeded the limit, highest priority first."""

    text: str = ""
    blocks: tuple[CategoryBlock, ...] = ()
    left_out: tuple[str, ...] = ()
    tokens: int | None = None


class RankedCategory(Value):
    """A category with its priority now and the number of its active facts."""

    name: str
    priority: float
    items: int
    summary: str
    updated_at: Timestamp | None


class ContextBuilder:
    """Builds contexts of one user's active facts.

    Args:
        record: Stores facts and categories.
        tally: Counts what a context held: that is a use (002 §3.2).
        tokens: Counts tokens for `max_tokens`.
        rules: How categories are ranked.
    """

    def __init__(
        self, *, record: SystemOfRecord, tally: AccessTally, tokens: TokenCounter, rules: PriorityRules | None = None
    ) -> None:
        self._record = record
        self._tally = tally
        self._tokens = tokens
        self._rules = rules or PriorityRules()

    async def build(self, request: ContextRequest) -> Context:
        """The context; every fact and category that it holds counts as used.

        Raises:
            StoreUnavailable: The record is down.
            ModelUnavailable: Tokens are limited, and cannot be counted now.
        """
        async with self._record.reading(user_id=request.user_id) as unit:
            blocks = await read_blocks(unit, request, rules=self._rules)
        texts = [block.text for block in blocks]
        tokens = None if request.max_tokens is None else await self._tokens.count(texts)
        budget = Budget(chars=request.max_chars, tokens=request.max_tokens)
        count = fitting(texts, budget=budget, tokens=tokens)
        held = blocks[:count]
        self._count_uses(request.user_id, held, at=request.now)
        return Context(
            text=SEPARATOR.join(texts[:count]),
            blocks=tuple(held),
            left_out=tuple(block.category for block in blocks[count:]),
            tokens=None if tokens is None else sum(tokens[:count]),
        )

    async def categories(self, user_id: str, *, now: datetime) -> list[RankedCategory]:
        """The categories of a user, highest priority first; summaries that hold no longer are given anew."""
        async with self._record.reading(user_id=user_id) as unit:
            counts = await unit.categories.count_items_per_category()
            stored = {category.name: category for category in await unit.categories.list()}
            ranked = await prioritise(unit, {*counts, *stored}, rules=self._rules, now=now)
            told = {name: await list_told(unit, name, now) for name in counts}
        return [
            RankedCategory(
                name=name,
                priority=priority,
                items=counts.get(name, 0),
                summary=_summary(told.get(name, []), stored.get(name)),
                updated_at=stored[name].updated_at if name in stored else None,
            )
            for name, priority in ranked
        ]

    def _count_uses(self, user_id: str, blocks: Sequence[CategoryBlock], *, at: datetime) -> None:
        ids = [fact.fact_id for block in blocks for fact in block.items]
        self._tally.add(Held.FACT, ids, user_id=user_id, at=at)
        self._tally.add(Held.CATEGORY, [block.category for block in blocks], user_id=user_id, at=at)


async def read_blocks(unit: UnitOfWork, request: ContextRequest, *, rules: PriorityRules) -> list[CategoryBlock]:
    """The blocks of all categories asked for that have facts to tell (`is_told`), highest priority first."""
    counts = await unit.categories.count_items_per_category()
    names = [name for name in counts if request.categories is None or name in request.categories]
    stored = {category.name: category for category in await unit.categories.list()}
    told = {name: await list_told(unit, name, request.now) for name in names}
    return [
        _block(told[name], stored.get(name), priority=priority, total=counts[name], request=request)
        for name, priority in await prioritise(unit, names, rules=rules, now=request.now)
        if told[name]
    ]


def _block(
    facts: Sequence[Fact], category: Category | None, *, priority: float, total: int, request: ContextRequest
) -> CategoryBlock:
    name = facts[0].category
    items = facts[: request.max_items_per_category]
    summary = _summary(facts, category) if len(items) < len(facts) else ""
    language = language_of(items or facts[:MAX_ITEMS_PER_CATEGORY])
    title = _TITLES[language].get(name, " ".join(name.split()))
    lines = [f"- {statement.sentence(language)}" for statement in statements_of(items)]
    return CategoryBlock(
        category=name,
        title=title,
        priority=priority,
        total=total,
        summary=summary,
        items=tuple(items),
        text="\n".join(part for part in (f"{HEADING}{title}", summary, *lines) if part),
    )


def _summary(facts: Sequence[Fact], category: Category | None) -> str:
    """The stored summary while it holds; else one of the latest facts, so that nothing is told that was taken back."""
    if category is not None and holds(category, stamp_of(facts)):
        return category.summary
    latest = facts[:_LATEST]
    language = language_of(latest)
    sentences = tuple(
        SourceSentence(text=statement.sentence(language), weight=statement.weight)
        for statement in statements_of(latest)
    )
    if not sentences:
        return ""
    request = SummaryRequest(
        user_id=facts[0].user_id, category=facts[0].category, language=language, sentences=sentences
    )
    return ExtractiveWriter().choose(request)
