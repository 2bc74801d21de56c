"""Whose memory a request is about."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from memory.identity.caller import ANONYMOUS, Caller, Claim, Identity
from memory.values.access.identity import DEFAULT_APP, KeyScope, shown_user, stored_user
from memory.values.base import UserId
from memory.values.errors import Forbidden

apps = st.sampled_from([DEFAULT_APP, "shop", "desk", "sho", "p"]) | st.from_regex(
    r"[a-z0-9][a-z0-9._-]{0,31}", fullmatch=True
)
users = st.text(min_size=1, max_size=9) | st.lists(st.sampled_from(["\u241f", "a", "shop", "p"]), min_size=1).map(
    "".join
)
claims = st.lists(
    st.tuples(st.sampled_from(["user_id", "user", "safety_identifier"]), st.sampled_from(["ann", "bob"])), max_size=3
).map(lambda pairs: [Claim(*pair) for pair in pairs])
headers = st.lists(st.sampled_from(["ann", "bob"]), max_size=2).map(lambda names: tuple(Claim("X", n) for n in names))


def _bound(user: str = "ann", app: str = "shop") -> Caller:
    return Caller("k", KeyScope.USER, app, user)


@given(first=st.tuples(apps, users), second=st.tuples(apps, users))
def test_two_users_are_stored_as_one_only_where_app_and_user_are_the_same(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert (stored_user(*first) == stored_user(*second)) == (first == second)
    assert shown_user(stored_user(*first)) == first[1]


def test_users_of_the_default_app_keep_the_ids_that_they_had_before_there_were_apps() -> None:
    assert stored_user(DEFAULT_APP, "ann") == "ann"
    assert stored_user("shop", "ann") != "ann"


@given(fields=claims, headers=headers)
def test_a_bound_credential_reaches_its_own_user_or_nobody(fields: list[Claim], headers: tuple[Claim, ...]) -> None:
    identity = Identity(_bound(), headers=headers)
    contradicted = any(claim.user != "ann" and claim.field != "safety_identifier" for claim in (*headers, *fields))
    if contradicted:
        with pytest.raises(Forbidden):
            identity.user(fields)
    else:
        assert identity.user(fields) == stored_user("shop", "ann")


@given(fields=claims, headers=headers, scope=st.sampled_from([KeyScope.APP, KeyScope.ADMIN]))
def test_an_unbound_credential_stays_in_its_app(
    fields: list[Claim], headers: tuple[Claim, ...], scope: KeyScope
) -> None:
    try:
        user = Identity(Caller("k", scope, "shop"), headers=headers).user(fields)
    except Forbidden:
        return
    assert user in {None, stored_user("shop", "ann"), stored_user("shop", "bob")}
    assert (user is None) == (not fields and not headers)


@pytest.mark.parametrize(
    ("headers", "fields", "user"),
    [
        ((), {}, None),
        ((), {"safety_identifier": "hash"}, "hash"),
        ((), {"safety_identifier": "hash", "user": "chat-7"}, "chat-7"),
        ((), {"user": "chat-7", "user_id": "ann"}, "ann"),
        (("ann",), {"user": "chat-7", "safety_identifier": "hash"}, "ann"),
        (("ann", "proxy"), {}, "ann"),
        (("ann",), {"user_id": "ann"}, "ann"),
    ],
)
def test_the_order_of_the_claims(headers: Any, fields: dict[str, str], user: str | None) -> None:
    identity = Identity(ANONYMOUS, headers=tuple(Claim("X-Jiyi-User", name) for name in headers))
    for order in (list(fields.items()), list(fields.items())[::-1]):
        assert identity.user([Claim(*claim) for claim in order]) == user


def test_a_user_id_that_contradicts_a_header_is_refused_by_name() -> None:
    identity = Identity(ANONYMOUS, headers=(Claim("X-Jiyi-User", "ann"),))
    with pytest.raises(Forbidden, match="user_id: X-Jiyi-User names another user") as error:
        identity.user([Claim("user_id", "bob")])
    assert error.value.field == "user_id"


def test_the_refusal_does_not_say_whose_the_credential_is() -> None:
    with pytest.raises(Forbidden) as error:
        Identity(_bound("secret-person")).user([Claim("user", "bob")])
    assert "secret-person" not in error.value.message


@pytest.mark.parametrize("scope", [KeyScope.USER, KeyScope.APP])
def test_only_an_admin_acts_in_another_app(scope: KeyScope) -> None:
    caller = Caller("k", scope, "shop", "ann" if scope is KeyScope.USER else None)
    assert Identity(caller, app="shop").app == "shop"
    with pytest.raises(Forbidden, match="another app"):
        Identity(caller, app="desk")
    assert Identity(Caller("k", KeyScope.ADMIN), app="desk").app == "desk"


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        (KeyScope.USER, {KeyScope.USER}),
        (KeyScope.APP, {KeyScope.USER, KeyScope.APP}),
        (KeyScope.ADMIN, set(KeyScope)),
    ],
)
def test_a_scope_includes_the_lesser_ones(scope: KeyScope, allowed: set[KeyScope]) -> None:
    for required in KeyScope:
        identity = Identity(Caller("k", scope))
        if required in allowed:
            identity.require(required)
        else:
            with pytest.raises(Forbidden):
                identity.require(required)


def test_the_longest_user_of_the_longest_app_can_be_stored() -> None:
    longest = stored_user("a" * 32, "x" * 128)
    assert TypeAdapter(UserId).validate_python(longest) == longest
