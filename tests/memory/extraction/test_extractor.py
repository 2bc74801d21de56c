"""What the extractor finds, as tables: text, and every long-term mention in it (text, subtype), in order."""

import pytest

from memory.extraction.extractor import RuleExtractor
from memory.extraction.rules.seeds import SEEDS, Seed
from memory.values.mentions import EntitySubtype, MentionLevel

PERSON, ORG, PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
PRODUCT, WORK, EVENT, CODE = EntitySubtype.PRODUCT, EntitySubtype.WORK, EntitySubtype.EVENT, EntitySubtype.CODE

Sentence = tuple[str, list[tuple[str, EntitySubtype | None]]]

TRADITIONAL: list[Sentence] = [
    ("我叫王小明，在台積電上班", [("王小明", PERSON), ("台積電", ORG)]),
    ("宏康 HCI 的報價單下來了", [("宏康 HCI", ORG)]),
    ("宏康HCI 的報價單下來了", [("宏康HCI", ORG)]),
    ("宏康　ＨＣＩ的報價單下來了", [("宏康　ＨＣＩ", ORG)]),
    ("我們公司用 AI-Box 做知識庫", [("AI-Box", PRODUCT)]),
    ("ＡＩ－Ｂｏｘ 可以接 ｍｍ－ａｇｅｎｔ 嗎？", [("ＡＩ－Ｂｏｘ", PRODUCT), ("ｍｍ－ａｇｅｎｔ", PRODUCT)]),
    ("李老師和老張昨天去台北車站", [("李老師", PERSON), ("老張", PERSON), ("台北車站", PLACE)]),
    ("王經理說下週要去高雄", [("王經理", PERSON), ("高雄", PLACE)]),
    ("國立臺灣大學的陳怡君教授", [("國立臺灣大學", ORG), ("陳怡君", PERSON)]),
    ("我住在新北市中和區中山路", [("新北市", PLACE), ("中和區", PLACE), ("中山路", PLACE)]),
    ("我在看《流浪地球》和〈背影〉", [("流浪地球", WORK), ("背影", WORK)]),
    ("有一本叫「挪威的森林」的書", [("挪威的森林", WORK)]),
    ("專案「北極星」下個月開始", [("北極星", PRODUCT)]),
    ("我女朋友叫小美，養了一隻狗叫旺財", [("小美", PERSON), ("旺財", None)]),
    ("約翰·史密斯在微軟工作", [("約翰·史密斯", PERSON), ("微軟", ORG)]),
    ("料號 RM05-008 缺貨", [("RM05-008", CODE)]),
    ("會議室改到 Room 101", [("Room 101", CODE)]),
    ("請升級到 v2.3.1 版", [("v2.3.1", CODE)]),
    ("我們通過了 ISO 9001 認證", [("ISO 9001", CODE)]),
    ("新電腦裝了 RTX 4090", [("RTX 4090", PRODUCT)]),
    ("研發部要跟業務部開會", [("研發部", ORG), ("業務部", ORG)]),
    ("中秋節要回花蓮", [("中秋節", EVENT), ("花蓮", PLACE)]),
    ("國泰醫院的號很難掛", [("國泰醫院", ORG)]),
    ("陳先生把合約寄給林小姐了", [("陳先生", PERSON), ("林小姐", PERSON)]),
    ("小明的媽媽是林美玲，爸爸是黃志偉", [("小明", PERSON), ("林美玲", PERSON), ("黃志偉", PERSON)]),
    ("歐陽娜娜會來", [("歐陽娜娜", PERSON)]),
    ("台積電是半導體公司", [("台積電", ORG)]),
    ("台積電和鴻海哪家大", [("台積電", ORG), ("鴻海", ORG)]),
    ("客戶是鴻海", [("鴻海", ORG)]),
    ("供應商是宏康科技", [("宏康科技", ORG)]),
    ("我最近在讀三體", [("三體", WORK)]),
]
SIMPLIFIED: list[Sentence] = [
    ("我叫李小龙，在腾讯上班", [("李小龙", PERSON), ("腾讯", ORG)]),
    ("阿宁住在苏州，养了一只猫叫年糕", [("阿宁", PERSON), ("苏州", PLACE), ("年糕", None)]),
    ("周杰伦下个月去上海开演唱会", [("周杰伦", PERSON), ("上海", PLACE)]),
    ("我在北京大学读书", [("北京大学", ORG)]),
    ("刘经理用 Qdrant 和 ArangoDB 存数据", [("刘经理", PERSON), ("Qdrant", PRODUCT), ("ArangoDB", PRODUCT)]),
    ("推荐你看《三体》", [("三体", WORK)]),
    ("电影“霸王别姬”很好看", [("霸王别姬", WORK)]),
    ("订单号 SO-2024A-17 已发货", [("SO-2024A-17", CODE)]),
    ("我们用的是 Python 3.11", [("Python 3.11", PRODUCT)]),
    ("她在中国银行工作", [("中国银行", ORG)]),
    ("爸爸买了一台 iPhone 15 Pro", [("iPhone 15 Pro", PRODUCT)]),
    ("张伟明天去广州", [("张伟", PERSON), ("广州", PLACE)]),
]
ENGLISH: list[Sentence] = [
    ("Alice told Bob about New York.", [("Alice", PERSON), ("Bob", PERSON), ("New York", PLACE)]),
    ("I studied at the University of Oxford with Dr. Smith.", [("University of Oxford", ORG), ("Smith", PERSON)]),
    ("OpenAI released GPT-4 in San Francisco.", [("OpenAI", ORG), ("GPT-4", CODE), ("San Francisco", PLACE)]),
    ("My boss is J. K. Rowling.", [("J. K. Rowling", PERSON)]),
    ("We store vectors in Qdrant and sessions in Redis.", [("Qdrant", PRODUCT), ("Redis", PRODUCT)]),
    ("FASTAPI and SeaweedFS run fine.", [("FASTAPI", PRODUCT), ("SeaweedFS", PRODUCT)]),
    ('I am reading a book called "Norwegian Wood" these days.', [("Norwegian Wood", WORK)]),
    ("Kevin's sister works for Acme Corp in Boston.", [("Kevin", PERSON), ("Acme Corp", ORG), ("Boston", PLACE)]),
    ("The meeting is in Room 101 at 3pm.", [("Room 101", CODE)]),
    ("My new PC has an RTX 4090.", [("RTX 4090", PRODUCT)]),
    ("I met O'Keefe and Zoë in Paris.", [("O'Keefe", None), ("Zoë", None), ("Paris", PLACE)]),
    ("Part RM05-008 runs firmware v2.3.1.", [("RM05-008", CODE), ("v2.3.1", CODE)]),
    ("Johnson & Johnson called Peter Parker.", [("Johnson & Johnson", ORG), ("Peter Parker", PERSON)]),
    ("please call ibm and Foxconn", [("Foxconn", ORG)]),
    ("We ate at Golden Wok.", [("Golden Wok", None)]),
    ("Little Seoul is cheap.", [("Little Seoul", None)]),
    ("I bought a Model Y.", [("Model Y", PRODUCT)]),
]
NOTHING = [
    "",
    "   ",
    "你好！",
    "謝謝你，早安",
    "哈哈哈哈",
    "我等了幾個小時，很高興",
    "他用這個做什麼？",
    "我覺得東西太多了",
    "大城市的長度和高度",
    "他說「好的，我知道了」",
    "老師問：「誰要回答？」",
    "所謂的「專家」",
    "12345",
    "2024-05-01",
    "3.14",
    "電話 0912-345-678",
    "192.168.1.1",
    "我有 3 個 APP 和一個 PPT",
    "ok",
    "Hello there!",
    "Thanks, that is great.",
    "I think so. Maybe tomorrow. Yes.",
    "The weather is nice. What should we do on Monday in January?",
    "It costs 20kg at 3pm, the 2nd 5G",
    "THIS IS SO ANNOYING AND LOUD",
    "Mail me at someone.else@example.com or see https://Example.com/Some/Path",
    "😀😀",
    "我和老師去海滨公園，人山人海",
    "這件連衣裙很舒服些，陳列也明智",
    "Dancing is fun. Relaxing was great.",
    "It is important for our health",
    "She is a Senior Engineer.",
    "「",
    "《》",
]
TIME_AND_EVENT = [
    ("上次說的方案", ["上次說的"]),
    ("之前提到的那家店", ["之前提到的"]),
    ("這次先這樣", ["這次"]),
    ("今天天氣很好，明天天氣不好", ["今天", "明天"]),
    ("今天很熱，明天更熱", ["今天", "明天"]),
    ("這週沒空，下個月再說", ["這週", "下個月"]),
    ("上週最近都在忙", ["上週", "最近"]),
    ("上次说的方案", ["上次说的"]),
    ("这周没空，下个月再说", ["这周", "下个月"]),
    ("刚才聊的事", ["刚才聊的"]),
    ("Yesterday it rained", ["Yesterday", "it"]),
    ("last week and next month", ["last week", "next month"]),
    ("This time I will go, recently I could not", ["This time", "recently"]),
]
POINTING = [
    ("這個多少錢", "這個"),
    ("那個呢", "那個"),
    ("它好用嗎", "它"),
    ("她在哪裡", "她"),
    ("give me that one", "that one"),
]


