"""Names by hand: `/entities…` and `/relations`."""

from collections.abc import Mapping, Sequence
from typing import Any

from deployments.http.schemas.memory.entities import (
    ChangedReply,
    EntitiesReply,
    EntityContextReply,
    EntityReply,
    ExtractReply,
    LongTermReply,
    RelatedReply,
    RelationReply,
    RelationsReply,
)

from ..calls import Call, call, given, segment
from ..endpoints import Resource, T_co, endpoint


class Entities(Resource[T_co]):
    """`client.entities`."""

    @endpoint
    def recent(self, *, user_id: str, limit: int | None = None) -> Call[EntitiesReply]:
        """`GET /entities`: those mentioned last."""
        return call("GET", "/entities", params=given(user_id=user_id, limit=limit))

    @endpoint
    def extract(self, text: str, *, user_id: str, store: bool = False) -> Call[ExtractReply]:
        """`POST /entities/extract`: names, intents and facts of a text; learned only with `store`."""
        body = given(user_id=user_id, text=text, store=store)
        return call("POST", "/entities/extract", body=body, repeatable=not store)

    @endpoint
    def remember(
        self, name: str, *, user_id: str, subtype: str | None = None, attributes: Mapping[str, Any] | None = None
    ) -> Call[EntityReply]:
        """`POST /entities`: stores a name."""
        body = given(user_id=user_id, entity_value=name, subtype=subtype, attributes=attributes)
        return call("POST", "/entities", body=body)

    @endpoint
    def search(
        self, query: str = "", *, user_id: str, limit: int | None = None, entity_type: str | None = None
    ) -> Call[EntitiesReply]:
        """`POST /entities/search`; an empty query returns all."""
        body = given(user_id=user_id, query=query, limit=limit, entity_type=entity_type)
        return call("POST", "/entities/search", body=body, repeatable=True)

    @endpoint
    def search_by_reference(
        self, word: str, *, user_id: str, session_id: str = "default", limit: int | None = None
    ) -> Call[EntitiesReply]:
        """`POST /entities/by-reference`: what an expression such as 它 may mean in a session."""
        body = given(user_id=user_id, word=word, session_id=session_id, limit=limit)
        return call("POST", "/entities/by-reference", body=body, repeatable=True)

    @endpoint
    def get(self, entity: str, *, user_id: str) -> Call[EntityReply]:
        """`GET /entities/{entity}`: by id, name or alias."""
        return call("GET", f"/entities/{segment(entity)}", params={"user_id": user_id})

    @endpoint
    def get_by_name(self, name: str, *, user_id: str) -> Call[EntityReply]:
        """`GET /entities/by-name`: by name or alias, which may be any text."""
        return call("GET", "/entities/by-name", params={"user_id": user_id, "name": name})

    @endpoint
    def long_term(self, *, user_id: str, limit: int | None = None) -> Call[LongTermReply]:
        """`GET /entities/long-term`: all by name."""
        return call("GET", "/entities/long-term", params=given(user_id=user_id, limit=limit))

    @endpoint
    def context(self, query: str, *, user_id: str, limit: int | None = None) -> Call[EntityContextReply]:
        """`POST /entities/context`: lines about related entities, for a prompt."""
        body = given(user_id=user_id, query=query, limit=limit)
        return call("POST", "/entities/context", body=body, repeatable=True)

    @endpoint
    def edit(
        self,
        entity: str,
        *,
        user_id: str,
        name: str | None = None,
        subtype: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Call[EntityReply]:
        """`PATCH /entities/{entity}`: renames it, or sets subtype and attributes."""
        body = given(user_id=user_id, name=name, subtype=subtype, attributes=attributes)
        return call("PATCH", f"/entities/{segment(entity)}", body=body)

    @endpoint
    def delete(self, entity: str, *, user_id: str) -> Call[ChangedReply]:
        """`DELETE /entities/{entity}`; can be undone."""
        return call("DELETE", f"/entities/{segment(entity)}", params={"user_id": user_id})

    @endpoint
    def add_alias(self, entity: str, alias: str, *, user_id: str) -> Call[EntityReply]:
        """`POST /entities/aliases`."""
        return call("POST", "/entities/aliases", body=given(user_id=user_id, entity=entity, alias=alias))

    @endpoint
    def remove_alias(self, entity: str, alias: str, *, user_id: str) -> Call[EntityReply]:
        """`DELETE /entities/{entity}/aliases`."""
        params = {"user_id": user_id, "alias": alias}
        return call("DELETE", f"/entities/{segment(entity)}/aliases", params=params)

    @endpoint
    def merge(self, merged: str, *, into: str, user_id: str) -> Call[EntityReply]:
        """`POST /entities/merge`: what belongs to one entity goes to another."""
        return call("POST", "/entities/merge", body={"user_id": user_id, "into": into, "from": merged})

    @endpoint
    def split(
        self,
        entity: str,
        *,
        user_id: str,
        names: Sequence[str] = (),
        memory_ids: Sequence[str] = (),
        name: str | None = None,
    ) -> Call[EntityReply]:
        """`POST /entities/split`: splits names or memories off into a new entity."""
        body = given(user_id=user_id, entity=entity, names=names, memory_ids=memory_ids, name=name)
        return call("POST", "/entities/split", body=body)

    @endpoint
    def related(
        self,
        entity: str,
        *,
        user_id: str,
        depth: int | None = None,
        limit: int | None = None,
        min_confidence: float | None = None,
    ) -> Call[RelatedReply]:
        """`GET /entities/{entity}/related`."""
        params = given(user_id=user_id, depth=depth, limit=limit, min_confidence=min_confidence)
        return call("GET", f"/entities/{segment(entity)}/related", params=params)


class Relations(Resource[T_co]):
    """`client.relations`."""

    @endpoint
    def add(
        self,
        source: str,
        relation_type: str,
        target: str,
        *,
        user_id: str,
        description: str | None = None,
        confidence: float | None = None,
    ) -> Call[RelationReply]:
        """`POST /relations`: from one entity to another."""
        body = given(user_id=user_id, source=source, relation_type=relation_type, target=target)
        return call("POST", "/relations", body=body | given(description=description, confidence=confidence))

    @endpoint
    def list(self, entity: str, *, user_id: str, limit: int | None = None) -> Call[RelationsReply]:
        """`GET /relations` of an entity, strongest first."""
        return call("GET", "/relations", params=given(user_id=user_id, entity=entity, limit=limit))

    @endpoint
    def delete(self, relation_id: str, *, user_id: str) -> Call[ChangedReply]:
        """`DELETE /relations/{relation_id}`; can be undone."""
        return call("DELETE", f"/relations/{segment(relation_id)}", params={"user_id": user_id})
