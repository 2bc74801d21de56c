"""Where the rules correct or complement the names of a tagger, whatever tagger it is."""

import pytest

from memory.extraction.extractor import RuleExtractor
from memory.learning.learned_turns import MIN_CONFIDENCE
from memory.values.mentions import EntitySubtype, MentionLevel, TaggedSpan

PERSON, ORGANISATION, PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
PRODUCT, WORK, EVENT = EntitySubtype.PRODUCT, EntitySubtype.WORK, EntitySubtype.EVENT

Names = list[tuple[str, EntitySubtype | None]]


def joined(text: str, *tagged: tuple[str, EntitySubtype, float]) -> Names:
    spans = [
        TaggedSpan(start=text.index(name), end=text.index(name) + len(name), label=kind, subtype=kind, score=score)
        for name, kind, score in tagged
    ]
    mentions = RuleExtractor().extract_one(text, tagged=spans).mentions
    return [(mention.text, mention.subtype) for mention in mentions if mention.level is MentionLevel.LONG_TERM]


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


@pytest.mark.parametrize(
    ("text", "subtype"),
    [
        ("We hired Priya as our new designer.", PERSON),
        ("We use Notion as our new wiki.", PRODUCT),
        ("We use Notion as our coding assistant.", PRODUCT),
    ],
)
def test_who_is_employed_as_something_is_a_person(text: str, subtype: EntitySubtype) -> None:
    name = text.split()[2]
    assert joined(text, (name, PRODUCT, 0.99)) == [(name, subtype)]


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
        ("acoustic guitar", PRODUCT, 0.85, 0.95),
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
        ("Johnson & Johnson", PERSON, 0.9, ORGANISATION),
        ("Johnson & Johnson", PERSON, 0.96, PERSON),
        ("國泰醫院", PRODUCT, 0.99, ORGANISATION),
        ("Kyoto", ORGANISATION, 0.97, PLACE),
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
    [mention] = [
        mention for mention in RuleExtractor().extract_one(text, tagged=[span]).mentions if mention.text == name
    ]
    return mention.confidence


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("我去了圖書館", "圖書館", PLACE),
        ("他是刑警隊的隊長", "刑警隊", ORGANISATION),
        ("巷口開了小超市", "小超市", PLACE),
        ("Pottery is a great way to relax.", "Pottery", PERSON),
    ],
)
def test_a_word_that_is_hardly_a_name_is_there_for_the_session_and_not_learned(
    text: str, name: str, kind: EntitySubtype
) -> None:
    assert _confidence(text, name, kind, 0.93) < MIN_CONFIDENCE
    assert _confidence(text, name, kind, 0.995) >= MIN_CONFIDENCE


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("週末去歡樂谷玩", "歡樂谷", PLACE),
        ("我都用資生堂的精華液", "資生堂", ORGANISATION),
        ("東盟下個月開會", "東盟", ORGANISATION),
        ("昨天看了海賊王", "海賊王", WORK),
    ],
)
def test_a_rare_noun_or_an_abbreviation_of_the_dictionary_is_learned_like_any_name(
    text: str, name: str, kind: EntitySubtype
) -> None:
    assert _confidence(text, name, kind, 0.8) >= MIN_CONFIDENCE


@pytest.mark.parametrize(("text", "name", "kind"), [("今日抵京訪問", "京", PLACE), ("胡與他談過", "胡", PERSON)])
def test_a_single_character_is_never_learned(text: str, name: str, kind: EntitySubtype) -> None:
    assert _confidence(text, name, kind, 0.999) < MIN_CONFIDENCE


def test_a_well_known_name_is_not_cut() -> None:
    assert joined("我的手機是華為 Mate60", ("華", PERSON, 0.99))[0] == ("華為", ORGANISATION)


@pytest.mark.parametrize(
    ("text", "tagged", "name"),
    [("下個月住君悅酒店", "住君悅酒店", "君悅酒店"), ("我們到萬象城吃飯", "到萬象城", "萬象城")],
)
def test_a_place_does_not_begin_with_the_verb_of_going_there(text: str, tagged: str, name: str) -> None:
    assert joined(text, (tagged, PLACE, 0.95)) == [(name, PLACE)]


