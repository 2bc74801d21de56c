"""What the extractor makes of a reading, and what it adds: known names, seeds, identifiers, deictic words."""

from collections.abc import Sequence

import pytest
import structlog.testing
from typing_extensions import override

from memory.extraction.extractor import ReadingExtractor
from memory.extraction.seeds import SEEDS, Seed
from memory.ports.models.language import Priority
from memory.values.errors import ModelUnavailable, Overloaded
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.mentions import EntitySubtype, Mention, MentionLevel, TaggedSpan
from memory.values.understanding.readings import (
    Action,
    Context,
    FactSpan,
    Intent,
    MessageKind,
    Reading,
    ReadRequest,
    Rewrite,
    StatedFact,
)
from testing.fakes.reader import FakeReader, stated

PERSON, ORGANISATION, PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
PRODUCT, WORK, CODE = EntitySubtype.PRODUCT, EntitySubtype.WORK, EntitySubtype.CODE

NOTHING_LASTING = [
    "",
    "   ",
    "你好！",
    "他用這個做什麼？",
    "12345",
    "2024-05-01",
    "3.14",
    "電話 0912-345-678",
    "192.168.1.1",
    "請升級到 v2.3.1，Q4 之前",
    "It costs 20kg at 3pm, the 2nd 5G",
    "Mail me at some1.else2@example.com or see https://example.com/some/path2",
    "😀😀",
    "「",
]
CODES = [
    ("料號 RM05-008 缺貨", "RM05-008"),
    ("位子是 B2-17", "B2-17"),
    ("會議室改到 Room 101", "Room 101"),
    ("我們通過了 ISO 9001 認證", "ISO 9001"),
    ("订单号 SO-2024A-17 已发货", "SO-2024A-17"),
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
def extractor() -> ReadingExtractor:
    return ReadingExtractor(FakeReader())


async def extract(extractor: ReadingExtractor, text: str, *known: str) -> Extraction:
    [extraction] = await extractor.extract([text], known=[known])
    return extraction


def reading(text: str, *names: tuple[str, EntitySubtype | None], intents: tuple[Intent, ...] = ()) -> Reading:
    spans = [
        TaggedSpan(
            start=text.index(name), end=text.index(name) + len(name), label=kind or "time", subtype=kind, score=0.75
        )
        for name, kind in names
    ]
    held = tuple((intent, 0.9) for intent in intents or (Intent.STATEMENT,))
    return Reading(names=tuple(spans), intents=held, rewrite=Rewrite(text=text))


async def read(text: str, *names: tuple[str, EntitySubtype | None], known: tuple[str, ...] = ()) -> list[Mention]:
    scripted = FakeReader(scripted={text: reading(text, *names)})
    return list((await extract(ReadingExtractor(scripted), text, *known)).mentions)


async def test_names_their_types_and_their_confidence_are_the_readers() -> None:
    [name] = await read("阿土伯退休了。", ("阿土伯", PERSON))
    assert (name.text, name.subtype, name.confidence, name.source) == ("阿土伯", PERSON, 0.75, "reader.person")
    assert name.level is MentionLevel.LONG_TERM


async def test_a_label_that_is_no_type_of_entity_is_no_mention() -> None:
    assert await read("帽子三月很好看", ("三月", None)) == []


@pytest.mark.parametrize("text", NOTHING_LASTING)
async def test_what_the_reader_does_not_name_is_no_entity(extractor: ReadingExtractor, text: str) -> None:
    mentions = (await extract(extractor, text)).mentions
    assert [mention for mention in mentions if mention.level is MentionLevel.LONG_TERM] == []


async def test_a_name_with_the_form_of_an_identifier_is_as_sure_as_one_and_of_the_readers_type() -> None:
    [name] = await read("RM05-008 到貨了。", ("RM05-008", PRODUCT))
    assert (name.text, name.subtype, name.confidence, name.source) == ("RM05-008", PRODUCT, 0.85, "reader.product")


@pytest.mark.parametrize(("text", "code"), CODES)
async def test_identifiers_are_found_by_their_form(text: str, code: str) -> None:
    [mention] = await read(text)
    assert (mention.text, mention.subtype, mention.source) == (code, CODE, "code.form")


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("我開 Model X5 上班", ("Model X5", PRODUCT), ["Model X5"]),
        ("料號 RM05-008 缺貨", ("RM05", PRODUCT), ["RM05-008"]),
        ("RTX4090 很貴", ("RTX4090", PRODUCT), ["RTX4090"]),
    ],
)
async def test_of_a_name_and_an_identifier_the_longer_wins(
    text: str, name: tuple[str, EntitySubtype], found: list[str]
) -> None:
    assert [mention.text for mention in await read(text, name)] == found


