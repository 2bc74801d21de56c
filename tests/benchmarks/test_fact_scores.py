"""How facts that were read are compared with those that are marked."""

import json
from pathlib import Path

from benchmarks.extraction.facts import (
    ALL,
    Example,
    Key,
    Pair,
    category_accuracy,
    compare,
    of_duie,
    read_corpus,
    read_duie,
    score_pairs,
    selections,
)
from memory.extraction.extractor import ReadingExtractor
from memory.values.understanding.readings import FactSpan, Qualifier, ReadRequest, StatedFact
from testing.fakes.reader import FakeReader, read_one
from training.reader.corpus import MarkedFact

_ENDED = frozenset({Qualifier.ENDED})


def _pair(marked: set[Key], found: set[Key], language: str = "en") -> Pair:
    return Pair(language, frozenset(marked), frozenset(found))


async def test_names_are_compared_as_the_store_compares_them() -> None:
    text = "我的車是 Toyota"
    fact = StatedFact(
        subject=FactSpan(text="我的車", start=0, end=3),
        predicate="brand",
        object=FactSpan(text="Toyota", start=5, end=11),
        confidence=0.9,
    )
    unsure = fact.model_copy(update={"predicate": "likes", "confidence": 0.1})
    reading = read_one(ReadRequest(text=text)).model_copy(update={"facts": (fact, unsure)})
    reader = FakeReader(scripted={text: reading})
    example = Example("zh-Hant", (), text, (MarkedFact("車", "brand", "Ｔoyota"),))
    [pair] = await compare(ReadingExtractor(reader), [example], floor=0.3)
    assert pair.marked == pair.found


def test_a_fact_is_right_in_all_its_parts_or_in_some() -> None:
    marked = {Key("", "lives_in", "bath"), Key("", "eats", "beef", _ENDED), Key("tom", "owns", "car")}
    found = {Key("", "lives_in", "bath"), Key("", "eats", "beef"), Key("ann", "owns", "car")}
    measures = {name: score_pairs(pairs) for name, pairs in selections([_pair(marked, found)]).items()}
    assert [round(measures[name].f1, 2) for name in ("with qualifiers", "facts")] == [0.33, 0.67]
    assert measures["predicate and object"].f1 == 1.0
    assert round(measures["subject and object"].recall, 2) == 0.67
    assert measures["predicate eats"].f1 == measures["en"].precision * 1.5 == 1.0
    assert measures["qualifier ended"].recall == 0.0


def test_the_category_counts_where_subject_and_object_were_found() -> None:
    marked = {Key("", "likes", "tea"), Key("", "speaks", "dutch"), Key("", "owns", "car"), Key("", "other", "x")}
    found = {Key("", "favourite", "tea"), Key("", "lives_in", "dutch"), Key("", "other", "x")}
    assert category_accuracy([_pair(marked, found)]) == {"preferences": (1, 1), "skills": (0, 1), ALL: (1, 2)}


def test_duie_counts_predicates_that_we_have_and_spouses_once(tmp_path: Path) -> None:
    file = tmp_path / "duie.json"
    triples = [
        {"subject": "王五", "predicate": "妻子", "object": {"@value": "李四"}},
        {"subject": "李四", "predicate": "丈夫", "object": {"@value": "王五"}},
        {"subject": "王五", "predicate": "票房", "object": {"@value": "1亿"}},
    ]
    file.write_text(
        json.dumps({"text": "王五和李四", "spo_list": triples}, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    [example] = read_duie(file)
    assert [fact.predicate for fact in example.facts] == ["spouse", "spouse"]
    keys = {Key(fact.subject, fact.predicate, fact.object) for fact in example.facts}
    [pair] = of_duie([_pair(keys, {Key("李四", "spouse", "王五"), Key("王五", "likes", "李四")})])
    assert pair.marked == pair.found
    assert len(pair.marked) == 1


def test_a_corpus_is_read_by_part(tmp_path: Path) -> None:
    folder = tmp_path / "messages"
    folder.mkdir()
    block = "M: I live in [Bath|place].\nI: statement\nF: user | lives_in | Bath\n"
    for name in ("en-m3", "en-m9"):
        (folder / f"{name}.txt").write_text(block)
    assert len(read_corpus([tmp_path], "report")) == 1
    both = read_corpus([tmp_path], ALL)
    assert [example.facts for example in both] == [(MarkedFact("", "lives_in", "Bath"),)] * 2
