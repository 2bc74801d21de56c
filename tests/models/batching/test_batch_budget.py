from hypothesis import given
from hypothesis import strategies as st

from models.batching.queue import BatchBudget


def batches_until(budget: BatchBudget, tokens: int) -> int:
    for count in range(1, 100_000):
        budget.record_success()
        if budget.tokens >= tokens:
            return count
    raise AssertionError("it never came back")


def test_running_out_of_memory_halves_what_did_not_fit() -> None:
    budget = BatchBudget(1024)
    budget.record_out_of_memory(600)
    assert budget.tokens == 300
    budget.record_out_of_memory(300)
    assert budget.tokens == 150


def test_it_comes_back_to_where_it_began_and_never_above() -> None:
    budget = BatchBudget(1024)
    budget.record_out_of_memory(1024)
    budget.record_out_of_memory(512)
    batches_until(budget, 1024)
    for _ in range(1000):
        budget.record_success()
    assert budget.tokens == 1024


def test_an_engine_whose_limit_is_lower_tries_again_less_and_less_often() -> None:
    budget = BatchBudget(1024)
    budget.record_out_of_memory(1024)
    waits = []
    for _ in range(5):
        waits.append(batches_until(budget, 1024))
        budget.record_out_of_memory(1024)
    assert waits == sorted(waits)
    assert waits[-1] >= 8 * waits[0]


@given(st.integers(1, 5000), st.lists(st.one_of(st.none(), st.integers(1, 5000)), max_size=60))
def test_it_stays_between_one_token_and_where_it_began(most: int, events: list[int | None]) -> None:
    budget = BatchBudget(most)
    for failed_tokens in events:
        if failed_tokens is None:
            budget.record_success()
        else:
            budget.record_out_of_memory(failed_tokens)
        assert 1 <= budget.tokens <= most
