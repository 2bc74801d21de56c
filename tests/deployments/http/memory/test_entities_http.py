"""Entities over HTTP: what 000 §7.1 and §8 name, each as one call."""

from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.values.errors import StoreUnavailable, Unavailable


async def send(http: httpx.AsyncClient, method: str, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    body = {"user_id": "ann"} | body
    how = {"params": body} if method in ("GET", "DELETE") else {"json": body}
    reply = await http.request(method, path, **how)  # type: ignore[arg-type]
    assert reply.status_code == status, reply.text
    return dict(reply.json())


async def remember(http: httpx.AsyncClient, *names: str) -> list[str]:
    """Keeps names; returns the ids."""
    return [(await send(http, "POST", "/entities", entity_value=name))["entity"]["entity_id"] for name in names]


async def test_what_is_remembered_is_got_by_id_name_and_search(http: httpx.AsyncClient, services: Services) -> None:
    remembered = (await send(http, "POST", "/entities", entity_value="宏康 HCI", attributes={"floor": 3}))["entity"]
    assert (remembered["confidence"], remembered["source"], remembered["attributes"]) == (1.0, "user", {"floor": 3})
    id_ = remembered["entity_id"]
    assert (await send(http, "GET", f"/entities/{id_}"))["entity"] == remembered
    assert (await send(http, "GET", "/entities/by-name", name="宏康ＨＣＩ"))["entity"] == remembered
    reply = await send(http, "POST", "/entities/search", query="宏康HCI 的保固")
    assert [entity["entity_id"] for entity in reply["results"]] == [id_]
    again = (await send(http, "POST", "/entities", entity_value="宏康HCI", attributes={"rack": 1}))["entity"]
    assert (again["entity_id"], again["mention_count"], again["attributes"]) == (id_, 2, {"floor": 3, "rack": 1})


@pytest.mark.parametrize(
    "name", ["12345", "你好", "hello", "它", "they", "星期三", "2026-01-31", "the", "什麼", "。。"]
)
async def test_junk_is_never_remembered(http: httpx.AsyncClient, name: str) -> None:
    problem = await send(http, "POST", "/entities", 422, entity_value=name)
    assert problem["errors"][0]["field"] == "entity_value"
    assert (await send(http, "POST", "/entities/search"))["results"] == []


async def test_an_empty_search_lists_all_latest_first(http: httpx.AsyncClient) -> None:
    await remember(http, "AI-Box", "Qdrant", "AI-Box")
    reply = await send(http, "POST", "/entities/search", query="")
    assert [entity["entity_value"] for entity in reply["results"]] == ["AI-Box", "Qdrant"]
    loaded = await send(http, "GET", "/entities/long-term")
    assert loaded["entities"]["Qdrant"]["type"] == "long_term"


async def test_aliases_are_given_found_refused_and_taken_back(http: httpx.AsyncClient) -> None:
    box, _ = await remember(http, "AI-Box", "Qdrant")
    named = await send(http, "POST", "/entities/aliases", entity="AI-Box", alias="愛盒")
    assert (named["entity"]["aliases"], len(named["change_ids"])) == (["愛盒"], 1)
    assert (await send(http, "GET", "/entities/by-name", name="愛盒"))["entity"]["entity_id"] == box
    mentions = (await send(http, "POST", "/entities/extract", text="愛盒壞了"))["mentions"]
    assert [(mention["text"], mention["entity_id"]) for mention in mentions] == [("愛盒", box)]
    refused = await send(http, "POST", "/entities/aliases", 409, entity="Qdrant", alias="愛盒")
    assert "alias" in refused["detail"]
    assert "AI-Box" in refused["detail"]
    assert (await send(http, "POST", "/entities/aliases", entity=box, alias="愛盒"))["change_ids"] == []
    assert (await send(http, "DELETE", f"/entities/{box}/aliases", alias="愛盒"))["entity"]["aliases"] == []
    await send(http, "DELETE", f"/entities/{box}/aliases", 404, alias="愛盒")
    await send(http, "DELETE", f"/entities/{box}/aliases", 422, alias="AI-Box")


async def test_merge_split_rename_and_forget(http: httpx.AsyncClient) -> None:
    long, short = await remember(http, "台積電", "TSMC")
    names: dict[str, Any] = {"into": "台積電", "from": "TSMC"}
    merged = await send(http, "POST", "/entities/merge", **names)
    assert (merged["entity"]["entity_id"], merged["entity"]["mention_count"]) == (long, 2)
    assert (await send(http, "GET", f"/entities/{short}"))["entity"]["merged_into"] == long
    assert (await send(http, "GET", "/entities/by-name", name="tsmc"))["entity"]["entity_id"] == long
    same = await send(http, "POST", "/entities/merge", 422, **{"into": long, "from": "TSMC"})
    assert same["errors"][0]["field"] == "from"
    apart = await send(http, "POST", "/entities/split", entity=long, names=["TSMC"])
    assert apart["entity"]["entity_id"] == short
    renamed = await send(http, "PATCH", f"/entities/{long}", name="台灣積體電路", subtype="organisation")
    assert (renamed["entity"]["aliases"], len(renamed["change_ids"])) == (["台積電"], 2)
    await send(http, "PATCH", f"/entities/{long}", 409, name="TSMC")
    await send(http, "DELETE", f"/entities/{long}")
    await send(http, "GET", f"/entities/{long}", 404)
    await send(http, "DELETE", f"/entities/{long}", 404)


async def test_what_is_split_off_again_is_listed_and_found(http: httpx.AsyncClient) -> None:
    await remember(http, "Borealis GmbH", "Aurora Labs")
    names: dict[str, Any] = {"into": "Aurora Labs", "from": "Borealis GmbH"}
    await send(http, "POST", "/entities/merge", **names)
    apart = await send(http, "POST", "/entities/split", entity="Aurora Labs", names=["Borealis GmbH"])
    assert (apart["entity"]["entity_value"], apart["entity"]["mention_count"]) == ("Borealis GmbH", 1)
    listed = (await send(http, "GET", "/entities"))["results"]
    assert {entity["entity_value"] for entity in listed} == {"Borealis GmbH", "Aurora Labs"}
    [found, *_] = (await send(http, "POST", "/entities/search", query="Borealis GmbH"))["results"]
    assert found["entity_value"] == "Borealis GmbH"


async def test_relations_are_stated_learned_and_followed(http: httpx.AsyncClient) -> None:
    await send(http, "POST", "/chat", message="王小明在台積電工作。", wait=True)
    reply = await send(http, "GET", "/relations", entity="王小明")
    by_type = {relation["relation_type"]: relation for relation in reply["results"]}
    assert set(by_type) == {"works_at", "mentioned_with"}
    stated = by_type["works_at"]
    assert "王小明在台積電工作。"[stated["evidence_start"] : stated["evidence_end"]] == "王小明在台積電工作"
    relation = await send(
        http, "POST", "/relations", source="王小明", relation_type="likes", target="台積電", confidence=0.9
    )
    assert relation["relation"]["confidence"] == 0.9
    related = await send(http, "GET", f"/entities/{stated['target_entity_id']}/related")
    assert [neighbour["entity"]["entity_value"] for neighbour in related["results"]] == ["王小明"]
    assert related["results"][0]["strength"] > 1
    await send(http, "DELETE", f"/relations/{relation['relation']['relation_id']}")
    await send(http, "POST", "/relations", 404, source="王小明", relation_type="likes", target="nobody")
    same = await send(http, "POST", "/relations", 422, source="王小明", relation_type="likes", target="王小明")
    assert same["errors"][0]["field"] == "target"


async def test_an_agent_asks_before_it_answers_and_tells_afterwards(http: httpx.AsyncClient) -> None:
    learned = await send(
        http, "POST", "/chat/after", message="我們買了 AI-Box。", reply="恭喜！", turn_id="t1", session_id="s"
    )
    assert [entity["entity_value"] for entity in learned["results"]] == ["AI-Box"]
    await send(http, "POST", "/chat/after", message="我們買了 AI-Box。", reply="恭喜！", turn_id="t1", session_id="s")
    before = await send(http, "POST", "/chat/before", message="它多少錢？", session_id="s")
    assert before["resolved_query"] == "AI-Box 多少錢？"
    assert "AI-Box" in before["context"]
    assert before["context"].startswith("用戶提到的相關實體")
    after = await send(http, "POST", "/chat/after", message="AI-Box 壞了", auto_learn=False)
    assert [entity["mention_count"] for entity in after["results"]] == [1]


async def test_the_context_of_a_prompt_is_in_the_language_of_the_query(http: httpx.AsyncClient) -> None:
    await remember(http, "AI-Box")
    english = await send(http, "POST", "/entities/context", query="How long does AI-Box last?")
    assert english["context"].startswith("Entities that the user mentioned:\n- AI-Box (last mentioned: ")
    simplified = await send(http, "POST", "/entities/context", query="AI-Box 的保修多久？这个")
    assert simplified["context"].startswith("用户提到的相关实体")
    assert (await send(http, "POST", "/entities/context", query="x", user_id="bob"))["context"] == ""


async def test_another_user_finds_and_changes_nothing(http: httpx.AsyncClient) -> None:
    [box] = await remember(http, "AI-Box")
    for method, path, body in (
        ("GET", f"/entities/{box}", {}),
        ("DELETE", f"/entities/{box}", {}),
        ("GET", f"/entities/{box}/related", {}),
        ("PATCH", f"/entities/{box}", {"name": "mine"}),
        ("POST", "/entities/aliases", {"entity": box, "alias": "mine"}),
        ("POST", "/entities/split", {"entity": box, "name": "mine"}),
        ("GET", "/relations", {"entity": box}),
    ):
        await send(http, method, path, 404, user_id="bob", **body)
    assert (await send(http, "GET", f"/entities/{box}"))["entity"]["aliases"] == []


@pytest.mark.parametrize(
    ("method", "path", "field", "body"),
    [
        ("POST", "/entities", "entity_value", {"entity_value": ""}),
        ("POST", "/entities", "entity_value", {"entity_value": "x" * 300}),
        ("POST", "/entities", "subtype", {"entity_value": "AI-Box", "subtype": "animal"}),
        ("POST", "/entities/search", "limit", {"limit": 0}),
        ("POST", "/entities/aliases", "alias", {"entity": "AI-Box"}),
        ("POST", "/entities/aliases", "alias", {"entity": "AI-Box", "alias": "。。"}),
        ("POST", "/entities/merge", "from", {"into": "AI-Box"}),
        ("POST", "/entities/split", "names", {"entity": "AI-Box", "names": ["nothing"]}),
        ("POST", "/entities/split", "name", {"entity": "AI-Box"}),
        ("POST", "/relations", "confidence", {"source": "a", "target": "b", "relation_type": "c", "confidence": 2}),
        ("POST", "/chat/before", "message", {"message": " "}),
        ("POST", "/chat/after", "colour", {"message": "x", "colour": "red"}),
        ("GET", "/relations", "entity", {}),
        ("GET", "/entities/long-term", "limit", {"limit": 0}),
    ],
)
async def test_bad_input_is_refused_by_name(
    http: httpx.AsyncClient, method: str, path: str, field: str, body: dict[str, Any]
) -> None:
    await remember(http, "AI-Box")
    problem = await send(http, method, path, 422, **body)
    assert field in [error["field"] for error in problem["errors"]]


async def test_a_resolver_or_extractor_that_is_down_costs_the_turn_nothing_else(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise Unavailable("gone", component="resolver")

    monkeypatch.setattr(services.resolver, "resolve", down)
    reply = await send(http, "POST", "/chat/before", message="它多少錢？")
    assert (reply["resolved_query"], reply["resolution"]["degraded"]) == ("它多少錢？", ["resolver"])
    monkeypatch.setattr(services.extractor, "extract", down)
    assert (await send(http, "POST", "/chat/after", message="AI-Box 壞了", auto_learn=False))["results"] == []


@pytest.mark.parametrize("part", ["resolver", "extractor", "sessions"])
async def test_a_resolution_that_fails_returns_the_query(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StoreUnavailable("gone", component=part)

    name = {"resolver": "resolve", "extractor": "extract", "sessions": "load"}[part]
    monkeypatch.setattr(getattr(services, part), name, down)
    reply = await send(http, "POST", "/resolve", query="它多少錢？")
    assert (reply["resolved_query"], reply["resolutions"]) == ("它多少錢？", [])
    assert part in reply["degraded"]


async def test_what_is_edited_by_hand_is_among_the_changes_and_not_among_the_conflicts(
    http: httpx.AsyncClient,
) -> None:
    await remember(http, "宏康 HCI", "AI-Box")
    again = await send(http, "POST", "/entities", entity_value="宏康 HCI", attributes={"floor": 3})
    assert len(again["change_ids"]) == 1
    await send(http, "PATCH", "/entities/AI-Box", attributes={"room": "A"})
    await send(http, "POST", "/relations", source="AI-Box", relation_type="part_of", target="宏康 HCI")
    changes = (await send(http, "GET", "/changes"))["results"]
    assert [change["kind"] for change in changes] == ["add", "edit", "edit", "add", "add"]
    assert (await send(http, "GET", "/memories/conflicts"))["overwritten"] == []


async def test_a_preloaded_entity_is_there_for_a_new_user(http: httpx.AsyncClient) -> None:
    found = (await send(http, "GET", "/entities/by-name", name="arangodb", user_id="new"))["entity"]
    assert (found["source"], found["mention_count"]) == ("system", 0)
    assert (await send(http, "GET", "/entities/Qdrant", user_id="newer"))["entity"]["entity_value"] == "Qdrant"
    assert (await send(http, "GET", "/entities", user_id="new"))["results"] == []


async def test_a_search_may_be_for_one_type(http: httpx.AsyncClient) -> None:
    await send(http, "POST", "/entities", entity_value="王小明", subtype="person")
    await send(http, "POST", "/entities", entity_value="小明文具行", subtype="organisation")
    for path in ("/entities/search", "/search"):
        reply = await send(http, "POST", path, query="小明", entity_type="person")
        assert [found.get("entity_value") or found["text"] for found in reply["results"]] == ["王小明"]
        await send(http, "POST", path, 422, query="小明", entity_type="animal")


async def test_what_a_prompt_holds_is_used_and_what_a_search_finds_is_not(
    http: httpx.AsyncClient, services: Services
) -> None:
    async def uses() -> int:
        await services.tally.flush()
        async with services.record.reading(user_id="ann") as unit:
            return sum(entity.access_count for entity in await unit.entities.page(limit=99))

    await remember(http, "AI-Box")
    await send(http, "POST", "/search", query="AI-Box 在哪裡？")
    await send(http, "POST", "/entities/search", query="AI-Box")
    assert await uses() == 0
    await send(http, "POST", "/entities/context", query="AI-Box 在哪裡？")
    assert await uses() == 1
    await send(http, "POST", "/chat/before", message="AI-Box 壞了嗎？")
    assert await uses() == 2


async def test_the_metrics_count_what_users_have_and_what_memory_answers(
    http: httpx.AsyncClient,
) -> None:
    async def figure(name: str) -> float:
        lines = (await http.get("/metrics")).text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"entity_memory_{name}"))

    await send(http, "POST", "/chat", message="AI-Box 放在三樓機房。", wait=True)
    assert await figure("storage_count") == len((await send(http, "GET", "/entities"))["results"]) > 0
    assert (await figure("recall_hits_total"), await figure("recall_misses_total")) == (0, 0)
    await send(http, "POST", "/chat", message="火星的質量是多少？", wait=True)
    assert (await figure("recall_hits_total"), await figure("recall_misses_total")) == (0, 1)
    await send(http, "POST", "/chat", message="AI-Box 放在哪裡？", wait=True)
    assert (await figure("recall_hits_total"), await figure("recall_misses_total")) == (1, 1)


async def test_without_the_record_nothing_is_said_to_be_kept(
    http: httpx.AsyncClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(**_: object) -> None:
        raise StoreUnavailable("away", component="record")

    monkeypatch.setattr(services.record, "writing", gone)
    await send(http, "POST", "/entities", 503, entity_value="AI-Box")
    await send(http, "POST", "/entities/merge", 503, **{"into": "a", "from": "b"})


async def test_a_reference_leads_to_the_entities_that_it_may_mean(http: httpx.AsyncClient) -> None:
    await send(http, "POST", "/chat", message="我在比較 Redis 和 Qdrant。", session_id="s1", wait=True)
    reply = await send(http, "POST", "/entities/by-reference", word="它", session_id="s1")
    assert {entity["entity_value"] for entity in reply["results"]} == {"Redis", "Qdrant"}
    reply = await send(http, "POST", "/entities/by-reference", word="那個", session_id="s1", limit=1)
    assert [entity["entity_value"] for entity in reply["results"]] == ["Qdrant"]
    reply = await send(http, "POST", "/entities/by-reference", word="它", session_id="s1", user_id="bob")
    assert reply["results"] == []
    await send(http, "POST", "/entities/by-reference", 422, word="它", limit=0)
    await send(http, "POST", "/entities/by-reference", 422, word="")


async def test_before_a_reply_the_backend_is_told_what_to_ask(http: httpx.AsyncClient) -> None:
    await send(http, "POST", "/chat/after", message="我們買了 AI-Box 和 Grafana。", session_id="s1")
    before = await send(http, "POST", "/chat/before", message="它多少錢？", session_id="s1")
    assert before["resolved_query"] == "它多少錢？"
    assert before["clarification"]["question"] == "「它」是指 AI-Box 還是 Grafana？"
    await send(http, "POST", "/chat/after", message="它多少錢？", reply="您問的是哪一個？", session_id="s1")
    before = await send(http, "POST", "/chat/before", message="第二個", session_id="s1")
    assert (before["resolved_query"], before["clarification"]) == ("Grafana 多少錢？", None)
