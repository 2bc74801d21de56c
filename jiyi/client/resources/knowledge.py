"""Documents that all users of an app share: `/knowledge/base…` and `/knowledge/search`."""

import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from deployments.http.schemas.knowledge.bases import (
    ConfigVersionList,
    CorpusList,
    CorpusReply,
    Deleted,
    IngestedList,
    KnowledgeReply,
    SourceList,
    SourceVersionList,
)
from memory.values.documents.corpora import Source

from ..calls import Call, Paged, call, given, segment
from ..endpoints import Resource, T_co, endpoint, pages


class Knowledge(Resource[T_co]):
    """`client.knowledge`."""

    @endpoint
    def corpora(self) -> Call[CorpusList]:
        """`GET /knowledge/base`."""
        return call("GET", "/knowledge/base")

    @endpoint
    def create(
        self, name: str, *, description: str | None = None, config: Mapping[str, Any] | None = None
    ) -> Call[CorpusReply]:
        """`POST /knowledge/base`: a new corpus."""
        return call("POST", "/knowledge/base", body=given(name=name, description=description, config=config))

    @endpoint
    def get(self, corpus_id: str) -> Call[CorpusReply]:
        """`GET /knowledge/base/{corpus_id}`."""
        return call("GET", _corpus(corpus_id))

    @endpoint
    def change(
        self,
        corpus_id: str,
        *,
        description: str | None = None,
        config: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Call[CorpusReply]:
        """`PATCH /knowledge/base/{corpus_id}`; what is left out of the configuration stays."""
        body = given(description=description, config=config, expected_version=expected_version)
        return call("PATCH", _corpus(corpus_id), body=body)

    @endpoint
    def delete(self, corpus_id: str) -> Call[Deleted]:
        """`DELETE /knowledge/base/{corpus_id}` with all that is in it."""
        return call("DELETE", _corpus(corpus_id))

    @endpoint
    def versions(self, corpus_id: str) -> Call[ConfigVersionList]:
        """`GET /knowledge/base/{corpus_id}/versions`: of the configuration."""
        return call("GET", f"{_corpus(corpus_id)}/versions")

    @endpoint
    def roll_back(self, corpus_id: str, version: int, *, expected_version: int | None = None) -> Call[CorpusReply]:
        """`POST /knowledge/base/{corpus_id}/rollback`: a former configuration again."""
        body = given(version=version, expected_version=expected_version)
        return call("POST", f"{_corpus(corpus_id)}/rollback", body=body)

    @endpoint
    def ingest_text(
        self,
        corpus_id: str,
        text: str,
        *,
        source_uri: str | None = None,
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: bool = True,
    ) -> Call[IngestedList]:
        """`POST /knowledge/base/{corpus_id}/ingest` with a text; what did not change is skipped."""
        body = given(text=text, source_uri=source_uri, media_type=media_type, metadata=metadata, wait=wait)
        return call("POST", f"{_corpus(corpus_id)}/ingest", body=body, repeatable=True)

    @endpoint
    def ingest_file(
        self,
        corpus_id: str,
        content: bytes,
        *,
        name: str,
        source_uri: str | None = None,
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        wait: bool = True,
    ) -> Call[IngestedList]:
        """`POST /knowledge/base/{corpus_id}/ingest` with a file; its type is that of its name where none is given."""
        kind = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        form = given(source_uri=source_uri, metadata=json.dumps(dict(metadata or {})), wait=json.dumps(wait))
        files = {"file": (name, content, kind)}
        return call("POST", f"{_corpus(corpus_id)}/ingest", form=form, files=files, repeatable=True)

    @pages
    def sources(
        self, corpus_id: str, *, after: str | None = None, limit: int | None = None
    ) -> Paged[SourceList, Source]:
        """`GET /knowledge/base/{corpus_id}/sources`."""
        return Paged(call("GET", f"{_corpus(corpus_id)}/sources", params=given(after=after, limit=limit)))

    @endpoint
    def source_versions(self, corpus_id: str, source_id: str) -> Call[SourceVersionList]:
        """`GET …/sources/{source_id}/versions`."""
        return call("GET", f"{_source(corpus_id, source_id)}/versions")

    @endpoint
    def delete_source(self, corpus_id: str, source_id: str) -> Call[Deleted]:
        """`DELETE …/sources/{source_id}`."""
        return call("DELETE", _source(corpus_id, source_id))

    @endpoint
    def roll_source_back(
        self,
        corpus_id: str,
        source_id: str,
        version: int,
        *,
        expected_version: int | None = None,
        wait: bool | None = None,
    ) -> Call[IngestedList]:
        """`POST …/sources/{source_id}/rollback`: a former version again."""
        body = given(version=version, expected_version=expected_version, wait=wait)
        return call("POST", f"{_source(corpus_id, source_id)}/rollback", body=body)

    @endpoint
    def search(
        self,
        query: str,
        *,
        corpus_ids: Sequence[str] | None = None,
        mode: str | None = None,
        limit: int | None = None,
        reranking: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[KnowledgeReply]:
        """`POST /knowledge/search`: several corpora as one, or all."""
        body = _search(query, mode, limit, reranking, metadata) | given(corpus_ids=corpus_ids)
        return call("POST", "/knowledge/search", body=body, repeatable=True)

    @endpoint
    def search_corpus(
        self,
        corpus_id: str,
        query: str,
        *,
        mode: str | None = None,
        limit: int | None = None,
        reranking: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[KnowledgeReply]:
        """`POST /knowledge/base/{corpus_id}/search`: as its configuration says, or the call."""
        body = _search(query, mode, limit, reranking, metadata)
        return call("POST", f"{_corpus(corpus_id)}/search", body=body, repeatable=True)


def _corpus(corpus_id: str) -> str:
    return f"/knowledge/base/{segment(corpus_id)}"


def _source(corpus_id: str, source_id: str) -> str:
    return f"{_corpus(corpus_id)}/sources/{segment(source_id)}"


def _search(
    query: str, mode: str | None, limit: int | None, reranking: str | None, metadata: Mapping[str, Any] | None
) -> dict[str, Any]:
    filters = None if metadata is None else {"metadata": metadata}
    return given(query=query, mode=mode, limit=limit, reranking=reranking, filters=filters)
