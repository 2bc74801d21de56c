"""The context of a prompt: priority, whole categories, budgets, uses (002 §4.2, §4.3, §8.1)."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from memory.governance.accesses import AccessTally
from memory.ports.models.language import TokenCounter
from memory.tiers.context import Context, ContextBuilder, ContextRequest
from memory.tiers.priority import STATIC_WEIGHTS
from memory.tiers.summaries import ExtractiveWriter, refresh_summaries
from memory.values.facts import Fact, FactStatus
from storage.inmemory.record import InMemoryRecord
from tests.memory.diary import Diary
from tests.memory.tiers.facts import NOW, days_ago, fact


class WordCounter(TokenCounter):
    """A token is a word."""

    @override
    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Contexts:
    """A record with facts, and contexts of it."""

    def __init__(self, record: InMemoryRecord | None = None) -> None:
        self.record = record or InMemoryRecord()
        self.tally = AccessTally(self.record, interval_s=3_600)
        self.builder = ContextBuilder(record=self.record, tally=self.tally, tokens=WordCounter())

    async def add(self, *facts: Fact) -> None:
        async with self.record.writing(user_id="ann") as unit:
            await unit.facts.create_many(facts)
            await unit.commit()

    async def build(self, **fields: Any) -> Context:
        return await self.builder.build(ContextRequest(user_id="ann", now=NOW, **fields))


@pytest.fixture
async def contexts() -> AsyncIterator[Contexts]:
    made = Contexts()
    await made.add(
        fact("user", "attended", "PyCon", category="events", days=1),
        fact("user", "likes", "tea", category="preferences", days=5),
        fact("user", "likes", "jazz", category="preferences", days=3),
        fact("user", "lives_in", "Boston", category="facts", days=4),
    )
    yield made
    await made.tally.close()


async def test_categories_come_by_priority_with_their_latest_facts(contexts: Contexts) -> None:
    context = await contexts.build()
    assert context.text == (
        "### Preferences\n- The user likes tea and jazz.\n\n"
        "### Facts\n- The user lives in Boston.\n\n"
        "### Events\n- The user attended PyCon."
    )
    assert ([block.total for block in context.blocks], context.left_out, context.tokens) == ([2, 1, 1], (), None)


async def test_a_context_is_in_the_users_language(contexts: Contexts) -> None:
    await contexts.add(fact("user", "goal", "學吉他", category="goals"))
    assert (await contexts.build(categories=("goals",))).text == "### 目標\n- 使用者的目標：學吉他。"


async def test_where_not_all_facts_are_shown_a_summary_tells_of_the_rest(contexts: Contexts) -> None:
    for refreshed in (False, True):
        if refreshed:
            await refresh_summaries(contexts.record, "ann", writer=ExtractiveWriter(), now=NOW)
        context = await contexts.build(categories=("preferences",), max_items_per_category=1)
        assert context.text == "### Preferences\nThe user likes tea and jazz.\n- The user likes jazz."


async def test_nothing_is_told_that_was_taken_back_since_the_summary_was_written(contexts: Contexts) -> None:
    await refresh_summaries(contexts.record, "ann", writer=ExtractiveWriter(), now=NOW)
    tea = fact("user", "likes", "tea", days=5)
    async with contexts.record.writing(user_id="ann") as unit:
        assert await unit.facts.update_status(tea.fact_id, FactStatus.DELETED, now=NOW)
        await unit.commit()
    context = await contexts.build(max_items_per_category=0)
    assert "tea" not in context.text
    assert "jazz" in context.text


DOUBTS = [
    (
        ("I work at Nokia.", "user | works_at | Nokia"),
        ("My boss is Anna.", "user | manager | Anna"),
        ("I work at Ericsson now.", "user | works_at | Ericsson"),
        "In doubt since something changed: The user's manager is Anna.",
    ),
    (
        ("我在宏碁上班。", "user | works_at | 宏碁"),
        ("我的主管是雅婷。", "user | manager | 雅婷"),
        ("我換到華碩上班了。", "user | works_at | 華碩"),
        "情況有變，尚待確認：使用者的主管是雅婷。",
    ),
    (
        ("我在小米上班。", "user | works_at | 小米"),
        ("我的主管是张伟。", "user | manager | 张伟"),
        ("我换到华为上班了。", "user | works_at | 华为"),
        "情况有变，尚待确认：用户的主管是张伟。",
    ),
]


@pytest.mark.parametrize(("before", "dependent", "change", "told"), DOUBTS)
async def test_a_summary_tells_of_the_doubt_about_what_hangs_on_a_change(
    diary: Diary, before: tuple[str, str], dependent: tuple[str, str], change: tuple[str, str], told: str
) -> None:
    await diary.tell("2026-01-05", *before)
    await diary.tell("2026-01-06", *dependent)
    await refresh_summaries(diary.record, "ann", writer=ExtractiveWriter(), now=diary.now)
    await diary.tell("2026-02-06", *change)
    contexts = Contexts(diary.record)
    for refreshed in (False, True):
        if refreshed:
            await refresh_summaries(diary.record, "ann", writer=ExtractiveWriter(), now=diary.now)
        [summary] = [c.summary for c in await contexts.builder.categories("ann", now=NOW) if c.name == "relationships"]
        context = await contexts.build(categories=("relationships",), max_items_per_category=0)
        assert summary == told
        assert context.text.splitlines()[1:] == [told]
    await contexts.tally.close()


PASSED = [
    ("I live in Tokyo until December 2025.", "user | lives_in | Tokyo | time=until December 2025"),
    ("我住在東京到2025年12月。", "user | lives_in | 東京 | time=到2025年12月"),
    ("我在东京住到2025年12月。", "user | lives_in | 东京 | time=到2025年12月"),
    ("We are flying to Lisbon in February.", "user | travels_to | Lisbon | time=in February"),
    ("我們二月要搬到三峽。", "user | lives_in | 三峽 | planned, time=二月"),
    ("我们二月要去里斯本旅游。", "user | travels_to | 里斯本 | planned, time=二月"),
    ("I want to finish my thesis by February.", "user | goal | finish my thesis | time=by February"),
]


@pytest.mark.parametrize(("message", "fact_"), PASSED)
async def test_a_state_or_a_plan_is_told_until_its_time_has_passed(diary: Diary, message: str, fact_: str) -> None:
    await diary.tell("2025-11-20", message, fact_)
    await refresh_summaries(diary.record, "ann", writer=ExtractiveWriter(), now=diary.now)
    contexts = Contexts(diary.record)
    [then] = await contexts.builder.categories("ann", now=diary.now)
    [now] = await contexts.builder.categories("ann", now=NOW)
    assert (bool(then.summary), now.summary) == (True, "")
    for most in (0, 10):
        assert await contexts.build(max_items_per_category=most) == Context()
    await contexts.tally.close()


@pytest.mark.parametrize(
    ("message", "fact_"),
    [
        ("We flew to Lisbon last year.", "user | travels_to | Lisbon | past, time=last year"),
        ("我去年去了京都玩。", "user | travels_to | 京都 | past, time=去年"),
        ("我去年参加了马拉松。", "user | attended | 马拉松 | time=去年"),
        ("We will move to York some day.", "user | lives_in | York | planned"),
        ("The concert is on 20 January.", "concert | scheduled_at | 20 January | time=20 January"),
    ],
)
async def test_what_was_past_when_it_was_said_and_what_has_or_names_its_time_is_told(
    diary: Diary, message: str, fact_: str
) -> None:
    await diary.tell("2026-01-05", message, fact_)
    contexts = Contexts(diary.record)
    assert [len(block.items) for block in (await contexts.build()).blocks] == [1]
    await contexts.tally.close()


async def test_only_the_categories_asked_for_are_told(contexts: Contexts) -> None:
    context = await contexts.build(categories=("events", "goals"))
    assert [block.category for block in context.blocks] == ["events"]
    assert await contexts.build(categories=()) == Context()


async def test_what_the_context_held_was_used_and_nothing_else(contexts: Contexts) -> None:
    await contexts.build(max_chars=50)
    await contexts.tally.flush()
    async with contexts.record.reading(user_id="ann") as unit:
        used = {item.object: item.access_count for item in await unit.facts.list()}
        assert used == {"tea": 1, "jazz": 1, "Boston": 0, "PyCon": 0}
        assert await unit.category_accesses.last_accessed() == {"preferences": NOW}


async def test_use_lifts_a_category_over_one_of_more_weight(contexts: Contexts) -> None:
    for day in range(12):
        request = ContextRequest(user_id="ann", categories=("facts",), now=days_ago(day))
        await contexts.builder.build(request)
        await contexts.tally.flush()
    ranked = await contexts.builder.categories("ann", now=NOW)
    assert [(category.name, category.items) for category in ranked] == [("facts", 1), ("preferences", 2), ("events", 1)]
    assert ranked[0].priority == pytest.approx(0.9 * 1.5)
    assert ranked[0].summary == "The user lives in Boston."


async def test_tokens_are_counted_not_guessed(contexts: Contexts) -> None:
    context = await contexts.build(max_tokens=17)
    assert ([block.category for block in context.blocks], context.tokens) == (["preferences", "facts"], 17)
    assert context.left_out == ("events",)
    assert (await contexts.build(max_tokens=16)).left_out == ("facts", "events")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STATIC_WEIGHTS)), st.text(min_size=1, max_size=30)), max_size=12),
    st.integers(min_value=0, max_value=600),
)
async def test_a_context_within_a_limit_begins_like_the_whole_one(stated: list[tuple[str, str]], limit: int) -> None:
    contexts = Contexts()
    await contexts.add(
        *(fact("user", "likes", text, category=name, days=index) for index, (name, text) in enumerate(stated))
    )
    whole, cut = await contexts.build(), await contexts.build(max_chars=limit)
    assert len(cut.text) <= limit
    assert whole.text.startswith(cut.text)
    assert whole.blocks[: len(cut.blocks)] == cut.blocks
    assert tuple(block.category for block in whole.blocks[len(cut.blocks) :]) == cut.left_out
    assert sum(line.startswith("### ") for line in cut.text.splitlines()) == len(cut.blocks)
    await contexts.tally.close()
