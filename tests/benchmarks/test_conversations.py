"""The scenario files of the conversation benchmark, and the rules by which replies are judged."""

import contextlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import conversations
from benchmarks.conversations.judge import Reply, Verdict, holds, judge
from benchmarks.conversations.own_sentences import name_sentence
from benchmarks.conversations.playing import Player, Way
from benchmarks.conversations.scenarios import (
    NOT_FOR_MEMORY,
    BadScenario,
    Expected,
    Kind,
    Line,
    Question,
    Scenario,
    Session,
    parse_scenarios,
    read_scenarios,
)
from benchmarks.conversations.systems import Found, Prompt
from jiyi import Client
from memory.language.phrases import ENGLISH, SIMPLIFIED, TRADITIONAL, Phrases
from memory.values.understanding.dialogue import Role
from tests.benchmarks.replies import HIT, REPLY

_MOVED = """
@ moved-1 zh-Hant
## 2026-03-02 09:10
U: 我住板橋，跟我媽一起。
A: 了解。
U: 每天走路去公司。
---
## 2026-03-20 21:30
U: 上個月搬到三峽了。

## 2026-03-21 08:00
? 我現在住哪裡？ => 三峽 | not: 板橋 / 新板 | ev: 3 | type: update
? 我怎麼上班？ => STALE: 走路 | ground: 搬到三峽 | ev: 2,3 | type: dependent
? 我的血型是什麼？ => NONE | type: abstain
? 把我媽忘掉。 => ASK: 媽 / 板橋 | ev: 1 | type: forget_ask
? 會議何時？ => 週三 & 7點 / 七點 & 4/21 | ev: 1 | type: temporal
"""


