"""Summaries of categories: readable, stable, cached, in levels (002 §5.1, §9.2)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from memory.ports.models.summaries import SummaryRequest, SummaryWriter
from memory.tiers.summaries import (
    MAX_PART,
    CachedWriter,
    ExtractiveWriter,
    holds,
    list_told,
    refresh_summaries,
    stamp_of,
    summarise,
)
from memory.values.errors import ModelUnavailable
from memory.values.facts import Category, Ending, Fact, FactStatus
from memory.values.predicates import PREDICATES
from memory.values.text_caches import forget_texts
from memory.values.understanding.readings import Qualifier
from storage.inmemory.record import InMemoryRecord
from tests.memory.tiers.facts import NOW, days_ago, fact


class NotingWriter(SummaryWriter):
    """Writes how much it was given, and notes the requests."""

    def __init__(self, writer_id: str = "noting", *, away: bool = False) -> None:
        self.requests: list[SummaryRequest] = []
        self.away = away
        self._id = writer_id

    @property
    @override
    def writer_id(self) -> str:
        return self._id

    @override
    async def write(self, request: SummaryRequest) -> str:
        if self.away:
            raise ModelUnavailable("away", component="llm")
        self.requests.append(request)
        return f"<{len(request.sentences)}>"


async def extract(facts: Sequence[Fact], previous: str = "") -> str:
    return await summarise(facts, writer=ExtractiveWriter(), user_id="ann", category="preferences", previous=previous)


async def saved(*facts: Fact) -> InMemoryRecord:
    record = InMemoryRecord()
    await add(record, *facts)
    return record


async def add(record: InMemoryRecord, *facts: Fact) -> None:
    async with record.writing(user_id="ann") as unit:
        await unit.facts.create_many(facts)
        await unit.commit()


async def categories(record: InMemoryRecord) -> dict[str, Category]:
    async with record.reading(user_id="ann") as unit:
        return {category.name: category for category in await unit.categories.list()}


async def is_kept(record: InMemoryRecord) -> bool:
    """Whether the stored summary of the preferences is that of the facts as they are now."""
    async with record.reading(user_id="ann") as unit:
        told = await list_told(unit, "preferences", NOW)
    return holds((await categories(record))["preferences"], stamp_of(told))


@pytest.mark.parametrize(
    ("objects", "summary"),
    [
        (("黑咖啡", "爵士樂"), "使用者喜歡黑咖啡、爵士樂。使用者不喜歡香菜。"),
        (("黑咖啡", "电子乐"), "用户喜欢黑咖啡、电子乐。用户不喜欢香菜。"),
    ],
)
async def test_a_summary_reads_well_in_chinese(objects: tuple[str, str], summary: str) -> None:
    first, second = objects
    facts = [
        fact("user", "likes", first, days=3),
        fact("user", "likes", second, days=1),
        fact("user", "dislikes", "香菜", days=2),
    ]
    assert await extract(facts) == summary


async def test_a_summary_reads_well_in_english_and_tells_of_the_user_first_where_room_is_short() -> None:
    names = ("Ben", "Eve", "Ida", "Leo", "Mia")
    others = [fact(name, "likes", "tea", days=30 - index) for index, name in enumerate(names)]
    assert await extract([*others, fact("user", "likes", "jazz", days=1)]) == (
        "Ben likes tea. Eve likes tea. Ida likes tea. Leo likes tea. The user likes jazz."
    )
    assert await extract([]) == ""


@settings(max_examples=40)
@given(st.permutations(PREDICATES), st.integers(min_value=6, max_value=20), st.floats(0, 1))
async def test_a_new_fact_changes_at_most_one_sentence(order: list[str], count: int, confidence: float) -> None:
    facts = [fact("user", name, f"v{index}", days=50 - index, confidence=0.5) for index, name in enumerate(order)]
    before = (await extract(facts[:count])).split(". ")
    new = facts[count].model_copy(update={"confidence": confidence})
    after = (await extract([*facts[:count], new], previous=". ".join(before))).split(". ")
    ends = {sentence.rstrip(".") for sentence in before} - {sentence.rstrip(".") for sentence in after}
    assert len(ends) <= 1


async def test_another_value_is_told_where_the_sentence_was() -> None:
    facts = [fact("user", name, "x", days=50 - index) for index, name in enumerate(("likes", "owns", "uses"))]
    before = await extract(facts)
    after = await extract([*facts, fact("user", "owns", "y", days=1)], previous=before)
    assert (before, after) == (
        "The user likes x. The user owns x. The user uses x.",
        "The user likes x. The user owns x and y. The user uses x.",
    )


async def test_a_large_category_is_summarised_in_levels() -> None:
    writer = NotingWriter()
    facts = [fact(f"Event {index}", "status", "done", days=2_000 - index) for index in range(MAX_PART * MAX_PART + 1)]
    await summarise(facts, writer=writer, user_id="ann", category="events")
    sizes = [len(request.sentences) for request in writer.requests]
    assert sizes == [MAX_PART] * MAX_PART + [1] + [MAX_PART, 1] + [2]


async def test_a_large_category_without_a_model_keeps_a_readable_length() -> None:
    facts = [fact(f"Event {index}", "status", "done", days=2_000 - index) for index in range(1_000)]
    assert len(await extract(facts)) < 2_000


async def test_what_was_written_is_not_written_again_until_it_changes_or_is_forgotten() -> None:
    noting = NotingWriter()
    writer = CachedWriter(noting, max_summaries=2)
    facts = [fact("user", "likes", "tea", days=2)]
    for previous in ("", "else"):
        await summarise(facts, writer=writer, user_id="ann", category="preferences", previous=previous)
    assert len(noting.requests) == 1
    await summarise(facts, writer=writer, user_id="bob", category="preferences")
    assert len(noting.requests) == 2
    forget_texts()
    await summarise(facts, writer=writer, user_id="ann", category="preferences")
    assert len(noting.requests) == 3


class TestRefreshing:
    async def test_a_summary_is_kept_with_its_category_and_made_again_only_after_a_change(self) -> None:
        writer = NotingWriter()
        tea = fact("user", "likes", "tea", days=2)
        record = await saved(tea, fact("user", "goal", "run", days=1, category="goals"))
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 2
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 0
        assert len(writer.requests) == 2
        await add(record, fact("user", "likes", "jazz", days=1))
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 0, "as many sentences as before"
        assert len(writer.requests) == 3
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update_status(tea.fact_id, FactStatus.ARCHIVED, now=NOW)
            await unit.commit()
        assert not await is_kept(record)
        await refresh_summaries(record, "ann", writer=writer, now=NOW)
        assert await is_kept(record)

    @pytest.mark.parametrize(
        ("changed", "kept"),
        [
            ({"doubtful_since": NOW}, False),
            ({"qualifiers": ()}, False),
            ({"object": "green tea"}, False),
            ({"ending": Ending.ENDED}, False),
            ({"confidence": 0.5, "decayed_at": NOW}, True),
            ({"accessed_at": NOW, "access_count": 3}, True),
        ],
    )
    async def test_a_summary_holds_no_longer_when_one_of_its_facts_is_told_otherwise(
        self, changed: dict[str, Any], kept: bool
    ) -> None:
        tea = fact("user", "likes", "tea", qualifiers=(Qualifier.PLANNED,))
        record = await saved(tea)
        await refresh_summaries(record, "ann", writer=ExtractiveWriter(), now=NOW)
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update(tea.model_copy(update=changed))
            await unit.commit()
        assert await is_kept(record) is kept

    async def test_another_writer_writes_all_again(self) -> None:
        record = await saved(fact("user", "likes", "tea"))
        await refresh_summaries(record, "ann", writer=ExtractiveWriter(), now=days_ago(1))
        assert await refresh_summaries(record, "ann", writer=NotingWriter(), now=NOW) == 1
        category = (await categories(record))["preferences"]
        assert (category.summary, category.updated_at) == ("<1>", NOW)

    async def test_a_category_without_facts_has_no_summary(self) -> None:
        tea = fact("user", "likes", "tea")
        record = await saved(tea)
        await refresh_summaries(record, "ann", writer=ExtractiveWriter(), now=NOW)
        async with record.writing(user_id="ann") as unit:
            await unit.facts.update_status(tea.fact_id, FactStatus.DELETED, now=NOW)
            await unit.commit()
        await refresh_summaries(record, "ann", writer=ExtractiveWriter(), now=NOW)
        assert (await categories(record))["preferences"].summary == ""

    async def test_while_the_model_is_away_summaries_are_extractive_and_the_next_time_it_is_asked_again(self) -> None:
        record, writer = await saved(fact("user", "likes", "tea")), NotingWriter(away=True)
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 1
        stored = (await categories(record))["preferences"]
        assert stored.summary == "The user likes tea."
        assert await is_kept(record)
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 0
        writer.away = False
        assert await refresh_summaries(record, "ann", writer=writer, now=NOW) == 1
