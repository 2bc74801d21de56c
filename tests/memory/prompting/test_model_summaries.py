"""Summaries that a language model writes: they say nothing that the facts do not."""

import json

import pytest

from memory.extraction.extractor import ReadingExtractor
from memory.language.written import Language
from memory.ports.models.summaries import SourceSentence, SummaryRequest
from memory.prompting.checked_model import CheckedModel
from memory.prompting.summaries import ModelWriter
from memory.values.errors import ModelUnavailable
from testing.fakes.chat_model import FakeChatModel
from testing.fakes.reader import FakeReader

ENGLISH = (
    "The user likes jazz.",
    "The user lives in Leeds.",
    "The user's rent is 1,600 pounds.",
    "In the past: The user lived in 臺北.",
)
CHINESE = ("使用者住在三峽。", "使用者在 Acme 上班。", "使用者的房租是 16000 元。")


def request(*sentences: str, language: Language = Language.ENGLISH, max_sentences: int = 3) -> SummaryRequest:
    return SummaryRequest(
        user_id="ann",
        category="facts",
        language=language,
        sentences=tuple(SourceSentence(text=text, weight=0.5) for text in sentences),
        previous="The user loves opera.",
        max_sentences=max_sentences,
    )


async def write(model: FakeChatModel, asked: SummaryRequest, *, names: bool = True) -> str:
    extractor = ReadingExtractor(FakeReader()) if names else None
    return await ModelWriter(CheckedModel(model), extractor=extractor).write(asked)


def said(text: str) -> str:
    return json.dumps({"summary": text}, ensure_ascii=False)


@pytest.mark.parametrize(
    "text",
    [
        "The user lives in Leeds, pays 1600 pounds of rent, and likes jazz.",
        "A jazz fan in Leeds, once of 臺北. Rent: £1,600.",
        "I see: the user's home is Leeds.",
    ],
)
async def test_a_summary_that_says_what_the_facts_say_is_taken(text: str) -> None:
    model = FakeChatModel(said(text))
    assert await write(model, request(*ENGLISH)) == text
    assert "opera" not in str(model.requests), "what was said before may be forgotten since"


async def test_a_chinese_summary_may_use_the_other_script_and_is_one_line() -> None:
    asked = request(*CHINESE, language=Language.TRADITIONAL_CHINESE)
    assert (
        await write(FakeChatModel(said("使用者住在三峡，\n在 Acme 上班。")), asked) == "使用者住在三峡， 在 Acme 上班。"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The user lives in Leeds and works at Acme.", "Acme"),
        ("The user pays 1,700 pounds.", "1700"),
        ("The user likes jazz. The user likes it. Really. A lot.", "too long"),
        ("The user likes jazz " * 20, "too long"),
        ("The user lived in 高雄.", "高雄"),
        ("Somebody enjoys opera and cooking.", "Most of its words"),
        ("  ", "empty"),
    ],
)
async def test_what_the_facts_do_not_say_is_refused_and_asked_for_again(text: str, reason: str) -> None:
    model = FakeChatModel(said(text), said("The user likes jazz."))
    assert await write(model, request(*ENGLISH), names=False) == "The user likes jazz."
    assert reason in model.requests[1].messages[-1].content


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("使用者住在三峽，在 Google 上班。", "Google"),
        ("使用者三十五歲，住在三峽。", "三十五"),
        ("The user lives in 三峽.", "lives"),
        ("The user has a job.", "Traditional Chinese"),
    ],
)
async def test_so_it_is_in_chinese(text: str, reason: str) -> None:
    model = FakeChatModel(said(text), said("使用者住在三峽。"))
    asked = request(*CHINESE, language=Language.TRADITIONAL_CHINESE)
    assert await write(model, asked, names=False) == "使用者住在三峽。"
    assert reason in model.requests[1].messages[-1].content


async def test_names_are_found_by_the_reader_where_spelling_does_not_tell() -> None:
    model = FakeChatModel(said("使用者住在三峽，認識王小明。"), said("使用者住在三峽。"))
    asked = request(*CHINESE, language=Language.TRADITIONAL_CHINESE)
    assert await write(model, asked) == "使用者住在三峽。"
    assert "王小明" in model.requests[1].messages[-1].content


async def test_after_the_last_wrong_answer_the_model_counts_as_away() -> None:
    checked = CheckedModel(FakeChatModel(otherwise=lambda asked: said("The user lives in Paris.")))
    with pytest.raises(ModelUnavailable):
        await ModelWriter(checked).write(request(*ENGLISH))
    assert checked.figures() == {"summaries_refused": 2, "summaries_missing": 1}


async def test_another_model_writes_all_summaries_again() -> None:
    first, second = (ModelWriter(CheckedModel(FakeChatModel(model_id=name))).writer_id for name in ("a", "b"))
    assert first != second
