"""The systems that the conversation benchmark compares with: searches that quote their best line, and a model."""

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from benchmarks.conversations import mem0_search
from benchmarks.conversations.answerer import Answerer, Endpoint, ModelRefused, endpoint_from
from benchmarks.conversations.bm25 import Bm25
from benchmarks.conversations.judge import Verdict, judge, leaves_open
from benchmarks.conversations.mem0_search import Mem0, Mem0Failed
from benchmarks.conversations.running import answer_all, choose_least_scores, play_all
from benchmarks.conversations.scenarios import Scenario, parse_scenarios
from benchmarks.conversations.systems import AT_ONCE, BestLine, Found, LineSearch
from testing.language_model_server import LanguageModelServer

_AT = datetime(2026, 3, 2, 9, 10, tzinfo=UTC)
_TALK = """
@ talk en
## 2026-03-02 09:10
U: My sister lives in Bath.
A: Bath is lovely.
U: The spare key is under the blue "pot".
## 2026-03-20 21:30
? Where does my sister live? => Bath | ev: 1 | type: single
? What is my blood type? => NONE | type: abstain
## 2026-03-21 21:30
U: My sister lives in Leeds now.
## 2026-03-22 21:30
? Where is the spare key? => pot | ev: 2 | type: single
"""


def _scenario(text: str = _TALK) -> Scenario:
    [scenario] = parse_scenarios(text)
    return scenario


