"""Qdrant's REST interface over the client library's own in-memory engine.

Bodies are parsed with the library's request models, which forbid unknown fields, and answered with its reply shapes
(api.qdrant.tech); so what an adapter sends here is well-formed. It is not Qdrant: what only the server has (payload
indexes, quantisation, graphs, limits) has no effect.
"""

import warnings
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.local.async_qdrant_local import AsyncQdrantLocal

_ALIASES: TypeAdapter[Any] = TypeAdapter(models.ChangeAliasesOperation)
_POINTS: TypeAdapter[Any] = TypeAdapter(models.PointInsertOperations)
_SELECTOR: TypeAdapter[Any] = TypeAdapter(models.PointsSelector)


class Engine:
    """The collections of the server; emptied by `reset`."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.client = AsyncQdrantClient(":memory:")
        self.indexes: dict[str, dict[str, dict[str, Any]]] = {}
        self.created: dict[str, models.CreateCollection] = {}
        self.rescored: list[bool | None] = []

    def drop_aliases(self) -> None:
        """Does what a server does when a collection goes, and the in-memory engine does not."""
        local = self.client._client
        assert isinstance(local, AsyncQdrantLocal)
        local.aliases.clear()


def make_api(engine: Engine) -> FastAPI:
    """The application; version 1.20.0."""
    app = FastAPI()

    @app.exception_handler(ValidationError)
    async def malformed(_: Request, error: ValidationError) -> JSONResponse:
        return _error(400, f"Format error in JSON body: {error.errors()[0]['msg']}")

    @app.exception_handler(ValueError)
    async def refused(_: Request, error: ValueError) -> JSONResponse:
        missing = "not found" in str(error)
        return _error(404 if missing else 400, f"Wrong input: {error}")

    @app.get("/")
    async def version() -> dict[str, str]:
        return {"title": "qdrant - vector search engine", "version": "1.20.0"}

    @app.get("/aliases")
    async def aliases() -> JSONResponse:
        return _ok(await engine.client.get_aliases())

    @app.post("/collections/aliases")
    async def change_aliases(request: Request) -> JSONResponse:
        actions = _ALIASES.validate_json(await request.body()).actions
        return _ok(await engine.client.update_collection_aliases(actions))

    @app.get("/collections")
    async def collections() -> JSONResponse:
        return _ok(await engine.client.get_collections())

    @app.get("/collections/{name}/exists")
    async def exists(name: str) -> JSONResponse:
        return _ok({"exists": await engine.client.collection_exists(name)})

    @app.get("/collections/{name}")
    async def info(name: str) -> JSONResponse:
        found = await engine.client.get_collection(name)
        shown = found.model_dump(mode="json", exclude_none=True)
        shown["payload_schema"] = engine.indexes[name]
        return _ok(shown)

    @app.put("/collections/{name}")
    async def create(name: str, request: Request) -> JSONResponse:
        body = models.CreateCollection.model_validate_json(await request.body())
        if await engine.client.collection_exists(name):
            return _error(409, f"Wrong input: Collection `{name}` already exists!")
        created = await engine.client.create_collection(
            name, vectors_config=body.vectors, sparse_vectors_config=body.sparse_vectors
        )
        engine.indexes[name] = {}
        engine.created[name] = body
        return _ok(created)

    @app.delete("/collections/{name}")
    async def drop(name: str) -> JSONResponse:
        return _ok(await engine.client.delete_collection(name))

    @app.put("/collections/{name}/index")
    async def index(name: str, request: Request) -> JSONResponse:
        body = models.CreateFieldIndex.model_validate_json(await request.body())
        schema = body.field_schema
        assert schema is not None
        params = schema.model_dump(mode="json", exclude_none=True) if isinstance(schema, BaseModel) else None
        kind = models.PayloadSchemaType(schema.type.value if isinstance(schema, BaseModel) else schema).value
        engine.indexes[name][body.field_name] = {"data_type": kind, "points": 0} | (
            {"params": params} if params else {}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the engine says that it does without
            return _ok(await engine.client.create_payload_index(name, body.field_name, schema))

    @app.put("/collections/{name}/points")
    async def upsert(name: str, request: Request, wait: bool = False) -> JSONResponse:
        body = _POINTS.validate_json(await request.body())
        assert wait, "an adapter that does not wait loses what it acknowledges"
        return _ok(await engine.client.upsert(name, body.points))

    @app.post("/collections/{name}/points/delete")
    async def delete(name: str, request: Request, wait: bool = False) -> JSONResponse:
        assert wait, "an adapter that does not wait finds what it deleted"
        return _ok(await engine.client.delete(name, _SELECTOR.validate_json(await request.body())))

    @app.post("/collections/{name}/points")
    async def retrieve(name: str, request: Request) -> JSONResponse:
        body = models.PointRequest.model_validate_json(await request.body())
        return _ok(
            await engine.client.retrieve(
                name, body.ids, with_payload=body.with_payload or False, with_vectors=body.with_vector or False
            )
        )

    @app.post("/collections/{name}/points/query/batch")
    async def query(name: str, request: Request) -> JSONResponse:
        body = models.QueryRequestBatch.model_validate_json(await request.body()).searches
        for search in body:
            if search.params is not None and search.params.quantization is not None:
                engine.rescored.append(search.params.quantization.rescore)
                search.params.quantization = None  # the engine would warn that it has none
        return _ok(await engine.client.query_batch_points(name, body))

    @app.post("/collections/{name}/points/scroll")
    async def scroll(name: str, request: Request) -> JSONResponse:
        body = models.ScrollRequest.model_validate_json(await request.body())
        points, after = await engine.client.scroll(
            name,
            body.filter,
            limit=body.limit or 10,
            offset=body.offset,
            with_payload=body.with_payload or False,
            with_vectors=body.with_vector or False,
        )
        return _ok({"points": _plain(points), "next_page_offset": after})

    @app.post("/collections/{name}/points/count")
    async def count(name: str, request: Request) -> JSONResponse:
        body = models.CountRequest.model_validate_json(await request.body())
        return _ok(await engine.client.count(name, body.filter))

    @app.post("/collections/{name}/facet")
    async def facet(name: str, request: Request) -> JSONResponse:
        body = models.FacetRequest.model_validate_json(await request.body())
        if body.key not in engine.indexes[name]:
            return _error(400, f"No appropriate index for faceting: `{body.key}`.")
        return _ok(await engine.client.facet(name, body.key, body.filter, limit=body.limit or 10))

    return app


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", exclude_none=True)
    if isinstance(result, Sequence) and not isinstance(result, str):
        return [_plain(item) for item in result]
    return result


def _ok(result: Any) -> JSONResponse:
    return JSONResponse({"result": _plain(result), "status": "ok", "time": 0.0})


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"status": {"error": message}, "time": 0.0}, status_code=status)