def test_a_scenario_is_read_with_its_times_lines_and_questions() -> None:
    [scenario] = parse_scenarios(_MOVED)
    assert (scenario.id, scenario.language) == ("moved-1", "zh-Hant")
    first, second, asked = scenario.sessions
    assert first.lines == (
        Line(Role.USER, "我住板橋，跟我媽一起。"),
        Line(Role.ASSISTANT, "了解。"),
        Line(Role.USER, "每天走路去公司。"),
    )
    assert second.at == datetime(2026, 3, 20, 21, 30, tzinfo=UTC)
    assert asked.lines == ()
    assert scenario.questions == asked.questions
    update, stale, abstain, ask, temporal = scenario.questions
    assert update == Question("我現在住哪裡？", Kind.UPDATE, Expected.VALUE, (("三峽",),), ("板橋", "新板"), (3,))
    assert (stale.expected, stale.untrue, stale.evidence) == (Expected.DOUBT, ("走路",), (2, 3))
    assert (abstain.expected, abstain.parts) == (Expected.NONE, ())
    assert (ask.expected, ask.parts) == (Expected.ASK, (("媽", "板橋"),))
    assert temporal.parts == (("週三",), ("7點", "七點"), ("4/21",))


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("? 我住哪裡？", "without an answer"),
        ("? 我住哪裡？ => 三峽 | type: guess", "type guess"),
        ("? 我住哪裡？ => 三峽 | ev: 2 | type: update", "evidence beyond the 1"),
        ("? 我住哪裡？ => 三峽 | nota: 板橋 | type: update", "nota"),
        ("? 我住哪裡？ => 三峽 /  | type: update", "an empty value"),
        ("? 我怎麼上班？ => DOUBT | type: dependent", "in doubt, but no value"),
        ("? 晚安 => 板橋 | type: farewell", "VALUE of type farewell"),
        ("? 我住哪裡？ => REPLY | type: single", "REPLY of type single"),
        ("## tomorrow", "not a date"),
        ("What is this?", "not of the format"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_named(line: str, error: str) -> None:
    with pytest.raises(BadScenario, match=rf"s.txt: line 4: .*{error}"):
        parse_scenarios(f"@ a en\n## 2026-03-02 09:10\nU: I moved.\n{line}", name="s.txt")


def test_what_comes_out_of_order_is_refused() -> None:
    with pytest.raises(BadScenario, match="no @ line"):
        parse_scenarios("U: hello")
    with pytest.raises(BadScenario, match="line 2: no ## line"):
        parse_scenarios("@ a en\nU: hello")
    with pytest.raises(BadScenario, match="after its questions"):
        parse_scenarios("@ a en\n## 2026-03-02 09:10\n? who? => NONE | type: abstain\nU: hello")


_WORDS = st.text(st.sampled_from("abz三峽 /&:,.0123456789？"), min_size=1, max_size=12).map(lambda text: f"x{text}x")
_VALUES = st.text(st.sampled_from("abz三峽:,.01/&"), max_size=6).map(lambda text: f"x{text}")
_PARTS = st.lists(st.lists(_VALUES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)
_LINES = st.lists(st.builds(Line, st.sampled_from(Role), _WORDS), max_size=4).map(tuple)
_FOR_MEMORY = sorted(set(Kind) - NOT_FOR_MEMORY)
_QUESTIONS = st.one_of(
    st.builds(
        Question,
        _WORDS,
        st.sampled_from(_FOR_MEMORY),
        st.sampled_from([Expected.VALUE, Expected.ASK]),
        _PARTS,
        st.lists(_VALUES, max_size=3).map(tuple),
    ),
    st.builds(
        Question,
        _WORDS,
        st.sampled_from(_FOR_MEMORY),
        st.just(Expected.DOUBT),
        st.just(()),
        st.lists(_VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Question, _WORDS, st.sampled_from(_FOR_MEMORY), st.just(Expected.ASK)),
    st.builds(Question, _WORDS, st.sampled_from(_FOR_MEMORY), st.just(Expected.NONE)),
    st.builds(Question, _WORDS, st.sampled_from(sorted(NOT_FOR_MEMORY)), st.just(Expected.REPLY), _PARTS),
)


@st.composite
def _scenarios(draw: st.DrawFn) -> Scenario:
    begin = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
    days = range(draw(st.integers(1, 4)))
    sessions = [
        Session(begin + timedelta(days=day), draw(_LINES), draw(st.lists(_QUESTIONS, max_size=3).map(tuple)))
        for day in days
    ]
    return Scenario("some-1", "en", tuple(sessions))


def _written(scenario: Scenario) -> str:
    lines = [f"@ {scenario.id} {scenario.language}"]
    for session in scenario.sessions:
        lines.append(f"## {session.at:%Y-%m-%d %H:%M}")
        lines += [f"{'U' if line.role is Role.USER else 'A'}: {line.text}" for line in session.lines]
        lines += [_written_question(question) for question in session.questions]
    return "\n".join(lines)


def _written_question(question: Question) -> str:
    values = " & ".join(" / ".join(part) for part in question.parts)
    form = "" if question.expected is Expected.VALUE else question.expected.value
    answer = f"{form}: {values}" if form and values else form or values
    untrue = f" | not: {' / '.join(question.untrue)}" if question.untrue else ""
    return f"? {question.text} => {answer}{untrue} | type: {question.kind}"


@given(st.lists(_scenarios(), min_size=1, max_size=3))
def test_what_is_written_is_read_again(scenarios: list[Scenario]) -> None:
    assert parse_scenarios("\n\n".join(map(_written, scenarios))) == scenarios


@given(st.text(st.sampled_from("@#UA?: =>|typenot12-&/\n 三")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BadScenario):
        parse_scenarios(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("您說過（2026-03-20）：「上個月搬到三峡了」", "三峽"),
        ("We leave at 6 pm", "6"),
        ("約在6點", "6"),
        ("two cats", "cat"),
        ("It's Anna’s car", "Anna"),
        ("用 AI-Box 測試", "用AI-Box"),
        ("Ｂ１２", "b12"),
        ("on 4/21.", "4/21"),
        ("it's a road  bike", "road bike"),
    ],
)
def test_a_value_is_found_in_every_writing(text: str, value: str) -> None:
    assert holds(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("at 16:30", "30"),
        ("rent is 1,600", "600"),
        ("on 2026-03-21 you said", "21"),
        ("the team", "tea"),
        ("a carpet", "car"),
        ("room B12", "12"),
        ("on 4/21", "21"),
    ],
)
def test_part_of_a_word_or_number_is_another(text: str, value: str) -> None:
    assert not holds(text, value)


def _question(answer: str, kind: str = "update") -> Question:
    [scenario] = parse_scenarios(f"@ a en\n## 2026-03-02 09:10\nU: hello\n? what? => {answer} | type: {kind}")
    return scenario.questions[0]


_UPDATE = _question("三峽 | not: 板橋")
_TWO = _question("Wednesday & 7 / seven", "temporal")
_STALE = _question("DOUBT | not: 走路", "dependent")
_NONE = _question("NONE | not: car", "abstain")
_FORGET = _question("NONE | not: 4471", "forget")
_ASK = _question("ASK: locker / bike", "forget_ask")
_ASK_ANYTHING = _question("ASK", "forget_ask")


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        (_UPDATE, "您說過（2026-03-20）：「上個月搬到三峽了」", Verdict.RIGHT),
        (_UPDATE, "您說過：「從板橋搬到三峽了」\n您說過：「我住板橋」", Verdict.RIGHT),
        (_UPDATE, "您說過：「我住板橋」\n您說過：「上個月搬到三峽了」", Verdict.STALE),
        (_UPDATE, "您說過（2026-03-02）：「我住板橋」", Verdict.STALE),
        (_UPDATE, "三峽，但我不確定現在還是不是。", Verdict.HEDGED),
        (_UPDATE, "您說過：「可能搬到三峽」", Verdict.RIGHT),
        (_UPDATE, "您說過：「我住板橋」，這個情況到 2026-03-20 為止。\n您說過：「搬到三峽」", Verdict.RIGHT),
        (_UPDATE, "這幾個說法對不上，我不知道現在以哪一個為準：\n「我住板橋」\n「搬到三峽」", Verdict.HEDGED),
        (_UPDATE, "這幾個說法對不上，我不知道現在以哪一個為準：\n「我住新店」\n「我住樹林」", Verdict.WRONG),
        (_UPDATE, "我的記憶裡沒有相關的內容。", Verdict.LEFT_OPEN),
        (_UPDATE, "您說過：「我不知道」", Verdict.WRONG),
        (_TWO, "You said: “Wednesday”\nYou said: “at 7 pm”", Verdict.RIGHT),
        (_TWO, "On Wednesday in May.", Verdict.WRONG),
        (_STALE, "您說過（2026-03-02）：「每天走路去公司」", Verdict.STALE),
        (_STALE, "搬家以前您走路去公司。", Verdict.RIGHT),
        (_STALE, "您之前說過：「每天走路去公司」", Verdict.STALE),
        (_STALE, "走路；不過您後來搬家了，不一定還是這樣。", Verdict.RIGHT),
        (_STALE, "這個我不知道。", Verdict.RIGHT),
        (_STALE, "您說過：「每天走路去公司」\n這一點後來可能變了。「我吃素」", Verdict.STALE),
        (_STALE, "這些現在不一定還是這樣：\n您說過：「每天走路去公司」", Verdict.RIGHT),
        (_STALE, "搭公車。", Verdict.WRONG),
        (_STALE, "還是走路去公司嗎？", Verdict.RIGHT),
        (_STALE, "您說過：「我還要走路去公司嗎？」", Verdict.STALE),
        (_NONE, "I have nothing about that in memory.", Verdict.RIGHT),
        (_NONE, "I don't know; your car renews in May.", Verdict.WRONG),
        (_NONE, "You said (2026-03-02): “I have nothing to do”", Verdict.WRONG),
        (_NONE, "Noted.", Verdict.WRONG),
        (_NONE, "These do not agree, and I don't know which is right:\n“in May”\n“in June”", Verdict.WRONG),
        (_NONE, "I don't know when it renews.", Verdict.RIGHT),
        (_NONE, "The renewal date is not specified in your messages.", Verdict.RIGHT),
        (_NONE, "您的訊息裡未提及續保日期。", Verdict.RIGHT),
        (_NONE, "未來會續保。", Verdict.WRONG),
        (_FORGET, "I have nothing about that in memory.", Verdict.RIGHT),
        (_FORGET, "It is 4471.", Verdict.LEAKED),
        (_FORGET, "You said: “use the locker”", Verdict.WRONG),
        (_ASK, "Which one: the locker code or the bike lock?", Verdict.RIGHT),
        (_ASK, "Which one do you mean?", Verdict.WRONG),
        (_ASK, "I removed locker and bike.", Verdict.WRONG),
        (_ASK_ANYTHING, "Which one do you mean?", Verdict.RIGHT),
        (_ASK_ANYTHING, "Forgotten.", Verdict.WRONG),
    ],
)
def test_replies_are_judged(question: Question, text: str, verdict: Verdict) -> None:
    assert judge(question, Reply(text)) is verdict


