"""Conversations: `/chat…`, `/resolve`, `/sessions`, `/memories` and `/search`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, TypeAlias
from uuid import uuid4

from deployments.http.schemas.memory.chat import AddReply, ChatReply, SearchReply, SessionReply
from deployments.http.schemas.memory.entities import AfterReply, BeforeReply
from deployments.http.schemas.memory.facts import ContextReply
from deployments.http.schemas.memory.understanding import ResolveReply
from memory.portability.importing import Imported

from ..calls import Call, Download, Streamed, call, given, segment
from ..endpoints import Resource, T_co, download, endpoint, events
from ..events import ChatEvent, ends_chat, read_chat_event
from ..replies import Embeddings

Time: TypeAlias = datetime | str
"""A time with its zone, or one as RFC 3339 writes it."""
_PIECE_BYTES = 262_144


class Conversations(Resource[T_co]):
    """What most callers need; a message has an id, `turn_id`, made for each call where none is given."""

    @endpoint
    def chat(
        self,
        message: str,
        *,
        user_id: str,
        session_id: str = "default",
        top_k: int | None = None,
        wait: bool | None = None,
        turn_id: str | None = None,
        created_at: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
        corpus_ids: Sequence[str] | None = None,
    ) -> Call[ChatReply]:
        """`POST /chat`: answers a message with memory and the corpora, and learns it; `wait`: replies when it is."""
        body = _message(message, user_id, session_id, turn_id, created_at)
        body |= given(top_k=top_k, wait=wait, metadata=metadata, corpus_ids=corpus_ids)
        return call("POST", "/chat", body=body, repeatable=True)

    @events
    def stream(
        self,
        message: str,
        *,
        user_id: str,
        session_id: str = "default",
        top_k: int | None = None,
        turn_id: str | None = None,
        created_at: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
        corpus_ids: Sequence[str] | None = None,
    ) -> Streamed[ChatEvent]:
        """`POST /chat` as events: `Resolved`, `Asked`, `Found`, `Delta`, and `Done` with the whole reply."""
        body = _message(message, user_id, session_id, turn_id, created_at)
        body |= given(top_k=top_k, metadata=metadata, corpus_ids=corpus_ids, stream=True)
        return Streamed(call("POST", "/chat", body=body, repeatable=True), read_chat_event, ends_chat)

    @endpoint
    def before_reply(
        self, message: str, *, user_id: str, session_id: str = "default", corpus_ids: Sequence[str] | None = None
    ) -> Call[BeforeReply]:
        """`POST /chat/before`: what the message refers to, and what the prompt should know; stores nothing."""
        body = given(message=message, user_id=user_id, session_id=session_id, corpus_ids=corpus_ids)
        return call("POST", "/chat/before", body=body, repeatable=True)

    @endpoint
    def after_reply(
        self,
        message: str,
        *,
        user_id: str,
        session_id: str = "default",
        reply: str | None = None,
        turn_id: str | None = None,
        created_at: Time | None = None,
        auto_learn: bool | None = None,
    ) -> Call[AfterReply]:
        """`POST /chat/after`: writes message and reply down, and learns."""
        body = _message(message, user_id, session_id, turn_id, created_at) | given(reply=reply, auto_learn=auto_learn)
        return call("POST", "/chat/after", body=body, repeatable=True)

    @endpoint
    def resolve(
        self,
        query: str,
        *,
        user_id: str,
        session_id: str | None = None,
        history: Sequence[Mapping[str, Any]] | None = None,
    ) -> Call[ResolveReply]:
        """`POST /resolve`: the references of a query in a stored session, or after the turns of `history`."""
        body = given(query=query, user_id=user_id, session_id=session_id, history=history)
        return call("POST", "/resolve", body=body, repeatable=True)

    @endpoint
    def session(self, session_id: str, *, user_id: str) -> Call[SessionReply]:
        """`GET /sessions/{session_id}`: its turns, and what was mentioned and resolved."""
        return call("GET", f"/sessions/{segment(session_id)}", params={"user_id": user_id})

    @endpoint
    def add(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        user_id: str,
        session_id: str = "default",
        wait: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[AddReply]:
        """`POST /memories` with turns: `content`, and `role`, `speaker`, `turn_id`, `created_at`, `metadata`."""
        turns = [{"turn_id": _new_id(), **message} for message in messages]
        body = given(user_id=user_id, session_id=session_id, messages=turns, wait=wait, metadata=metadata)
        return call("POST", "/memories", body=body, repeatable=True)

    @endpoint
    def add_text(
        self,
        text: str,
        *,
        user_id: str,
        session_id: str = "default",
        wait: bool = True,
        turn_id: str | None = None,
        created_at: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[AddReply]:
        """`POST /memories` with one note."""
        body = given(user_id=user_id, session_id=session_id, text=text, wait=wait, metadata=metadata)
        body |= given(turn_id=turn_id or _new_id(), created_at=created_at)
        return call("POST", "/memories", body=body, repeatable=True)

    @endpoint
    def search(
        self,
        query: str,
        *,
        user_id: str,
        top_k: int | None = None,
        kinds: Sequence[str] | None = None,
        entity_type: str | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> Call[SearchReply]:
        """`POST /search`: memories and entities, best first.

        Args:
            query: What is looked for.
            user_id: Whose memory.
            top_k: The most results; 10 where not given.
            kinds: `memory`, `entity`; both where not given.
            entity_type: Only entities of this type.
            filters: `session_id`, `role`, `created_from`, `created_to`, `metadata`; all must hold.
        """
        body = given(query=query, user_id=user_id, top_k=top_k, kinds=kinds, entity_type=entity_type, filters=filters)
        return call("POST", "/search", body=body, repeatable=True)

    @endpoint
    def context(
        self,
        *,
        user_id: str,
        categories: Sequence[str] | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        max_items_per_category: int | None = None,
    ) -> Call[ContextReply]:
        """`GET /context`: what is known of a user, for a prompt."""
        names = None if categories is None else ",".join(categories)
        limits = given(max_chars=max_chars, max_tokens=max_tokens, max_items_per_category=max_items_per_category)
        return call("GET", "/context", params=given(user_id=user_id, categories=names, **limits))

    @endpoint
    def embed(
        self, texts: Sequence[str], *, input_type: str | None = None, model: str | None = None
    ) -> Call[Embeddings]:
        """`POST /v1/embeddings`; `input_type` is `query` or `passage`."""
        body = given(input=list(texts), input_type=input_type, model=model)
        return call("POST", "/v1/embeddings", body=body, repeatable=True)

    @download
    def export(self, *, user_id: str) -> Download:
        """`GET /export`: everything of a user as JSON lines, in pieces."""
        return Download(call("GET", "/export", params={"user_id": user_id}))

    @endpoint
    def import_(self, file: BinaryIO, *, user_id: str, from_user_id: str | None = None) -> Call[Imported]:
        """`POST /import` with a file of `export`: what was written, and what was there already."""
        return call(
            "POST",
            "/import",
            params=given(user_id=user_id, from_user_id=from_user_id),
            headers={"content-type": "application/x-ndjson"},
            upload=_pieces_of(file),
            repeatable=True,
        )


def _message(
    message: str, user_id: str, session_id: str, turn_id: str | None, created_at: Time | None
) -> dict[str, Any]:
    return given(
        message=message,
        user_id=user_id,
        session_id=session_id,
        turn_id=turn_id or _new_id(),
        created_at=created_at,
    )


def _new_id() -> str:
    return str(uuid4())


def _pieces_of(file: BinaryIO) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            yield piece

    return pieces