async def test_a_name_wins_over_an_identifier_of_the_same_span() -> None:
    [mention] = await read("RTX4090 很貴", ("RTX4090", PRODUCT))
    assert mention.subtype is PRODUCT


@pytest.mark.parametrize(("text", "expected"), TIME_AND_EVENT)
async def test_time_and_event_words_stay_in_the_session(
    extractor: ReadingExtractor, text: str, expected: list[str]
) -> None:
    mentions = [mention for mention in (await extract(extractor, text)).mentions if mention.text in expected]
    assert [mention.text for mention in mentions] == expected
    assert all(mention.level is MentionLevel.SESSION and mention.source.startswith("deixis.") for mention in mentions)


@pytest.mark.parametrize(("text", "word"), POINTING)
async def test_pronouns_stay_in_the_session_and_say_what_they_are(
    extractor: ReadingExtractor, text: str, word: str
) -> None:
    (mention,) = [mention for mention in (await extract(extractor, text)).mentions if mention.text == word]
    assert (mention.level, mention.source) == (MentionLevel.SESSION, "deixis.pronoun")


@pytest.mark.parametrize("text", ["吉他課", "其他的", "小明天天來", "說明天文學", "當今年輕人"])
async def test_words_that_merely_contain_an_l1_word_are_none(extractor: ReadingExtractor, text: str) -> None:
    mentions = (await extract(extractor, text)).mentions
    assert not [mention for mention in mentions if mention.level is MentionLevel.SESSION]


async def test_a_name_wins_over_a_time_word_in_it() -> None:
    assert [mention.text for mention in await read("我們去明天見咖啡", ("明天見咖啡", PLACE))] == ["明天見咖啡"]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
@pytest.mark.parametrize("template", ["我們用{}。", "請問{}是什麼？", "We use {} here.", "{}"])
async def test_every_seed_of_the_specification_is_found_everywhere(
    extractor: ReadingExtractor, seed: Seed, template: str
) -> None:
    mentions = (await extract(extractor, template.format(seed.name))).mentions
    (mention,) = [mention for mention in mentions if mention.source == "seed"]
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
async def test_known_names_are_found_whatever_their_script_width_case_and_spacing(
    extractor: ReadingExtractor, text: str, known: str, span: str
) -> None:
    mentions = (await extract(extractor, text, known)).mentions
    mention = next(mention for mention in mentions if mention.source == "known")
    assert mention.text == span == text[mention.start : mention.end]
    assert mention.confidence == 1.0


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("AI-Box 很好", "AI"),
        ("Anan called", "Ana"),
        ("他是大明星", "大明"),
        ("v2.3.10", "v2.3.1"),
        ("mm-agent2", "mm-agent"),
    ],
)
async def test_known_names_inside_other_words_are_not_found(extractor: ReadingExtractor, text: str, known: str) -> None:
    assert "known" not in {mention.source for mention in (await extract(extractor, text, known)).mentions}


async def test_a_known_name_wins_over_the_reader_and_learns_its_subtype_from_it() -> None:
    [mention] = await read("我在看流浪地球", ("流浪地球", WORK), known=("流浪地球",))
    assert (mention.source, mention.subtype) == ("known", WORK)
    [mention] = await read("王小明來了", ("王小", PERSON), known=("王小明",))
    assert (mention.text, mention.subtype) == ("王小明", None)


