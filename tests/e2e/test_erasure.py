"""A person is forgotten completely: a secret goes through every door, and is in no file and no store afterwards.

Nor with a restart: what must hold then, `test_survival.py` tells when it restarts the service for all.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memory.values.text import normalise
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

_READING = {"/search", "/entities/search", "/entities/by-reference", "/entities/context", "/aam/retrieve"}
_OF_NO_USER = ("/index/", "/jobs/", "/review/run", "/erasures", "/keys", "/memories/policy/app", "/knowledge/")
"""Calls of operators, and of apps on what all of their users share (`/knowledge/…`): none of them has a user's data."""
_PATIENCE_S = 60


class Person:
    """A user with a secret word, as a name in Latin letters and in Chinese ones."""

    def __init__(self, http: httpx.Client, word: str, chinese: str) -> None:
        self.http = http
        self.word, self.chinese = word, chinese
        self.user_id = f"user-{word[::-1]}"
        self.used: set[str] = set()

    @property
    def traces(self) -> list[bytes]:
        """What nothing may hold afterwards, in small letters."""
        texts = [self.word.lower(), self.user_id.lower(), self.chinese, self.chinese.replace("櫻", "樱")]
        escaped = [text.encode("ascii", "backslashreplace").decode().lower() for text in texts]
        return [text.encode() for text in dict.fromkeys([*texts, *escaped])]

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        return self.send("POST", path, json={"user_id": self.user_id, **body})

    def send(self, method: str, path: str, **content: Any) -> dict[str, Any]:
        self.used.add(f"{method} {path}")
        reply = self.http.request(method, path.format(**content.pop("names", {})), **content)
        assert reply.status_code in (200, 201, 202, 204), f"{method} {path}: {reply.text}"
        is_json = reply.status_code != 204 and reply.headers["content-type"].startswith("application/json")
        return dict(reply.json()) if is_json else {}

    def use_every_door(self) -> None:
        """Sends the secret wherever texts go in."""
        word, chinese = self.word, self.chinese
        said = f"我們公司買了 {word} 和{chinese}茶，{word} 放在三樓機房。"
        self.post("/chat", session_id=f"s-{word}", message=said, turn_id=f"t-{word}", wait=True)
        self.post("/chat", session_id=f"s-{word}", message=f"它是{chinese}嗎？", wait=True)
        self.post("/chat", session_id=f"s-{word}", message=f"不是，是 {word} 二號", wait=True)
        with self.http.stream(
            "POST", "/chat", json={"user_id": self.user_id, "message": f"Remember {word}.", "stream": True}
        ) as reply:
            reply.read()
        self.post("/chat/before", message=f"Where is {word}?", session_id=f"s-{word}")
        self.post("/chat/after", message=f"Is {word} here?", reply=f"{word} is here.", turn_id=f"after-{word}")
        self.send("PUT", "/persona", json={"user_id": self.user_id, "name": word, "facts": [f"{word}是{chinese}。"]})
        self.post("/persona/learn", message=f"你住在{chinese}街。", reply=f"I live in {word}.", turn_id=f"p-{word}")
        self.post("/resolve", query=f"它和{chinese}呢？", history=[{"role": "user", "content": f"我買了 {word}。"}])
        self.post("/memories", text=f"The spare {word} is in the drawer.", metadata={"room": word}, session_id="m")
        messages = [{"role": "user", "content": f"{chinese}是我的貓。", "speaker": word}]
        self.post("/memories", messages=messages, session_id="m")
        self.post("/ingest", content=f"I like {word}.", metadata={"room": word}, session_id="m", wait=True)
        self.post("/extract", text=f"我住在{chinese}街，喜歡 {word}。")
        self.post("/summarize")
        self.post("/entities/extract", text=f"王小明用 {word} 測試。", store=True)
        works = self.post("/entities", entity_value=f"{word} Works", attributes={"note": word})["entity"]["entity_id"]
        self.post("/entities", entity_value=f"{word} Labs")
        self.post("/entities", entity_value=f"{word} Group")
        self.post("/entities/aliases", entity=f"{word} Works", alias=f"{chinese}工廠")
        self.post(
            "/relations", source=f"{word} Works", relation_type="part_of", target=f"{word} Labs", description=word
        )
        self.post("/entities/search", query=word)
        self.send(
            "PATCH",
            "/entities/{entity_id}",
            names={"entity_id": works},
            json={"user_id": self.user_id, "name": f"{word} Factory"},
        )
        self.post("/entities/merge", into=f"{word} Labs", **{"from": f"{word} Group"})
        self.post("/entities/split", entity=f"{word} Labs", names=[f"{word} Group"])
        self.post("/entities/by-reference", word="它", session_id=f"s-{word}")
        self.post("/entities/context", query=word)
        for confidence in (0.5, 0.9):
            self.post("/aam/entities", entity_type="pet", entity_value=f"{word} {confidence}", confidence=confidence)
        self.post("/aam/retrieve", query=word)
        self.post("/memories/conflicts/detect", entity_type="pet", new_value=word)
        self.post("/review/mark", id=f"{word} Labs", reason=word)
        self.post("/review/archive", id=f"{word} Labs", reason=word)
        self.post("/review/restore", id=f"{word} Labs", reason=word)
        self.post("/changes/undo", reason=word)
        self.post("/search", query=word)
        self.use_mem0()
        self.govern()
        self.send("POST", "/v1/embeddings", json={"input": [word, chinese, self.user_id]})
        self.use_openai()
        self.use_store()
        owner = {"user_id": self.user_id}
        exported = self.settled_export()
        headers = {"content-type": "application/x-ndjson"}
        self.send("POST", "/import", params=owner, content=exported, headers=headers)

    def use_openai(self) -> None:
        """Sends the secret wherever texts go in at the OpenAI door."""
        word, mine = self.word, {"X-Jiyi-User": self.user_id}
        said = [{"role": "user", "content": f"My {word} is in the {self.chinese} box."}]
        for stream in (False, True):
            body = {"model": "jiyi", "messages": said, "stream": stream, "user": self.user_id}
            self.send("POST", "/v1/chat/completions", json=body)
        made = self.send("POST", "/v1/conversations", json={"metadata": {"topic": word}}, headers=mine)
        of = {"names": {"conversation_id": made["id"]}, "headers": mine}
        path = "/v1/conversations/{conversation_id}"
        self.send("POST", path, json={"metadata": {"topic": self.chinese}}, **of)
        self.send("POST", f"{path}/items", json={"items": said}, **of)
        body = {"model": "jiyi", "input": f"Where is my {word}?", "conversation": made["id"], "user": self.user_id}
        self.send("POST", "/v1/responses", json=body)
        self.send("POST", "/v1/rerank", json={"query": word, "documents": [self.chinese]})
        search = {"names": {"vector_store_id": "memory"}, "headers": mine}
        self.send("POST", "/v1/vector_stores/{vector_store_id}/search", json={"query": word}, **search)

    def use_store(self) -> None:
        """Sends the secret wherever texts go in at the store and at the checkpoints of LangGraph."""
        word, chinese, notes = self.word, self.chinese, [self.word, "notes"]
        item = {"namespace": notes, "key": f"k-{word}", "value": {"text": f"{word} and {chinese}.", word: [chinese]}}
        self.send("PUT", "/store/items", json={"user_id": self.user_id, **item})
        found = self.post("/store/items/search", namespace_prefix=[word], query=chinese, filter={word: [chinese]})
        assert [hit["key"] for hit in found["items"]] == [item["key"]]
        listed = self.post("/store/namespaces", prefix=[word], suffix=["*"])
        assert listed["namespaces"] == [notes]
        for path in ("/store/batch", "/store/checkpoints/batch"):
            put = {"op": "put", **item, "key": f"batch-{word}", "session_id": f"s-{word}"}
            search = {"op": "search", "prefix": [word], "query": chinese if path == "/store/batch" else None}
            self.post(path, operations=[put])
            assert self.post(path, operations=[search])["results"][0]

    def use_mem0(self) -> None:
        """Sends the secret through the door for mem0's clients, which the OpenAPI document does not have."""
        word, filters = self.word, {"user_id": self.user_id}
        labels = {"run_id": f"r-{word}", "agent_id": word, "app_id": word, "metadata": {word: [word]}}
        added = self.post("/mem0/v3/memories/add/", messages=f"{self.chinese} and {word} again.", **labels)
        kept = added["results"][0]["id"]
        self.post("/mem0/v3/memories/search/", query=word, filters=filters)
        self.send("PUT", f"/mem0/v1/memories/{kept}/", json={"text": f"{word} once more.", "metadata": {"a": word}})
        feedback = {"memory_id": kept, "feedback": "NEGATIVE", "feedback_reason": word}
        self.send("POST", "/mem0/v1/feedback/", json=feedback)
        self.send("POST", "/mem0/v1/exports/", json={"schema": {}, "filters": filters})

    def govern(self) -> None:
        """Sends the secret wherever texts go in about memories that are kept."""
        listed = self.http.get("/memories/timeline", params={"user_id": self.user_id}).json()["results"]
        kept, edited = listed[0]["memory"]["memory_id"], listed[1]["memory"]["memory_id"]
        self.post("/memories/audit", decisions={kept: "retain"}, note=self.word, idempotency_key=self.word)
        body = {"user_id": self.user_id, "text": f"{self.word} {self.chinese}", "reason": self.word}
        self.send("PUT", "/memories/{memory_id}", names={"memory_id": edited}, json=body)
        policy = {"user_id": self.user_id, "policy": {"decay_rate": 0.2}}
        self.send("PUT", "/memories/policy", json=policy)
        self.post("/memories/policy/preview", policy={"decay_rate": 9})

    def settled_export(self) -> bytes:
        """An export once what was said without waiting is learned, which changes entities that an import compares."""
        exports: list[bytes] = []

        def is_settled() -> bool:
            exports.append(self.http.get("/export", params={"user_id": self.user_id}).content)
            items = [export.partition(b"\n")[2] for export in exports[-3:]]  # the first line says when
            return len(items) == 3 and items[0] == items[1] == items[2]

        until(is_settled)
        return exports[-1]

    def found(self) -> list[set[str]]:
        """What the service still says of the user, without what changes with time and use."""

        def get(path: str) -> Any:
            return self.http.get(path, params={"user_id": self.user_id}).json()

        lists = [
            self.post("/search", query=self.word)["results"],
            self.post("/search", query=self.chinese)["results"],
            get("/entities")["results"],
            get("/aam/entities")["results"],
            get("/items")["results"],
            get("/categories")["results"],
            get("/changes")["results"],
            get(f"/sessions/s-{self.word}")["turns"],
            self.post("/store/items/search")["items"],
            self.post("/store/checkpoints/batch", operations=[{"op": "search"}])["results"][0],
            *get("/memories/conflicts").values(),
        ]
        return [{_name(item) for item in found} for found in lists]


