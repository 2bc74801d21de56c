"""The Python client: one method an endpoint; replies are the JSON of the API as dicts."""

import json
import mimetypes
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import httpx
from httpx_sse import connect_sse

_TOMBSTONES_AT_ONCE = 1_000
_RETRY_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0
_PIECE_BYTES = 262_144


class JiyiRefused(Exception):
    """The service refused a request.

    Attributes:
        status: HTTP status.
        problem: The body, `application/problem+json`.
    """

    def __init__(self, message: str, *, status: int = 0, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = dict(problem or {})


class JiyiClient:
    """Talks to one service over HTTP.

    Args:
        url: Base URL.
        patience_s: Seconds for which calls are repeated while the service cannot be reached or is unavailable (503,
            429). Repeating is harmless for what carries a `turn_id`.
        timeout_s: Seconds that one attempt may take.
        api_key: An API key or token, where the service asks for one.
        app: The app to act in, for a credential of scope `admin`.
    """

    def __init__(
        self,
        url: str,
        *,
        patience_s: float = 0.0,
        timeout_s: float = 120.0,
        api_key: str | None = None,
        app: str | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(
            base_url=url, timeout=timeout_s, headers=headers | ({"X-Jiyi-App": app} if app else {})
        )
        self._patience_s = patience_s

    def __enter__(self) -> "JiyiClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def chat(self, message: str, *, user_id: str, session_id: str = "default", **options: Any) -> dict[str, Any]:
        """`POST /chat`."""
        return self._post("/chat", user_id=user_id, session_id=session_id, message=message, **options)

    def stream(self, message: str, *, user_id: str, session_id: str = "default") -> Iterator[tuple[str, Any]]:
        """`POST /chat` as events: pairs of event name and data."""
        body = {"user_id": user_id, "session_id": session_id, "message": message, "stream": True}
        with connect_sse(self._http, "POST", "/chat", json=body) as source:
            if source.response.status_code != 200:
                source.response.read()
                _check(source.response)
            for event in source.iter_sse():
                yield event.event, json.loads(event.data)

    def before_reply(self, message: str, *, user_id: str, session_id: str = "default") -> dict[str, Any]:
        """`POST /chat/before`, which stores nothing."""
        return self._post("/chat/before", user_id=user_id, session_id=session_id, message=message)

    def after_reply(self, message: str, *, user_id: str, session_id: str = "default", **options: Any) -> dict[str, Any]:
        """`POST /chat/after`, with the `reply`."""
        return self._post("/chat/after", user_id=user_id, session_id=session_id, message=message, **options)

    def context(self, *, user_id: str, **options: Any) -> dict[str, Any]:
        """`GET /context`: what is known of a user, for a prompt."""
        return dict(self._request("GET", "/context", params={"user_id": user_id, **options}).json())

    def resolve(self, query: str, *, user_id: str, **context: Any) -> dict[str, Any]:
        """`POST /resolve`, with `session_id` or `history`."""
        return self._post("/resolve", user_id=user_id, query=query, **context)

    def add(
        self, messages: Sequence[Mapping[str, Any]], *, user_id: str, session_id: str = "default", wait: bool = True
    ) -> dict[str, Any]:
        """`POST /memories` with recorded turns."""
        return self._post("/memories", user_id=user_id, session_id=session_id, messages=list(messages), wait=wait)

    def search(self, query: str, *, user_id: str, **options: Any) -> dict[str, Any]:
        """`POST /search`."""
        return self._post("/search", user_id=user_id, query=query, **options)

    def entities(self, *, user_id: str, limit: int = 20) -> list[dict[str, Any]]:
        """`GET /entities`."""
        reply = self._request("GET", "/entities", params={"user_id": user_id, "limit": limit})
        return list(reply.json()["results"])

    def export(self, *, user_id: str) -> Iterator[bytes]:
        """`GET /export`: everything of a user as JSON lines, in pieces."""
        with self._http.stream("GET", "/export", params={"user_id": user_id}) as response:
            if not response.is_success:
                response.read()
            yield from _check(response).iter_bytes()

    def import_(self, file: BinaryIO, *, user_id: str, from_user_id: str | None = None) -> dict[str, Any]:
        """`POST /import` with a file of `export`: what was written, and what was there already."""
        users = {"user_id": user_id, **({"from_user_id": from_user_id} if from_user_id else {})}
        headers = {"content-type": "application/x-ndjson"}
        return dict(self._request("POST", "/import", params=users, headers=headers, file=file).json())

    def verify_index(self, *, mend: bool = False) -> dict[str, Any]:
        """`POST /index/verify`: the run that was started."""
        return self._post("/index/verify", mend=mend)

    def rebuild_index(self) -> dict[str, Any]:
        """`POST /index/rebuild`: the run that was started."""
        return self._post("/index/rebuild")

    def index_status(self) -> dict[str, Any] | None:
        """`GET /index/status`: the current run or the last one; None where the learner knows of none."""
        run: dict[str, Any] | None = self._request("GET", "/index/status").json()
        return run

    def reembed(self, model: str) -> dict[str, Any]:
        """`POST /index/reembed`: the run that was started or continued."""
        return self._post("/index/reembed", model=model)

    def end_reembedding(self, how: str) -> dict[str, Any]:
        """`POST /index/reembed/rollback` or `/finish`: the run, which may take some seconds to end."""
        return self._post(f"/index/reembed/{how}")

    def reembedding(self) -> dict[str, Any] | None:
        """`GET /index/reembed`: the current run or the last one; None where the model was never changed."""
        run: dict[str, Any] | None = self._request("GET", "/index/reembed").json()
        return run

    def review(self, *, user_id: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """`POST /review/run`: the run that was started, over one user or all."""
        return self._post("/review/run", user_id=user_id, dry_run=dry_run)

    def review_status(self) -> dict[str, Any] | None:
        """`GET /review/status`: the current run or the last one; None where there was none."""
        run: dict[str, Any] | None = self._request("GET", "/review/status").json()
        return run

    def run_job(self, kind: str, *, user_id: str | None = None) -> dict[str, Any]:
        """`POST /jobs/{kind}` (nightly, weekly, monthly): the run that was started, over one user's facts or all."""
        return self._post(f"/jobs/{kind}", user_id=user_id)

    def job_status(self, kind: str) -> dict[str, Any] | None:
        """`GET /jobs/{kind}`: the current run or the last one; None where there was none."""
        run: dict[str, Any] | None = self._request("GET", f"/jobs/{kind}").json()
        return run

    def pipelines(self, **filters: Any) -> dict[str, Any]:
        """`GET /knowledge/pipelines`: a page of runs; `kind` and `status` may be lists."""
        return dict(self._request("GET", "/knowledge/pipelines", params=filters).json())

    def pipeline(self, run_id: str) -> dict[str, Any]:
        """`GET /knowledge/pipelines/{run_id}`: a run with input, output, error and stack."""
        return dict(self._request("GET", f"/knowledge/pipelines/{run_id}").json())

    def retry_pipeline(self, run_id: str) -> dict[str, Any]:
        """`POST /knowledge/pipelines/{run_id}/retry`: the run that was started."""
        return self._post(f"/knowledge/pipelines/{run_id}/retry")

    def cancel_pipeline(self, run_id: str) -> dict[str, Any]:
        """`POST /knowledge/pipelines/{run_id}/cancel`: the run, which may take a moment to stop."""
        return self._post(f"/knowledge/pipelines/{run_id}/cancel")

    def follow_pipeline(self, run_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """`GET /knowledge/pipelines/{run_id}/events`: pairs of event name and data until the run ends.

        It connects again, behind the last event, as long as the service comes back within `patience_s`.
        """
        last: str | None = None
        end = time.monotonic() + self._patience_s
        while True:
            headers = {} if last is None else {"Last-Event-ID": last}
            try:
                with connect_sse(self._http, "GET", f"/knowledge/pipelines/{run_id}/events", headers=headers) as source:
                    if source.response.status_code == 204:
                        return
                    if not source.response.is_success:
                        source.response.read()
                        _check(source.response)
                    for event in source.iter_sse():
                        end = time.monotonic() + self._patience_s
                        last = event.id
                        yield event.event, json.loads(event.data)
                        if event.event == "end":
                            return
            except httpx.TransportError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_RETRY_PAUSE_S)

    def create_key(self, name: str, *, scope: str, **options: Any) -> dict[str, Any]:
        """`POST /keys`: the key with its secret; `user`, `app` and `expires_at` are optional."""
        return self._post("/keys", name=name, scope=scope, **options)

    def list_keys(self, **filters: Any) -> dict[str, Any]:
        """`GET /keys`: a page of keys, of an `app` or a `user` where given, from `after` on."""
        return dict(self._request("GET", "/keys", params=filters).json())

    def rotate_key(self, key_id: str, *, overlap_s: float = 0.0) -> dict[str, Any]:
        """`POST /keys/{key_id}/rotate`: the key and its new secret."""
        return self._post(f"/keys/{key_id}/rotate", overlap_s=overlap_s)

    def revoke_key(self, key_id: str) -> dict[str, Any]:
        """`DELETE /keys/{key_id}`: the key, which is refused from now on."""
        return dict(self._request("DELETE", f"/keys/{key_id}").json())

    def timeline(self, *, user_id: str, **options: Any) -> dict[str, Any]:
        """`GET /memories/timeline`; `options`: `since`, `until`, `kind`, `after`, `limit`."""
        return _json(self._request("GET", "/memories/timeline", params={"user_id": user_id, **options}))

    def memory(self, memory_id: str, *, user_id: str) -> dict[str, Any]:
        """`GET /memories/{memory_id}`."""
        return _json(self._request("GET", f"/memories/{memory_id}", params={"user_id": user_id}))

    def edit_memory(self, memory_id: str, *, user_id: str, **edit: Any) -> dict[str, Any]:
        """`PUT /memories/{memory_id}`; `edit`: `text`, `metadata`, `expected_version`, `reason`."""
        return _json(self._request("PUT", f"/memories/{memory_id}", json={"user_id": user_id, **edit}))

    def memory_history(self, memory_id: str, *, user_id: str) -> list[dict[str, Any]]:
        """`GET /memories/{memory_id}/history`."""
        reply = self._request("GET", f"/memories/{memory_id}/history", params={"user_id": user_id})
        return list(reply.json()["results"])

    def decide(self, *, user_id: str, decisions: Mapping[str, str], **options: Any) -> dict[str, Any]:
        """`POST /memories/audit`: `retain`, `delete` or `anonymize` by memory; with an `idempotency_key` a call that is
        repeated while the service is away is carried out once.
        """
        return self._post("/memories/audit", user_id=user_id, decisions=dict(decisions), **options)

    def audit(self, *, user_id: str, **options: Any) -> list[dict[str, Any]]:
        """`GET /memories/audit`; `options`: `memory_id`, `before`, `limit`."""
        reply = self._request("GET", "/memories/audit", params={"user_id": user_id, **options})
        return list(reply.json()["results"])

    def policy(self, *, user_id: str | None = None) -> dict[str, Any]:
        """`GET /memories/policy`, or that of the app."""
        return _json(self._request("GET", _policy_of(user_id), params={"user_id": user_id} if user_id else {}))

    def set_policy(self, policy: Mapping[str, float] | None, *, user_id: str | None = None) -> dict[str, Any]:
        """`PUT /memories/policy`, or that of the app; None removes it."""
        body = {"policy": policy} | ({"user_id": user_id} if user_id else {})
        return _json(self._request("PUT", _policy_of(user_id), json=body))

    def preview_policy(
        self, policy: Mapping[str, float] | None = None, *, user_id: str | None = None, samples: int = 10
    ) -> dict[str, Any]:
        """`POST /memories/policy/preview`, or that of the app; None for the policy that holds."""
        user = {"user_id": user_id} if user_id else {}
        return self._post(f"{_policy_of(user_id)}/preview", policy=policy, samples=samples, **user)

    def erase(self, *, user_id: str, kind: str, **scope: Any) -> dict[str, Any]:
        """`POST /erasures`: the erasure, which may be at work yet."""
        return self._post("/erasures", user_id=user_id, kind=kind, **scope)

    def erasure(self, erasure_id: str) -> dict[str, Any]:
        """`GET /erasures/{erasure_id}`: its state, with the receipt once it is done."""
        return dict(self._request("GET", f"/erasures/{erasure_id}").json())

    def erasures(self, *, limit: int = 100) -> list[dict[str, Any]]:
        """`GET /erasures`."""
        return list(self._request("GET", "/erasures", params={"limit": limit}).json()["results"])

    def tombstones(self) -> list[dict[str, Any]]:
        """`GET /erasures/tombstones`: finished erasures in digests."""
        return list(self._request("GET", "/erasures/tombstones").json()["tombstones"])

    def replay_erasures(self, tombstones: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
        """`POST /erasures/replay`: the erasures that were begun again."""
        pages = [
            tombstones[start : start + _TOMBSTONES_AT_ONCE] for start in range(0, len(tombstones), _TOMBSTONES_AT_ONCE)
        ]
        return [
            erasure
            for page in pages or [[]]
            for erasure in self._post("/erasures/replay", tombstones=list(page))["results"]
        ]

    def corpora(self) -> list[dict[str, Any]]:
        """`GET /knowledge/base`: the corpora of the app."""
        return list(self._request("GET", "/knowledge/base").json()["results"])

    def create_corpus(self, name: str, **options: Any) -> dict[str, Any]:
        """`POST /knowledge/base`: the corpus; `description` and `config` are optional."""
        return self._post("/knowledge/base", name=name, **options)

    def ingest_text(self, corpus_id: str, text: str, *, wait: bool = True, **options: Any) -> list[dict[str, Any]]:
        """`POST /knowledge/base/{corpus_id}/ingest` with a text: what became of it."""
        return list(self._post(f"/knowledge/base/{corpus_id}/ingest", text=text, wait=wait, **options)["results"])

    def ingest_file(
        self, corpus_id: str, path: Path, *, source_uri: str, metadata: Mapping[str, Any], wait: bool = True
    ) -> list[dict[str, Any]]:
        """`POST /knowledge/base/{corpus_id}/ingest` with a file: what became of it."""
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        file = (path.name, path.read_bytes(), media_type)
        return self.ingest_content(corpus_id, file, source_uri=source_uri, metadata=metadata, wait=wait)

    def ingest_content(
        self,
        corpus_id: str,
        file: tuple[str, bytes, str],
        *,
        source_uri: str,
        metadata: Mapping[str, Any],
        wait: bool = True,
    ) -> list[dict[str, Any]]:
        """As `ingest_file`, with the name, content and media type of the file."""
        form = {"source_uri": source_uri, "metadata": json.dumps(metadata), "wait": json.dumps(wait)}
        files = {"file": file}
        url = f"/knowledge/base/{corpus_id}/ingest"
        return list(self._request("POST", url, data=form, files=files).json()["results"])

    def search_knowledge(self, query: str, *, corpus_id: str | None = None, **options: Any) -> dict[str, Any]:
        """`POST /knowledge/base/{corpus_id}/search`, or `POST /knowledge/search` without one."""
        path = "/knowledge/search" if corpus_id is None else f"/knowledge/base/{corpus_id}/search"
        return self._post(path, query=query, **options)

    def health(self) -> dict[str, Any]:
        """`GET /health/detailed`."""
        return dict(self._request("GET", "/health/detailed").json())

    def is_ready(self) -> bool:
        """Whether `GET /health/ready` says so."""
        try:
            return self._http.get("/health/ready", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        return dict(self._request("POST", path, json=body).json())

    def _request(self, method: str, path: str, *, file: BinaryIO | None = None, **content: Any) -> httpx.Response:
        end = time.monotonic() + self._patience_s
        longest_s = _RETRY_PAUSE_S
        while True:
            if file is not None:
                content["content"] = _pieces(file)
            try:
                response = self._http.request(method, path, **content)
                if not _is_unavailable(response) or time.monotonic() >= end:
                    return _check(response)
                at_least_s = float(response.headers.get("Retry-After", _RETRY_PAUSE_S))
            except httpx.TransportError:
                if time.monotonic() >= end:
                    raise
                at_least_s = _RETRY_PAUSE_S
            # Longer each time and never alike: what all refused callers repeat at once keeps a service overloaded.
            pause_s = at_least_s + random.uniform(0.0, longest_s)
            longest_s = min(_LONGEST_PAUSE_S, 2 * longest_s)
            time.sleep(max(0.0, min(pause_s, end - time.monotonic())))


def _policy_of(user_id: str | None) -> str:
    return "/memories/policy" if user_id else "/memories/policy/app"


def _json(response: httpx.Response) -> dict[str, Any]:
    return dict(response.json())


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _is_unavailable(response: httpx.Response) -> bool:
    """Whether to try again. A service that is starting has no routes yet: its 404 is no `application/problem+json`."""
    if response.status_code == 404:
        return not response.headers.get("content-type", "").startswith("application/problem+json")
    return response.status_code in (429, 500, 502, 503, 504)


def _check(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        problem = response.json()
    except json.JSONDecodeError:
        problem = {}
    message = problem.get("detail") or problem.get("title") or response.text[:200] or response.reason_phrase
    raise JiyiRefused(f"{response.status_code}: {message}", status=response.status_code, problem=problem)
