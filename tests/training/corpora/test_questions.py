from pathlib import Path

import pytest

from training.answers.rows import SHOWN, measured
from training.corpora.questions import NONE, REQUEST, MarkedLines, MarkedQuestion, read_answers, read_scenarios
from training.shared.chat_corpus import part_of
from training.shared.data_sets import Part

ANSWERS = """\
1 2026-03-01 我住板橋，跟我媽一起
2 2026-05-10 上個月搬到三峽了
3 2026-05-11 (assistant) 三峽老街的牛角麵包很有名
7 2026-05-12 我會吉他，鋼琴也會一點
? 我現在住哪裡？ => 2 | 三峽 | update
? 我以前住哪？ => 1 | 板橋 | past
? 我什麼時候搬的？ => 2
? 我會什麼樂器？ => 7 | 吉他 & 鋼琴 | several
? 我爸住哪裡？ => NONE
---
"""
SCENARIO = """\
@ zh-s01 zh-Hant
## 2026-03-02 09:10
U: 我住板橋
A: 好的
U: 門鎖密碼是 4056
## 2026-03-20 21:30
U: 搬到三峽了
## 2026-04-01 08:00
? 我現在住哪裡？ => 三峽 / 三峽區 | not: 板橋 | ev: 1, 3 | type: update
? 門鎖密碼是多少？ => NONE | not: 4056 | type: forget
---
"""


