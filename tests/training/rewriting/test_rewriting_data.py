import json
from pathlib import Path

import pytest

from training.rewriting.data import DATA_SETS, DataSet, RewritingRow, as_complete, find_sets, load_rows
from training.shared.data_sets import Part


def data_set(name: str) -> DataSet:
    return next(data_set for data_set in DATA_SETS if data_set.name == name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = {
        "rewrite_su2019/train.txt": [f"问{n}\t答{n}\t它{n}\t问{n}" for n in range(2100)]
        + ["问2099\t答2099\t它2099\t重复"],
        "restoration200k/valid.txt": [
            f"a\t\tb\tc\t查询{n}\t回复\t{n % 2}\t{'完整' if n % 2 else ''}" for n in range(2100)
        ],
        "followup/train.tsv": [f"before {n}\tq\tt\t{n}" for n in range(40)],
        "canard/dev.txt": [f"title {n // 3}\tsection\tturn\tq{n}\tr{n}" for n in range(60)],
    }
    for name, content in lines.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("\n".join(content), encoding="utf-8")
    turn = {"utterance": "Did he win ?", "rewritten_utterance": "Did Bob win ?", "rewrite_required": True}
    talks = {str(n): {"turns": [{"utterance": f"Bob ran {n}"}, turn]} for n in range(40)}
    (tmp_path / "mudoco_qr").mkdir()
    (tmp_path / "mudoco_qr/mudoco_news.json").write_text(json.dumps({"dialogs": talks}), encoding="utf-8")
    user = {
        "transcript_complete": "The address of X?",
        "transcript_with_coreference": "Its address?",
        "transcript_with_ellipsis": "",
    }
    dialogues = [{"dial": [{"usr": user, "sys": {"sent": f"It is {n}."}}] * 2} for n in range(20)]
    (tmp_path / "camrest676_gecor").mkdir()
    (tmp_path / "camrest676_gecor/CamRest676_annotated.json").write_text(json.dumps(dialogues), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", [data_set.name for data_set in DATA_SETS])
def test_no_query_in_its_context_is_in_two_parts(name: str, folder: Path) -> None:
    parts = load_rows(folder, data_set(name))
    contexts = {part: {(row.turns, row.query) for row in rows} for part, rows in parts.items()}
    assert all(parts[part] for part in Part)
    assert not contexts[Part.REPORT] & (contexts[Part.TRAIN] | contexts[Part.TUNE])


def test_reported_rows_are_those_of_the_benchmark_and_parts_stay_as_they_are(folder: Path) -> None:
    parts = load_rows(folder, data_set("restoration"))
    assert [row.query for row in parts[Part.REPORT]] == [f"查询{n}" for n in range(100, 2100)]
    assert parts == load_rows(folder, data_set("restoration"))


def test_a_row_that_needs_nothing_is_its_own_target_and_the_reply_is_not_read(folder: Path) -> None:
    rows = load_rows(folder, data_set("restoration"))[Part.REPORT]
    assert (rows[0].target, rows[0].kind) == ("查询100", "complete")
    assert (rows[1].target, rows[1].kind) == ("完整", "incomplete")
    assert rows[0].turns == ("a", "b", "c")


def test_one_article_is_in_one_part(folder: Path) -> None:
    parts = load_rows(folder, data_set("canard"))
    articles = [{row.turns[0] for row in rows} for rows in parts.values()]
    assert sum(map(len, articles)) == len(set.union(*articles)) == 20


def test_variants_and_complete_queries_of_a_dialogue_are_rows(folder: Path) -> None:
    rows = load_rows(folder, data_set("camrest"))[Part.REPORT]
    assert [(row.query, row.kind) for row in rows[:2]] == [
        ("Its address?", "coreference"),
        ("The address of X?", "complete"),
    ]
    assert rows[2].turns == ("The address of X?", "It is 10.")


def test_sets_are_found_by_name_or_licence() -> None:
    assert {data_set.name: weight for data_set, weight in find_sets("rewrite,canard:0.5").items()} == {
        "rewrite": 1,
        "canard": 0.5,
    }
    assert {data_set.name for data_set in find_sets("open")} == {"canard", "camrest", "followup"}
    assert list(find_sets("all")) == list(DATA_SETS)
    with pytest.raises(ValueError, match="no data set nonsense"):
        find_sets("nonsense")


def test_a_rewrite_is_a_query_that_needs_none() -> None:
    row = RewritingRow(("苹果好吃吗",), "它贵吗", "苹果贵吗", "rewrite")
    assert (as_complete(row).query, as_complete(row).target) == ("苹果贵吗", "苹果贵吗")
