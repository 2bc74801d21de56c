import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values.text import normalise
from memory.values.understanding.mentions import EntitySubtype
from models.reader.labels import LABELS
from training.names.ner_chat import ChatWriter, invent_code, invent_latin_name
from training.names.ner_data import find_ner_sets, in_full_width, in_lower_case, in_traditional
from training.names.ner_files import (
    MarkedText,
    NamedSpan,
    read_chat_names,
    read_cluener,
    read_columns,
    read_pairs,
    read_uner,
    read_weibo,
    read_wikiann,
)
from training.names.ner_metrics import SpanScores
from training.names.ner_sets import NER_SETS

CHAT = Path(__file__).parents[3] / "benchmarks" / "extraction" / "data" / "chat_names.txt"
ROWS = [
    MarkedText("宏康在台北", (NamedSpan(0, 2, "brand"), NamedSpan(3, 5, "place"))),
    MarkedText("小明看《三体》", (NamedSpan(0, 2, "person"), NamedSpan(3, 7, "book"))),
    MarkedText("X200 by Acme", (NamedSpan(0, 4, "model"), NamedSpan(8, 12, "company"))),
    MarkedText("Zune at Expo with Ann in Rome", (
        NamedSpan(0, 4, "product"), NamedSpan(8, 12, "event"), NamedSpan(18, 21, "person"), NamedSpan(25, 29, "place"),
    )),
    MarkedText("Kuro", (NamedSpan(0, 4, "product"),)),
    MarkedText("Blade Runner", (NamedSpan(0, 12, "movie"),)),
]  # fmt: skip


def named_spans(row: MarkedText) -> list[tuple[str, str]]:
    return [(row.text[span.start : span.end], span.label) for span in row.spans]


def test_each_format_is_read_with_its_offsets(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write(text: str) -> Path:
        path.write_text(text, encoding="utf-8")
        return path

    rows = read_cluener(write('{"text": "叶老桂说，叶老桂", "label": {"name": {"叶老桂": [[0, 2], [5, 7]]}}}\n'))
    assert [named_spans(row) for row in rows] == [[("叶老桂", "name"), ("叶老桂", "name")]]
    bmes = "吴 B-NAME\n重 M-NAME\n阳 E-NAME\n， O\n中 B-CONT\n国 E-CONT\n人 S-RACE\n\n好 O\n"
    assert [named_spans(row) for row in read_columns(write(bmes))] == [
        [("吴重阳", "NAME"), ("中国", "CONT"), ("人", "RACE")],
        [],
    ]
    words = "-DOCSTART- O\n\nNew\tB-LOC\nYork\tI-LOC\n,\tO\nEU\tI-ORG\n"
    assert [named_spans(row) for row in read_columns(write(words), joint=" ")] == [[("New York", "LOC"), ("EU", "ORG")]]
    assert [named_spans(row) for row in read_weibo(write("科0\tB-ORG.NAM\n技1\tI-ORG.NAM\n"))] == [
        [("科技", "ORG.NAM")]
    ]
    assert [named_spans(row) for row in read_wikiann(write("en:a:b\tB-PER\nen:c\tI-PER\n"))] == [[("a:b c", "PER")]]
    uner = "# newdoc id = 1\n# text = Windows XP 很好\n1\tWindows\tB-ORG\t-\t-\n2\tXP\tI-ORG\t-\t-\n3\t很好\tO\t-\t-\n"
    assert [named_spans(row) for row in read_uner(write(uner))] == [[("Windows XP", "ORG")]]
    (tmp_path / "tags").write_text("O B-LOC I-LOC\n", encoding="utf-8")
    assert [named_spans(row) for row in read_pairs(write("在 江 苏\n"), tmp_path / "tags")] == [[("江苏", "LOC")]]


def test_a_line_without_a_token_is_white_space(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("宫 B-T\n  O\n计 I-T\n", encoding="utf-8")
    (row,) = read_columns(tmp_path / "file")
    assert row.text == "宫 计"


def test_every_type_is_mapped_to_a_label_and_every_scored_label_is_marked() -> None:
    for ner_set in NER_SETS:
        assert set(ner_set.types.values()) <= set(LABELS)
        assert set(ner_set.scored) <= set(ner_set.types.values())
        assert all(0.0 <= weight <= 1.0 for weight in ner_set.coverage.values())


def test_sets_are_chosen_by_name_weight_and_licence() -> None:
    assert {ner_set.name: factor for ner_set, factor in find_ner_sets("weibo,msra:0.5").items()} == {
        "weibo": 1.0,
        "msra": 0.5,
    }
    assert all(ner_set.is_open for ner_set in find_ner_sets("open"))
    assert list(find_ner_sets("all")) == list(NER_SETS)
    with pytest.raises(ValueError, match="no data set conll"):
        find_ner_sets("conll")


@pytest.mark.parametrize("form", [in_traditional, in_lower_case, in_full_width])
@given(text=st.text(max_size=40))
def test_a_form_keeps_every_offset(form: object, text: str) -> None:
    row = MarkedText(text, ())
    assert callable(form)
    assert len(form(row).text) == len(text)


def test_chat_sentences_hold_their_names_and_none_that_is_held_out() -> None:
    writer = ChatWriter(ROWS, ["Zune", "台北"])
    rows = [writer.write(random.Random(seed)) for seed in range(400)]
    for row in rows:
        for span in row.spans:
            name = row.text[span.start : span.end]
            assert name == name.strip()
            assert normalise(name) not in {"zune", "台北"}
    labels = {span.label for row in rows for span in row.spans}
    assert labels == {subtype.value for subtype in EntitySubtype}
    assert 40 < sum(not row.spans for row in rows) < 160
    assert writer.write(random.Random(7)) == writer.write(random.Random(7))


def test_coined_names_look_like_names() -> None:
    draw = random.Random(1)
    assert all(invent_latin_name(draw).isascii() for _ in range(50))
    assert all(any(character.isdigit() for character in invent_code(draw)) for _ in range(50))


def test_the_chat_set_is_marked_and_apart_from_the_templates() -> None:
    rows = read_chat_names(CHAT)
    assert len(rows) >= 150
    assert sum(span.label == "product" for row in rows for span in row.spans) > 100
    assert all("[" not in row.text and "|" not in row.text for row in rows)
    templates = (Path(__file__).parents[3] / "training/data/chat_templates.json").read_text(encoding="utf-8")
    for row in rows:
        for span in row.spans:
            assert f'"{row.text[span.start : span.end]}"' not in templates


def test_f1_counts_spans_and_has_an_interval() -> None:
    marked = [{(0, 2, "person")}, {(0, 1, "place"), (3, 4, "place")}, set()]
    predicted = [{(0, 2, "person")}, {(0, 1, "person")}, {(5, 6, "work")}]
    scores = SpanScores.of(marked, predicted)
    assert (scores.precision, scores.recall) == pytest.approx((100 / 3, 100 / 3))
    assert scores.f1 == pytest.approx(100 / 3)
    interval = scores.interval(samples=50)
    assert interval.low <= interval.value <= interval.high
    assert SpanScores.of([set()], [set()]).f1 == 0.0