def folder(tmp_path: Path, kind: str, text: str, name: str = "zh-Hant-v1") -> Path:
    (tmp_path / kind).mkdir(exist_ok=True)
    (tmp_path / kind / f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def questions(block: MarkedLines) -> dict[str, MarkedQuestion]:
    return {question.question: question for question in block.questions}


def test_lines_are_read_with_what_answers_in_which_words(tmp_path: Path) -> None:
    [block] = read_answers([folder(tmp_path, "answers", ANSWERS)], Part.TRAIN)
    assert [line.role for line in block.lines] == ["user", "user", "assistant", "user"]
    asked = questions(block)

    def words(question: MarkedQuestion) -> list[str]:
        return [block.lines[line].text[start:end] for line, (start, end) in question.words.items()]

    assert words(asked["我現在住哪裡？"]) == ["三峽"]
    assert words(asked["我會什麼樂器？"]) == ["吉他，鋼琴"]
    assert asked["我什麼時候搬的？"].words == {1: (0, 0)}
    assert asked["我會什麼樂器？"].gold == (3,)
    assert asked["我爸住哪裡？"] == MarkedQuestion(asked["我爸住哪裡？"].id, "我爸住哪裡？", NONE)


def test_what_an_update_replaced_is_out_of_date_for_both_questions(tmp_path: Path) -> None:
    [block] = read_answers([folder(tmp_path, "answers", ANSWERS)], Part.TRAIN)
    asked = questions(block)
    assert asked["我現在住哪裡？"].outdated == asked["我以前住哪？"].outdated == (0,)


def test_a_question_of_the_past_belongs_to_the_nearest_update(tmp_path: Path) -> None:
    """Messages tell several things: what replaced one of them replaced none of the others."""
    text = """\
1 2026-03-01 站會改九點四十，鍵盤花了三千
2 2026-03-02 薪資面談 22 號
3 2026-03-05 面談延到 29 號
4 2026-03-08 站會又改回九點
? 站會幾點？ => 4 | 九點 | update
? 站會本來幾點？ => 1 | 九點四十 | past
? 面談哪天？ => 3 | 29 號 | update
? 面談原訂哪天？ => 2 | 22 號 | past
"""
    [block] = read_answers([folder(tmp_path, "answers", text)], Part.TRAIN)
    assert [question.outdated for question in block.questions] == [(0,), (0,), (1,), (1,)]


def test_a_line_that_is_neither_line_nor_question_is_named(tmp_path: Path) -> None:
    corpus = folder(tmp_path, "answers", "1 2026-03-01 嗨\n乱\n? 嗎 => NONE\n")
    with pytest.raises(ValueError, match=r"zh-Hant-v1\.txt:2"):
        read_answers([corpus], Part.TRAIN)


def test_a_scenario_is_read_with_evidence_and_what_must_not_be_said(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", SCENARIO, "zh-Hant-s1")], Part.TRAIN)
    moved, code = scenario.questions
    assert [line.text for line in scenario.lines] == ["我住板橋", "門鎖密碼是 4056", "搬到三峽了"]
    assert (moved.gold, moved.words, moved.outdated) == ((2,), {2: (2, 4)}, (0,))
    assert (code.kind, code.without) == (NONE, (1,))
    assert scenario.now is not None
    assert scenario.now.isoformat() == "2026-04-01T08:00:00+00:00"


def test_what_was_forgotten_is_not_shown(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", SCENARIO, "zh-Hant-s1")], Part.TRAIN)
    shown = measured(scenario, scenario.questions[1]).request.lines
    assert [line.text for line in shown] == ["我住板橋", "搬到三峽了"]


FURTHER = """\
@ en-s02 en
## 2026-03-02 09:10
U: the gate code is 4056
U: it's ten minutes to the office from our flat
U: my brother has a code, too
## 2026-03-20 21:30
U: we moved out to Otley
U: please delete that gate code
## 2026-04-01 08:00
? How do I open the gate? => NONE | not: 4056 | type: forget
? What is my brother's code? => NONE | not: 4056 | type: abstain
? How long is the way to work? => STALE: ten minutes | not: ten minutes | ev: 2, 4 | type: dependent
? How long did I travel from the flat? => ten minutes | ev: 2 | type: as_of
---
"""


def test_a_request_to_forget_is_read_as_a_question_over_the_lines_before_it(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", FURTHER, "en-s1")], Part.TRAIN)
    [request] = [question for question in scenario.questions if question.kind == REQUEST]
    assert (request.question, request.gold) == ("please delete that gate code", (0,))
    assert [line.text for line in measured(scenario, request).request.lines] == [
        line.text for line in scenario.lines[:4]
    ]


def test_what_is_near_is_shown_where_nothing_was_forgotten(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", FURTHER, "en-s1")], Part.TRAIN)
    asked = questions(scenario)["What is my brother's code?"]
    assert (asked.kind, asked.gold, asked.without) == (NONE, (), ())


def test_what_hung_on_a_change_is_out_of_date_and_answers_what_was_before(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", FURTHER, "en-s1")], Part.TRAIN)
    asked = questions(scenario)
    now, before = asked["How long is the way to work?"], asked["How long did I travel from the flat?"]
    assert (now.gold, now.outdated) == ((), (1,))
    assert (before.gold, before.outdated) == ((1,), (1,))


TIMES = """\
@ en-s03 en
## 2026-03-03 09:10
U: saw the dentist yesterday, all 3 fillings done
U: passed my driving test!!
U: the roof man comes on 27 March
## 2026-04-01 08:00
? when was I at the dentist => 2026-03-02 / 3/2 / 2 March | ev: 1 | type: temporal
? when did I pass => 2026-03-03 / 3 March | ev: 2 | type: temporal
? when is the roof done => 2026-03-27 / 27 March | ev: 3 | type: temporal
---
"""


def test_a_date_is_answered_by_the_words_that_tell_the_time(tmp_path: Path) -> None:
    [scenario] = read_scenarios([folder(tmp_path, "scenarios", TIMES, "en-s1")], Part.TRAIN)
    said = [
        scenario.lines[line].text[slice(*words)] for asked in scenario.questions for line, words in asked.words.items()
    ]
    assert said == ["yesterday", "", "27 March"]


def test_of_many_lines_those_that_answer_and_the_nearest_are_shown(tmp_path: Path) -> None:
    lines = [f"{number} 2026-01-{number:02} {'我的貓今天' if number == 30 else '晚餐吃麵'}" for number in range(1, 31)]
    text = "\n".join([*lines, "? 我的貓在哪？ => 1 | 晚餐"])
    [block] = read_answers([folder(tmp_path, "answers", text)], Part.TRAIN)
    row = measured(block, block.questions[0])
    assert len(row.request.lines) == SHOWN
    assert row.gold == (0,)
    assert row.request.lines[-1].text == "我的貓今天"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("answers/en-q1.txt", Part.TRAIN),
        ("answers/en-q2.txt", Part.TUNE),
        ("answers/zh-Hans-r3.txt", Part.REPORT),
        ("answers/en-v3.txt", Part.TRAIN),
        ("scenarios/en-t2.txt", Part.TUNE),
        ("scenarios/zh-Hant-s3.txt", Part.REPORT),
    ],
)
def test_each_file_is_in_one_part(name: str, part: Part) -> None:
    assert part_of(Path(name)) is part


def test_our_own_blocks_can_be_read() -> None:
    blocks = read_answers([Path(__file__).parents[3] / "training" / "data" / "chat_corpus"], Part.TRAIN)
    asked = [question for block in blocks for question in block.questions]
    assert {block.language for block in blocks} == {"zh-Hant", "zh-Hans", "en"}
    unanswered = sum(question.kind == NONE for question in asked)
    assert 0.25 < unanswered / len(asked) < 0.55
