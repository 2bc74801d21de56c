"""Many items, some at a time (`storage.shared.batches`)."""

from hypothesis import given
from hypothesis import strategies as st

from storage.shared.batches import batches


@given(st.lists(st.integers()), st.integers(1, 9))
def test_every_item_is_in_one_batch_in_its_order_and_only_the_last_is_not_full(items: list[int], size: int) -> None:
    made = list(batches(items, size))
    assert [item for batch in made for item in batch] == items
    assert all(len(batch) == size for batch in made[:-1])
    assert all(0 < len(batch) <= size for batch in made)
