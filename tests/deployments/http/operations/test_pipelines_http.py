"""`/knowledge/pipelines…` and the dashboard: list, one, retry, cancel, follow (004 §11.4)."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from deployments.http.identity.authentication import Authenticator
from deployments.http.routes.operations import pipelines
from deployments.http.support.services import Services
from deployments.telemetry.metrics import render_metrics
from memory.erasure.requests import PENDING
from memory.ports.jobs import PipelineRun, RunState
from memory.values.access.identity import KeyScope
from memory.values.base import utc_now
from tests.deployments.serving import serving

LONG = "x" * 5_000


def run(run_id: str, ago_s: float = 0, **fields: Any) -> PipelineRun:
    at = utc_now() - timedelta(seconds=ago_s)
    given: dict[str, Any] = {"run_id": run_id, "pipeline": "ingest", "started_at": at, "updated_at": at}
    return PipelineRun(**given | fields)


def failed(run_id: str, ago_s: float = 0, **fields: Any) -> PipelineRun:
    given: dict[str, Any] = {
        "state": RunState.FAILED,
        "error": LONG,
        "stack": "Traceback\n  in embed",
        "ended_at": utc_now(),
    }
    return run(run_id, ago_s, **given | fields)


async def save(services: Services, *runs: PipelineRun) -> None:
    for one in runs:
        await services.record.runs.save(one)


async def until_over(http: httpx.AsyncClient, run_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while (shown := (await http.get(f"/knowledge/pipelines/{run_id}")).json())["status"] in ("queued", "running"):
            await asyncio.sleep(0.02)
    return dict(shown)


async def test_runs_are_listed_in_pages_with_filters_and_short_errors(
    services: Services, http: httpx.AsyncClient
) -> None:
    done = {"state": RunState.DONE, "ended_at": utc_now()}
    third = run("c", 20, pipeline="graph")
    await save(services, run("a", 40, **done), failed("b", 30), third, run("d", 10, app="shop"))
    before_third = (third.started_at - timedelta(seconds=5)).isoformat()
    first = (await http.get("/knowledge/pipelines", params={"limit": 3})).json()
    assert [one["run_id"] for one in first["results"]] == ["d", "c", "b"]
    rest = (await http.get("/knowledge/pipelines", params={"limit": 3, "cursor": first["next"]})).json()
    assert ([one["run_id"] for one in rest["results"]], rest["next"]) == (["a"], None)
    [shown] = rest["results"]
    assert (shown["status"], shown["kind"], shown["app"], shown["attempts"]) == ("completed", "ingest", None, 1)
    assert shown["duration_s"] == pytest.approx(40, abs=5)
    [bad] = (await http.get("/knowledge/pipelines", params={"status": "failed"})).json()["results"]
    assert len(bad["error"]) < 400
    assert "stack" not in bad
    for params, expected in (
        ({"kind": "graph"}, ["c"]),
        ({"kind": ["graph", "ingest"], "status": ["running", "completed"]}, ["d", "c", "a"]),
        ({"app": "shop"}, ["d"]),
        ({"since": before_third}, ["d", "c"]),
        ({"until": before_third}, ["b", "a"]),
    ):
        reply = await http.get("/knowledge/pipelines", params=params)
        assert [one["run_id"] for one in reply.json()["results"]] == expected, params


@pytest.mark.parametrize(
    ("params", "field"), [({"cursor": "x"}, "cursor"), ({"limit": 0}, "limit"), ({"status": "done"}, "status.0")]
)
async def test_a_bad_filter_is_named(http: httpx.AsyncClient, params: Any, field: str) -> None:
    reply = await http.get("/knowledge/pipelines", params=params)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, field)


async def test_one_run_shows_input_output_whole_error_and_stack_without_secrets(
    services: Services, http: httpx.AsyncClient
) -> None:
    given: dict[str, Any] = {
        "source_uri": "https://ann:hunter2@host/a.pdf",
        "api_key": "k-123",
        "user_id": "default/ann",
    }
    await save(services, failed("b", input=given, output={"chunks": 3}))
    shown = (await http.get("/knowledge/pipelines/b")).json()
    assert (shown["error"], shown["stack"], shown["output"]) == (LONG, "Traceback\n  in embed", {"chunks": 3})
    assert shown["input"]["source_uri"] == "https://***@host/a.pdf"
    assert shown["input"]["api_key"] == "***"
    missing = await http.get("/knowledge/pipelines/none")
    assert (missing.status_code, missing.json()["title"]) == (404, "NotFound")


async def test_every_kind_of_work_of_the_service_is_a_run(http: httpx.AsyncClient) -> None:
    body = {"user_id": "ann", "messages": [{"content": "I bought an AI-Box."}]}
    assert (await http.post("/memories", json=body)).status_code == 200
    assert (await http.get("/export", params={"user_id": "ann"})).status_code == 200
    for path, sent in (
        ("/jobs/nightly", {}),
        ("/index/verify", {}),
        ("/review/run", {}),
        ("/index/reembed", {"model": "m2"}),
    ):
        begun = (await http.post(path, json=sent)).json()
        over = await until_over(http, begun["run_id"])
        assert over["status"] == "completed", over
    erasure = (await http.post("/erasures", json={"user_id": "ann", "kind": "user", "wait": True})).json()
    kinds = {one["kind"] for one in (await http.get("/knowledge/pipelines")).json()["results"]}
    assert {"facts_nightly", "index_verify", "memory_review", "reembedding", "export", "erasure"} <= kinds
    shown = (await http.get(f"/knowledge/pipelines/{erasure['erasure_id']}")).json()
    assert shown["input"] == {"kind": "user", "user": erasure["user"]}
    assert '"ann"' not in json.dumps((await http.get("/knowledge/pipelines", params={"limit": 500})).json())


async def test_a_failed_run_is_retried_with_its_input(services: Services, http: httpx.AsyncClient) -> None:
    given: dict[str, Any] = {"user_id": "ann", "scheduled": False}
    await save(services, failed("old", pipeline="facts_weekly", input=given))
    reply = await http.post("/knowledge/pipelines/old/retry")
    assert reply.status_code == 202
    again = reply.json()
    assert (again["retry_of"], again["input"], again["kind"]) == ("old", given, "facts_weekly")
    assert (await until_over(http, again["run_id"]))["status"] == "completed"
    twice = await http.post(f"/knowledge/pipelines/{again['run_id']}/retry")
    assert (twice.status_code, twice.json()["title"]) == (409, "Conflict")


async def test_what_cannot_be_cancelled_or_retried_says_why(services: Services, http: httpx.AsyncClient) -> None:
    await save(services, failed("e", pipeline="export"), failed("u"))
    assert "send the request again" in (await http.post("/knowledge/pipelines/e/retry")).json()["detail"]
    assert "Nothing in this service" in (await http.post("/knowledge/pipelines/u/retry")).json()["detail"]
    assert "over" in (await http.post("/knowledge/pipelines/e/cancel")).json()["detail"]
    running = run("r", pipeline="memory_review")
    await save(services, running)
    cancelled = await http.post("/knowledge/pipelines/r/cancel")
    assert (cancelled.status_code, cancelled.json()["cancel_requested"]) == (202, True)
    assert PENDING == "erasure"


async def events(http: httpx.AsyncClient, run_id: str, last: str | None = None) -> tuple[int, list[dict[str, str]]]:
    headers = {} if last is None else {"Last-Event-ID": last}
    reply = await http.get(f"/knowledge/pipelines/{run_id}/events", headers=headers)
    blocks = [block for block in reply.text.replace("\r\n", "\n").split("\n\n") if "data:" in block]
    return reply.status_code, [dict(line.split(": ", 1) for line in block.split("\n") if line) for block in blocks]


async def test_a_run_is_followed_to_its_end_and_from_where_a_reader_was(
    services: Services, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "_POLL_S", 0.02)
    one = run("r", state=RunState.QUEUED, total=4)
    await save(services, one)
    await http.get("/knowledge/pipelines/r")  # the first request is slow
    following = asyncio.create_task(events(http, "r"))
    for change in (
        {"state": RunState.RUNNING},
        {"state": RunState.RUNNING, "done": 2},
        {"state": RunState.DONE, "done": 4, "ended_at": utc_now()},
    ):
        await asyncio.sleep(0.4)
        await save(services, one.model_copy(update={**change, "updated_at": utc_now()}))
    async with asyncio.timeout(60):
        status, seen = await following
    assert (status, [event["event"] for event in seen]) == (200, ["state", "state", "progress", "end"])
    shown = [json.loads(event["data"]) for event in seen]
    assert [(one["status"], one["done"]) for one in shown] == [
        ("queued", 0), ("running", 0), ("running", 2), ("completed", 4)
    ]  # fmt: skip
    assert "input" in shown[-1]
    status, rest = await events(http, "r", seen[2]["id"])
    assert [event["event"] for event in rest] == ["end"]
    assert await events(http, "r", seen[3]["id"]) == (204, [])


async def test_the_dashboard_counts_runs_knowledge_and_late_failures(services: Services) -> None:
    old, ended = failed("old", 3 * 86_400), {"state": RunState.DONE, "ended_at": utc_now()}
    await save(services, old, failed("new"), run("a", 10, **ended), run("b", pipeline="graph"))
    async with serving(services) as http:
        for app in ("shop", "clinic"):
            made = {"X-Jiyi-App": app}
            corpus = (await http.post("/knowledge/base", json={"name": "manuals"}, headers=made)).json()["corpus_id"]
        document = {"text": "The warranty lasts two years.", "wait": True}
        await http.post(f"/knowledge/base/{corpus}/ingest", json=document, headers=made)
        shown, of_shop, of_clinic = [
            (await http.get("/knowledge/dashboard", params=query)).json()
            for query in ({}, {"app": "shop"}, {"app": "clinic"})
        ]
    counted = [(each["corpora"], each["chunks"]) for each in (shown, of_shop, of_clinic)]
    assert counted == [(2, 1), (1, 0), (1, 1)]
    assert shown["runs"] == {"queued": 0, "running": 1, "completed": 2, "failed": 2, "cancelled": 0}
    assert [failure["run_id"] for failure in shown["failures"]] == ["new"]
    assert [kind["kind"] for kind in shown["kinds"]] == ["graph", "ingest", "knowledge_ingestion"]


async def test_an_app_sees_and_touches_its_own_runs_only(services: Services) -> None:
    await save(services, run("mine", app="shop"), run("other", app="bank"), run("service"))
    keys = services.authenticator.keys
    secrets = {
        scope: (
            await keys.create(scope.value, scope=scope, app="shop", user="u" if scope is KeyScope.USER else None)
        ).secret
        for scope in KeyScope
    }
    guarded = replace(services, authenticator=Authenticator(keys=keys, required=True))
    async with serving(guarded) as http:

        async def call(scope: KeyScope, method: str, path: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {secrets[scope]}"}
            return await http.request(method, f"/knowledge/{path}", headers=headers)

        listed = (await call(KeyScope.APP, "GET", "pipelines")).json()["results"]
        assert [one["run_id"] for one in listed] == ["mine"]
        for method, path in (
            ("GET", "pipelines/other"),
            ("POST", "pipelines/other/cancel"),
            ("POST", "pipelines/service/retry"),
            ("GET", "pipelines/service/events"),
        ):
            assert (await call(KeyScope.APP, method, path)).status_code == 404, path
        assert (await call(KeyScope.APP, "GET", "pipelines?app=bank")).status_code == 403
        assert (await call(KeyScope.USER, "GET", "pipelines")).status_code == 403
        everything = (await call(KeyScope.ADMIN, "GET", "pipelines")).json()["results"]
        assert len(everything) == 3


async def test_runs_are_metrics_by_kind_and_status(services: Services) -> None:
    at = utc_now()
    ended: dict[str, Any] = {"state": RunState.DONE, "started_at": at - timedelta(seconds=10), "ended_at": at}
    await save(services, run("a", **ended), run("b"))
    text = render_metrics([await services.report()], {}).decode()
    assert 'jiyi_pipeline_runs{kind="ingest",status="completed"} 1.0' in text
    assert 'jiyi_pipeline_runs{kind="ingest",status="running"} 1.0' in text
    assert 'jiyi_pipeline_run_seconds{kind="ingest",status="completed"} 10.0' in text
