"""Facts, categories, context, retrieval and jobs over HTTP (002 §8)."""

import asyncio
import dataclasses
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from deployments.builders.facts import fact_schedules, maintenance_rules, priority_rules
from deployments.config.settings import AppArgs
from deployments.http.support.services import Services
from memory.maintenance.decay import MaintenanceRules
from memory.ports.jobs import MaintenanceKind
from memory.ports.models.chat_models import ChatRequest
from memory.prompting.checked_model import CheckedModel
from memory.prompting.facts import ModelFactReader
from memory.prompting.summaries import ModelWriter
from memory.tiers.priority import PriorityRules
from memory.tiers.summaries import CachedWriter
from memory.values.base import utc_now
from memory.values.errors import ModelUnavailable
from memory.values.facts import Fact, FactStatus
from memory.values.ids import fact_id
from memory.values.records import ResourceKind
from testing.fakes.chat_model import Answer, FakeChatModel
from tests.deployments.conftest import MOVED
from tests.deployments.serving import serving

NOW = utc_now()


def fact(predicate: str, object_: str, *, days: float = 0, user: str = "ann", **fields: Any) -> Fact:
    at = NOW - timedelta(days=days)
    defaults: dict[str, Any] = {
        "fact_id": fact_id(user, f"r{days}", "user", predicate, object_),
        "resource_id": f"r{days}",
        "category": "preferences",
        "confidence": 0.8,
        "recorded_at": at,
        "updated_at": at,
    }
    return Fact(user_id=user, subject="user", predicate=predicate, object=object_, **defaults | fields)


@pytest.fixture(autouse=True)
async def facts(services: Services) -> None:
    moved = NOW - timedelta(days=50)
    kept = [
        fact("likes", "tea", days=5),
        fact("likes", "jazz", days=4),
        fact("lives_in", "Boston", days=50, category="facts", valid_from=moved),
        fact("lives_in", "Rome", days=99, category="facts", status=FactStatus.ARCHIVED, valid_to=moved),
        fact("attended", "PyCon", days=3, category="events"),
    ]
    async with services.record.writing(user_id="ann") as unit:
        await unit.facts.create_many(kept)
        await unit.commit()


async def get(http: httpx.AsyncClient, path: str, *, user: str = "ann", **params: Any) -> dict[str, Any]:
    reply = await http.get(path, params={"user_id": user, **params})
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def run_job(http: httpx.AsyncClient, kind: str, **body: Any) -> dict[str, Any]:
    begun = await http.post(f"/jobs/{kind}", json=body or None)
    assert begun.status_code == 202, begun.text
    while True:
        run: dict[str, Any] = (await http.get(f"/jobs/{kind}")).json()
        if run["state"] != "running":
            assert run["run_id"] == begun.json()["run_id"]
            return run
        await asyncio.sleep(0.002)