@pytest.fixture(scope="module")
def extractor() -> RuleExtractor:
    return RuleExtractor()


@pytest.mark.parametrize(("text", "expected"), TRADITIONAL + SIMPLIFIED + ENGLISH)
def test_names_are_found_with_their_subtype(
    extractor: RuleExtractor, text: str, expected: list[tuple[str, EntitySubtype | None]]
) -> None:
    mentions = extractor.extract_one(text).mentions
    names = [(mention.text, mention.subtype) for mention in mentions if mention.level is MentionLevel.LONG_TERM]
    assert names == expected


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_no_name_is_never_a_long_term_entity(extractor: RuleExtractor, text: str) -> None:
    mentions = extractor.extract_one(text).mentions
    assert [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM] == []


@pytest.mark.parametrize(("text", "expected"), TIME_AND_EVENT)
def test_time_and_event_words_stay_in_the_session(extractor: RuleExtractor, text: str, expected: list[str]) -> None:
    mentions = [mention for mention in extractor.extract_one(text).mentions if mention.text in expected]
    assert [mention.text for mention in mentions] == expected
    assert all(mention.level is MentionLevel.SESSION and mention.source.startswith("deixis.") for mention in mentions)


@pytest.mark.parametrize(("text", "word"), POINTING)
def test_pronouns_stay_in_the_session_and_say_what_they_are(extractor: RuleExtractor, text: str, word: str) -> None:
    (mention,) = [mention for mention in extractor.extract_one(text).mentions if mention.text == word]
    assert (mention.level, mention.source) == (MentionLevel.SESSION, "deixis.pronoun")


