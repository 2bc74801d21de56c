"""Merging a mention into what is known: exact-match deduplication with its confidence (001 §3.2)."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.learning.learned_turns import first_mention, mention_again
from memory.values.entities import EntityStatus
from memory.values.understanding.mentions import KNOWN_NAME, Mention, MentionLevel

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
mentions = st.builds(
    Mention,
    text=st.just("AI-Box"),
    start=st.just(0),
    end=st.just(6),
    level=st.just(MentionLevel.LONG_TERM),
    confidence=st.floats(0, 1),
    source=st.sampled_from([KNOWN_NAME, "code.mixed"]),
    entity_id=st.just("e"),
)
moments = st.integers(-99, 99).map(lambda hours: AT + timedelta(hours=hours))


@given(first=mentions, more=st.lists(st.tuples(mentions, moments), max_size=8))
def test_every_mention_is_counted_times_widen_and_confidence_never_falls(
    first: Mention, more: list[tuple[Mention, datetime]]
) -> None:
    entity = first_mention(first, user_id="ann", at=AT, remembered=False)
    for mention, at in more:
        merged = mention_again(entity, mention, at=at, remembered=False)
        assert entity.confidence <= merged.confidence <= 1.0
        assert merged.mention_count == entity.mention_count + 1
        assert merged.entity_id == entity.entity_id
        entity = merged
    times = [AT, *(at for _, at in more)]
    assert (entity.first_mentioned, entity.last_mentioned) == (min(times), max(times))


@given(first=mentions, again=mentions)
def test_what_is_found_afresh_is_at_least_as_sure_as_the_surer_of_both(first: Mention, again: Mention) -> None:
    entity = first_mention(first, user_id="ann", at=AT, remembered=False)
    merged = mention_again(entity, again, at=AT, remembered=False)
    surer = entity.confidence if again.source == KNOWN_NAME else max(entity.confidence, again.confidence)
    assert abs(merged.confidence - (surer + 0.1 * (1 - surer))) < 1e-12


@given(first=mentions, again=mentions, status=st.sampled_from(list(EntityStatus)))
def test_what_was_archived_or_in_review_is_active_again_unless_another_entity_took_it_over(
    first: Mention, again: Mention, status: EntityStatus
) -> None:
    entity = first_mention(first, user_id="ann", at=AT, remembered=False).model_copy(
        update={"status": status, "review_reason": "old"}
    )
    merged = mention_again(entity, again, at=AT, remembered=False)
    assert (merged.status, merged.review_reason) == (EntityStatus.ACTIVE, None)
    merged_away = entity.model_copy(update={"merged_into": "x"})
    assert mention_again(merged_away, again, at=AT, remembered=False).status is status
