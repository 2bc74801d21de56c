"""What conversations teach, over HTTP as a user of 002 §8 calls it: facts, categories, contexts, tiers, jobs."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e
_PATIENCE_S = 90


@dataclass(frozen=True)
class Story:
    """Messages of one user, what is known of them, and a change.

    Args:
        messages: Where the user lives, where they work, what they like.
        known: What of it the facts say: home, work, what is liked.
        moved: The message of the change.
        home: The new home.
        question: Where the user lives.
    """

    user: str
    messages: tuple[str, str, str]
    known: tuple[str, str, str]
    moved: str
    home: str
    question: str


STORIES = (
    Story(
        user="facts-zh-Hant",
        messages=("我住在台中。", "我在台積電上班。", "我喜歡爬山。"),
        known=("台中", "台積電", "爬山"),
        moved="我上個月搬到三峽了。",
        home="三峽",
        question="我住在哪裡？",
    ),
    Story(
        user="facts-zh-Hans",
        messages=("我住在杭州。", "我在华为上班。", "我喜欢爬山。"),
        known=("杭州", "华为", "爬山"),
        moved="我上个月搬到苏州了。",
        home="苏州",
        question="我住在哪里？",
    ),
    Story(
        user="facts-en",
        messages=("I live in Boston.", "I work at Siemens.", "I love jazz."),
        known=("Boston", "Siemens", "jazz"),
        moved="I moved to Denver.",
        home="Denver",
        question="Where do I live?",
    ),
)


class User:
    """The calls of one user."""

    def __init__(self, http: httpx.Client, user_id: str) -> None:
        self.http = http
        self.user_id = user_id

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        reply = self.http.get(path, params={"user_id": self.user_id, **params})
        assert reply.status_code == 200, f"{path}: {reply.text}"
        return dict(reply.json())

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        reply = self.http.post(path, json={"user_id": self.user_id, **body})
        assert reply.status_code in (200, 202), f"{path}: {reply.text}"
        return dict(reply.json())

    def objects(self, **params: Any) -> list[str]:
        return [item["object"] for item in self.get("/items", **params)["results"]]

    def until_known(self, *objects: str) -> None:
        """Waits until there are facts with these objects: learning is in the background."""
        end = time.monotonic() + _PATIENCE_S
        while not all(any(name in known for known in self.objects()) for name in objects):
            assert time.monotonic() < end, f"{objects} are not all in {self.objects()}"
            time.sleep(0.3)

    def run_job(self, kind: str) -> dict[str, Any]:
        begun = self.post(f"/jobs/{kind}")
        end = time.monotonic() + _PATIENCE_S
        while (run := self.http.get(f"/jobs/{kind}").json())["state"] == "running":
            assert time.monotonic() < end
            time.sleep(0.2)
        assert (run["run_id"], run["state"]) == (begun["run_id"], "done"), run
        return dict(run["output"])


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.user)
def test_what_is_said_in_chat_is_known_as_facts_and_changes_with_what_is_said(service: Service, story: Story) -> None:
    home, _, liked = story.known
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=_PATIENCE_S) as http:
        user = User(http, story.user)
        for message in story.messages:
            user.post("/chat", message=message)
        user.until_known(*story.known)
        before = datetime.now(UTC)

        categories = {part["name"]: part for part in user.get("/categories")["results"]}
        assert {"facts", "preferences"} <= categories.keys()
        assert liked in categories["preferences"]["summary"]
        assert next(iter(categories)) == "preferences", "by priority"

        context = user.get("/context")
        assert all(name in context["context"] for name in story.known)
        assert (context["categories"][:2], context["left_out"]) == (["preferences", "facts"], [])
        short = user.get("/context", max_chars=context["context"].index("### ", 4))
        assert (short["categories"], home in short["context"]) == (["preferences"], False)
        assert home not in user.get("/context", categories="preferences")["context"]

        user.post("/chat", message=story.moved)
        user.until_known(story.home)
        assert not any(home in known for known in user.objects(category="facts"))
        now = datetime.now(UTC).isoformat()
        assert any(story.home in known for known in user.objects(as_of=now))
        archived = user.get("/items", status="archived")["results"]
        assert any(home in item["object"] and item["ending"] == "replaced" for item in archived)
        assert home not in user.get("/context")["context"]
        assert before.year - 1 <= int(archived[0]["valid_to"][:4]) <= before.year
        a_year_before = f"{before.year - 1}-{before.month:02}-01T00:00:00Z"
        assert any(home in known for known in user.objects(as_of=a_year_before))

        summaries, facts, said = [user.get("/retrieve", query=story.question, tiers=tiers) for tiers in (1, 2, 3)]
        assert (bool(summaries["categories"]), summaries["items"], summaries["resources"]) == (True, [], [])
        assert any(story.home in item["object"] for item in facts["items"][:3])
        assert (facts["resources"], facts["degraded"], said["degraded"]) == ([], [], [])
        assert any(story.home in hit["text"] for hit in said["resources"])

        written = {part["name"]: part["summary"] for part in user.post("/summarize")["results"]}
        assert (story.home in written["facts"], home in written["facts"]) == (True, False)

        first, second = user.run_job("nightly"), user.run_job("nightly")
        assert first["before"]["active"] >= 3
        assert (second["merged"], second["summaries"]) == (0, 0)
        assert second["before"] == second["after"] == first["after"]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.user)
def test_messages_are_ingested_and_facts_extracted_without_chat(service: Service, story: Story) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=_PATIENCE_S) as http:
        user = User(http, f"ingested {story.user}")
        read = user.post("/extract", text=story.messages[1])
        assert any(story.known[1] in fact["object"] and fact["predicate"] == "works_at" for fact in read["facts"])
        assert user.objects() == []
        ids = [user.post("/ingest", content=message)["resource_id"] for message in story.messages]
        extracted = user.post("/extract", resource_id=ids[0])
        assert any(story.known[0] in item["object"] for item in extracted["items"])
        user.until_known(*story.known)
        seen, page = [], user.get("/items", limit=1)
        while page["next"]:
            seen += page["results"]
            page = user.get("/items", limit=1, after=page["next"])
        assert [*seen, *page["results"]] == user.get("/items")["results"]


def test_the_weekly_and_the_monthly_job_run_and_health_tells_of_them(service: Service) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=_PATIENCE_S) as http:
        user = User(http, "of the jobs")
        user.post("/ingest", content="I live in Oslo.", wait=True)
        assert user.run_job("weekly")["archived"] == 0
        assert user.run_job("monthly")["edges"] >= 1
        assert "weekly" in service.command("job", "weekly", "--user", "of the jobs")
        facts = http.get("/health/detailed").json()["parts"]["facts"]
        assert (facts["status"], facts["weekly_run"], facts["monthly_run"]) == ("ok", "done", "done")
        assert facts["active"] >= 1
        assert 'part="facts"' in http.get("/metrics").text
        assert http.get("/health").status_code == 200
