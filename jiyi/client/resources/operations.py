"""For operators: runs, erasures, keys, the index, health."""

from collections.abc import Sequence
from typing import Any

from deployments.http.schemas.operations.erasures import ErasureList, TombstoneList
from deployments.http.schemas.operations.health import Readiness
from deployments.http.schemas.operations.keys import IssuedKeyReply, KeyList, KeyReply
from deployments.http.schemas.operations.pipelines import Dashboard, RunDetail, RunList, RunSummary
from deployments.http.schemas.operations.user_list import UserList, UserReply
from memory.ports.jobs import IndexRun, PipelineRun
from memory.values.governance.erasures import Erasure

from ..calls import Call, Paged, Streamed, call, given, segment
from ..endpoints import Resource, T_co, endpoint, events, pages
from ..events import RunEvent, ends_run, read_run_event
from ..replies import Health
from .chat import Time


class Runs(Resource[T_co]):
    """`client.runs`: background work."""

    @pages
    def list(
        self,
        *,
        kind: Sequence[str] | None = None,
        status: Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        app: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Paged[RunList, RunSummary]:
        """`GET /knowledge/pipelines`, latest first."""
        params = given(kind=kind, status=status, since=since, until=until, app=app, cursor=cursor, limit=limit)
        return Paged(call("GET", "/knowledge/pipelines", params=params), cursor="cursor")

    @endpoint
    def get(self, run_id: str) -> Call[RunDetail]:
        """`GET /knowledge/pipelines/{run_id}`: with input, output, error and stack."""
        return call("GET", _run(run_id))

    @endpoint
    def retry(self, run_id: str) -> Call[RunDetail]:
        """`POST …/retry`: a run with the same input."""
        return call("POST", f"{_run(run_id)}/retry")

    @endpoint
    def cancel(self, run_id: str) -> Call[RunDetail]:
        """`POST …/cancel`: it may take a moment to stop."""
        return call("POST", f"{_run(run_id)}/cancel")

    @events
    def follow(self, run_id: str) -> Streamed[RunEvent]:
        """`GET …/events`: until the run ends; it connects again while there is patience."""
        return Streamed(call("GET", f"{_run(run_id)}/events"), read_run_event, ends_run, resumes=True)

    @endpoint
    def dashboard(self, *, app: str | None = None) -> Call[Dashboard]:
        """`GET /knowledge/dashboard`: what there is, and how background work is doing."""
        return call("GET", "/knowledge/dashboard", params=given(app=app))


class Users(Resource[T_co]):
    """`client.users`."""

    @pages
    def list(self, *, after: str | None = None, limit: int | None = None) -> Paged[UserList, UserReply]:
        """`GET /users`: who of the app has something in memory, sorted by id."""
        return Paged(call("GET", "/users", params=given(after=after, limit=limit)))


class Erasures(Resource[T_co]):
    """`client.erasures`."""

    @endpoint
    def erase(
        self,
        *,
        user_id: str,
        kind: str,
        session_id: str | None = None,
        item_id: str | None = None,
        messages: bool | None = None,
        since: Time | None = None,
        until: Time | None = None,
        wait: bool | None = None,
    ) -> Call[Erasure]:
        """`POST /erasures`: a `user`, `session`, `item` or `period`; it may be at work yet when this returns."""
        body = given(user_id=user_id, kind=kind, session_id=session_id, item_id=item_id, messages=messages)
        body |= given(since=since, until=until, wait=wait)
        return call("POST", "/erasures", body=body, repeatable=True)

    @endpoint
    def erase_user(self, user_id: str, *, wait: bool | None = None) -> Call[Erasure]:
        """`DELETE /users/{user_id}`."""
        return call("DELETE", f"/users/{segment(user_id)}", params=given(wait=wait))

    @endpoint
    def get(self, erasure_id: str) -> Call[Erasure]:
        """`GET /erasures/{erasure_id}`: its state, with the receipt once it is done."""
        return call("GET", f"/erasures/{segment(erasure_id)}")

    @endpoint
    def list(self, *, limit: int | None = None) -> Call[ErasureList]:
        """`GET /erasures`."""
        return call("GET", "/erasures", params=given(limit=limit))

    @endpoint
    def tombstones(self) -> Call[TombstoneList]:
        """`GET /erasures/tombstones`: finished erasures in digests."""
        return call("GET", "/erasures/tombstones")

    @endpoint
    def replay(self, tombstones: Sequence[Any] = ()) -> Call[ErasureList]:
        """`POST /erasures/replay` with 1,000 tombstones at most: the erasures that were begun again."""
        return call("POST", "/erasures/replay", body={"tombstones": tombstones}, repeatable=True)


class Keys(Resource[T_co]):
    """`client.keys`."""

    @endpoint
    def create(
        self,
        name: str,
        *,
        scope: str,
        app: str | None = None,
        user: str | None = None,
        expires_at: Time | None = None,
    ) -> Call[IssuedKeyReply]:
        """`POST /keys`: the key with its secret, shown this once."""
        return call("POST", "/keys", body=given(name=name, scope=scope, app=app, user=user, expires_at=expires_at))

    @pages
    def list(
        self,
        *,
        app: str | None = None,
        user: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Paged[KeyList, KeyReply]:
        """`GET /keys`, revoked ones too."""
        return Paged(call("GET", "/keys", params=given(app=app, user=user, after=after, limit=limit)))

    @endpoint
    def rotate(self, key_id: str, *, overlap_s: float = 0.0) -> Call[IssuedKeyReply]:
        """`POST /keys/{key_id}/rotate`: a new secret; the old one stays valid for so long."""
        return call("POST", f"/keys/{segment(key_id)}/rotate", body={"overlap_s": overlap_s})

    @endpoint
    def revoke(self, key_id: str) -> Call[KeyReply]:
        """`DELETE /keys/{key_id}`: it is refused from now on."""
        return call("DELETE", f"/keys/{segment(key_id)}")


class Index(Resource[T_co]):
    """`client.index`: one run over the vector index at a time."""

    @endpoint
    def verify(self, *, mend: bool = False) -> Call[IndexRun]:
        """`POST /index/verify`: starts comparing it with the record."""
        return call("POST", "/index/verify", body={"mend": mend}, repeatable=True)

    @endpoint
    def rebuild(self) -> Call[IndexRun]:
        """`POST /index/rebuild`: starts making every point again."""
        return call("POST", "/index/rebuild", repeatable=True)

    @endpoint
    def status(self) -> Call[IndexRun | None]:
        """`GET /index/status`: the current run or the last one."""
        return call("GET", "/index/status")

    @endpoint
    def reembed(self, model: str) -> Call[PipelineRun]:
        """`POST /index/reembed`: starts, or continues, embedding everything with another model."""
        return call("POST", "/index/reembed", body={"model": model}, repeatable=True)

    @endpoint
    def roll_back(self) -> Call[PipelineRun]:
        """`POST /index/reembed/rollback`: back to the model before."""
        return call("POST", "/index/reembed/rollback", repeatable=True)

    @endpoint
    def finish(self) -> Call[PipelineRun]:
        """`POST /index/reembed/finish`: drops the vectors of the model before."""
        return call("POST", "/index/reembed/finish", repeatable=True)

    @endpoint
    def reembedding(self) -> Call[PipelineRun | None]:
        """`GET /index/reembed`: the current run or the last one."""
        return call("GET", "/index/reembed")


class Operations(Resource[T_co]):
    """`client.operations`."""

    @endpoint
    def health(self) -> Call[Health]:
        """`GET /health/detailed`: all stores and deployments with their figures."""
        return call("GET", "/health/detailed")

    @endpoint
    def readiness(self) -> Call[Readiness]:
        """`GET /health/ready`; `ServiceFailed` where a required part is away."""
        return call("GET", "/health/ready")

    @endpoint
    def live(self) -> Call[dict[str, str]]:
        """`GET /health/live`: answers while the process runs."""
        return call("GET", "/health/live")

    @endpoint
    def metrics(self) -> Call[str]:
        """`GET /metrics` in Prometheus' text format."""
        return call("GET", "/metrics")


def _run(run_id: str) -> str:
    return f"/knowledge/pipelines/{segment(run_id)}"
