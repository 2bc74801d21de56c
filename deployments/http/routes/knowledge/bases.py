"""The knowledge base (004 §11.1): `/knowledge/base…` and `/knowledge/search`.

Knowledge is shared by all users of an app: any credential of the app may read it, and one of scope `app` or `admin` may
change it.
"""

import json
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from memory.knowledge.base import Question
from memory.knowledge.corpora import CorpusChange
from memory.knowledge.sources import NewDocument, Submitted
from memory.values.documents.corpora import Corpus, KnowledgeResult, SourceState
from memory.values.errors import InvalidField

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep
from ...schemas.fields import Identifier
from ...schemas.knowledge.bases import (
    ConfigVersionList,
    CorpusBody,
    CorpusChangeBody,
    CorpusList,
    CorpusReply,
    Deleted,
    IngestedList,
    IngestedSource,
    IngestFormFields,
    IngestTextBody,
    KnowledgeReply,
    RollbackBody,
    SearchKnowledgeBody,
    SearchSeveralBody,
    SourceList,
    SourceRollbackBody,
    SourceVersionList,
)
from ...support.problems import replies
from ...support.service_route import KnowledgeRoute
from ...support.services import Services, ServicesDep

router = APIRouter(prefix="/knowledge", tags=["knowledge"], responses=replies(404, 500), route_class=KnowledgeRoute)
_MAX_FILES = 32
_FORM = "multipart/form-data"
_CHANGING = [APP_OR_ADMIN, AUDITED]
_PENDING: dict[int | str, dict[str, Any]] = {
    202: {"model": IngestedList, "description": "A document waits, or is being indexed."}
}
_INGEST_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": f"#/components/schemas/{IngestTextBody.__name__}"},
                "examples": {"text": {"value": IngestTextBody.model_config["json_schema_extra"]["examples"][0]}},  # type: ignore[index]
            },
            _FORM: {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1},
                        "source_uri": {"type": "string", "description": "Of one file; default: the file's name."},
                        "metadata": {"type": "string", "description": "A JSON object, for each of the files."},
                        "wait": {"type": "boolean", "default": False},
                    },
                }
            },
        },
    }
}


@router.post("/base", status_code=201, responses=replies(409), dependencies=_CHANGING)
async def create_corpus(body: CorpusBody, services: ServicesDep, identity: IdentityDep) -> CorpusReply:
    """Creates a corpus; 409 where the app has one of this name."""
    created = await services.knowledge.corpora.create(
        body.name, app=identity.app, description=body.description, config=body.config
    )
    return CorpusReply.of(created, 0)


@router.get("/base")
async def list_corpora(services: ServicesDep, identity: IdentityDep) -> CorpusList:
    """The corpora of the app, by name."""
    corpora = await services.knowledge.corpora.list(app=identity.app)
    return CorpusList(results=tuple([await _counted(services, corpus) for corpus in corpora]))


@router.get("/base/{corpus_id}")
async def get_corpus(corpus_id: Identifier, services: ServicesDep, identity: IdentityDep) -> CorpusReply:
    """A corpus with its configuration."""
    return await _counted(services, await services.knowledge.corpora.get(corpus_id, app=identity.app))


@router.patch("/base/{corpus_id}", responses=replies(409), dependencies=_CHANGING)
async def change_corpus(
    corpus_id: Identifier, body: CorpusChangeBody, services: ServicesDep, identity: IdentityDep
) -> CorpusReply:
    """Changes description and configuration; 409 where the corpus is not at `expected_version`.

    Chunks that are there stay as they were cut; a document that is ingested again is cut anew.
    """
    change = CorpusChange(body.description, body.config_changes(), body.expected_version)
    return await _counted(services, await services.knowledge.corpora.change(corpus_id, change, app=identity.app))


@router.delete("/base/{corpus_id}", dependencies=_CHANGING)
async def delete_corpus(corpus_id: Identifier, services: ServicesDep, identity: IdentityDep) -> Deleted:
    """Deletes a corpus with its sources, versions, chunks and vectors."""
    return Deleted(chunks=await services.knowledge.delete_corpus(corpus_id, app=identity.app))


@router.get("/base/{corpus_id}/versions")
async def list_config_versions(
    corpus_id: Identifier, services: ServicesDep, identity: IdentityDep
) -> ConfigVersionList:
    """The versions of a corpus' configuration, latest first."""
    return ConfigVersionList(results=tuple(await services.knowledge.corpora.versions(corpus_id, app=identity.app)))


@router.post("/base/{corpus_id}/rollback", responses=replies(409), dependencies=_CHANGING)
async def roll_config_back(
    corpus_id: Identifier, body: RollbackBody, services: ServicesDep, identity: IdentityDep
) -> CorpusReply:
    """Takes a former configuration again, as a new version."""
    corpus = await services.knowledge.corpora.roll_back(
        corpus_id, body.version, app=identity.app, expected_version=body.expected_version
    )
    return await _counted(services, corpus)


@router.post(
    "/base/{corpus_id}/ingest",
    responses=_PENDING,
    dependencies=_CHANGING,
    openapi_extra=_INGEST_BODY,
)
async def ingest_documents(
    corpus_id: Identifier, request: Request, services: ServicesDep, identity: IdentityDep, response: Response
) -> IngestedList:
    """Takes a text, or up to 32 files of a form, into a corpus. They are safe when it replies.

    A document that is as its source's current version is skipped; one that changed becomes the source's next version,
    which is found from when all of it is indexed. A file that cannot be read fails alone. 202 while something waits:
    the run of `run_id` shows how far it is.
    """
    documents, wait = await _documents(request)
    submitted = await services.knowledge.ingest(corpus_id, documents, app=identity.app, wait=wait)
    return _ingested(submitted, response)


