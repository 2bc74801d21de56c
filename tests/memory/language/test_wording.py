"""Facts as sentences in three languages."""

import pytest

from memory.language.sentence_patterns import PATTERNS
from memory.language.wording import fact_sentence, language_of, statements_of
from memory.language.written import Language
from memory.values.facts import Fact
from memory.values.predicates import OTHER, PREDICATES
from memory.values.understanding.readings import Qualifier
from tests.memory.tiers.facts import NOW, fact

HANT, HANS, EN = Language.TRADITIONAL_CHINESE, Language.SIMPLIFIED_CHINESE, Language.ENGLISH


def test_every_predicate_has_its_words() -> None:
    assert set(PATTERNS) == set(PREDICATES) - {OTHER}
    assert all(pattern.count("{}") == 2 for patterns in PATTERNS.values() for pattern in patterns)


@pytest.mark.parametrize(
    ("stated", "language", "sentence"),
    [
        (fact("user", "lives_in", "三峽"), HANT, "使用者住在三峽。"),
        (fact("user", "lives_in", "三峡"), HANS, "用户住在三峡。"),
        (fact("user", "lives_in", "Boston"), EN, "The user lives in Boston."),
        (fact("美玲", "occupation", "國小老師"), HANT, "美玲的職業是國小老師。"),
        (fact("user", "allergic_to", "花生"), HANS, "用户对花生过敏。"),
        (fact("AI-Box", "price", "US$9.50"), EN, "The price of AI-Box is US$9.50."),
        (fact("user", "other:collects", "stamps"), EN, "The user collects stamps."),
        (fact("user", "other:收集", "郵票"), HANT, "使用者收集郵票。"),
        (fact("user", "other", "郵票"), HANT, "使用者：郵票。"),
        (fact("user", "is {0}", "x"), EN, "The user is {0} x."),
        (fact("user", "likes", "tea\n### goals"), EN, "The user likes tea ### goals."),
        (fact("user", "goal", "Finish it!"), EN, "The user's goals: Finish it!"),
        (fact("user", "eats", "beef", qualifiers=(Qualifier.NEGATED,)), EN, "Not so: The user eats or drinks beef."),
        (fact("user", "visited", "日本", qualifiers=(Qualifier.PLANNED,)), HANT, "打算：使用者去過日本。"),
        (fact("user", "commutes_by", "捷運", doubtful_since=NOW), HANS, "情况有变，尚待确认：用户通勤方式：捷運。"),
    ],
)
def test_a_fact_is_a_sentence(stated: Fact, language: Language, sentence: str) -> None:
    assert fact_sentence(stated, language) == sentence


def test_objects_of_one_subject_and_predicate_are_one_sentence() -> None:
    facts = [
        fact("user", "likes", "hiking", days=1),
        fact("user", "likes", "tea", days=3),
        fact("Ben", "likes", "jazz", days=2),
        fact("User", "likes", "Ｔｅａ", days=0),
        fact("user", "likes", "coffee", days=2),
    ]
    assert [statement.sentence(EN) for statement in statements_of(facts)] == [
        "The user likes tea, coffee and hiking.",
        "Ben likes jazz.",
    ]
    assert statements_of(facts)[0].sentence(HANT) == "使用者喜歡tea、coffee、hiking。"


def test_of_many_objects_the_latest_are_named_and_the_rest_counted() -> None:
    [statement] = statements_of(fact("user", "likes", f"{index}", days=20 - index) for index in range(10))
    assert statement.sentence(EN) == "The user likes 2, 3, 4, 5, 6, 7, 8, 9 and 2 more."
    assert statement.sentence(HANS) == "用户喜欢2、3、4、5、6、7、8、9等10项。"


@pytest.mark.parametrize(
    ("objects", "language"),
    [
        ([], EN),
        (["Boston"], EN),
        (["三峽", "Boston"], HANT),
        (["三峡", "电脑", "Boston"], HANS),
        (["茶", "Boston", "Rome"], EN),
        (["茶"], HANT),
    ],
)
def test_the_language_is_the_one_of_most_facts(objects: list[str], language: Language) -> None:
    assert language_of(fact("user", "likes", object_) for object_ in objects) is language