class _Scored(LineSearch):
    """Finds the last line, with the score that the question names."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @override
    def add(self, line: str, at: datetime, *, user_id: str) -> None:
        self.lines.append(line)

    @override
    def search(self, question: str, *, user_id: str) -> list[Found]:
        return [Found(self.lines[-1], float(question.split()[0]), "2026-03-02")] if self.lines else []


def test_bm25_quotes_the_best_line_of_the_user_said_so_far() -> None:
    sister, blood, key = [answered for _, answered in BestLine(Bm25(), least_scores={"en": 0.3}).play(_scenario())]
    assert sister.reply.text == "「My sister lives in Bath.」"
    assert [found.text for found in sister.found] == ["My sister lives in Bath."]
    assert leaves_open(blood.reply)
    assert blood.found == ()
    assert key.reply.text == "「The spare key is under the blue pot.」", "a quotation in a quotation would end it"
    assert key.reply.confidence == key.found[0].score


def test_a_line_under_the_least_score_of_its_language_is_withheld() -> None:
    [(_, surely), *_] = BestLine(Bm25(), least_scores={"zh-Hant": 9.0}).play(_scenario())
    [(question, withheld), *_] = BestLine(Bm25(), least_scores={"en": 9.0}).play(_scenario())
    assert not leaves_open(surely.reply)
    assert leaves_open(withheld.reply)
    assert withheld.found == surely.found
    assert judge(question, withheld.reply) is Verdict.LEFT_OPEN


def test_users_of_bm25_do_not_find_the_lines_of_others() -> None:
    search = Bm25()
    search.add("I live in Bath.", _AT, user_id="a")
    assert search.search("Where do I live?", user_id="b") == []
    [found] = search.search("Bath", user_id="a")
    assert (found.text, found.date) == ("I live in Bath.", "2026-03-02")
    assert found.score == pytest.approx(1.0), "a line of mean length with every word of the question"


@given(st.lists(st.lists(st.sampled_from(["bath", "leeds", "key", "pot", "板橋", "三峽"]), min_size=1), min_size=1))
def test_bm25_scores_fall_and_stand_for_shared_words_only(lines: list[list[str]]) -> None:
    search = Bm25()
    for line in lines:
        search.add(" ".join(line), _AT, user_id="a")
    found = search.search("bath 板橋", user_id="a")
    assert len(found) == min(AT_ONCE, sum(bool({"bath", "板橋"} & set(line)) for line in lines))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert all(each.score > 0 for each in found)


def test_a_rare_word_counts_for_more_than_a_common_one() -> None:
    search = Bm25()
    for line in ("the key hangs here", "a key for Anna", "another key of Ben", "the pot is blue"):
        search.add(line, _AT, user_id="a")
    assert search.search("the blue key", user_id="a")[0].text == "the pot is blue"


def test_the_least_score_keeps_what_is_right_and_withholds_the_rest() -> None:
    asked = "".join(
        f"? {score} => {'Bath' if score > 0.5 else 'NONE'} | type: {'single' if score > 0.5 else 'abstain'}\n"
        for score in (0.9, 0.7, 0.6, 0.4, 0.2)
    )
    talk = "@ talk en\n## 2026-03-02 09:10\nU: I live in Bath.\n" + asked
    assert choose_least_scores(_Scored(), [_scenario(talk)]) == {"en": 0.6}


def test_replies_come_in_the_order_of_the_scenarios_and_are_counted_on_the_way() -> None:
    scenarios = parse_scenarios(_TALK.replace("@ talk", "@ one") + _TALK.replace("@ talk", "@ two"))
    steps: list[None] = []
    judged = play_all(
        "bm25", BestLine(Bm25(), least_scores={}), scenarios, at_once=2, advance=lambda: steps.append(None)
    )
    assert [(row.scenario.id, row.number) for row in judged] == [(name, n) for name in ("one", "two") for n in range(3)]
    assert len(steps) == 6


@pytest.fixture
def model() -> Iterator[LanguageModelServer]:
    with LanguageModelServer(key="sk-test") as server:
        yield server


def _endpoint(model: LanguageModelServer, key: str = "sk-test") -> Endpoint:
    return Endpoint(model.url, "tiny", key)


def test_a_model_answers_from_the_lines_that_were_found_oldest_first(model: LanguageModelServer) -> None:
    model.otherwise = lambda body: "In Leeds."
    found = (Found("She is in Leeds now.", 0.9, "2026-03-21"), Found("She lives in Bath.", 0.8, "2026-03-02"))
    with Answerer(_endpoint(model)) as answerer:
        answered = answerer.answer("Where is she?", found, today="2026-03-22")
    assert answered.reply.text == "In Leeds."
    assert answered.found == found
    [request] = model.requests
    system, user = (message["content"] for message in request["messages"])
    assert user == "Where is she?"
    assert "- 2026-03-02: She lives in Bath.\n- 2026-03-21: She is in Leeds now." in system
    assert "Today is 2026-03-22." in system


def test_a_model_is_asked_each_question_on_its_day(model: LanguageModelServer) -> None:
    model.otherwise = lambda body: "Bath."
    judged = play_all("jiyi", BestLine(Bm25(), least_scores={}), [_scenario()], at_once=1, advance=lambda: None)
    with Answerer(_endpoint(model)) as answerer:
        answered = answer_all(answerer, judged, at_once=1, advance=lambda: None)
    assert [row.system for row in answered] == ["model"] * 3
    assert [row.verdict for row in answered] == [Verdict.RIGHT, Verdict.WRONG, Verdict.WRONG]
    days = [request["messages"][0]["content"][-11:] for request in model.requests]
    assert days == ["2026-03-20.", "2026-03-20.", "2026-03-22."]


def test_what_an_endpoint_refuses_ends_the_run(model: LanguageModelServer) -> None:
    with Answerer(_endpoint(model, key="sk-other")) as answerer, pytest.raises(ModelRefused, match=r"^401"):
        answerer.answer("Where?", (), today="2026-03-22")


def test_the_endpoint_is_that_of_the_options_or_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert endpoint_from("http://there/v1", None, None) is None
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    assert endpoint_from("http://there/v1", None, None) == Endpoint("http://there/v1", "tiny")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert endpoint_from("http://there/v1", "large", None) == Endpoint("http://there/v1", "large", "sk-test")


_FAKE_PACKAGE = """
import json, os, sys
class Memory:
    @classmethod
    def from_config(cls, config):
        print("a notice")
        memory = cls()
        memory.config, memory.lines = config, []
        return memory
    def add(self, messages, *, user_id, metadata, infer):
        if messages[0]["content"] == "fail":
            sys.exit("out of memory")
        assert not infer
        self.lines.append((messages[0]["content"], user_id, metadata))
    def search(self, query, *, filters, top_k):
        hits = [{"memory": m, "score": 0.5, "metadata": d} for m, u, d in self.lines if u == filters["user_id"]]
        url = self.config["embedder"]["config"]["openai_base_url"]
        return {"results": [*hits, {"memory": url, "score": 0.1, "metadata": {"date": ""}}][:top_k]}
"""


@pytest.fixture
def mem0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mem0]:
    """With a package of the same surface in place of mem0: the real one is installed where the benchmark runs."""
    package = tmp_path / "mem0.py"
    package.write_text(_FAKE_PACKAGE)
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    find = f'import runpy, sys; sys.path.insert(0, "{tmp_path}"); del sys.argv[:2]'
    run = 'runpy.run_path(sys.argv[0], run_name="__main__")'
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{find}; {run}' \"$@\"\n")
    python.chmod(0o755)
    monkeypatch.setattr(mem0_search, "ensure", lambda environment, folder: python.parent)
    with closing(Mem0(tmp_path / "work", embeddings_url="http://there/v1")) as search:
        yield search
    assert list((tmp_path / "work").iterdir()) == [], "its stores are removed"


def test_mem0_is_asked_in_a_process_of_its_own(mem0: Mem0) -> None:
    mem0.add("I live in Bath.", _AT, user_id="a")
    mem0.add("我住三峽。", _AT, user_id="b")
    assert mem0.search("where?", user_id="b") == [
        Found("我住三峽。", 0.5, "2026-03-02"),
        Found("http://there/v1", 0.1, ""),
    ]


def test_why_mem0_ended_is_said(mem0: Mem0) -> None:
    with pytest.raises(Mem0Failed, match="out of memory"):
        mem0.add("fail", _AT, user_id="a")