def test_what_was_forgotten_leaks_from_sources_and_contexts_too() -> None:
    assert judge(_FORGET, Reply("I don't know that.", shown=("the code is 4471",))) is Verdict.LEAKED
    assert judge(_FORGET, Reply("I don't know that.", shown=("the code is 14471",))) is Verdict.RIGHT


def test_what_is_not_for_memory_is_judged_by_the_kind_of_its_reply_and_by_what_it_quotes() -> None:
    leaving = _question("REPLY", "farewell")
    assert judge(leaving, Reply("Bye.", sentence="farewell")) is Verdict.RIGHT
    assert judge(leaving, Reply("Hello!", sentence="greeting")) is Verdict.WRONG
    assert judge(leaving, Reply("Bye.")) is Verdict.WRONG
    assert judge(leaving, Reply("Bye.", sentence="farewell", shown=("a source",))) is Verdict.WRONG
    assert judge(leaving, Reply("Bye. “I leave on Monday”", sentence="farewell")) is Verdict.WRONG


def test_a_reply_that_says_the_value_itself_is_right_of_any_kind() -> None:
    today = _question("REPLY: Saturday / 21st", "present")
    assert judge(today, Reply("It is Saturday.")) is Verdict.RIGHT
    assert judge(today, Reply("It is Sunday.")) is Verdict.WRONG
    assert judge(today, Reply("You said: “It is Saturday.”")) is Verdict.WRONG
    assert judge(today, Reply("I only know what you told me.", sentence="general")) is Verdict.RIGHT


