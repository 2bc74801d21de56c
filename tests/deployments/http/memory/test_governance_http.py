"""Memory protection and review over HTTP (001)."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from deployments.builders.typed_memories import conflict_bands, make_review_job, review_rules
from deployments.config.settings import AppArgs
from deployments.http.support.services import Services
from memory.governance.review import ReviewRules
from memory.typed_memories.bands import FixedBand
from memory.values.base import utc_now
from memory.values.entities import Entity
from memory.values.ids import entity_id
from memory.values.text import normalise
from memory.values.typed_memories import NewTypedMemory
from models.assets.catalog import get_model
from storage.inmemory.coordination import InMemoryLocks
from storage.inmemory.record import InMemoryRecord

LONG_AGO = utc_now() - timedelta(days=200)


async def store(http: httpx.AsyncClient, value: str, confidence: float = 0.5, **fields: Any) -> dict[str, Any]:
    body = {"user_id": "ann", "entity_type": "preference", "entity_value": value, "confidence": confidence} | fields
    reply = await http.post("/aam/entities", json=body)
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()
    return result


async def cold_entity(services: Services, value: str = "宏康 HCI", *, user: str = "ann") -> str:
    """An entity that was mentioned once, long ago."""
    id_ = entity_id(user, value)
    entity = Entity(
        entity_id=id_,
        user_id=user,
        entity_value=value,
        normalised_value=normalise(value),
        mention_count=1,
        first_mentioned=LONG_AGO,
        last_mentioned=LONG_AGO,
    )
    async with services.record.writing(user_id=user) as unit:
        await unit.entities.save([entity])
        await unit.commit()
    return id_


async def run_review(http: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    begun = await http.post("/review/run", json=body)
    assert begun.status_code == 202, begun.text
    while True:
        run: dict[str, Any] = (await http.get("/review/status")).json()
        if run["state"] != "running":
            assert run["run_id"] == begun.json()["run_id"]
            return run
        await asyncio.sleep(0.002)


@pytest.fixture
async def everything_conflicts(services: Services) -> None:
    """A fake encoder knows no meaning: any two values are in the band."""
    (await services.typed_memories.current())._bands = FixedBand(lower=-1.0, upper=0.9999)


async def test_a_value_is_stored_once_found_and_listed(http: httpx.AsyncClient) -> None:
    first = await store(http, "RM05-008", entity_type="part_number", confidence=0.8, metadata={"room": 3})
    again = await store(http, "rm05-008", entity_type="part_number", confidence=0.8)
    assert (first["event"], again["event"], first["conflicts"]) == ("created", "updated", [])
    assert again["memory"]["memory_id"] == first["memory"]["memory_id"]
    assert again["memory"]["confidence"] == pytest.approx(0.82)
    reply = (await http.post("/aam/retrieve", json={"user_id": "ann", "query": "RM05-008 還有庫存嗎？"})).json()
    [hit] = reply["results"]
    assert hit["memory"]["entity_value"] == "RM05-008"
    assert hit["parts"].keys() == {"relevance", "hotness", "recency"}
    assert 0 <= hit["final_score"] <= 1
    listed = (await http.get("/aam/entities", params={"user_id": "ann", "entity_type": "part_number"})).json()
    assert [memory["metadata"] for memory in listed["results"]] == [{"room": 3}]
    assert listed["next"] is None
    assert (await http.get("/aam/entities", params={"user_id": "bob"})).json()["results"] == []


async def test_what_is_stored_is_found_by_chat_context_and_prompts_and_has_a_source(
    http: httpx.AsyncClient, services: Services
) -> None:
    memory = (await store(http, "花生", 0.9, entity_type="allergy"))["memory"]
    await services.additions._learning.learn(user_id="ann")
    asked = await http.post("/chat", json={"user_id": "ann", "message": "我對花生過敏嗎？"})
    assert "花生" in asked.json()["reply"]
    context = await http.get("/context", params={"user_id": "ann"})
    assert "使用者對花生過敏" in context.json()["context"]
    await store(http, "RM05-008", 0.9, entity_type="part_number")
    await services.additions._learning.learn(user_id="ann")
    resolved = await http.post("/resolve", json={"user_id": "ann", "query": "它還有庫存嗎？", "session_id": "new"})
    assert "RM05-008" in resolved.json()["resolved_query"]
    [source] = memory["sources"]
    async with services.record.reading(user_id="ann") as unit:
        assert [entry.content for entry in await unit.log.get([source])] == ["使用者對花生過敏。"]
    [_, item] = (await http.get("/items", params={"user_id": "ann"})).json()["results"]
    assert (item["fact_id"], item["predicate"]) == (memory["memory_id"], "allergic_to")


@pytest.mark.usefixtures("everything_conflicts")
async def test_a_conflict_is_foreseen_decided_shown_and_undone(http: httpx.AsyncClient) -> None:
    await store(http, "喜歡喝黑咖啡", 0.6)
    body = {"user_id": "ann", "entity_type": "preference", "new_value": "平常愛喝拿鐵", "new_confidence": 0.9}
    foreseen = (await http.post("/memories/conflicts/detect", json=body)).json()
    assert [(conflict["existing"]["entity_value"], conflict["resolution"]) for conflict in foreseen["conflicts"]] == [
        ("喜歡喝黑咖啡", "overwrite")
    ]
    await store(http, "平常愛喝拿鐵", 0.9)
    conflicts = (await http.get("/memories/conflicts", params={"user_id": "ann"})).json()
    assert conflicts["open"] == []
    [change] = conflicts["overwritten"]
    assert (change["kind"], change["actor"], change["undone_at"]) == ("overwrite", "system", None)
    undone = await http.post("/changes/undo", json={"user_id": "ann", "change_id": change["change_id"]})
    assert (undone.status_code, undone.json()["undoes"]) == (200, change["change_id"])
    again = await http.post("/changes/undo", json={"user_id": "ann", "change_id": change["change_id"]})
    assert (again.status_code, again.headers["content-type"]) == (409, "application/problem+json")
    conflicts = (await http.get("/memories/conflicts", params={"user_id": "ann"})).json()
    [open_] = conflicts["open"]
    assert open_["memory"]["entity_value"] == "平常愛喝拿鐵"
    assert [memory["entity_value"] for memory in open_["contradicts"]] == ["喜歡喝黑咖啡"]


async def test_changes_are_listed_page_by_page_and_by_subject(http: httpx.AsyncClient, services: Services) -> None:
    ids = [await cold_entity(services, name) for name in ("a", "b", "c")]
    for id_ in ids:
        await http.post("/review/mark", json={"user_id": "ann", "id": id_, "reason": "old"})
    page = (await http.get("/changes", params={"user_id": "ann", "limit": 2})).json()
    rest = (await http.get("/changes", params={"user_id": "ann", "limit": 2, "before": page["next"]})).json()
    assert [change["subjects"] for change in (*page["results"], *rest["results"])] == [[id_] for id_ in reversed(ids)]
    assert rest["next"] is None
    of_one = (await http.get("/changes", params={"user_id": "ann", "subject": ids[1], "kind": "review"})).json()
    assert len(of_one["results"]) == 1
    assert (await http.get("/changes", params={"user_id": "bob"})).json()["results"] == []


async def test_without_an_id_the_latest_change_is_undone(http: httpx.AsyncClient, services: Services) -> None:
    id_ = await cold_entity(services)
    await http.post("/review/archive", json={"user_id": "ann", "id": id_})
    assert (await http.post("/changes/undo", json={"user_id": "ann"})).status_code == 200
    async with services.record.reading(user_id="ann") as unit:
        assert [entity.status for entity in await unit.entities.get([id_])] == ["active"]
    nothing = await http.post("/changes/undo", json={"user_id": "ann"})
    assert (nothing.status_code, "change_id" in nothing.json()["detail"]) == (404, True)


async def test_archived_entities_are_out_of_search_and_resolution_and_come_back_on_mention(
    http: httpx.AsyncClient, services: Services
) -> None:
    async def say(message: str) -> None:
        await http.post("/chat", json={"user_id": "ann", "message": message, "wait": True})

    async def search_ids() -> list[str]:
        body = {"user_id": "ann", "query": "RM05-008", "kinds": ["entity"]}
        return [hit["text"] for hit in (await http.post("/search", json=body)).json()["results"]]

    await say("我們用 RM05-008 測試。")
    assert await search_ids() == ["RM05-008"]
    archived = await http.post("/review/archive", json={"user_id": "ann", "id": "rm05-008", "reason": "gone"})
    assert (archived.json()["item"]["status"], archived.json()["change"]["kind"]) == ("archived", "archive")
    assert await search_ids() == []
    listed = (await http.get("/review", params={"user_id": "ann", "status": "archived"})).json()
    assert [memory["entity_value"] for memory in listed["results"]] == ["RM05-008"]
    await say("RM05-008 又壞了。")
    assert await search_ids() == ["RM05-008"]
    changes = (await http.get("/changes", params={"user_id": "ann"})).json()["results"]
    assert [(change["kind"], change["actor"]) for change in changes] == [("restore", "system"), ("archive", "user")]


async def test_marked_entities_wait_in_review_and_are_found_as_before(
    http: httpx.AsyncClient, services: Services
) -> None:
    id_ = await cold_entity(services)
    marked = (await http.post("/review/mark", json={"user_id": "ann", "id": id_, "reason": "old"})).json()
    assert (marked["item"]["status"], marked["item"]["review_reason"]) == ("review", "old")
    listed = (await http.get("/review", params={"user_id": "ann"})).json()
    assert [entity["entity_id"] for entity in listed["results"]] == [id_]
    reply = (await http.post("/search", json={"user_id": "ann", "query": "宏康 HCI", "kinds": ["entity"]})).json()
    assert [hit["id"] for hit in reply["results"]] == [id_]
    restored = (await http.post("/review/restore", json={"user_id": "ann", "id": id_})).json()
    assert (restored["item"]["status"], restored["item"]["review_reason"]) == ("active", None)
    again = (await http.post("/review/restore", json={"user_id": "ann", "id": id_})).json()
    assert again["change"] is None


async def test_a_typed_memory_is_archived_and_restored_too(http: httpx.AsyncClient) -> None:
    id_ = (await store(http, "tea", 0.9))["memory"]["memory_id"]
    body = {"user_id": "ann", "kind": "aam_memory", "id": id_}
    assert (await http.post("/review/archive", json=body)).json()["item"]["status"] == "archived"
    query = {"user_id": "ann", "query": "tea"}
    assert (await http.post("/aam/retrieve", json=query)).json()["results"] == []
    assert (await http.post("/review/restore", json=body)).json()["item"]["status"] == "active"
    assert len((await http.post("/aam/retrieve", json=query)).json()["results"]) == 1


async def test_the_status_of_one_users_review_has_no_counts_and_items_of_anothers(
    http: httpx.AsyncClient, services: Services
) -> None:
    ids = {
        "ann": [await cold_entity(services)],
        "bob": [await cold_entity(services, value, user="bob") for value in ("宏康 HCI", "AI-Box")],
    }
    for user in ("bob", "ann"):
        run = await run_review(http, user_id=user, dry_run=True)
        output = run["output"]
        assert (run["done"], output["checked"], output["archived"]) == (1, len(ids[user]), len(ids[user]))
        assert sorted(item["item_id"] for item in output["items"]) == sorted(ids[user])
        assert {item["user_id"] for item in output["items"]} == {user}
    everyone = await run_review(http, dry_run=True)
    assert (everyone["done"], everyone["output"]["archived"], everyone["output"]["items"]) == (2, 3, [])


async def test_a_review_runs_by_command_dry_or_not(http: httpx.AsyncClient, services: Services) -> None:
    assert (await http.get("/review/status")).json() is None
    id_ = await cold_entity(services)
    dry = await run_review(http, user_id="ann", dry_run=True)
    assert (dry["output"]["archived"], dry["input"]["dry_run"]) == (1, True)
    assert [item["item_id"] for item in dry["output"]["items"]] == [id_]
    real = await run_review(http)
    assert (real["state"], real["done"], real["output"]["archived"]) == ("done", 1, 1)
    async with services.record.reading(user_id="ann") as unit:
        assert [entity.status for entity in await unit.entities.get([id_])] == ["archived"]


@pytest.mark.parametrize(
    ("path", "field", "body"),
    [
        ("/aam/entities", "entity_type", {"user_id": "ann", "entity_value": "x"}),
        ("/aam/entities", "entity_type", {"user_id": "ann", "entity_type": "t" * 65, "entity_value": "x"}),
        ("/aam/entities", "entity_value", {"user_id": "ann", "entity_type": "t", "entity_value": " "}),
        ("/aam/entities", "entity_value", {"user_id": "ann", "entity_type": "t", "entity_value": "x" * 1025}),
        ("/aam/entities", "confidence", {"user_id": "ann", "entity_type": "t", "entity_value": "x", "confidence": 2}),
        ("/aam/entities", "user_id", {"entity_type": "t", "entity_value": "x"}),
        ("/aam/retrieve", "limit", {"user_id": "ann", "query": "x", "limit": 0}),
        ("/aam/retrieve", "min_confidence", {"user_id": "ann", "query": "x", "min_confidence": -1}),
        ("/memories/conflicts/detect", "new_value", {"user_id": "ann", "entity_type": "t"}),
        ("/changes/undo", "user_id", {"change_id": "x"}),
        ("/review/archive", "id", {"user_id": "ann"}),
        ("/review/restore", "kind", {"user_id": "ann", "id": "x", "kind": "dog"}),
        ("/review/run", "dry_run", {"dry_run": "yes"}),
    ],
)
async def test_bad_input_is_refused_by_name(
    http: httpx.AsyncClient, path: str, field: str, body: dict[str, Any]
) -> None:
    reply = await http.post(path, json=body)
    assert reply.status_code == 422, reply.text
    assert field in [error["field"] for error in reply.json()["errors"]]


@pytest.mark.parametrize(
    ("path", "parameters", "field"),
    [
        ("/changes", {"user_id": "ann", "kind": "dog"}, "kind"),
        ("/changes", {"user_id": "ann", "before": "x"}, "before"),
        ("/changes", {}, "user_id"),
        ("/review", {"user_id": "ann", "status": "dog"}, "status"),
        ("/aam/entities", {"user_id": "ann", "limit": 0}, "limit"),
        ("/memories/conflicts", {}, "user_id"),
    ],
)
async def test_bad_parameters_are_refused_by_name(
    http: httpx.AsyncClient, path: str, parameters: dict[str, str], field: str
) -> None:
    reply = await http.get(path, params=parameters)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize("path", ["/review/archive", "/review/restore", "/review/mark", "/changes/undo"])
async def test_what_is_not_there_or_anothers_is_404(http: httpx.AsyncClient, services: Services, path: str) -> None:
    id_ = await cold_entity(services)
    name = "change_id" if path == "/changes/undo" else "id"
    reply = await http.post(path, json={"user_id": "bob", name: id_})
    assert (reply.status_code, name in reply.json()["detail"]) == (404, True)


def test_every_field_of_a_stored_body_is_one_of_the_memorys() -> None:
    assert set(NewTypedMemory.model_fields) == {
        "entity_type", "entity_value", "content", "memory_type", "priority", "metadata", "confidence"
    }  # fmt: skip


def test_the_settings_are_those_of_001_and_a_wrong_schedule_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    args = AppArgs()
    assert (args.review.schedule, args.review.timezone) == ("0 2 * * 0", "UTC")
    assert review_rules(args.review) == ReviewRules()
    assert conflict_bands(args, args.model) == get_model(args.model).bands
    assert conflict_bands(AppArgs(), "bge-m3") == FixedBand(lower=0.85, upper=1.0)
    narrow = AppArgs.model_validate({"aam": {"conflict_lower": 0.97}})
    assert conflict_bands(narrow, args.model) == conflict_bands(narrow, "bge-m3") == FixedBand(lower=0.97, upper=1.0)
    for section in ({"schedule": "every Sunday"}, {"timezone": "Mars/Olympus"}, {"archive_max_access": -1}):
        with pytest.raises(ValidationError, match="review"):
            AppArgs.model_validate({"review": section})
    monkeypatch.setenv("JIYI_REVIEW__SCHEDULE", "never")
    job = make_review_job(AppArgs(), record=InMemoryRecord(), locks=InMemoryLocks())
    assert job.figures() == {}
