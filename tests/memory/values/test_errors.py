"""Every error survives pickling with its message and its extras: that is how it crosses a handle (DESIGN §10)."""

import pickle
from collections.abc import Iterator

import pytest

from memory.values.errors import InvalidField, JiyiError, NoValidAnswer, Overloaded, StoreUnavailable


def _all(kind: type[JiyiError]) -> Iterator[type[JiyiError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _all(child)


@pytest.mark.parametrize("kind", list(_all(JiyiError)))
def test_the_message_survives(kind: type[JiyiError]) -> None:
    again = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(again) is kind
    assert (again.message, str(again)) == ("what happened", "what happened")


def test_the_extras_survive() -> None:
    assert pickle.loads(pickle.dumps(Overloaded("x", retry_after_s=7.0))).retry_after_s == 7.0
    assert pickle.loads(pickle.dumps(StoreUnavailable("x", component="record"))).component == "record"
    assert pickle.loads(pickle.dumps(NoValidAnswer("x", component="m", reason="json"))).reason == "json"
    field = pickle.loads(pickle.dumps(InvalidField("x", field="model", allowed="a, b")))
    assert (field.field, field.allowed) == ("model", "a, b")
