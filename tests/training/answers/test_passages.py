"""Public questions about documents become rows as the service reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from training.answers.passages import read_passages
from training.answers.rows import measured
from training.corpora.questions import NONE, Source, read_answers
from training.shared.data_sets import Part

GUIDE = "故宮在北京。門票六十元。" + "館內禁止飲食。" * 40 + "每週一休館。"
ARTICLES = [
    ["故宮的門票多少錢？", "六十元"],
    ["週一可以去嗎？", "每週一休館"],
    ["海在哪？", "東邊"],
    ["山多高？", "九百米"],
]
BORN = "Ada was born in Leeds."
SECTION = [
    ["Ada", "Life", "Where was Ada born?", "Where was Ada born?"],
    ["Ada", "Life", "Where was Ada born?", BORN, "Was she rich?", "Was Ada rich?"],
    ["Ada", "Life", "Where was Ada born?", BORN, "Was she rich?", "I don't know.", "Why?", "Why not?"],
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    def article(question: str, answer: str, number: int) -> dict[str, Any]:
        context = GUIDE if number < 2 else f"第{number}章說明，答案是{answer}。"
        asked = {"question": question, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
        return {"paragraphs": [{"context": context, "qas": [asked]}]}

    articles = [article(question, answer, number) for number, (question, answer) in enumerate(ARTICLES)]
    articles[2]["paragraphs"] += articles.pop()["paragraphs"]  # what is reported has two passages
    for path in ("retrieval/drcd/DRCD_dev.json", "retrieval/cmrc2018/cmrc2018_dev_half.json"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(json.dumps({"data": articles}), encoding="utf-8")
    (tmp_path / "rewriting/canard").mkdir(parents=True)
    rows = "\n".join("\t".join(row) for row in SECTION)
    (tmp_path / "rewriting/canard/dev.txt").write_text(rows, encoding="utf-8")
    return tmp_path


def test_a_question_is_asked_of_excerpts_and_knows_where_its_words_stand(data: Path) -> None:
    [row, *_] = read_passages(data, Part.TRAIN)
    [question] = row.questions
    [line] = row.lines
    start, end = question.words[0]
    assert (question.question, line.text[start:end], question.gold) == ("故宮的門票多少錢？", "六十元", (0,))
    assert len(line.text) < len(GUIDE)
    assert row.source is Source.ARTICLES


def test_an_english_question_in_full_is_answered_by_its_quotation_or_by_nothing(data: Path) -> None:
    rows = [row for row in read_passages(data, Part.TRAIN) if row.language == "en"]
    assert [(row.questions[0].question, row.questions[0].kind) for row in rows] == [
        ("Where was Ada born?", "single"),
        ("Was Ada rich?", NONE),
    ]
    assert rows[0].lines[0].text == "Ada: Life. Ada was born in Leeds."


def test_an_article_is_of_one_part(data: Path) -> None:
    asked = {
        part: {row.questions[0].question for row in read_passages(data, part) if row.language != "en"} for part in Part
    }
    assert [len(questions) for questions in asked.values()] == [1, 1, 2]


def test_other_passages_near_the_question_are_shown_with_it(data: Path) -> None:
    rows = [measured(row, row.questions[0]) for row in read_passages(data, Part.REPORT)]
    assert [len(row.request.lines) for row in rows] == [2, 2, 2, 2]
    assert rows[0].request.lines[rows[0].gold[0]].text == "第2章說明，答案是東邊。"


def test_blocks_of_the_folder_passages_are_excerpts(tmp_path: Path) -> None:
    (tmp_path / "passages").mkdir()
    text = "1 2026-03-01 門票六十元。\n? 門票多少？ => 1 | 六十元\n---\n"
    (tmp_path / "passages" / "zh-Hant-p1.txt").write_text(text, encoding="utf-8")
    [block] = read_answers([tmp_path], Part.TRAIN)
    assert block.source is Source.PASSAGES
