from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from training.names.ner_files import MarkedText, NamedSpan
from training.names.ner_metrics import (
    covered_subtypes,
    marked_labels,
    marked_names,
    score_labels,
    score_names,
)
from training.names.ner_sets import NER_SETS

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