async def post(http: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    reply = await http.post(path, json={"user_id": "bob", **body})
    assert reply.status_code == 200, reply.text
    replied: dict[str, Any] = reply.json()
    return replied


async def test_what_is_ingested_becomes_items(http: httpx.AsyncClient) -> None:
    said = await post(http, "/ingest", content=MOVED, turn_id="t1", created_at="2025-06-01T00:00:00Z", wait=True)
    assert said["learned"]["resources"] == 1
    [item] = (await get(http, "/items", user="bob"))["results"]
    assert (item["resource_id"], item["object"], item["category"]) == (said["resource_id"], "Boston", "facts")
    again = await post(http, "/ingest", content=MOVED, turn_id="t1")
    assert again == {"resource_id": said["resource_id"], "learned": None}
    other = await http.post("/ingest", json={"user_id": "bob", "content": "another", "turn_id": "t1"})
    assert other.status_code == 409


async def test_a_note_is_kept_as_one(http: httpx.AsyncClient, services: Services) -> None:
    note = await post(http, "/ingest", content="Spare keys: blue drawer.", source="note", metadata={"room": "hall"})
    async with services.record.reading(user_id="bob") as unit:
        [entry] = await unit.log.get([note["resource_id"]])
    assert (entry.kind, entry.metadata, entry.learn) == (ResourceKind.NOTE, {"room": "hall"}, True)


async def test_the_facts_of_a_text_are_shown_and_not_kept(http: httpx.AsyncClient) -> None:
    [fact], items = [(await post(http, "/extract", text=MOVED))[name] for name in ("facts", "items")]
    assert (fact["subject"], fact["predicate"], fact["object"], fact["category"], fact["time"]) == (
        "user", "lives_in", "Boston", "facts", "March 2025",
    )  # fmt: skip
    assert (fact["valid_from"][:10], fact["valid_to"], items) == ("2025-03-01", None, [])
    assert (await get(http, "/items", user="bob"))["results"] == []
    assert await post(http, "/extract", text="ok") == {"facts": [], "items": [], "degraded": []}


async def test_the_facts_of_an_entry_are_shown_with_what_became_of_them(http: httpx.AsyncClient) -> None:
    said = await post(http, "/ingest", content=MOVED)
    extracted = await post(http, "/extract", resource_id=said["resource_id"])
    assert [fact["object"] for fact in extracted["facts"]] == ["Boston"]
    [item] = extracted["items"]
    assert item == (await get(http, "/items", user="bob"))["results"][0]
    unknown = await http.post("/extract", json={"user_id": "ann", "resource_id": said["resource_id"]})
    assert unknown.status_code == 404


def likes(*objects: str) -> str:
    empty: dict[str, Any] = {"subject": "user", "predicate": "likes", "qualifiers": [], "time": None}
    return json.dumps({"facts": [empty | {"object": name} for name in objects]})


async def test_a_language_model_reads_what_is_extracted_and_where_it_is_away_the_reader_does(
    services: Services,
) -> None:
    model = FakeChatModel(likes("Boston"), likes("Boston", "chowder"))
    reader = ModelFactReader(CheckedModel(model, attempts=1))
    async with serving(dataclasses.replace(services, fact_reader=reader)) as http:
        [fact] = (await post(http, "/extract", text=MOVED))["facts"]
        assert (fact["predicate"], fact["object"]) == ("likes", "Boston")
        await post(http, "/ingest", content="There is chowder.", session_id="s")
        said = await post(http, "/ingest", content=MOVED, session_id="s")
        extracted = await post(http, "/extract", resource_id=said["resource_id"])
        assert [fact["object"] for fact in extracted["facts"]] == ["Boston", "chowder"]
        assert "There is chowder." in model.requests[1].messages[1].content
        assert [item["predicate"] for item in extracted["items"]] == ["lives_in"]
        [fact] = (await post(http, "/extract", text=MOVED))["facts"]
        assert fact["predicate"] == "lives_in"
        await post(http, "/extract", text="Forget my locker code.")
        await post(http, "/extract", text="Thanks!")
    assert len(model.requests) == 3


async def test_items_come_page_by_page(http: httpx.AsyncClient) -> None:
    for params in ({}, {"as_of": NOW.isoformat()}):
        seen, page = [], await get(http, "/items", limit=3, **params)
        while page["next"]:
            seen += page["results"]
            page = await get(http, "/items", limit=3, after=page["next"], **params)
        seen += page["results"]
        assert ([item["object"] for item in seen], page["total"]) == (["PyCon", "jazz", "tea", "Boston"], 4)
    refused = await http.get("/items", params={"user_id": "ann", "after": "x"})
    assert refused.status_code == 422


async def test_items_are_listed_by_category_and_status(http: httpx.AsyncClient) -> None:
    listed = await get(http, "/items", limit=2)
    assert ([item["object"] for item in listed["results"]], listed["total"]) == (["PyCon", "jazz"], 4)
    assert [item["user_id"] for item in listed["results"]] == ["ann", "ann"]
    assert [item["object"] for item in (await get(http, "/items", category="facts"))["results"]] == ["Boston"]
    assert [item["object"] for item in (await get(http, "/items", status="archived"))["results"]] == ["Rome"]
    assert (await get(http, "/items", user="bob"))["results"] == []


async def test_items_as_of_a_time_are_those_that_held_then(http: httpx.AsyncClient) -> None:
    for days, lived in ((60, "Rome"), (10, "Boston")):
        as_of = (NOW - timedelta(days=days)).isoformat()
        listed = await get(http, "/items", category="facts", as_of=as_of)
        assert [item["object"] for item in listed["results"]] == [lived]
    then = (NOW - timedelta(days=60)).isoformat()
    assert (await get(http, "/items", category="facts", as_of=then, status="active"))["results"] == []


async def test_a_context_has_whole_categories_and_what_it_held_was_used(
    http: httpx.AsyncClient, services: Services
) -> None:
    whole = await get(http, "/context")
    assert whole["context"] == (
        "### Preferences\n- The user likes tea and jazz.\n\n### Facts\n- The user lives in Boston.\n\n"
        "### Events\n- The user attended PyCon."
    )
    assert (whole["categories"], whole["tokens"]) == (["preferences", "facts", "events"], None)
    cut = await get(http, "/context", max_chars=80)
    assert (cut["categories"], cut["left_out"]) == (["preferences"], ["facts", "events"])
    assert (await get(http, "/context", categories="events, facts"))["categories"] == ["facts", "events"]
    assert (await get(http, "/context", categories=""))["context"] == ""
    one = await get(http, "/context", categories="preferences", max_items_per_category=1)
    assert one["context"] == "### Preferences\nThe user likes tea and jazz.\n- The user likes jazz."
    counted = await get(http, "/context", max_tokens=10_000)
    assert counted["context"] == whole["context"]
    assert counted["tokens"] > 20
    assert (await get(http, "/context", max_tokens=counted["tokens"] - 1))["left_out"] == ["events"]
    await services.tally.flush()
    used = {item["object"]: item["access_count"] for item in (await get(http, "/items"))["results"]}
    assert used == {"tea": 4, "jazz": 5, "Boston": 4, "PyCon": 3}


async def test_the_parameters_of_a_context_have_the_defaults_of_002(http: httpx.AsyncClient) -> None:
    parameters = (await http.get("/openapi.json")).json()["paths"]["/context"]["get"]["parameters"]
    assert {
        one["name"]: one["schema"].get("default")
        for one in parameters
        if one["in"] == "query" and one["name"] != "user_id"
    } == {"categories": None, "max_chars": None, "max_tokens": None, "max_items_per_category": 10}


async def test_categories_are_ranked_and_summarised(http: httpx.AsyncClient) -> None:
    for listed in (await get(http, "/categories"), (await http.post("/summarize", json={"user_id": "ann"})).json()):
        assert [(part["name"], part["priority"], part["items"], part["summary"]) for part in listed["results"]] == [
            ("preferences", 1.0, 2, "The user likes tea and jazz."),
            ("facts", 0.9, 1, "The user lives in Boston."),
            ("events", 0.4, 1, "The user attended PyCon."),
        ]


async def test_a_language_model_writes_summaries_once_and_while_it_is_away_they_are_extractive(
    services: Services,
) -> None:

    def answer(request: ChatRequest) -> Answer:
        told = json.dumps({"summary": "A lover of jazz and tea."})
        return told if "jazz" in request.messages[1].content else ModelUnavailable("away")

    model = FakeChatModel(otherwise=answer)
    writer = CachedWriter(ModelWriter(CheckedModel(model)))
    async with serving(dataclasses.replace(services, summary_writer=writer)) as http:
        for _ in range(2):
            listed = (await http.post("/summarize", json={"user_id": "ann"})).json()
            assert {part["name"]: part["summary"] for part in listed["results"]} == {
                "preferences": "A lover of jazz and tea.",
                "facts": "The user lives in Boston.",
                "events": "The user attended PyCon.",
            }
    assert len(model.requests) == 5, "a summary that was written is not asked for again"


async def test_retrieval_goes_as_deep_as_it_is_asked(http: httpx.AsyncClient) -> None:
    await http.post("/memories", json={"user_id": "ann", "text": "I drink green tea every morning."})
    first = await get(http, "/retrieve", query="tea", tiers=1)
    assert ([part["name"] for part in first["categories"]], first["items"]) == (["preferences", "facts", "events"], [])
    third = await get(http, "/retrieve", query="tea", tiers=3)
    assert third["items"][0]["object"] == "tea"
    assert [hit["text"] for hit in third["resources"]] == ["I drink green tea every morning."]
    assert [item["object"] for item in (await get(http, "/retrieve", limit=1))["items"]] == ["PyCon"]


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("nightly", {"summaries": 3}), ("weekly", {"decayed": 4}), ("monthly", {"embeddings": 4, "edges": 4})],
)
async def test_a_job_is_started_and_says_what_it_did(
    http: httpx.AsyncClient, kind: str, counts: dict[str, int]
) -> None:
    assert (await http.get(f"/jobs/{kind}")).json() is None
    run = await run_job(http, kind)
    output = run["output"]
    assert (run["state"], run["done"], output["users"], output["before"]["active"]) == ("done", 1, 1, 4)
    assert {name: output[name] for name in counts} == counts
    again = (await run_job(http, kind, user_id="ann"))["output"]
    assert {again[name] for name in counts} == ({0} if kind != "monthly" else {4})


