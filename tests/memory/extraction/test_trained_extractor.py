"""The tagger's names joined with the rules: who wins an overlap, what a question costs, what happens without it."""

from collections.abc import Sequence

import pytest
import structlog.testing

from memory.extraction.extractor import RuleExtractor
from memory.extraction.trained_extractor import TrainedExtractor
from memory.ports.language import Priority, Tagger
from memory.values.errors import ModelUnavailable, Overloaded
from memory.values.extractions import Extraction
from memory.values.mentions import EntitySubtype, MentionLevel, TaggedSpan

PERSON, ORGANISATION, PRODUCT = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PRODUCT


class ListedTagger(Tagger):
    """Finds the names that a test lists; fails with `error` where there is one."""

    def __init__(self, **names: EntitySubtype) -> None:
        self._names = names
        self.calls: list[tuple[list[str], Priority]] = []
        self.error: Exception | None = None

    async def tag(
        self, texts: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[tuple[TaggedSpan, ...]]:
        self.calls.append((list(texts), priority))
        if self.error is not None:
            raise self.error
        return [tuple(self._spans(text)) for text in texts]

    def _spans(self, text: str) -> list[TaggedSpan]:
        return [
            TaggedSpan(
                start=text.index(name), end=text.index(name) + len(name), label=subtype, subtype=subtype, score=0.75
            )
            for name, subtype in self._names.items()
            if name in text
        ]


async def extract(tagger: Tagger, text: str, *known: str) -> Extraction:
    [extraction] = await TrainedExtractor(tagger=tagger, rules=RuleExtractor()).extract([text], known=[known])
    return extraction


async def test_names_their_types_and_their_confidence_are_the_taggers() -> None:
    text = "阿土伯今天去北滬開會。"
    [name] = [
        mention
        for mention in (await extract(ListedTagger(阿土伯=PERSON), text)).mentions
        if mention.level is MentionLevel.LONG_TERM
    ]
    assert (name.text, name.subtype, name.confidence, name.source) == ("阿土伯", PERSON, 0.75, "tagger.person")


async def test_what_the_tagger_does_not_find_the_rules_for_names_do_not_find_either() -> None:
    text = "Alice works at Acme Corp."
    assert [mention.text for mention in (await RuleExtractor().extract([text]))[0].mentions] != []
    assert (await extract(ListedTagger(), text)).mentions == ()


async def test_names_that_are_introduced_and_forms_of_address_are_found_without_the_tagger() -> None:
    mentions = (await extract(ListedTagger(小美=PERSON), "我女朋友叫小美，養了一隻狗叫旺財，老張也喜歡牠。")).mentions
    names = [(mention.text, mention.source) for mention in mentions if mention.level is MentionLevel.LONG_TERM]
    assert names == [("小美", "tagger.person"), ("旺財", "han.introduced"), ("老張", "han.nickname")]


async def test_codes_are_the_rules() -> None:
    tagger = ListedTagger(**{"0912-345-678": EntitySubtype.CODE, "RM05": EntitySubtype.CODE})
    mentions = (await extract(tagger, "電話 0912-345-678，料號 RM05-008")).mentions
    assert [(mention.text, mention.source) for mention in mentions] == [("RM05-008", "code.mixed")]


async def test_known_names_codes_titles_and_time_words_win_an_overlap() -> None:
    tagger = ListedTagger(
        **{"明天見咖啡": ORGANISATION, "RM05-008機": PRODUCT, "三體": EntitySubtype.WORK, "王小": PERSON}
    )
    text = "王小明明天帶 RM05-008 和《三體》來。"
    sources = {mention.text: mention.source for mention in (await extract(tagger, text, "王小明")).mentions}
    assert sources["王小明"] == "known"
    assert sources["RM05-008"] == "code.mixed"
    assert sources["三體"].startswith("quoted")
    assert sources["明天"] == "deixis.time"


async def test_a_label_that_is_no_type_of_entity_is_no_mention() -> None:
    class UntypedTagger(ListedTagger):
        def _spans(self, text: str) -> list[TaggedSpan]:
            return [TaggedSpan(start=0, end=2, label="misc", score=0.9)]

    assert (await extract(UntypedTagger(), "帽子很好看")).mentions == ()


async def test_a_name_in_a_question_keeps_less_of_its_confidence() -> None:
    [stated] = (await extract(ListedTagger(阿土伯=PERSON), "阿土伯退休了。")).mentions
    [questioned] = (await extract(ListedTagger(阿土伯=PERSON), "誰是阿土伯？")).mentions
    assert questioned.confidence < stated.confidence


async def test_remember_intents_stay() -> None:
    assert (await extract(ListedTagger(), "幫我記住，車位是 B2-17")).remember != ()


@pytest.mark.parametrize("error", [ModelUnavailable("corrupt"), Overloaded("the tagger's queue is full")], ids=repr)
async def test_without_the_tagger_the_rules_answer_and_say_so(error: Exception) -> None:
    tagger = ListedTagger()
    tagger.error = error
    text = "Alice works at Acme Corp."
    extractor = TrainedExtractor(tagger=tagger, rules=RuleExtractor())
    with structlog.testing.capture_logs() as logs:
        [extraction] = await extractor.extract([text])
    [alone] = await RuleExtractor().extract([text])
    assert extraction.mentions == alone.mentions
    assert extraction.degraded == ("tagger",)
    assert extractor.failures == 1
    assert [line["event"] for line in logs] == ["extraction_degraded"]


async def test_one_text_goes_before_many() -> None:
    tagger = ListedTagger()
    extractor = TrainedExtractor(tagger=tagger, rules=RuleExtractor())
    await extractor.extract(["a"])
    await extractor.extract(["a", "b"])
    assert [priority for _, priority in tagger.calls] == [Priority.INTERACTIVE, Priority.BATCH]


async def test_a_list_of_known_names_for_each_text_is_asked_for() -> None:
    with pytest.raises(ValueError, match="one list a text"):
        await TrainedExtractor(tagger=ListedTagger(), rules=RuleExtractor()).extract(["a", "b"], known=[["x"]])
