"""Replies show users by their own ids, and nothing else of a reply changes for it."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter

from deployments.http.routes.memory.chat import STREAMED
from deployments.http.routes.operations.health import router as operations
from deployments.http.schemas.users import with_own_ids
from deployments.http.support.service_route import ServiceRoute
from memory.ports.jobs import PipelineRun
from memory.values.access.identity import KeyScope, stored_user
from memory.values.base import UserId
from memory.values.entities import Entity
from memory.values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind
from tests.deployments.http.identity.conftest import Client

MARK = "\u241f"
NOW = datetime(2026, 1, 31, tzinfo=UTC)
OWN_IDS = {("Imported", "from_user_id"), ("KeyReply", "user"), ("Response", "user")}
"""Fields that hold the user's own id, since it is stored without the app, or said back as the request had it."""
DIGESTS = {("Erasure", "user"), ("Receipt", "user"), ("Tombstone", "user")}
"""Fields that hold a keyed digest of the user's id."""
FREE = {
    *[("ChangedItem", "before"), ("ChangedItem", "after"), ("PipelineRun", "input"), ("PipelineRun", "output")],
    *[
        ("Entity", "attributes"),
        ("Memory", "metadata"),
        ("TypedMemory", "metadata"),
        ("MemoryDetails", "metadata"),
        ("Hit", "metadata"),
        ("LongTermReply", "entities"),
    ],
    ("Receipt", "purged"),
    *[(name, "metadata") for name in ("KnowledgeHit", "Source", "SourceVersion")],
    ("CorpusConfig", "metadata_schema"),
    ("PersonaProfile", "state"),
    *[(name, "metadata") for name in ("ConversationReply", "Response", "memory__values__documents__corpora__Source")],
    ("deployments__http__doors__openai__vector_stores__FoundItem", "attributes"),
    ("Choice", "logprobs"),
}
"""Objects with any fields: those of the first line are shown by rules of their own, the others are not ours."""
ENTITY = Entity(
    entity_id="e1",
    user_id=stored_user("shop", "ann"),
    entity_value=f"AI{MARK}Box",
    normalised_value="ai-box",
    first_mentioned=NOW,
    last_mentioned=NOW,
    attributes={"user_id": f"not{MARK}ours"},
)


def _reply_schemas(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The named schemas that replies refer to."""
    schemas = document["components"]["schemas"]
    waiting = [
        reply
        for methods in document["paths"].values()
        for operation in methods.values()
        for reply in operation["responses"].values()
    ]
    found: set[str] = set()
    while waiting:
        for reference in set(_references(waiting.pop())) - found:
            found.add(reference)
            waiting.append(schemas[reference])
            yield reference, schemas[reference]


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rsplit("/", 1)[-1]
        case dict():
            for part in schema.values():
                yield from _references(part)
        case list():
            for part in schema:
                yield from _references(part)


def _hidden_users(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """The fields of a schema that may hold the id of a user and are not shown by `with_own_ids`."""
    for field, of in schema.get("properties", {}).items():
        types = [of, *of.get("anyOf", ())]
        is_text = any(one.get("type") == "string" for one in types)
        rules = {key: of[key] for key in of.keys() - {"title", "description"}}
        shown = field == "user_id" and rules == TypeAdapter(UserId).json_schema()
        if "user" in field and is_text and not shown and (name, field) not in OWN_IDS | DIGESTS:
            yield f"{name}.{field}"
        any_fields = any(one.get("type") == "object" and _may_hold_texts(one) for one in types)
        if any_fields and (name, field) not in FREE:
            yield f"{name}.{field}: any object"


def _may_hold_texts(schema: Mapping[str, Any]) -> bool:
    values = schema.get("additionalProperties", True)
    return values is True or (
        isinstance(values, dict) and "$ref" not in values and values.get("type") not in ("number", "integer")
    )


def test_each_id_of_a_user_in_a_reply_is_of_the_type_that_is_shown(app: FastAPI) -> None:
    schemas = dict(_reply_schemas(app.openapi()))
    assert {"Entity", "EntityRelation", "Change", "TypedMemory", "SessionContext"} <= schemas.keys()
    for event, model in STREAMED.items():
        schema = model.model_json_schema(mode="serialization")
        schemas |= schema.pop("$defs", {}) | {event: schema}
    assert [field for name, schema in schemas.items() for field in _hidden_users(name, schema)] == []


def test_the_check_finds_a_field_of_another_type() -> None:
    plain = {"properties": {"user_id": {"type": "string"}, "users": {"anyOf": [{"type": "string"}]}}}
    assert list(_hidden_users("Reply", plain)) == ["Reply.user_id", "Reply.users"]


def test_every_route_shows_users(app: FastAPI) -> None:
    described = {(path, method.upper()) for path, methods in app.openapi()["paths"].items() for method in methods}
    shown = {
        (route.path_format, method)
        for included in app.routes
        for route in getattr(getattr(included, "original_router", None), "routes", ())
        if isinstance(route, ServiceRoute)
        for method in route.methods or ()
    }
    without = {(route.path, method) for route in operations.routes for method in route.methods}  # type: ignore[attr-defined]
    assert described - shown == without


def test_only_ids_change() -> None:
    shown = with_own_ids(ENTITY)
    assert shown == ENTITY.model_copy(update={"user_id": "ann"})
    change = Change(
        change_id="c1",
        user_id=stored_user("shop", "ann"),
        at=NOW,
        kind=ChangeKind.RENAME,
        actor=ChangeActor.USER,
        reason=f"shop{MARK}ann",
        subjects=("e1",),
        items=(ChangedItem.of(None, ENTITY),),
    )
    change = with_own_ids(change)
    assert (change.user_id, change.reason) == ("ann", f"shop{MARK}ann")
    assert change.items[0].after == ENTITY.model_dump(mode="json") | {"user_id": "ann"}


@pytest.mark.parametrize(
    ("cursor", "shown"),
    [
        (f"shop{MARK}ann", "ann"),
        (json.dumps([f"shop{MARK}ann", "entities", "e1"]), '["ann", "entities", "e1"]'),
        ("[ann", "[ann"),
        ("7", "7"),
    ],
)
def test_a_run_shows_users_by_their_own_ids(cursor: str, shown: str) -> None:
    run = PipelineRun(
        run_id="r1",
        pipeline="review",
        input={"user_id": f"shop{MARK}ann", "dry_run": True},
        output={"checked": 1, "items": [{"user_id": f"shop{MARK}ann", "reason": f"a{MARK}b"}]},
        cursor=cursor,
        started_at=NOW,
        updated_at=NOW,
    )
    run = with_own_ids(run)
    assert (run.input["user_id"], run.cursor) == ("ann", shown)
    assert run.output == {"checked": 1, "items": [{"user_id": "ann", "reason": f"a{MARK}b"}]}


async def test_a_text_may_contain_what_separates_app_and_user(client_of: Client) -> None:
    shop = await client_of(KeyScope.APP, app_id="shop")
    text = f'The log has {{"user_id":"shop{MARK}ann"}} and "cursor":"x{MARK}y" in it.'
    note = {"user_id": "ann", "text": text, "metadata": {"user_id": f"shop{MARK}bob"}}
    assert (await shop.post("/memories", json=note)).is_success
    [hit] = (await shop.post("/search", json={"user_id": "ann", "query": "log", "kinds": ["memory"]})).json()["results"]
    assert (hit["text"], hit["metadata"]) == (text, {"user_id": f"shop{MARK}bob"})
