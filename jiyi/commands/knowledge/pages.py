"""Pages of a site, for the knowledge base: their addresses from a file, their content from hosts that were named.

Nothing is fetched from any other host, also where a page redirects there, so that a list of addresses that somebody
else wrote does not reach into a private network.
"""

import html
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

import httpx

MAX_BYTES = 64 * 2**20
"""Bytes of a page, at most."""
_MAX_REDIRECTS = 5
_LOCATION = re.compile(r"<(?:\w+:)?loc>\s*(?:<!\[CDATA\[)?\s*(.*?)\s*(?:\]\]>)?\s*</(?:\w+:)?loc>", re.DOTALL)
_DEFAULT_TYPE = "text/html"


class PageRefused(Exception):
    """A page is not fetched, or did not come; the message says why."""


@dataclass(frozen=True)
class Page:
    """A page as it came: `name` is the last part of its path."""

    content: bytes
    media_type: str
    name: str


def read_addresses(path: Path) -> list[str]:
    """The addresses in a file, each once: those of a sitemap, else one a line; lines with # are left out."""
    text = path.read_text(encoding="utf-8")
    found = [html.unescape(location) for location in _LOCATION.findall(text)]
    if not found:
        found = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [*dict.fromkeys(found)]


def fetch_page(address: str, *, hosts: Collection[str], client: httpx.Client) -> Page:
    """Fetches a page; every redirect is followed to the named hosts alone.

    Args:
        address: With http or https.
        hosts: Names of the hosts, without a port.
        client: Sends the requests; follows no redirects by itself.

    Raises:
        PageRefused: The host is not named, or the page did not come.
    """
    for _ in range(_MAX_REDIRECTS + 1):
        _check(address, hosts)
        try:
            with client.stream("GET", address) as response:
                if response.is_redirect:
                    address = urljoin(address, response.headers.get("location", ""))
                    continue
                if not response.is_success:
                    raise PageRefused(f"the server answered {response.status_code}")
                content = _read(response)
        except httpx.HTTPError as error:
            raise PageRefused(str(error) or type(error).__name__) from error
        name = PurePosixPath(urlsplit(address).path).name or "index.html"
        return Page(content, response.headers.get("content-type", _DEFAULT_TYPE), name)
    raise PageRefused(f"more than {_MAX_REDIRECTS} redirects")


def _check(address: str, hosts: Collection[str]) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PageRefused("an address must begin with http:// or https://")
    if parts.username or parts.password:
        raise PageRefused("an address must not hold a password")
    if parts.hostname not in {host.lower() for host in hosts}:
        raise PageRefused(f"{parts.hostname} is not among the hosts that were named")


def _read(response: httpx.Response) -> bytes:
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > MAX_BYTES:
            raise PageRefused(f"the page has more than {MAX_BYTES} bytes")
    return bytes(content)
