from training.tagger.evaluate import Report, script_of, tag_by_rules
from training.tagger.export import choose_thresholds
from training.tagger.ner_files import MarkedText, NamedSpan
from training.tagger.ner_metrics import (
    Key,
    SpanScores,
    covered_subtypes,
    marked_labels,
    marked_names,
    score_labels,
    score_names,
)
from training.tagger.ner_sets import NER_SETS

from memory.values.mentions import EntitySubtype, TaggedSpan

SETS = {ner_set.name: ner_set for ner_set in NER_SETS}
WEIBO = [MarkedText("小明他妈在北京", (
    NamedSpan(0, 2, "person"), NamedSpan(2, 4, "person_nominal"), NamedSpan(5, 7, "gpe"),
))]  # fmt: skip


def test_the_own_task_counts_every_label_and_the_mapped_one_only_subtypes() -> None:
    weibo = SETS["weibo"]
    predicted = [
        [
            TaggedSpan(start=0, end=2, label="person", subtype=EntitySubtype.PERSON, score=0.9),
            TaggedSpan(start=5, end=7, label="location", subtype=EntitySubtype.PLACE, score=0.9),
            TaggedSpan(start=2, end=3, label="code", subtype=EntitySubtype.CODE, score=0.9),
        ]
    ]
    own = score_labels(marked_labels(WEIBO, weibo), predicted)
    assert own.counts.tolist() == [[1, 3, 3]]
    mapped = score_names(marked_names(WEIBO, weibo), predicted, weibo)
    assert mapped.counts.tolist() == [[2, 2, 2]]  # codes are not marked in this set: finding one is no mistake
    assert covered_subtypes(SETS["youku"]) == {EntitySubtype.PERSON, EntitySubtype.WORK}


def test_a_type_without_a_label_is_no_name() -> None:
    rows = [MarkedText("NP-hard", (NamedSpan(0, 7, ""),))]
    assert marked_names(rows, SETS["crossner_ai"]) == [set()]


def test_thresholds_are_the_best_of_the_rows_that_mark_all_names() -> None:
    spans = [
        TaggedSpan(start=0, end=1, label="product", subtype=EntitySubtype.PRODUCT, score=0.9),
        TaggedSpan(start=2, end=3, label="product", subtype=EntitySubtype.PRODUCT, score=0.45),
        TaggedSpan(start=4, end=5, label="place", subtype=EntitySubtype.PLACE, score=0.35),
    ]
    marked: list[set[Key]] = [{(0, 1, "product")}, {(2, 3, "product"), (4, 5, "place")}]
    covered = [frozenset({EntitySubtype.PRODUCT}), frozenset({EntitySubtype.PLACE})]
    chosen = choose_thresholds(marked, [spans, spans], covered)
    assert chosen[EntitySubtype.PRODUCT] == 0.5
    assert chosen[EntitySubtype.PLACE] == 0.3
    assert chosen[EntitySubtype.WORK] == 0.5


def test_the_report_holds_what_it_shows() -> None:
    report = Report()
    report.add("weibo", "own labels", "ours", SpanScores.of([{(0, 1, "a")}], [{(0, 1, "a")}]), "69.5")
    assert report.table.row_count == 1
    assert report.figures["weibo"]["own labels"]["ours"]["F1"] == 100.0


def test_the_rules_and_the_scripts_of_the_chat_set() -> None:
    (spans,) = tag_by_rules(["我們公司買了 AI-Box"])
    assert (spans[0].start, spans[0].end) == (7, 13)
    assert [script_of(text) for text in ("我們", "我们", "ok")] == ["zh-Hant", "zh-Hans", "en"]