@pytest.mark.parametrize("phrases", [TRADITIONAL, SIMPLIFIED, ENGLISH])
def test_the_kind_of_a_reply_is_the_name_of_the_sentence_that_it_is(phrases: Phrases) -> None:
    assert name_sentence(phrases.greeting) == "greeting"
    assert name_sentence(f"{phrases.thanks}\n") == "thanks"
    assert name_sentence(phrases.request) == "request"
    assert name_sentence(f"{phrases.request_with_memories}\n「a line」") is None
    assert name_sentence(phrases.noted) is None


def test_asking_back_answers_nothing() -> None:
    assert judge(_UPDATE, Reply("「那裡」是指公司還是家？", asks=True)) is Verdict.LEFT_OPEN
    assert judge(_NONE, Reply("Which one?", asks=True)) is Verdict.RIGHT


class _Service:
    """Answers every request alike, finds one line, and keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.more: dict[str, Any] = {}

    def connect(self) -> Client:
        return Client("http://jiyi", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        self.sent.append((request.url.path, body))
        if request.url.path == "/context":
            return httpx.Response(404, headers={"content-type": "application/problem+json"}, json={"title": "none"})
        if request.url.path == "/search":
            return httpx.Response(200, json={"results": [HIT | {"text": "I moved."}], "degraded": []})
        return httpx.Response(200, json=REPLY | self.more)


_PLAYED = """
@ played en
## 2026-03-02 09:10
A: Hello.
U: I moved.
A: Oh.
U: To Bath.
## 2026-03-20 21:30
? Where? => Bath | type: single
? The code? => NONE | not: 4471 | type: forget
"""


def test_a_scenario_is_played_at_its_times_and_searched_before_any_question_is_said() -> None:
    service = _Service()
    [scenario] = parse_scenarios(_PLAYED)
    answered = [answered for _, answered in Player(service.connect).play(scenario)]
    assert [path for path, _ in service.sent] == [
        "/memories", "/chat/after", "/chat", "/search", "/search", "/chat", "/chat/before", "/context", "/chat",
    ]  # fmt: skip
    bodies = [body for _, body in service.sent]
    [first] = bodies[0]["messages"]
    assert (first["role"], first["content"], first["created_at"]) == (
        "assistant",
        "Hello.",
        "2026-03-02T09:10:00+00:00",
    )
    assert (bodies[1]["message"], bodies[1]["reply"]) == ("I moved.", "Oh.")
    assert bodies[2]["created_at"] == "2026-03-02T09:11:30Z"
    assert (bodies[3]["query"], bodies[3]["kinds"], bodies[3]["filters"]) == ("Where?", ["memory"], {"role": "user"})
    assert bodies[5]["created_at"] == "2026-03-20T21:30:00Z"
    assert len({bodies[number]["session_id"] for number in (2, 5, 8)}) == 3
    assert len({body["user_id"] for body in bodies if body}) == 1
    assert [each.reply for each in answered] == [
        Reply("a reply", ("a source",)),
        Reply("a reply", ("a source", "a context", "")),
    ]
    assert answered[0].found == (Found("I moved.", 0.5, "2026-03-02"),)
    assert answered[0].took_s > 0


@pytest.mark.parametrize(
    ("more", "reply"),
    [
        ({"confidence": 0.25}, Reply("a reply", ("a source",), confidence=0.25)),
        (
            {"clarification": {"question": "Which?", "original_text": "it", "start": 0, "end": 2, "options": []}},
            Reply("a reply", ("a source",), asks=True),
        ),
        ({"forgotten": {"outcome": "which"}}, Reply("a reply", ("a source",), asks=True)),
        ({"forgotten": {"outcome": "removed"}}, Reply("a reply", ("a source",))),
        ({"forgotten": None}, Reply("a reply", ("a source",))),
    ],
)
def test_what_a_service_says_of_its_reply_is_kept(more: dict[str, Any], reply: Reply) -> None:
    service = _Service()
    service.more = more
    [scenario] = parse_scenarios(_PLAYED)
    _, answered = next(Player(service.connect).play(scenario))
    assert answered.reply == reply


_NOTHING_ANSWERS = """
@ prompted en
## 2026-03-20 21:30
? Where? => Bath | type: single
? My shoe size? => NONE | type: abstain
? Good night! => REPLY | type: farewell
"""


def test_of_what_memory_does_not_answer_the_prompt_is_kept() -> None:
    service = _Service()
    service.more = {"memories": [HIT]}
    [scenario] = parse_scenarios(_NOTHING_ANSWERS)
    answered = [answered for _, answered in Player(service.connect).play(scenario)]
    prompt = Prompt(memories=("a source",))
    assert [each.prompt for each in answered] == [None, prompt, prompt]
    assert all(each.reply == Reply("a reply", ("a source",)) for each in answered)


def test_a_service_that_takes_no_times_gets_whole_sessions() -> None:
    service = _Service()
    [scenario] = parse_scenarios(_PLAYED)
    list(Player(service.connect, way=Way.MEMORIES).play(scenario))
    (path, first), *asked = service.sent
    assert path == "/memories"
    assert [message["role"] for message in first["messages"]] == ["assistant", "user", "assistant", "user"]
    assert not any("created_at" in body for _, body in asked)


def test_the_scenarios_that_ship_are_of_the_format_with_names_of_their_own() -> None:
    files = sorted((Path(conversations.__file__).parent / "data").glob("*.txt"))
    scenarios = [scenario for file in files for scenario in read_scenarios(file)]
    assert len({scenario.id for scenario in scenarios}) == len(scenarios)
    assert all(scenario.questions for scenario in scenarios)


def test_the_messages_that_are_not_for_memory_are_of_every_kind_in_every_language() -> None:
    folder = Path(conversations.__file__).parent / "data" / "not_for_memory"
    by_language: dict[str, list[Question]] = {}
    for file in sorted(folder.glob("*.txt")):
        for scenario in read_scenarios(file):
            by_language.setdefault(scenario.language, []).extend(scenario.questions)
    assert set(by_language) == {"zh-Hant", "zh-Hans", "en"}
    for questions in by_language.values():
        assert len(questions) >= 50
        assert {question.kind for question in questions} > NOT_FOR_MEMORY


def test_the_example_has_every_language_and_asks_in_every_form() -> None:
    scenarios = read_scenarios(Path(conversations.__file__).parent / "data" / "example.txt")
    assert {scenario.language for scenario in scenarios} == {"zh-Hant", "zh-Hans", "en"}
    assert {question.expected for scenario in scenarios for question in scenario.questions} == set(Expected)
    for scenario in scenarios:
        said = [line.text for session in scenario.sessions for line in session.lines if line.role is Role.USER]
        for question in scenario.questions:
            evidence = " ".join(said[number - 1] for number in question.evidence)
            assert all(any(holds(evidence, value) for value in part) for part in question.parts), question
            if question.expected is Expected.DOUBT:
                assert any(holds(evidence, value) for value in question.untrue), question
