"""The made-up lives of the scale benchmark, and that it measures every size."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.facts_scale.__main__ import run_shape
from benchmarks.facts_scale.lives import BEGIN_DAYS, Life, queries

_UNTIL = datetime(2026, 6, 1, tzinfo=UTC)


def test_what_is_found_stands_in_the_message() -> None:
    resources = list(Life("ann", 300, _UNTIL).resources(0, 300))
    facts = [
        (resource.content, fact)
        for resource in resources
        for fact in (resource.understanding.facts if resource.understanding else ())
    ]
    assert 100 < len(facts) < 200
    assert all(content[fact.object.start : fact.object.end] == fact.object.text for content, fact in facts)
    assert resources[0].created_at == _UNTIL - timedelta(days=BEGIN_DAYS)


def test_a_life_goes_on_where_it_stopped() -> None:
    life = Life("ann", 50, _UNTIL)
    assert [*life.resources(0, 20), *life.resources(20, 50)] == list(life.resources(0, 50))
    assert list(life.resources(0, 50)) != list(Life("bob", 50, _UNTIL).resources(0, 50))
    assert queries(3) == queries(3)


async def test_every_size_is_learned_retrieved_and_worked_on(tmp_path: Path) -> None:
    small, large = await run_shape("many", [8, 40], tmp_path / "home", index=True, users=2)
    assert (small.messages, large.messages) == (8, 40)
    assert 0 < small.facts < large.facts
    assert min(small.learn_per_s, small.index_per_s, *small.context_ms, *small.retrieve_ms) > 0
    assert set(large.jobs_s) == {"nightly", "weekly", "monthly"}
    assert min(large.record_bytes, large.vectors_bytes) > 0