async def test_a_longer_name_of_the_reader_wins_over_a_known_one_inside_it() -> None:
    text = "iPhone 15 Pro 到貨"
    name = TaggedSpan(start=0, end=13, label="product", subtype=PRODUCT, score=0.9)
    for score, found in ((0.9, "iPhone 15 Pro"), (0.6, "iPhone 15")):
        names = (name.model_copy(update={"score": score}),)
        reader = FakeReader(scripted={text: Reading(names=names, rewrite=Rewrite(text=text))})
        [mention] = (await extract(ReadingExtractor(reader), text, "iPhone 15")).mentions
        assert mention.text == found


async def test_a_known_name_inside_a_chinese_word_counts_where_the_reader_finds_a_name() -> None:
    text = "小明星星都認得"
    assert [mention.text for mention in await read(text, known=("小明",))] == []
    assert [mention.text for mention in await read(text, ("小明", PERSON), known=("小明",))] == ["小明"]


async def test_of_two_given_names_the_longer_wins(extractor: ReadingExtractor) -> None:
    mentions = (await extract(extractor, "宏康 HCI 的單子", "宏康")).mentions
    assert [mention.text for mention in mentions] == ["宏康 HCI"]


async def test_names_in_questions_are_less_sure_than_in_statements(extractor: ReadingExtractor) -> None:
    async def confidence(text: str) -> float:
        mentions = (await extract(extractor, text)).mentions
        return next(mention.confidence for mention in mentions if mention.text == "王小明")

    assert await confidence("你認識王小明嗎？") < await confidence("我認識王小明。")
    assert await confidence("王小明來了。他好嗎？") == await confidence("我認識王小明。")


async def test_what_only_looks_like_a_question_keeps_its_confidence() -> None:
    text = "誰是阿土伯我都記得"
    [name] = [mention for mention in await read(text, ("阿土伯", PERSON)) if mention.subtype]
    assert name.confidence == 0.75


async def test_intents_facts_and_the_rewrite_are_passed_on() -> None:
    text = "它在台中"
    fact = StatedFact(predicate="located_in", object=FactSpan(text="台中", start=2, end=4))
    rewrite = Rewrite(action=Action.REWRITE, text="AI-Box在台中", confidence=0.9)
    intents = ((Intent.STATEMENT, 0.9), (Intent.CORRECTION, 0.6))
    reader = FakeReader(scripted={text: Reading(intents=intents, facts=(fact,), rewrite=rewrite)})
    context = Context(turns=("AI-Box 到了",))
    [alone] = await ReadingExtractor(reader).extract([text])
    [in_context] = await ReadingExtractor(reader).extract([text], contexts=[context])
    assert in_context.intents == alone.intents == (Intent.STATEMENT, Intent.CORRECTION)
    assert in_context.facts == (fact,)
    assert (in_context.rewrite, alone.rewrite) == (rewrite, None)
    assert [request.context for request in reader.requests] == [Context(), Context(), context]


async def test_what_is_to_be_remembered_is_found() -> None:
    [intent] = (await extract(ReadingExtractor(FakeReader()), "幫我記住，車位是 B2-17")).remember
    assert intent.content == "車位是 B2-17"


async def test_without_the_reader_known_names_and_identifiers_are_found_and_it_says_so() -> None:
    extractor = ReadingExtractor(FakeReader(error=ModelUnavailable("corrupt")))
    with structlog.testing.capture_logs() as logs:
        found = await extract(extractor, "Alice 今天把 RM05-008 放進 Redis 旁的老地方", "老地方")
    names = [(mention.text, mention.source) for mention in found.mentions]
    assert names == [
        ("今天", "deixis.time"),
        ("RM05-008", "code.form"),
        ("Redis", "seed"),
        ("老地方", "known"),
    ]
    assert (found.degraded, found.intents, found.rewrite) == (("reader",), (), None)
    assert extractor.failures == 1
    assert [line["event"] for line in logs] == ["extraction_degraded"]