async def test_health_and_metrics_tell_of_facts_and_their_jobs(http: httpx.AsyncClient) -> None:
    await run_job(http, "nightly")
    assert (await http.get("/health")).json() == {"status": "alive"}
    part = (await http.get("/health/detailed")).json()["parts"]["facts"]
    assert (part["status"], part["active"], part["archived"], part["active_preferences"]) == ("ok", 4, 1, 2)
    assert (part["confidence"], part["nightly_run"]) == (pytest.approx(0.8), "done")
    metrics = (await http.get("/metrics")).text
    assert 'jiyi_part{figure="active",part="facts",replica="local"} 4.0' in metrics
    assert 'jiyi_part{figure="nightly_started_s",part="facts",replica="local"}' in metrics


async def test_there_is_no_other_job(http: httpx.AsyncClient) -> None:
    assert (await http.post("/jobs/yearly")).status_code in (404, 422)


def test_the_settings_are_those_of_002_and_their_schedules_valid() -> None:
    args = AppArgs()
    assert maintenance_rules(args) == MaintenanceRules()
    assert priority_rules(args.context) == PriorityRules()
    schedules = {kind: schedule.text for kind, schedule in fact_schedules(args.facts).items() if schedule}
    assert schedules == {"nightly": "30 1 * * *", "weekly": "0 3 * * 0", "monthly": "0 4 1 * *"}
    never = AppArgs.model_validate({"facts": {"nightly": "never"}})
    assert fact_schedules(never.facts)[MaintenanceKind.NIGHTLY] is None
    with pytest.raises(ValidationError, match=r"facts\.schedule"):
        AppArgs.model_validate({"facts": {"weekly": "every week"}})
