from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from models.body.trained_network import Lazy


def test_it_is_loaded_once_for_all_threads() -> None:
    calls: list[int] = []

    def load() -> object:
        calls.append(1)
        return object()

    ready = Lazy(load)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(loaded) for loaded in pool.map(lambda _: ready(), range(64))}) == 1
    assert len(calls) == 1


def test_what_failed_is_tried_again() -> None:
    outcomes: Iterator[OSError | str] = iter([OSError("no file"), "weights"])

    def load() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    ready = Lazy(load)
    with pytest.raises(OSError, match="no file"):
        ready()
    assert ready() == "weights"