def _name(item: dict[str, Any]) -> str:
    names = ("id", "entity_id", "memory_id", "change_id", "fact_id", "content", "name", "key")
    named = item.get("memory", item)
    return next((str(named[name]) for name in names if name in named), str(item))


@pytest.fixture(scope="module")
def home(service: Service) -> Path:
    return service.home


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with service.http(_PATIENCE_S) as client:
        yield client


def files_with(folder: Path, traces: list[bytes]) -> dict[str, list[str]]:
    """The files below a folder that hold one of these texts, whatever the case of its letters."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            lines = path.read_bytes().lower().splitlines()
            # The log of operators' acts names whom they were about, and nothing else.
            content = b"\n".join(line for line in lines if b'"event": "operator_act"' not in line)
            if held := [trace.decode() for trace in traces if trace in content]:
                found[str(path.relative_to(folder))] = held
    return found


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.3)


def test_a_secret_of_one_session_is_in_no_file_and_the_other_session_is_as_it_was(
    http: httpx.Client, home: Path
) -> None:
    cyd = Person(http, "Turmalin", "黑曜櫻")
    traces = [trace for trace in cyd.traces if trace != cyd.user_id.lower().encode()]
    for session_id, text in (
        ("kept", "我們公司買了 Zirkonia，放在二樓。"),
        ("gone", f"我們公司買了 {cyd.word} 和{cyd.chinese}茶，{cyd.word} 放在三樓機房。"),
        ("gone", f"它是{cyd.chinese}嗎？"),
    ):
        cyd.post("/chat", session_id=session_id, message=text, wait=True)
    labs = cyd.post("/entities", entity_value=f"{cyd.word} Labs")["entity"]["entity_id"]
    cyd.post("/search", query=cyd.word)
    owner = {"user_id": cyd.user_id}
    kept = http.get("/sessions/kept", params=owner).json()["turns"]
    assert all(files_with(home, [trace]) for trace in (b"turmalin", cyd.chinese.encode()))

    begun = [
        cyd.post("/erasures", kind="session", session_id="gone"),
        cyd.post("/erasures", kind="item", item_id=labs),
    ]
    for erasure in begun:
        until(lambda erasure=erasure: http.get(f"/erasures/{erasure['erasure_id']}").json()["state"] == "done")  # type: ignore[misc]
    receipts = [http.get(f"/erasures/{erasure['erasure_id']}").json()["receipt"] for erasure in begun]
    assert receipts[0]["removed"]["record.resources"] >= 2
    assert all(receipt["purged"] == {"record": True, "sessions": True, "vectors": True} for receipt in receipts)
    assert files_with(home, traces) == {}
    assert files_with((home / "cluster").resolve(), traces) == {}
    assert http.get("/sessions/kept", params=owner).json()["turns"] == kept
    exported = http.get("/export", params=owner).text
    assert ("Zirkonia" in exported, cyd.word in exported) == (True, False)


SECRETS = {
    "en": ("The Malachyt prototype is in the Obsidyan vault.", ("Malachyt", "Obsidyan")),
    "zh-Hant": ("我們公司買了赤鐵櫻機，放在榴火倉庫。", ("赤鐵櫻", "榴火")),
    "zh-Hans": ("我们公司买了孔雀樟机，放在磷灯仓库。", ("孔雀樟", "磷灯")),
}


def test_what_was_deleted_or_anonymised_in_three_languages_is_behind_no_door_and_in_no_file(
    service: Service, http: httpx.Client, home: Path
) -> None:
    dan, eva = Person(http, "Zirkonia", "黃玉櫻"), Person(http, "Hornfels", "綠松櫻")
    kept = f"我們公司買了 {dan.word}，放在二樓。"
    for text in [kept, *(said for said, _ in SECRETS.values())]:
        dan.post("/chat", session_id="d", message=text, wait=True)
    eva.post("/chat", session_id="e", message=f"我們公司買了 {eva.word}，放在{eva.chinese}樓。", wait=True)
    words = [word for _, secret in SECRETS.values() for word in secret]
    forms = {form.lower() for word in words for form in (word, normalise(word))}
    forms |= {form.encode("ascii", "backslashreplace").decode() for form in forms}
    traces = [form.encode() for form in sorted(forms)]
    owner = {"user_id": dan.user_id}

    def timeline() -> dict[str, dict[str, Any]]:
        listed = dan.http.get("/memories/timeline", params=owner | {"limit": "100"}).json()["results"]
        return {entry["memory"]["text"]: entry for entry in listed}

    until(lambda: {text for text, _ in SECRETS.values()} <= timeline().keys())
    found = timeline()
    ids = {language: found[text]["memory"]["memory_id"] for language, (text, _) in SECRETS.items()}
    for word in words:
        dan.post("/search", query=word)
    assert all(files_with(home, [word.encode()]) for word in ("malachyt", "赤鐵櫻", "孔雀樟"))
    before = eva.found()

    decisions = {ids["en"]: "anonymize", ids["zh-Hant"]: "delete", ids["zh-Hans"]: "anonymize"}
    versions = {ids[language]: found[text]["memory"]["version"] for language, (text, _) in SECRETS.items()}
    body: dict[str, Any] = {"decisions": decisions, "expected_versions": versions, "idempotency_key": "once"}
    stale = http.post("/memories/audit", json=owner | body | {"expected_versions": versions | {ids["en"]: 9}})
    assert (stale.status_code, stale.json()["title"]) == (409, "VersionConflict")
    decided = dan.post("/memories/audit", **body)
    for erasure_id in decided["erasures"]:
        until(lambda id_=erasure_id: http.get(f"/erasures/{id_}").json()["state"] == "done")  # type: ignore[misc]
        receipt = http.get(f"/erasures/{erasure_id}").json()["receipt"]
        assert receipt["purged"] == {"record": True, "sessions": True, "vectors": True}
    assert dan.post("/memories/audit", **body) == decided

    assert files_with(home, traces) == {}
    assert files_with((home / "cluster").resolve(), traces) == {}
    http.post("/index/verify", json={})
    until(lambda: http.get("/index/status").json()["state"] != "running")
    collections = http.get("/index/status").json()["report"]["collections"]
    assert {name: part["orphaned"] + part["stale"] for name, part in collections.items()} == dict.fromkeys(
        collections, 0
    )
    paths = ["/entities", "/aam/entities", "/items", "/categories", "/context", "/changes", "/sessions/d", "/export"]
    paths += ["/memories/timeline", "/memories/audit", "/memories/policy"]
    paths += [path for id_ in ids.values() for path in (f"/memories/{id_}", f"/memories/{id_}/history")]
    shown = [http.get(path, params=owner).text for path in paths]
    for query in [*(text for text, _ in SECRETS.values()), "Where is the prototype?", "仓库在哪里？", "我們買了什麼？"]:
        hits = dan.post("/search", query=query)["results"]
        shown += [str(hits), str(dan.post("/entities/context", query="prototype"))]
        assert not set(ids.values()) & {hit["id"] for hit in hits}
    assert [word for word in words if any(word in text for text in shown)] == []
    assert http.get(f"/memories/{ids['zh-Hant']}", params=owner).status_code == 404
    for language in ("en", "zh-Hans"):
        memory = http.get(f"/memories/{ids[language]}", params=owner).json()["memory"]
        assert (memory["text"], memory["metadata"], memory["is_anonymised"]) == ("[ANONYMIZED]", {}, True)
    assert kept in timeline()
    assert dan.word in str(dan.post("/search", query=dan.word)["results"])
    assert eva.found() == before

    def nothing_returns_with_a_restart() -> Iterator[None]:
        with service.http(_PATIENCE_S) as dan.http:
            eva.http = dan.http
            before = eva.found()
            yield
            assert files_with(home, traces) == {}
            yield
            assert kept in timeline()
            assert eva.found() == before

    service.stories.append(nothing_returns_with_a_restart())


def test_a_secret_that_went_through_every_door_is_in_no_file_and_no_store_after_an_erasure(
    service: Service, http: httpx.Client, home: Path
) -> None:
    ann, bob = Person(http, "Quarzborn", "琥珀櫻"), Person(http, "Feldspat", "翡翠櫻")
    for person in (ann, bob):
        person.use_every_door()
        until(lambda person=person: len(person.post("/search", query=person.word)["results"]) > 2)  # type: ignore[misc]
    doors = {
        f"{method.upper()} {path}"
        for path, methods in http.get("/openapi.json").json()["paths"].items()
        for method in methods
        if method in ("post", "put", "patch") and not path.startswith(_OF_NO_USER)
    }
    assert doors <= ann.used, "a door that this test does not know"
    assert all(files_with(home, [trace]) for trace in (b"quarzborn", ann.chinese.encode()))
    before = bob.found()

    erasure = http.delete(f"/users/{ann.user_id}", params={"wait": True})
    assert erasure.status_code in (200, 202), erasure.text
    identity = erasure.json()["erasure_id"]
    until(lambda: http.get(f"/erasures/{identity}").json()["state"] == "done")
    receipt = http.get(f"/erasures/{identity}").json()["receipt"]
    assert receipt["purged"] == {"record": True, "sessions": True, "vectors": True}
    assert receipt["removed"]["record.resources"] > 5
    assert receipt["removed"]["vectors.points"] > 5
    assert receipt["removed"]["sessions"] == 6

    assert files_with(home, ann.traces) == {}
    assert files_with((home / "cluster").resolve(), ann.traces) == {}
    assert not any(ann.found())
    assert bob.found() == before
    assert files_with(home, [b"feldspat"])
    assert ann.user_id not in http.get("/metrics").text + http.get("/health/detailed").text

    def nothing_returns_with_a_restart() -> Iterator[None]:
        with service.http(_PATIENCE_S) as bob.http:
            before = bob.found()
            yield
            assert files_with(home, ann.traces) == {}
            yield
            assert bob.found() == before

    service.stories.append(nothing_returns_with_a_restart())
