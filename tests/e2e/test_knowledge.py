"""Documents become searchable knowledge, over HTTP as a product's backend uses it (004 §11.1), in three languages."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e
_PATIENCE_S = 240
_RULES = 120


@dataclass(frozen=True)
class Manual:
    """A document and what it answers.

    Args:
        text: In Markdown.
        question: In other words than the answer has.
        answer: Words of the paragraph that answers.
        heading: What that stands under.
        update: The document, changed.
        updated: Words that only the change has.
    """

    language: str
    text: str
    question: str
    answer: str
    heading: str
    update: str
    updated: str


MANUALS = (
    Manual(
        language="zh-Hant",
        text="# 保固\n\n主機的保固期為兩年，電池不在保固範圍內。\n\n# 運送\n\n訂單在三個工作天內寄出，離島需要五天。",
        question="電池壞了可以免費更換嗎？",
        answer="電池不在保固範圍內",
        heading="保固",
        update="# 保固\n\n主機與電池的保固期都是三年。\n\n# 運送\n\n訂單在三個工作天內寄出，離島需要五天。",
        updated="三年",
    ),
    Manual(
        language="zh-Hans",
        text="# 退货\n\n收到商品后七天内可以退货，运费由买家承担。\n\n# 发票\n\n电子发票在付款后二十四小时内寄出。",
        question="不想要了，几天之内能退？",
        answer="七天内可以退货",
        heading="退货",
        update="# 退货\n\n收到商品后三十天内可以退货，运费由卖家承担。\n\n# 发票\n\n电子发票在付款后二十四小时内寄出。",
        updated="三十天",
    ),
    Manual(
        language="en",
        text="# Cancellation\n\nA booking can be cancelled free of charge until noon on the day before arrival.\n\n"
        "# Parking\n\nThe garage closes at eleven in the evening and opens again at six.",
        question="How late may I call off my reservation without paying?",
        answer="until noon on the day before",
        heading="Cancellation",
        update="# Cancellation\n\nA booking can be cancelled free of charge until a week before arrival.\n\n"
        "# Parking\n\nThe garage closes at eleven in the evening and opens again at six.",
        updated="a week before",
    ),
)


class Base:
    """The calls of a backend on one corpus."""

    def __init__(self, http: httpx.Client, name: str) -> None:
        self.http = http
        self.corpus = str(self.call("POST", "/base", json={"name": name, "config": _CONFIG})["corpus_id"])

    def call(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        reply = self.http.request(method, f"/knowledge{path}", **sent)
        assert reply.status_code in (200, 201, 202), f"{path}: {reply.text}"
        return dict(reply.json())

    def ingest(self, text: str, uri: str, **fields: Any) -> dict[str, Any]:
        body = {"text": text, "source_uri": uri, "media_type": "text/markdown", "wait": True, **fields}
        [source] = self.call("POST", f"/base/{self.corpus}/ingest", json=body)["results"]
        return dict(source)

    def search(self, query: str, **fields: Any) -> list[dict[str, Any]]:
        return list(self.call("POST", f"/base/{self.corpus}/search", json={"query": query, **fields})["results"])

    def versions(self, source_id: str) -> list[dict[str, Any]]:
        return list(self.call("GET", f"/base/{self.corpus}/sources/{source_id}/versions")["results"])


_CONFIG = {"chunking": {"chunk_size": 120, "overlap": 0}}


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=120) as client:
        yield client


@pytest.mark.parametrize("manual", MANUALS, ids=[manual.language for manual in MANUALS])
def test_a_document_is_found_updated_rolled_back_and_deleted(http: httpx.Client, manual: Manual) -> None:
    base = Base(http, f"manual {manual.language}")
    for other in MANUALS:
        assert (
            base.ingest(other.text, f"manual:{other.language}", metadata={"lang": other.language})["state"] == "ready"
        )
    for mode in ("semantic", "hybrid", "rrf"):
        best = base.search(manual.question, mode=mode)[0]
        assert manual.answer in best["content"], f"{mode}: {best}"
        assert (best["source_uri"], best["headings"]) == (f"manual:{manual.language}", [manual.heading])
    words = base.search(manual.answer, mode="keyword", filters={"metadata": {"lang": manual.language}})
    assert manual.answer in words[0]["content"]
    assert words[0]["highlights"]
    source = base.ingest(manual.text, f"manual:{manual.language}", metadata={"lang": manual.language})
    assert source["skipped"]
    changed = base.ingest(manual.update, f"manual:{manual.language}", metadata={"lang": manual.language})
    assert (changed["version"], changed["state"]) == (2, "ready")
    contents = [hit["content"] for hit in base.search(manual.question, limit=20)]
    assert any(manual.updated in content for content in contents)
    assert not any(manual.answer in content for content in contents)
    path = f"/base/{base.corpus}/sources/{source['source_id']}"
    [back] = base.call("POST", f"{path}/rollback", json={"version": 1, "wait": True})["results"]
    assert (back["version"], back["state"]) == (1, "ready")
    assert manual.answer in base.search(manual.question)[0]["content"]
    assert base.call("DELETE", path)["chunks"] == source["chunk_count"] + changed["chunk_count"]
    assert all(hit["metadata"]["lang"] != manual.language for hit in base.search(manual.question, limit=20))
    base.call("DELETE", f"/base/{base.corpus}")
    assert http.get(f"/knowledge/base/{base.corpus}").status_code == 404


def test_an_ingestion_survives_a_killed_learner_with_nothing_twice(service: Service, http: httpx.Client) -> None:
    base = Base(http, "rules")
    rules = [f"# Rule {number}\n\nDoor {number} of the warehouse stays shut after closing." for number in range(_RULES)]
    files = [
        ("file", ("rules.md", "\n\n".join(rules).encode(), "text/markdown")),
        ("file", ("broken.pdf", b"%PDF-1.7 \xff\xfe no document", "application/pdf")),
    ]
    results = base.call("POST", f"/base/{base.corpus}/ingest", files=files)["results"]
    assert [source["state"] for source in results] == ["pending", "pending"]
    source_id = results[0]["source_id"]
    end = time.monotonic() + _PATIENCE_S
    while base.call("GET", f"/base/{base.corpus}")["chunk_count"] == 0:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert service.kill(lambda name: "Learner" in name)
    while (version := base.versions(source_id)[0])["state"] == "pending":
        assert time.monotonic() < end, version
        time.sleep(0.5)
    assert (version["state"], version["version"]) == ("ready", 1)
    assert base.call("GET", f"/base/{base.corpus}")["chunk_count"] == version["chunk_count"]
    hits = base.search("Which doors stay shut after closing?", mode="semantic", limit=1000)
    assert sorted(hit["chunk_index"] for hit in hits) == list(range(version["chunk_count"]))
    assert base.search("door 77 of the warehouse", mode="keyword")[0]["headings"] == ["Rule 77"]
    while (broken := base.versions(results[1]["source_id"])[0])["state"] == "pending":
        assert time.monotonic() < end, broken
        time.sleep(0.5)
    assert (broken["state"], broken["error"].partition(":")[0]) == ("failed", "UnreadableDocumentError")
