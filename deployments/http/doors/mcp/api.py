"""The HTTP surface as the tools call it: in the same process or over a network, as one credential."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

MOST_PAGES = 50
_PAGE = 100
_ADVICE = {
    401: "The credential is missing or not valid: set one in the configuration of this server.",
    403: "Leave out user_id: the credential says whose memory it is.",
    404: "Take an id from search_memories or get_memories.",
    409: "Look at the present state with get_memory, then decide.",
}
"""What an agent can do about a status, behind what the service says."""
_UNNAMED_USER = (
    "Nothing says whose memory is meant. Give user_id, or have the connection send the header X-Jiyi-User or a "
    "credential of one user."
)


class Refused(ToolError, ResourceError):
    """The service refused a call; the message says why and what to do."""


@dataclass(frozen=True)
class Api:
    """Calls of the HTTP surface.

    Args:
        http: A client of the service.
        headers: What says who calls, for each call.
    """

    http: httpx.AsyncClient
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """The JSON of a reply. Parameters and fields that are None are left out.

        Raises:
            Refused: It is an error, or the service does not answer.
        """
        try:
            reply = await self.http.request(
                method,
                path,
                params=None if params is None else _given(params),
                json=None if body is None else _given(body),
                headers=list(self.headers),
            )
        except httpx.TransportError as error:
            raise Refused(f"The service at {self.http.base_url} does not answer ({error}). Is it running?") from error
        if not reply.is_success:
            raise Refused(_message(reply))
        return reply.json()

    async def memories(self, **params: Any) -> AsyncIterator[dict[str, Any]]:
        """The memories of `GET /memories/timeline`, latest first, at most 5,000."""
        after: str | None = None
        for _ in range(MOST_PAGES):
            page = await self.call("GET", "/memories/timeline", params={**params, "after": after, "limit": _PAGE})
            for found in page["results"]:
                yield found["memory"]
            after = page["next"]
            if after is None:
                return


ApiOf = Callable[[], Api]
"""Returns the API as the sender of the present message may use it."""


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _message(reply: httpx.Response) -> str:
    """What is wrong and what to do, from a problem of the service or from whatever stands before it."""
    if not reply.headers.get("content-type", "").startswith("application/problem+json"):
        return f"{reply.status_code}: {reply.text[:200]}"
    problem = reply.json()
    fields = problem.get("errors", [])
    if [field["field"] for field in fields] == ["user_id"] and reply.status_code == 422:
        return _UNNAMED_USER
    allowed = (f"{field['field']}: {field['allowed']}." for field in fields if field["problem"] not in field["allowed"])
    parts = [problem["detail"].rstrip(".") + ".", *allowed]
    if wait_s := reply.headers.get("retry-after"):
        parts.append(f"Try again in {wait_s} s.")
    if advice := _ADVICE.get(reply.status_code):
        parts.append(advice)
    return " ".join(parts)