def test_what_is_left_behind_the_verb_must_be_a_name_itself() -> None:
    assert joined("週末去圖書館唸書", ("去圖書館", PLACE, 0.95)) == [("圖書館", PLACE)]
    assert _confidence("週末去圖書館唸書", "圖書館", PLACE, 0.95) < MIN_CONFIDENCE


def test_a_work_may_begin_with_a_preposition() -> None:
    assert joined("他推薦在人間這本小說", ("在人間", WORK, 0.95)) == [("在人間", WORK)]


@pytest.mark.parametrize(
    ("text", "phrase", "kind"),
    [("我媽媽特別愛登山", "愛登山", PLACE), ("他每年跑馬拉松", "跑馬拉松", WORK)],
)
def test_a_verb_with_its_object_is_no_name(text: str, phrase: str, kind: EntitySubtype) -> None:
    assert joined(text, (phrase, kind, 0.95)) == []


@pytest.mark.parametrize(
    ("text", "phrase", "score"),
    [
        ("台積電是半導體公司", "半導體公司", 0.99),
        ("他在一家建築公司上班", "建築公司", 0.99),
        ("半導體公司都在漲", "半導體公司", 0.95),
    ],
)
def test_what_a_company_does_is_not_its_name(text: str, phrase: str, score: float) -> None:
    assert phrase not in [name for name, _ in joined(text, (phrase, ORGANISATION, score))]


def test_a_company_may_be_called_by_a_word() -> None:
    assert joined("我喜歡蘋果公司", ("蘋果公司", ORGANISATION, 0.99)) == [("蘋果公司", ORGANISATION)]


def test_whose_relative_somebody_is_is_no_name() -> None:
    assert joined("我表妹很忙", ("我表妹", PERSON, 0.99)) == []


def test_a_person_does_not_end_in_an_adverb() -> None:
    assert joined("陳列也明智", ("陳列也", PERSON, 0.9)) == []


def test_a_name_ends_before_a_comma() -> None:
    assert joined("下午拜访了华为，晚上住酒店", ("华为，", ORGANISATION, 0.98)) == [("华为", ORGANISATION)]
    assert joined("他住在深圳，廣東", ("深圳，廣東", PLACE, 0.98)) == [("深圳", PLACE), ("廣東", PLACE)]
    assert joined("We like Yahoo! a lot", ("Yahoo!", ORGANISATION, 0.98)) == [("Yahoo!", ORGANISATION)]


def test_who_comes_from_a_place_is_not_named_by_it() -> None:
    assert joined("他是瀋陽人", ("瀋陽人", PERSON, 0.95)) == [("瀋陽", PLACE)]


def test_a_name_with_half_of_its_quotation_marks_is_none() -> None:
    text = 'We went to the "Making Things" Museum.'
    assert ('Things" Museum', PLACE) not in joined(text, ('Things" Museum', PLACE, 0.99))


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [("I told Emma 3 times.", "Emma", PERSON), ("We stayed in Paris 15 days.", "Paris", PLACE)],
)
def test_what_is_counted_or_measured_behind_a_name_is_no_part_of_it(text: str, name: str, kind: EntitySubtype) -> None:
    assert joined(text, (name, kind, 0.96)) == [(name, kind)]


def test_a_product_is_named_by_its_number() -> None:
    assert joined("I bought a Pixel 8 today.", ("Pixel", PRODUCT, 0.96)) == [("Pixel 8", PRODUCT)]


def test_a_field_of_study_before_a_professor_is_no_person() -> None:
    assert joined("那位金融學教授說得好") == []


def test_a_name_that_begins_a_sentence_is_learned_where_it_is_a_name() -> None:
    assert _confidence("Alice is here.", "Alice", PERSON, 0.9) >= MIN_CONFIDENCE
