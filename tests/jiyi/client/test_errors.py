"""Errors: one tree, what to do, and whole after pickling."""

import inspect
import pickle

import httpx
import pytest

from jiyi import ClientError, errors
from jiyi.errors import FieldProblem, Refused, refusal

TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ClientError)]


@pytest.mark.parametrize("kind", TREE)
def test_an_error_is_whole_after_pickling(kind: type[ClientError]) -> None:
    extras = (
        {"status": 422, "fields": (FieldProblem("a", "b", "c"),), "request_id": "r"}
        if issubclass(kind, Refused)
        else {}
    )
    error = kind("422: message", **extras)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, "422: message", vars(error))


@pytest.mark.parametrize("kind", [kind for kind in TREE if kind not in (ClientError, Refused)])
def test_an_error_says_what_to_do(kind: type[ClientError]) -> None:
    assert kind.advice.endswith(".") or kind.advice.endswith(("up", "create", "?"))
    assert kind.advice in kind("x").__notes__


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidRequest),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (408, errors.Overloaded),
        (409, errors.Conflict),
        (413, errors.InvalidRequest),
        (418, Refused),
        (422, errors.InvalidRequest),
        (429, errors.Overloaded),
        (500, errors.ServiceFailed),
        (503, errors.ServiceFailed),
    ],
)
def test_a_status_is_an_error_of_its_own_kind(status: int, kind: type[Refused]) -> None:
    problem = {"title": "Some", "detail": "why", "errors": [{"field": "f", "problem": "p", "allowed": "a"}]}
    headers = {"Retry-After": "3", "X-Request-Id": "r"}
    error = refusal(httpx.Response(status, json=problem | {"component": "vectors"}, headers=headers))
    assert type(error) is kind
    assert (str(error), error.title, error.component) == (f"{status}: why", "Some", "vectors")
    assert (error.fields, error.retry_after_s, error.request_id) == ((FieldProblem("f", "p", "a"),), 3.0, "r")
    assert "f: allowed is a" in error.__notes__


def test_a_proxy_s_page_is_shown_as_it_is() -> None:
    assert str(refusal(httpx.Response(502, text="<h1>Bad Gateway</h1>"))) == "502: <h1>Bad Gateway</h1>"
