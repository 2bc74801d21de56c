"""Forgetting in chat over HTTP: `/chat` and the hooks for backends that reply by themselves."""

import asyncio

import httpx

from deployments.http.support.services import Services

TOLD = "王小明在台積電上班。"


async def say(http: httpx.AsyncClient, message: str, path: str = "/chat") -> dict[str, object]:
    body = {"user_id": "ann", "session_id": "s", "message": message} | ({"wait": True} if path == "/chat" else {})
    reply = await http.post(path, json=body)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def until_erased(services: Services) -> None:
    async with asyncio.timeout(60):
        while any(erasure.receipt is None for erasure in await services.erasures.list()):
            await asyncio.sleep(0.01)


async def test_a_request_to_forget_is_carried_out_and_leaves_no_trace(
    http: httpx.AsyncClient, services: Services
) -> None:
    await say(http, TOLD)
    reply = await say(http, "忘掉王小明")
    assert reply["reply"] == "好的，已從記憶裡刪除：所有關於王小明的內容。我不會再提起。"
    forgotten = reply["forgotten"]
    assert isinstance(forgotten, dict)
    assert (forgotten["outcome"], forgotten["things"][0]["name"]) == ("removed", "王小明")
    await until_erased(services)
    assert "王小明" not in (await http.get("/export", params={"user_id": "ann"})).text
    session = await http.get("/sessions/s", params={"user_id": "ann"})
    assert "王小明" not in session.text
    changes = await http.get("/changes", params={"user_id": "ann", "kind": "forget"})
    assert len(changes.json()["results"]) == 1
    assert "王小明" not in changes.text


async def test_the_stream_of_a_request_to_forget_ends_with_what_became_of_it(http: httpx.AsyncClient) -> None:
    body = {"user_id": "ann", "session_id": "s", "message": "忘掉王小明", "stream": True}
    reply = await http.post("/chat", json=body)
    assert '"outcome":"not_found"' in reply.text
    assert "event: done" in reply.text


async def test_a_backend_learns_before_its_reply_what_will_be_forgotten(
    http: httpx.AsyncClient, services: Services
) -> None:
    await say(http, TOLD)
    before = await say(http, "忘掉王小明", "/chat/before")
    assert before["entities"] == []
    assert "所有關於王小明的內容" in str(before["context"])
    assert "台積電" not in str(before["context"])
    after = await http.post(
        "/chat/after", json={"user_id": "ann", "session_id": "s", "message": "忘掉王小明", "reply": "好的"}
    )
    assert after.json()["forgotten"]["outcome"] == "removed"
    await until_erased(services)
    later = await say(http, "王小明在哪裡上班？", "/chat/before")
    assert "台積電" not in str(later)


async def test_other_messages_have_nothing_forgotten(http: httpx.AsyncClient) -> None:
    assert (await say(http, TOLD))["forgotten"] is None
    assert (await say(http, TOLD, "/chat/before"))["forgotten"] is None
