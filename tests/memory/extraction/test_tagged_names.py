"""Where the rules correct or complement the names of a tagger, whatever tagger it is."""

import pytest

from memory.extraction.extractor import RuleExtractor
from memory.extraction.mentions import EntitySubtype, MentionLevel
from memory.extraction.tagging import TaggedSpan
from memory.learning.lessons import MIN_CONFIDENCE

PERSON, ORGANISATION, PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
PRODUCT, WORK, EVENT = EntitySubtype.PRODUCT, EntitySubtype.WORK, EntitySubtype.EVENT

Names = list[tuple[str, EntitySubtype | None]]


def joined(text: str, *tagged: tuple[str, EntitySubtype, float]) -> Names:
    spans = [
        TaggedSpan(start=text.index(name), end=text.index(name) + len(name), label=kind, subtype=kind, score=score)
        for name, kind, score in tagged
    ]
    mentions = RuleExtractor().extract_one(text, tagged=spans).mentions
    return [(one.text, one.subtype) for one in mentions if one.level is MentionLevel.LONG_TERM]


@pytest.mark.parametrize(
    ("text", "tagged", "name"),
    [
        ("陳先生來了", "陳", "陳先生"),
        ("刘经理来了", "刘", "刘经理"),
        ("陳怡君教授來了", "陳怡君教授", "陳怡君"),
        ("Ask Dr. Smith.", "Dr. Smith", "Smith"),
        ("Ask Dr. Smith.", "Smith", "Smith"),
    ],
)
def test_a_form_of_address_says_where_the_name_ends(text: str, tagged: str, name: str) -> None:
    assert joined(text, (tagged, PERSON, 0.99)) == [(name, PERSON)]


def test_an_introduction_says_where_the_name_begins() -> None:
    assert joined("養了一隻狗叫旺財", ("狗叫旺財", PRODUCT, 0.99)) == [("旺財", None)]


def test_an_introduction_does_not_say_where_the_name_ends() -> None:
    assert joined("我女兒叫小美來", ("小美", PERSON, 0.9)) == [("小美", PERSON)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("刘经理来了", [("刘经理", PERSON)]),
        ("老張來了", [("老張", PERSON)]),
        ("國泰醫院的號很難掛", [("國泰醫院", ORGANISATION)]),
        ("研發部要開會", [("研發部", ORGANISATION)]),
        ("我在讀三體", [("三體", WORK)]),
        ("中秋節要回花蓮", [("中秋節", EVENT), ("花蓮", PLACE)]),
    ],
)
def test_what_the_rules_are_sure_of_is_found_without_the_tagger(text: str, names: Names) -> None:
    assert joined(text) == names


@pytest.mark.parametrize("text", ["林美玲來了", "住在加堆村", "Peter Parker called.", "普魯士的歷史"])
def test_what_the_rules_guess_is_left_to_the_tagger(text: str) -> None:
    assert joined(text) == []


@pytest.mark.parametrize(
    ("name", "subtype", "unsure", "sure"),
    [
        ("合約", PRODUCT, 0.995, 0.998),
        ("PPT", PRODUCT, 0.98, 0.998),
        ("公司", ORGANISATION, 0.968, 0.98),
        ("vectors", PRODUCT, 0.85, 0.95),
        ("陳列", PERSON, 0.94, 0.96),
        ("May", PERSON, 0.94, 0.96),
    ],
)
def test_a_word_that_seldom_names_anything_needs_a_higher_score(
    name: str, subtype: EntitySubtype, unsure: float, sure: float
) -> None:
    text = f"關於 {name} 的事"
    assert joined(text, (name, subtype, unsure)) == []
    assert joined(text, (name, subtype, sure)) == [(name, subtype)]


@pytest.mark.parametrize("name", ["宏康", "AI-Pad", "Docker"])
def test_any_other_word_does_not(name: str) -> None:
    assert joined(f"關於 {name} 的事", (name, PRODUCT, 0.6)) == [(name, PRODUCT)]


@pytest.mark.parametrize(
    ("name", "tagged", "score", "subtype"),
    [
        ("ibm", PERSON, 0.92, ORGANISATION),
        ("Washington", PERSON, 0.97, PERSON),
        ("鴻海", PERSON, 0.99, ORGANISATION),
        ("微信", ORGANISATION, 0.78, PRODUCT),
        ("五角大廈", PLACE, 0.9, PLACE),
        ("Jordan", PERSON, 0.7, PERSON),
        ("Johnson & Johnson", PERSON, 0.72, ORGANISATION),
        ("Johnson & Johnson", PERSON, 0.9, PERSON),
    ],
)
def test_a_listed_type_or_an_organisations_form_wins_over_an_unsure_tagger(
    name: str, tagged: EntitySubtype, score: float, subtype: EntitySubtype
) -> None:
    assert joined(f"We know {name} well.", (name, tagged, score)) == [(name, subtype)]


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("我表哥特別喜歡登山", "哥特", PERSON),
        ("最近有點胡思亂想", "胡思", PERSON),
        ("這家的粵菜很好吃", "粵", PLACE),
        ("I am so glad y'all had a great time.", "glad y", PERSON),
    ],
)
def test_a_name_cut_out_of_a_word_is_none_unless_the_tagger_is_very_sure(
    text: str, name: str, kind: EntitySubtype
) -> None:
    assert (name, kind) not in joined(text, (name, kind, 0.95))


def _confidence(text: str, name: str, kind: EntitySubtype, score: float) -> float:
    start = text.index(name)
    span = TaggedSpan(start=start, end=start + len(name), label=kind, subtype=kind, score=score)
    [mention] = [one for one in RuleExtractor().extract_one(text, tagged=[span]).mentions if one.text == name]
    return mention.confidence


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("我去了圖書館", "圖書館", PLACE),
        ("他是刑警隊的隊長", "刑警隊", ORGANISATION),
        ("Pottery is a great way to relax.", "Pottery", PERSON),
    ],
)
def test_a_word_that_is_hardly_a_name_is_there_for_the_session_and_not_learned(
    text: str, name: str, kind: EntitySubtype
) -> None:
    assert _confidence(text, name, kind, 0.93) < MIN_CONFIDENCE
    assert _confidence(text, name, kind, 0.995) >= MIN_CONFIDENCE


def test_a_name_that_begins_a_sentence_is_learned_where_it_is_a_name() -> None:
    assert _confidence("Alice is here.", "Alice", PERSON, 0.9) >= MIN_CONFIDENCE
