"""What reading memories adds to a question: which are asked, in which turn, and what is counted."""

import httpx

from benchmarks.answering import measure, questions_of, summarise
from benchmarks.conversations.scenarios import parse_scenarios
from jiyi import Client
from tests.benchmarks.replies import REPLY

_SCENARIOS = parse_scenarios("""
@ asked en
## 2026-03-02 09:10
U: I live in Bath.
U: My locker code is 4471.
## 2026-03-03 09:10
? Where do I live? => Bath | ev: 1 | type: single
? My blood type? => NONE | type: abstain
? Forget the code. => ASK | type: forget_ask
? Thanks! => REPLY | type: thanks
""")


def test_what_memory_is_asked_for_is_asked() -> None:
    assert questions_of(_SCENARIOS) == ["Where do I live?", "My blood type?"]


def test_the_services_take_turns_at_every_question_and_the_first_round_is_left_out() -> None:
    sent: list[tuple[str, str]] = []

    def client(name: str) -> Client:
        def answer(request: httpx.Request) -> httpx.Response:
            sent.append((name, request.url.path))
            return httpx.Response(200, json=REPLY)

        return Client(f"http://{name}", transport=httpx.MockTransport(answer))

    pairs = measure((client("reading"), client("without")), _SCENARIOS, rounds=2)
    assert len(pairs) == 2 * 2
    assert [path for _, path in sent[:2]] == ["/memories", "/memories"]
    assert [name for name, _ in sent[2:6]] == ["without", "reading", "reading", "without"]


def test_what_is_added_is_the_median_of_the_pairs() -> None:
    figures = summarise([(100.0, 50.0), (90.0, 60.0), (400.0, 10.0)])
    assert (figures["reading_median_ms"], figures["without_median_ms"]) == (100.0, 50.0)
    assert (figures["added_median_ms"], figures["ratio_median"]) == (50.0, 2.0)