async def test_a_full_queue_refuses_and_nothing_is_extracted_without_the_reader() -> None:
    with pytest.raises(Overloaded):
        await ReadingExtractor(FakeReader(error=Overloaded("full"))).extract(["Alice"])


async def test_one_text_goes_before_many_and_many_are_one_call() -> None:
    reader = FakeReader()
    extractor = ReadingExtractor(reader)
    await extractor.extract(["a"])
    await extractor.extract(["a", "b"])
    assert reader.priorities == [Priority.INTERACTIVE, Priority.BATCH, Priority.BATCH]


async def test_each_text_has_its_own_known_names_and_results_keep_the_order(extractor: ReadingExtractor) -> None:
    results = await extractor.extract(["藍鯨案", "藍鯨案", ""], known=[["藍鯨案"], [], []])
    assert [mention.source for mention in results[0].mentions] == ["known"]
    assert "known" not in {mention.source for mention in results[1].mentions}
    assert results[2].mentions == ()


async def test_known_names_or_contexts_for_another_number_of_texts_are_refused(extractor: ReadingExtractor) -> None:
    with pytest.raises(ValueError, match="`known` has 1 items for 2 texts"):
        await extractor.extract(["a", "b"], known=[[]])
    with pytest.raises(ValueError, match="`contexts` has 1 items for 2 texts"):
        await extractor.extract(["a", "b"], contexts=[Context()])


class TakesRequestsForQuestions(FakeReader):
    """Behind a conversation it reads every request as one more question."""

    @override
    async def read(
        self, requests: Sequence[ReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[Reading]:
        readings = await super().read(requests, priority=priority)
        question = ((Intent.QUESTION, 0.9),)
        return [
            reading.model_copy(update={"intents": question, "kind": MessageKind.MEMORY})
            if request.context.turns
            else reading
            for request, reading in zip(requests, readings, strict=True)
        ]


@pytest.mark.parametrize(
    ("text", "intents"),
    [
        ("Forget my locker code", {Intent.FORGET, Intent.QUESTION}),
        ("忘掉我的密碼", {Intent.FORGET, Intent.QUESTION}),
        ("Where is my locker?", {Intent.QUESTION}),
    ],
)
async def test_a_request_to_forget_is_one_whatever_was_talked_about_before(text: str, intents: set[Intent]) -> None:
    extractor = ReadingExtractor(TakesRequestsForQuestions())
    questions = Context(turns=("What car do I drive?", "Where does she work?"))
    [found, alone] = await extractor.extract([text, text], contexts=[questions, Context()])
    assert set(found.intents) == intents
    assert Intent.FORGET in alone.intents or Intent.FORGET not in intents


@pytest.mark.parametrize("surely", [True, False])
async def test_what_a_message_asks_by_itself_holds_in_its_conversation(surely: bool) -> None:
    text = "那段不算"
    reading = stated(text, intents="statement, forget", overview=True, surely=surely)
    extractor = ReadingExtractor(TakesRequestsForQuestions(scripted={text: reading}))
    [alone, behind] = await extractor.extract([text, text], contexts=[Context(), Context(turns=("What now?",))])
    assert (alone.intents, behind.intents) == (
        (Intent.FORGET, Intent.STATEMENT),
        (Intent.FORGET, Intent.QUESTION),
    )
    assert [(found.overview, found.forgets_surely) for found in (alone, behind)] == [(True, surely)] * 2


async def test_what_a_message_is_for_is_read_in_its_conversation() -> None:
    text = "那爸爸的呢"
    by_itself = Reading(kind=MessageKind.GENERAL, rewrite=Rewrite(text=text))
    extractor = ReadingExtractor(TakesRequestsForQuestions(scripted={text: by_itself}))
    context = Context(turns=("媽媽的生日是哪天？", "5 月 4 日。"))
    [alone, behind] = await extractor.extract([text, text], contexts=[Context(), context])
    assert (alone.kind, behind.kind) == (MessageKind.GENERAL, MessageKind.MEMORY)