@pytest.mark.parametrize("text", ["吉他課", "其他的", "小明天天來", "說明天文學", "當今年輕人"])
def test_words_that_merely_contain_an_l1_word_are_none(extractor: RuleExtractor, text: str) -> None:
    assert not [mention for mention in extractor.extract_one(text).mentions if mention.level is MentionLevel.SESSION]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
@pytest.mark.parametrize("template", ["我們用{}。", "請問{}是什麼？", "We use {} here.", "{}"])
def test_every_seed_of_the_specification_is_found_everywhere(
    extractor: RuleExtractor, seed: Seed, template: str
) -> None:
    (mention,) = [
        mention for mention in extractor.extract_one(template.format(seed.name)).mentions if mention.source == "seed"
    ]
    assert (mention.text, mention.subtype, mention.level) == (seed.name, seed.subtype, MentionLevel.LONG_TERM)


def test_the_seeds_are_the_twelve_of_the_specification() -> None:
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) == 12


@pytest.mark.parametrize(
    ("text", "known", "span"),
    [
        ("我家的年年有魚又壞了", "年年有魚", "年年有魚"),
        ("臺灣之光來了", "台湾之光", "臺灣之光"),
        ("买了小米电饭煲", "小米電飯煲", "小米电饭煲"),
        ("the blue whale project", "Blue Whale", "blue whale"),
        ("ＢＬＵＥ　ＷＨＡＬＥ!", "blue whale", "ＢＬＵＥ　ＷＨＡＬＥ"),
        ("宏康\u3000HCI", "宏康HCI", "宏康\u3000HCI"),
        ("cafe\u0301 Zoe", "Café Zoe", "cafe\u0301 Zoe"),
    ],
)
def test_known_names_are_found_whatever_their_script_width_case_and_spacing(
    extractor: RuleExtractor, text: str, known: str, span: str
) -> None:
    mention = next(mention for mention in extractor.extract_one(text, [known]).mentions if mention.source == "known")
    assert mention.text == span == text[mention.start : mention.end]
    assert mention.confidence == 1.0


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("AI-Box 很好", "AI"),
        ("Anan called", "Ana"),
        ("她是小明星", "小明"),
        ("v2.3.10", "v2.3.1"),
        ("mm-agent2", "mm-agent"),
    ],
)
def test_known_names_inside_other_words_are_not_found(extractor: RuleExtractor, text: str, known: str) -> None:
    assert "known" not in {mention.source for mention in extractor.extract_one(text, [known]).mentions}


def test_a_known_name_wins_over_every_rule_and_learns_its_subtype_from_them(extractor: RuleExtractor) -> None:
    (mention,) = extractor.extract_one("我在看《流浪地球》", ["流浪地球"]).mentions[-1:]
    assert (mention.source, mention.subtype) == ("known", EntitySubtype.WORK)


def test_of_two_given_names_the_longer_wins(extractor: RuleExtractor) -> None:
    mentions = extractor.extract_one("宏康 HCI 的單子", ["宏康"]).mentions
    assert [mention.text for mention in mentions] == ["宏康 HCI"]


def test_names_in_questions_are_less_sure_than_in_statements(extractor: RuleExtractor) -> None:
    def confidence(text: str) -> float:
        return next(mention.confidence for mention in extractor.extract_one(text).mentions if mention.text == "王小明")

    assert confidence("你認識王小明嗎？") < confidence("我認識王小明。")
    assert confidence("誰是王小明") < confidence("我認識王小明。")


async def test_each_text_has_its_own_known_names_and_results_keep_the_order(extractor: RuleExtractor) -> None:
    results = await extractor.extract(["藍鯨案", "藍鯨案", ""], known=[["藍鯨案"], [], []])
    assert [mention.source for mention in results[0].mentions] == ["known"]
    assert "known" not in {mention.source for mention in results[1].mentions}
    assert results[2].mentions == ()


async def test_known_names_for_another_number_of_texts_are_refused(extractor: RuleExtractor) -> None:
    with pytest.raises(ValueError, match="1 lists for 2 texts"):
        await extractor.extract(["a", "b"], known=[[]])
