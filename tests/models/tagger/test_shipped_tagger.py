"""The tagger that ships, joined with the rules, on the chat sentences that state what the rules find."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from memory.extraction.trained_extractor import TrainedExtractor
from models.tagger.tagger import BatchedTagger, TrainedTagger

from memory.extraction.extractor import RuleExtractor
from memory.values.extractions import Extraction
from memory.values.mentions import EntitySubtype, MentionLevel
from memory.values.text import to_simplified
from models.assets.weight_files import shipped_weight_file
from tests.memory.extraction.test_extractor import ENGLISH, NOTHING, SIMPLIFIED, TRADITIONAL

Names = Sequence[tuple[str, EntitySubtype | None]]

_PERSON, _ORGANISATION, _PLACE = EntitySubtype.PERSON, EntitySubtype.ORGANISATION, EntitySubtype.PLACE
_OTHERWISE: dict[str, Names] = {
    "我住在新北市中和區中山路": [("新北市中和區中山路", _PLACE)],
    "I met O'Keefe and Zoë in Paris.": [("O'Keefe", _PERSON), ("Zoë", _PERSON), ("Paris", _PLACE)],
    "We ate at Golden Wok.": [("Golden Wok", _ORGANISATION)],
    "Little Seoul is cheap.": [("Little Seoul", _PLACE)],
}
"""Where the joined extractor finds something else than the rules alone that is as right or better: an address as one
place, types that the rules do not know."""
_WRONG: dict[str, Names] = {"please call ibm and Foxconn": [("ibm", _ORGANISATION), ("Foxconn", _PERSON)]}
"""What it gets wrong: who is called is mostly a person, and nothing but the name says that Foxconn is none."""
_EXPECTED: dict[str, Names] = {
    **dict(TRADITIONAL + SIMPLIFIED + ENGLISH),
    **dict.fromkeys(NOTHING, ()),
    **_OTHERWISE,
    **_WRONG,
}


def test_both_scripts_are_read_alike(e5_folder: Path) -> None:
    text = "王小明說台積電的廠房在高雄橋頭，訂了《百年孤寂》。"
    tagger = TrainedTagger(shipped_weight_file("tagger"), e5_folder.parent, threads=1)
    traditional, simplified = tagger.tag([text, to_simplified(text)])
    assert [text[span.start : span.end] for span in traditional][:2] == ["王小明", "台積電"]
    assert [(span.start, span.end, span.label) for span in traditional] == [
        (span.start, span.end, span.label) for span in simplified
    ]


@pytest.fixture(scope="module")
def names_by_sentence(e5_folder: Path) -> dict[str, Names]:
    async def extract() -> list[Extraction]:
        tagger = BatchedTagger(TrainedTagger(shipped_weight_file("tagger"), e5_folder.parent, threads=1))
        extractions = await TrainedExtractor(tagger=tagger, rules=RuleExtractor()).extract(list(_EXPECTED))
        await tagger.model.close()
        return extractions

    extractions = asyncio.run(extract())
    assert not any(extraction.degraded for extraction in extractions)
    return dict(zip(_EXPECTED, map(_names, extractions), strict=True))


def _names(extraction: Extraction) -> Names:
    return [
        (mention.text, mention.subtype) for mention in extraction.mentions if mention.level is MentionLevel.LONG_TERM
    ]


@pytest.mark.parametrize("text", _EXPECTED)
def test_names_in_chat_are_found_with_their_subtype(names_by_sentence: dict[str, Names], text: str) -> None:
    assert names_by_sentence[text] == list(_EXPECTED[text])
