"""Who may erase what: the credential of a user that user's memory alone, whatever the kind."""

from typing import Any

import pytest

from memory.values.access.identity import KeyScope


@pytest.mark.parametrize(
    "scope",
    [
        {"kind": "user"},
        {"kind": "session", "session_id": "s"},
        {"kind": "item", "item_id": "i"},
        {"kind": "period", "until": "2026-01-01T00:00:00Z"},
    ],
    ids=lambda scope: scope["kind"],
)
async def test_the_key_of_a_user_erases_nothing_of_another(client_of: Any, scope: dict[str, Any]) -> None:
    ann, bob, app = [
        await client_of(KeyScope.USER, user="ann"),
        await client_of(KeyScope.USER, user="bob"),
        await client_of(KeyScope.APP),
    ]
    said = {"session_id": "s", "messages": [{"content": "The key is here.", "created_at": "2025-01-01T00:00:00Z"}]}
    assert (await bob.post("/memories", json={"user_id": "bob", **said})).status_code == 200
    for body in ({"user_id": "bob", **scope}, {"user_id": "shop\x1fbob", **scope}):
        refused = await ann.post("/erasures", json=body)
        assert refused.status_code in (403, 422), refused.text
    own = await ann.post("/erasures", json={"user_id": "ann", "wait": True, **scope})
    assert own.status_code == 200, own.text
    assert "The key is here." in (await bob.get("/export", params={"user_id": "bob"})).text
    assert (await app.post("/erasures", json={"user_id": "bob", "wait": True, **scope})).status_code == 200
