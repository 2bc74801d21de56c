"""Whatever the text: no error, exact offsets, no overlaps, linear time."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.extraction.comparable_text import ComparableText
from memory.extraction.extractor import ReadingExtractor
from memory.language.tokens import cut
from memory.values.text import fold, normalise
from memory.values.understanding.extractions import Extraction
from testing.fakes.reader import FakeReader

EXTRACTOR = ReadingExtractor(FakeReader())


def extract(text: str, known: Sequence[str] = ()) -> Extraction:
    [extraction] = asyncio.run(EXTRACTOR.extract([text], known=[known]))
    return extraction


PIECES = st.sampled_from(
    [
        "王小明",
        "台積電",
        "宏康",
        "HCI",
        "AI-Box",
        "《流浪地球》",
        "「好的」",
        "幫我記住",
        "这很重要",
        "今天",
        "上次說的",
        "RM05-008",
        "v2.3.1",
        "Room",
        "101",
        "Dr.",
        "J.",
        "K.",
        "O'Keefe",
        "New",
        "York",
        "，",
        "。",
        "？",
        "·",
        "😀",
        "👨\u200d👩\u200d👧",
        "́",
        "\u3000",
        "Ａ１",
        "(",
        '"',
        "“",
        "」",
        "》",
        "\n",
        "\x00",
        "\u200b",
        "ﷺ",
        "ß",
        "İ",
        "Don't",
        "forget:",
        "@",
        "https://",
        "a@b.c",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join), st.lists(PIECES, max_size=12).map(" ".join)
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)  # lone surrogates too


@settings(max_examples=400)
@given(TEXTS, st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=3))
def test_mentions_are_exact_ordered_and_never_overlap(text: str, known: list[str]) -> None:
    extraction = extract(text, known)
    position = 0
    for mention in extraction.mentions:
        assert text[mention.start : mention.end] == mention.text != ""
        assert position <= mention.start < mention.end <= len(text)
        assert 0.0 < mention.confidence <= 1.0
        assert mention.source
        position = mention.end
    for intent in extraction.remember:
        assert 0 <= intent.content_start <= intent.content_end <= len(text)
        assert text[intent.content_start : intent.content_end] == intent.content
        assert intent.trigger in text


NAMES = st.text("宏康臺灣王小明ABab12ＡＢａ１-. \u3000", min_size=1, max_size=8).filter(
    lambda name: normalise(name).strip()
)


@settings(max_examples=200)
@given(NAMES)
def test_a_name_is_found_in_itself_and_in_its_normalised_form(name: str) -> None:
    for text in (name, normalise(name), f"，{name}。"):
        assert [normalise(text[start:end]) for start, end in ComparableText(text).find(name)] == [normalise(name)]


@settings(max_examples=150)
@given(ANY_TEXT)
def test_no_text_at_all_makes_it_raise_and_folding_keeps_the_length(text: str) -> None:
    extract(text)
    assert len(fold(text)) == len(text)


@settings(max_examples=150)
@given(TEXTS)
def test_words_cover_a_text_without_gaps(text: str) -> None:
    words = cut(fold(text))
    assert "".join(word.text for word in words) in ("", fold(text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("piece", "size"),
    [(piece, 1_000_000) for piece in ("a", "「", "《", "a-", " ")]
    + [
        (piece, 100_000)
        for piece in (
            '"',
            "王",
            "台北",
            "1",
            "A b ",
            "J.",
            "@",
            "·",
            "阿·",
            "。",
            "記住這個",
            "don't forget ",
            "什麼",
            "\u0301",
        )
    ],
)
def test_long_monotonous_texts_are_read_to_their_end(piece: str, size: int) -> None:
    """No rule may look at the rest of the text again at each place: that would take hours here, not a second."""
    text = piece * (size // len(piece))
    for mention in extract(text).mentions[:100]:
        assert text[mention.start : mention.end] == mention.text
