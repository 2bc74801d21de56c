"""Pages for the knowledge base are fetched from hosts that were named, and from no others."""

from pathlib import Path

import httpx
import pytest

from jiyi.commands.knowledge import pages
from jiyi.commands.knowledge.pages import PageRefused, fetch_page, read_addresses

HOSTS = ("docs.example.org",)


def client(**pages_by_address: httpx.Response) -> httpx.Client:
    """A client of a web of these pages, by path; a page of any other host is a failure of the test."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.host in HOSTS, f"{request.url} was fetched"
        return pages_by_address.get(request.url.path.strip("/"), httpx.Response(404))

    return httpx.Client(transport=httpx.MockTransport(answer))


def moved(location: str) -> httpx.Response:
    return httpx.Response(302, headers={"location": location})


def test_a_page_comes_with_its_type_and_name() -> None:
    web = client(guide=httpx.Response(200, text="<h1>保固</h1>", headers={"content-type": "text/html; charset=utf-8"}))
    page = fetch_page("https://docs.example.org/guide", hosts=HOSTS, client=web)
    assert (page.content.decode(), page.media_type, page.name) == ("<h1>保固</h1>", "text/html; charset=utf-8", "guide")


def test_a_redirect_within_the_hosts_is_followed() -> None:
    web = client(old=moved("/new"), new=httpx.Response(200, text="here"))
    assert fetch_page("https://docs.example.org/old", hosts=HOSTS, client=web).content == b"here"


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://localhost:8000/users",
        "https://example.org/",
        "https://docs.example.org.evil.example/",
        "https://docs.example.org@evil.example/",
        "https://user:pass@docs.example.org/",
        "file:///etc/passwd",
        "ftp://docs.example.org/x",
        "docs.example.org/x",
        "",
    ],
)
def test_any_other_address_is_refused_and_nothing_is_fetched(address: str) -> None:
    with pytest.raises(PageRefused):
        fetch_page(address, hosts=HOSTS, client=client())


def test_a_redirect_to_another_host_is_refused() -> None:
    web = client(old=moved("http://169.254.169.254/latest"))
    with pytest.raises(PageRefused, match=r"169\.254\.169\.254 is not among the hosts"):
        fetch_page("https://docs.example.org/old", hosts=HOSTS, client=web)


def test_endless_redirects_missing_pages_and_pages_that_are_too_large_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 10)
    web = client(round=moved("/round"), large=httpx.Response(200, content=b"x" * 11))
    for path, reason in (("round", "redirects"), ("missing", "404"), ("large", "more than 10 bytes")):
        with pytest.raises(PageRefused, match=reason):
            fetch_page(f"https://docs.example.org/{path}", hosts=HOSTS, client=web)


def test_addresses_come_from_a_sitemap_or_from_lines(tmp_path: Path) -> None:
    sitemap = tmp_path / "sitemap.xml"
    sitemap.write_text(
        '<?xml version="1.0"?><urlset><url><loc> https://docs.example.org/a?x=1&amp;y=2 </loc></url>'
        "<url><loc><![CDATA[https://docs.example.org/b]]></loc></url>"
        "<url><loc>https://docs.example.org/b</loc></url></urlset>"
    )
    assert read_addresses(sitemap) == ["https://docs.example.org/a?x=1&y=2", "https://docs.example.org/b"]
    lines = tmp_path / "pages.txt"
    lines.write_text("# the manual\nhttps://docs.example.org/a\n\nhttps://docs.example.org/b\n")
    assert read_addresses(lines) == ["https://docs.example.org/a", "https://docs.example.org/b"]
