"""Which hosts and web pages a request may come from, so that no page a person visits can use the service."""

from collections.abc import Collection
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ...config.access_settings import HttpArgs
from .problems import http_problem

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing on any route."""
PROBE_PATHS = frozenset({"/health", "/health/live", "/health/ready"})
"""Paths for any Host: load balancers and kubelets ask for them by address, and their replies hold nothing."""


class Origins:
    """ASGI middleware that refuses unknown hosts, requests from other sites' pages, and text that is not UTF-8.

    A page can make a browser send a request to any address, loopback included. Whether it changes something is decided
    by `Sec-Fetch-Site`, else by `Origin`, as Go's `net/http.CrossOriginProtection` does; what has neither is no
    browser. A page whose own name was pointed at this address (DNS rebinding) is of the same origin, so `Host` must be
    a known name.

    Args:
        app: What takes the requests.
        http: Names of this service and the sites whose pages may use it.
    """

    def __init__(self, app: ASGIApp, http: HttpArgs) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in http.hosts)
        self._sites = frozenset(site.lower().rstrip("/") for site in http.sites)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        response = None
        if not (_is_utf8(scope.get("raw_path") or b"") and _is_utf8(scope["query_string"])):
            response = http_problem(400, "The path and the query must be UTF-8, percent-encoded.")
        elif scope["path"] not in PROBE_PATHS and not _is_known(host, self._hosts):
            response = http_problem(
                400, f"Host: {host!r} is no name of this service; add it to http.hosts (JIYI_HTTP__HOSTS)."
            )
        elif scope["method"] not in _SAFE_METHODS and not self._is_own(headers, host):
            response = http_problem(
                403, "Origin: pages of other sites may change nothing; add the site to http.sites (JIYI_HTTP__SITES)."
            )
        await (response or self._app)(scope, receive, send)

    def _is_own(self, headers: Headers, host: str) -> bool:
        """Whether a request comes from no browser, from the service's own pages, or from a site that may."""
        origin = headers.get("origin", "").lower()
        if origin in self._sites:
            return True
        if site := headers.get("sec-fetch-site"):
            return site in ("same-origin", "none")
        return not origin or urlsplit(origin).netloc == host


def _is_known(host: str, hosts: Collection[str]) -> bool:
    """Whether a Host header names one of these; `*.example.org` stands for all below, `*` for any."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name in hosts or "*" in hosts or any(f"*.{above}" in hosts for above in _above(name))


def _above(name: str) -> list[str]:
    labels = name.split(".")
    return [".".join(labels[start:]) for start in range(1, len(labels))]


def _is_utf8(encoded: bytes) -> bool:
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True
