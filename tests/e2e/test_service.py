"""What a user of the running service sees: real Serve, real HTTP, real weights, real stores."""

import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from deployments.http.schemas.memory.chat import ChatReply
from jiyi.client.events import Done, Resolved
from jiyi.errors import InvalidRequest
from memory.ports.models.language import TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.assets.weight_files import shipped_weight_file
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
TRADITIONAL = ("我們公司上個月買了 AI-Box，放在三樓機房。", "它放在哪裡？", "AI-Box 放在哪裡？", "三樓機房")
SIMPLIFIED = ("我们公司上个月买了 AI-Box，放在三楼机房。", "它放在哪里？", "AI-Box 放在哪里？", "三楼机房")
ENGLISH = ("We bought an AI-Box last month. The AI-Box is in the server room.", "Where is it?", "AI-Box", "server room")


@pytest.mark.parametrize(
    ("said", "asked", "resolved", "answer"), [TRADITIONAL, SIMPLIFIED, ENGLISH], ids=["zh-Hant", "zh-Hans", "en"]
)
def test_a_conversation_in_each_language(service: Service, said: str, asked: str, resolved: str, answer: str) -> None:
    user = f"user of {said[:4]}"
    with service.client as client:
        client.chat(said, user_id=user, wait=True)
        reply = client.chat(asked, user_id=user)
        assert resolved in reply.resolved_query
        assert answer in reply.reply
        assert reply.degraded == ()
        stranger = client.chat(asked, user_id=f"stranger to {user}")
        assert answer not in stranger.reply
        assert stranger.resolution.resolutions == ()


def test_the_first_example_of_the_documentation_gives_the_reply_that_it_shows(service: Service) -> None:
    page = (Path(__file__).parents[2] / "docs/getting-started.md").read_text(encoding="utf-8")
    section = page.partition("## The same over HTTP")[2]
    bodies = [json.loads(body) for body in re.findall(r"^say '(.+)'$", section, re.MULTILINE)]
    shown = json.loads(section.partition("```json")[2].partition("```")[0])
    for body in bodies:
        url = f"http://127.0.0.1:{service.port}/chat"
        given = httpx.post(url, json={**body, "wait": True}, timeout=60).json()
    _assert_shows(shown, given)


def _assert_shows(shown: Any, given: Any) -> None:
    """What is shown is given: fields may be left out, days and small differences of confidence do not count."""
    match shown:
        case dict():
            for name in shown:
                _assert_shows(shown[name], given[name])
        case list():
            assert len(shown) == len(given)
            for one, other in zip(shown, given, strict=True):
                _assert_shows(one, other)
        case float():
            assert given == pytest.approx(shown, abs=0.05)
        case str():
            assert _DAY.sub("", given) == _DAY.sub("", shown)
        case _:
            assert given == shown


def test_an_allergy_that_was_said_answers_in_chat_and_is_a_typed_memory_with_its_source(service: Service) -> None:
    user = "allergic"
    url = f"http://127.0.0.1:{service.port}"
    with service.client as client:
        said = client.chat("對花生過敏不能吃堅果", user_id=user, wait=True)
        assert "花生" in client.chat("我對什麼過敏？", user_id=user).reply
    query = {"user_id": user, "query": "我對什麼過敏？", "min_confidence": 0.3}
    results = httpx.post(f"{url}/aam/retrieve", json=query, timeout=60).json()["results"]
    [allergy] = [hit["memory"] for hit in results if "花生" in hit["memory"]["entity_value"]]
    assert (allergy["entity_type"], allergy["sources"]) == ("allergy", [said.turn_id])


def test_a_typed_memory_that_was_given_answers_in_chat_and_stands_in_the_context(service: Service) -> None:
    user = "given"
    url = f"http://127.0.0.1:{service.port}"
    given = {"user_id": user, "entity_type": "allergy", "entity_value": "花生", "confidence": 0.9}
    assert httpx.post(f"{url}/aam/entities", json=given, timeout=60).status_code == 200
    assert "花生" in httpx.get(f"{url}/context", params={"user_id": user}, timeout=60).json()["context"]
    with service.client as client:
        assert "花生" in client.chat("我對什麼過敏？", user_id=user).reply


def test_the_reply_also_comes_as_events(service: Service) -> None:
    with service.client as client:
        events = list(client.stream("幫我記住，車位是 B2-17", user_id="streamer"))
    done = events[-1]
    assert isinstance(events[0], Resolved)
    assert isinstance(done, Done)
    assert "B2-17" in done.reply.reply


def test_embeddings_over_http_are_those_of_the_model(service: Service) -> None:
    texts = ["記憶是什麼？", "记忆是什么？", "What is memory?", "🙂 ＦＵＬＬ"]
    with service.client as client:
        body = {"input": texts, "encoding_format": "base64", "input_type": "passage"}
        reply = httpx.post(f"http://127.0.0.1:{service.port}/v1/embeddings", json=body, timeout=60).json()
        assert client.is_ready()
    ours = np.stack([np.frombuffer(base64.b64decode(item["embedding"]), "<f4") for item in reply["data"]])
    settings_cache = Path("~/.cache/jiyi").expanduser()
    engine = SentenceTransformerEngine(get_model(DEFAULT_MODEL), prepare_model(DEFAULT_MODEL, settings_cache))
    expected = engine.encode(texts, TextKind.PASSAGE)
    assert np.sum(ours * expected, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)
    tokens = [text.token_count for text in engine.prepare(texts, TextKind.PASSAGE)]
    assert reply["usage"]["total_tokens"] == sum(tokens)


