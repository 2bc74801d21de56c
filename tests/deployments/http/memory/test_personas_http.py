"""`/persona` over HTTP (003 §2, DESIGN §9)."""

from typing import Any

import httpx
import pytest

from tests.deployments.conftest import MOVED

LIN = {
    "user_id": "ann",
    "name": "小林",
    "facts": ["小林是台南的咖啡師。"],
    "style": "playful",
    "state": {"mood": "calm"},
}


async def get(http: httpx.AsyncClient, user: str = "ann", **params: Any) -> Any:
    reply = await http.get("/persona", params={"user_id": user, **params})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_a_persona_is_given_shown_listed_and_removed(http: httpx.AsyncClient) -> None:
    given = await http.put("/persona", json=LIN)
    assert given.status_code == 200, given.text
    shown = await get(http)
    assert shown == given.json()
    assert (shown["user_id"], shown["profile"]["name"], shown["learned"]) == ("ann", "小林", [])
    await http.put("/persona", json=LIN | {"persona_id": "fu", "name": "阿福"})
    listed = await http.get("/persona/list", params={"user_id": "ann"})
    assert [persona["profile"]["persona_id"] for persona in listed.json()["results"]] == ["default", "fu"]
    removed = await http.delete("/persona", params={"user_id": "ann"})
    assert removed.json() == {"removed": 1}
    assert (await get(http))["profile"]["name"] is None
    assert (await http.delete("/persona", params={"user_id": "ann"})).status_code == 404


async def test_a_user_sees_no_persona_of_another(http: httpx.AsyncClient) -> None:
    await http.put("/persona", json=LIN)
    assert (await get(http, user="bob"))["profile"]["name"] is None
    assert (await http.delete("/persona", params={"user_id": "bob"})).status_code == 404
    assert (await get(http))["profile"]["name"] == "小林"


async def test_a_turn_teaches_what_the_assistant_said_of_itself(http: httpx.AsyncClient) -> None:
    turn = {"user_id": "ann", "message": "Hello there", "reply": MOVED, "turn_id": "t"}
    for _ in range(2):
        reply = await http.post("/persona/learn", json=turn)
        assert reply.status_code == 200, reply.text
    [trait] = reply.json()["learned"]
    assert (trait["predicate"], trait["object"], trait["origin"]) == ("lives_in", "Boston", "said")
    again = (await http.post("/persona/learn", json=turn | {"turn_id": "t2"})).json()["learned"]
    assert again[0]["confidence"] > trait["confidence"]


async def test_what_a_prompt_held_teaches_nothing(http: httpx.AsyncClient) -> None:
    turn = {"user_id": "ann", "message": "Hello", "reply": MOVED, "turn_id": "t", "injected": ["Boston is a city."]}
    reply = await http.post("/persona/learn", json=turn)
    assert reply.json()["learned"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"persona_id": "a.b"}, "persona_id"),
        ({"name": " "}, "name"),
        ({"facts": [""]}, "facts.0"),
        ({"facts": ["x"] * 65}, "facts"),
        ({"state": {"mood": {}}}, "state.mood"),
        ({"mood": "calm"}, "mood"),
    ],
)
async def test_a_persona_that_is_not_sound_is_refused_by_name(
    http: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    reply = await http.put("/persona", json=LIN | body)
    assert reply.status_code == 422
    assert any(error["field"].startswith(field) for error in reply.json()["errors"]), reply.text
    assert (await get(http))["profile"]["name"] is None