@router.get("/base/{corpus_id}/sources")
async def list_sources(
    corpus_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    after: Annotated[Identifier | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> SourceList:
    """The sources of a corpus, each at its current version."""
    found = await services.knowledge.sources.page(corpus_id, app=identity.app, after=after, limit=limit)
    return SourceList(results=tuple(found), next=found[-1].source_id if len(found) == limit else None)


@router.get("/base/{corpus_id}/sources/{source_id}/versions")
async def list_source_versions(
    corpus_id: Identifier, source_id: Identifier, services: ServicesDep, identity: IdentityDep
) -> SourceVersionList:
    """The versions of a source, latest first, with what became of each."""
    versions = await services.knowledge.sources.versions(corpus_id, source_id, app=identity.app)
    return SourceVersionList(results=tuple(versions))


@router.delete("/base/{corpus_id}/sources/{source_id}", dependencies=_CHANGING)
async def delete_source(
    corpus_id: Identifier, source_id: Identifier, services: ServicesDep, identity: IdentityDep
) -> Deleted:
    """Deletes a source with its versions, chunks and vectors."""
    return Deleted(chunks=await services.knowledge.delete_source(corpus_id, source_id, app=identity.app))


@router.post(
    "/base/{corpus_id}/sources/{source_id}/rollback", responses={**replies(409), **_PENDING}, dependencies=_CHANGING
)
async def roll_source_back(
    corpus_id: Identifier,
    source_id: Identifier,
    body: SourceRollbackBody,
    services: ServicesDep,
    identity: IdentityDep,
    response: Response,
) -> IngestedList:
    """Goes back to a former version of a source; the current one is found until that is indexed again."""
    queued = await services.knowledge.roll_back(
        corpus_id,
        source_id,
        body.version,
        app=identity.app,
        expected_version=body.expected_version,
        wait=body.wait,
    )
    return _ingested([queued], response)


@router.post("/base/{corpus_id}/search")
async def search_corpus(
    corpus_id: Identifier, body: SearchKnowledgeBody, services: ServicesDep, identity: IdentityDep
) -> KnowledgeReply:
    """Searches a corpus: `semantic`, `keyword`, `hybrid` or `rrf`, as its configuration or the request says."""
    begun = perf_counter()
    question = Question(body.query, body.changes(), body.metadata())
    return _found(services, await services.knowledge.search(question, app=identity.app, corpus_id=corpus_id), begun)


@router.post("/search")
async def search_corpora(body: SearchSeveralBody, services: ServicesDep, identity: IdentityDep) -> KnowledgeReply:
    """Searches several corpora as one, or all of the app."""
    begun = perf_counter()
    question = Question(body.query, body.changes(), body.metadata())
    result = await services.knowledge.search_several(question, app=identity.app, corpus_ids=body.corpus_ids)
    return _found(services, result, begun)


def _found(services: Services, result: KnowledgeResult, begun: float) -> KnowledgeReply:
    took_ms = {**result.took_ms, "total": round((perf_counter() - begun) * 1000, 3)}
    reply = KnowledgeReply(**dict(result.model_copy(update={"took_ms": took_ms})))
    services.metrics.count_knowledge_search(reply)
    services.count_degraded(reply.degraded)
    return reply


async def _counted(services: Services, corpus: Corpus) -> CorpusReply:
    async with services.record.reading(user_id=corpus.user_id) as unit:
        return CorpusReply.of(corpus, await unit.knowledge.count(corpus.corpus_id))


def _ingested(submitted: list[Submitted], response: Response) -> IngestedList:
    if any(each.version.state is SourceState.PENDING for each in submitted):
        response.status_code = 202
    return IngestedList(results=tuple(IngestedSource.of(each) for each in submitted))


async def _documents(request: Request) -> tuple[list[NewDocument], bool]:
    """The documents of a request, and whether its caller waits.

    Raises:
        RequestValidationError: A field is not as it must be.
        InvalidField: There is no file, or too many.
    """
    if request.headers.get("content-type", "").startswith(_FORM):
        async with request.form(max_files=_MAX_FILES, max_fields=8) as form:
            return await _documents_of_form(form)
    body = _validated(IngestTextBody, await request.body())
    document = NewDocument(
        body.text.encode(),
        media_type=body.media_type,
        source_uri=body.source_uri or "",
        metadata=body.metadata,
    )
    return [document], body.wait


async def _documents_of_form(form: FormData) -> tuple[list[NewDocument], bool]:
    files = [file for file in form.getlist("file") if isinstance(file, UploadFile)]
    unknown = [name for name in form if name not in ("file", *IngestFormFields.model_fields)]
    if not files or unknown:
        field = unknown[0] if unknown else "file"
        problem = "this field is not known" if unknown else "this field is required"
        raise InvalidField(f"{field}: {problem}", field=field, allowed="file, source_uri, metadata, wait")
    given: dict[str, Any] = {name: form[name] for name in ("source_uri", "wait") if name in form}
    if "metadata" in form:
        given["metadata"] = _parsed_metadata(str(form["metadata"]))
    fields = _validated(IngestFormFields, json.dumps(given).encode())
    if fields.source_uri and len(files) > 1:
        raise InvalidField("source_uri: names one document", field="source_uri", allowed="with one file alone")
    documents = [
        NewDocument(
            await file.read(),
            media_type=file.content_type or "",
            name=file.filename or "",
            source_uri=fields.source_uri or "",
            metadata=fields.metadata,
        )
        for file in files
    ]
    return documents, fields.wait


def _parsed_metadata(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidField("metadata: must be a JSON object", field="metadata", allowed="a JSON object") from None


def _validated(kind: type[Any], body: bytes) -> Any:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        errors = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(errors) from None
