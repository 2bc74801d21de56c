"""Keys and comparable strings of documents in ArangoDB (`storage.arango.engine.documents`)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ports.stores.record import SystemOfRecord
from storage.arango.engine.keys import ascii_of, key_of, order_of, text_of
from testing.arango_standin.database.collation import collation_key

texts = st.text(st.characters(), max_size=12)  # lone surrogates too: ids that are asked for are not checked


@given(texts)
def test_text_in_ascii_comes_back_and_is_itself_where_it_was_ascii(text: str) -> None:
    encoded = ascii_of(text)
    assert encoded.isascii()
    assert encoded.isprintable()
    assert text_of(encoded) == text
    assert ascii_of("ann-1 {x}") == "ann-1 {x}"


@given(texts, texts)
def test_order_is_that_of_code_points_by_any_rules(one: str, other: str) -> None:
    keys = collation_key(order_of(one)), collation_key(order_of(other))
    assert (keys[0] < keys[1]) is (one < other)


@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, min_size=1, max_size=4))
def test_keys_are_equal_for_equal_parts_alone(one: list[str], other: list[str]) -> None:
    assert (key_of(*one) == key_of(*other)) is (one == other)
    assert key_of(*one).isalnum()
    assert len(key_of(*one)) <= 254


@pytest.mark.parametrize("user_id", ["Zoé", "a%C3", "ａｎｎ", "a​b", "用戶"])
async def test_users_whose_names_are_equal_to_a_collation_are_apart(
    record: SystemOfRecord, make: object, user_id: str
) -> None:
    twins = {user_id, *(unicodedata.normalize(form, user_id) for form in ("NFC", "NFD", "NFKC")), ascii_of(user_id)}
    twins.add(user_id.replace("​", ""))
    for user in twins:
        await make.save(record, user_id=user, memories=[make.memory("m", user_id=user, text=user)])  # type: ignore[attr-defined]
    for user in twins:
        async with record.reading(user_id=user) as unit:
            assert [memory.text for memory in await unit.memories.recent(limit=9)] == [user]
    assert await record.backlog.users(limit=9) == sorted(twins)