def test_an_error_crosses_processes_whole_so_that_overload_says_when_to_come_back(service: Service) -> None:
    body = {"input": ["memory " * 400] * 32, "encoding_format": "base64"}
    url = f"http://127.0.0.1:{service.port}/v1/embeddings"
    with ThreadPoolExecutor(4) as callers:
        replies = list(callers.map(lambda _: httpx.post(url, json=body, timeout=120), range(4)))
    refused = [reply for reply in replies if reply.status_code != 200]
    assert 0 < len(refused) < 4
    for reply in refused:
        assert reply.status_code == 429
        assert reply.json()["error"]["code"] == "rate_limit_exceeded"
        assert int(reply.headers["retry-after"]) >= 1


def test_bad_input_is_refused_by_name(service: Service) -> None:
    with service.client as client, pytest.raises(InvalidRequest, match="message"):
        client.chat("a" * 1_000_000, user_id="ann")


def test_the_command_line_replays_a_recording_twice_and_learns_it_once(service: Service, tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    recording.write_text(
        '{"role": "user", "content": "我們用 RM05-008 測試。"}\n{"role": "user", "content": "RM05-008 到貨了。"}\n'
    )
    for _ in range(2):
        shown = service.command("replay", str(recording), "--user", "replayed")
    assert "2 turns acknowledged" in shown
    with service.client as client:
        [entity] = client.entities.recent(user_id="replayed").results
    assert (entity.entity_value, entity.mention_count) == ("RM05-008", 2)


def test_the_index_is_made_again_by_the_pool_of_encoders(service: Service) -> None:
    with service.client as client:
        messages = [{"content": f"Part ZX{number:04d}-88 is kept in hall {number}."} for number in range(8)]
        client.add(messages, user_id="rebuilt")
        shown = service.command("index", "rebuild")
        assert "rebuild done" in shown
        run = client.index.status()
        assert run is not None
        counted = run.report.collections.values()
        assert sum(part.checked for part in counted) == run.total
        assert sum(part.mended for part in counted) >= len(messages)
        assert not any(part.missing + part.stale + part.orphaned for part in counted)
        reply = client.search("Where is ZX0005-88 kept?", user_id="rebuilt", top_k=3, kinds=["memory"])
    assert "ZX0005-88" in reply.results[0].text


def test_status_shows_every_part(service: Service) -> None:
    shown = service.command("status", "--memory")
    for part in ("record", "sessions", "embedder", "vectors", "resolver", "learner", "ServeReplica"):
        assert part in shown


@pytest.mark.skipif(not shipped_weight_file("reader").exists(), reason="no reader is shipped")
def test_the_trained_reader_understands_each_turn_with_what_came_before(service: Service) -> None:
    with service.client as client:
        named = client.chat("王小明下週從台北搬到高雄。", user_id="read")
        client.chat("我昨天買了一台咖啡機。", user_id="read", session_id="s")
        asked = client.chat("它多少錢？", user_id="read", session_id="s")
        figures = client.operations.health().parts["extractor"]
    assert figures["reader_loaded"] == 1
    assert figures["reader_items"] >= 3
    assert figures["reader_failures"] == 0
    assert (named.degraded, asked.degraded) == ((), ())
    sources = {mention.text: mention.source for mention in named.mentions}
    assert sources["王小明"].startswith("reader.")
    assert "咖啡機" in asked.resolved_query
    assert (asked.action, asked.intents[0]) == ("rewrite", "question")


@pytest.mark.skipif(not shipped_weight_file("reader").exists(), reason="no reader is shipped")
def test_a_long_text_delays_no_other_user_and_no_reply_is_degraded_below_saturation(service: Service) -> None:
    """Issue 15, point 6: one text of 32,000 characters took resolution from others for seconds."""
    long = "王小明在台北用 AI-Box 測試新的機器，結果很好。" * 1300

    def ask(number: int) -> ChatReply:
        with service.client as client:
            return client.chat("它多少錢？", user_id=f"waits {number}")

    with ThreadPoolExecutor(9) as callers:
        reading = callers.submit(
            httpx.post,
            f"http://127.0.0.1:{service.port}/resolve",
            json={"user_id": "writes much", "query": long[:32_000]},
            timeout=120,
        )
        replies = list(callers.map(ask, range(24)))
        assert reading.result().status_code == 200
    assert [reply.degraded for reply in replies] == [()] * 24
    assert reading.result().elapsed.total_seconds() > 1


def test_the_service_takes_no_more_memory_than_a_small_machine_has(service: Service) -> None:
    """Without mapped files: code, weights and the index are pages that the machine takes back when it needs them."""
    taken = {process.name: round(process.own_mib) for process in service.processes()}
    assert sum(process.own_mib for process in service.processes()) < 3072, taken  # 2,725 measured after the other tests
