import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.knowledge.chunking.chunker import chunk_document
from memory.ports.knowledge import SentenceSimilarity
from memory.values.documents.knowledge import Block, BlockKind, Chunk, ChunkingConfig, ChunkingStrategy, ParsedDocument
from memory.values.errors import InvalidChunkSize

FIXED, RECURSIVE, SEMANTIC = ChunkingStrategy
PARAGRAPH, HEADING, TABLE, CODE, LIST = BlockKind
TABLE_TEXT = "| 型號 | 價格 |\n| --- | --- |\n" + "\n".join(f"| AI-Box {n} | {n}00 |" for n in range(8))


class WordsInCommon(SentenceSimilarity):
    """The share of characters that two sentences have in common."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def of_neighbours(self, sentences: Sequence[str]) -> list[float]:
        self.asked.append(list(sentences))
        sets = [set(sentence) for sentence in sentences]
        return [len(one & other) / max(1, len(one | other)) for one, other in pairwise(sets)]


async def _chunks(
    *blocks: Block | str,
    strategy: ChunkingStrategy = RECURSIVE,
    size: int = 500,
    overlap: int = 0,
    newlines: bool = True,
) -> list[Chunk]:
    whole = tuple(Block(text=block) if isinstance(block, str) else block for block in blocks)
    document = ParsedDocument(media_type="text/plain", blocks=whole)
    config = ChunkingConfig(strategy=strategy, chunk_size=size, overlap=overlap, preserve_newlines=newlines)
    return await chunk_document(document, config, similarity=WordsInCommon())


async def _texts(*blocks: Block | str, **options: object) -> list[str]:
    return [chunk.text for chunk in await _chunks(*blocks, **options)]  # type: ignore[arg-type]


def _bare(text: str) -> str:
    return re.sub(r"\s", "", text)


_TEXT = st.text(st.sampled_from(list("知識庫。！？；…」』”，、ab Dr. 1?!|-\n\t\u3000é\u0301👩\u200d👧")), max_size=80)
_HEADINGS = st.lists(st.sampled_from("甲乙"), max_size=2).map(tuple)
_PROSE = st.builds(Block, text=_TEXT, kind=st.sampled_from([PARAGRAPH, HEADING, LIST, CODE]), headings=_HEADINGS)
_ROW = st.lists(st.text(st.sampled_from("表格ab 。"), max_size=9), min_size=2, max_size=2).map(
    lambda cells: f"| {' | '.join(cells)} |"
)
_TABLES = st.lists(_ROW, min_size=1, max_size=9).map(
    lambda rows: Block(text="\n".join([rows[0], "| --- | --- |", *rows[1:]]), kind=TABLE)
)
_BLOCKS = st.lists(_PROSE | _TABLES, max_size=6)


@st.composite
def _configs(draw: st.DrawFn) -> ChunkingConfig:
    size = draw(st.integers(1, 60) | st.integers(1, 100_000))
    return ChunkingConfig(
        strategy=draw(st.sampled_from(ChunkingStrategy)),
        chunk_size=size,
        overlap=draw(st.integers(0, size // 2)),
        preserve_newlines=draw(st.booleans()),
    )


@settings(max_examples=400)
@given(_BLOCKS, _configs())
async def test_no_text_is_lost_and_only_the_overlap_is_doubled(blocks: list[Block], config: ChunkingConfig) -> None:
    document = ParsedDocument(media_type="text/plain", blocks=tuple(blocks))
    chunks = await chunk_document(document, config, similarity=WordsInCommon())
    assert _bare("".join(chunk.text[chunk.repeated :] for chunk in chunks)) == _bare("".join(b.text for b in blocks))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text.strip() and len(chunk.text) <= config.chunk_size for chunk in chunks)
    before = ""
    for chunk in chunks:
        repeated = chunk.text[: chunk.repeated]
        headers = [block.text for block in blocks if block.kind is TABLE and chunk.kind is TABLE]
        is_overlap = len(repeated) <= config.overlap and _bare(before).endswith(_bare(repeated))
        assert is_overlap or any(header.startswith(repeated) for header in headers)
        before += chunk.text[chunk.repeated :]


@settings(max_examples=200)
@given(_BLOCKS, _configs())
async def test_a_table_or_code_that_fits_stays_whole(blocks: list[Block], config: ChunkingConfig) -> None:
    document = ParsedDocument(media_type="text/plain", blocks=tuple(blocks))
    texts = [chunk.text for chunk in await chunk_document(document, config, similarity=WordsInCommon())]
    for block in blocks:
        text = block.text.strip("\n").rstrip()
        if block.kind in (TABLE, CODE) and len(text) <= config.chunk_size:
            assert any(text in chunk or text.strip() == chunk for chunk in texts) or not text.strip()


@pytest.mark.parametrize("strategy", ChunkingStrategy)
async def test_what_fits_is_one_chunk(strategy: ChunkingStrategy) -> None:
    assert await _texts("今天下雨。", "I stay home.", strategy=strategy) == ["今天下雨。\n\nI stay home."]
    assert await _texts("", " \n", strategy=strategy) == []


async def test_chinese_sentences_end_at_their_marks_and_closing_quotes() -> None:
    text = "他說：「天氣真好！」我問：『要出門嗎？』」走吧；快點……好。"
    assert await _texts(text, size=12) == ["他說：「天氣真好！」", "我問：『要出門嗎？』」", "走吧；快點……好。"]


async def test_english_sentences_do_not_end_at_abbreviations() -> None:
    text = "Dr. Lin met J. Smith, i.e. the owner. They paid 3.5 million, see Fig. 2 and No. 5. Done!"
    sentences = ["Dr. Lin met J. Smith, i.e. the owner.", "They paid 3.5 million, see Fig. 2 and No. 5.", "Done!"]
    assert await _texts(text, size=45) == sentences


async def test_recursive_cuts_at_the_strongest_boundary_that_is_enough() -> None:
    first, second = "一二三。四五六。", "甲乙丙，丁戊己。庚辛。"
    assert await _texts(f"{first}\n\n{second}", size=12) == [first, second]
    assert await _texts(first, second, size=9) == [first, "甲乙丙，丁戊己。", "庚辛。"]
    assert await _texts(second, size=6) == ["甲乙丙，", "丁戊己。", "庚辛。"]
    assert await _texts("word another", size=8) == ["word", "another"]
    assert await _texts("一二三四五", size=2) == ["一二", "三四", "五"]


async def test_fixed_cuts_at_the_length_with_the_full_overlap() -> None:
    chunks = await _chunks("一二三四五六七八九十", strategy=FIXED, size=4, overlap=2)
    assert [(chunk.text, chunk.repeated) for chunk in chunks] == [
        ("一二三四", 0), ("三四五六", 2), ("五六七八", 2), ("七八九十", 2)
    ]  # fmt: skip


async def test_no_shown_character_is_parted() -> None:
    assert await _texts("ae\u0301b", strategy=FIXED, size=2) == ["a", "e\u0301", "b"]
    assert await _texts("x👩\u200d👧y", size=3) == ["x", "👩\u200d👧", "y"]


async def test_the_overlap_begins_at_a_sentence_where_one_is_near() -> None:
    text = "第一句話說完了。第二句話說完了。第三句話說完了。第四句話說完了。"
    chunks = await _chunks(text, size=24, overlap=10)
    assert [(chunk.text, chunk.repeated) for chunk in chunks] == [(text[:24], 0), (text[16:], 8)]


async def test_semantic_cuts_where_the_similarity_of_neighbours_falls() -> None:
    cats = ["貓喜歡睡覺。", "貓喜歡吃魚。", "貓喜歡玩球。", "貓喜歡魚和球。"]
    trains = ["火車七點開。", "火車八點到。", "火車九點開。", "火車八點開。"]
    assert await _texts("".join(cats + trains), strategy=SEMANTIC, size=60) == ["".join(cats), "".join(trains)]


async def test_semantic_asks_once_for_all_sentences_of_a_document() -> None:
    similarity = WordsInCommon()
    heading = Block(text="甲", kind=HEADING)
    below = Block(text="一。二。", headings=("甲",))
    document = ParsedDocument(media_type="text/plain", blocks=(Block(text="Zero. One."), heading, below))
    await chunk_document(document, ChunkingConfig(strategy=SEMANTIC), similarity=similarity)
    assert similarity.asked == [["Zero.", "One.", "甲\n\n一。", "二。"]]
    with pytest.raises(ValueError, match="semantic"):
        await chunk_document(document, ChunkingConfig(strategy=SEMANTIC), similarity=None)


@pytest.mark.parametrize("strategy", ChunkingStrategy)
async def test_a_table_longer_than_a_chunk_is_cut_at_rows_and_repeats_its_header(strategy: ChunkingStrategy) -> None:
    table = Block(text=TABLE_TEXT, kind=TABLE, page=3, headings=("價目",))
    chunks = await _chunks("前言", table, "後記", size=80, overlap=10, strategy=strategy)
    header = "| 型號 | 價格 |\n| --- | --- |\n"
    tables = [chunk for chunk in chunks if chunk.kind is TABLE]
    assert len(tables) > 1
    for chunk in tables:
        assert chunk.text.startswith(header)
        assert all(row.startswith("| ") and row.endswith(" |") for row in chunk.text.splitlines())
        assert (chunk.page, chunk.headings) == (3, ("價目",))
    assert [chunk.repeated for chunk in tables] == [0, *[len(header)] * (len(tables) - 1)]
    rows = "".join(f"{chunk.text[len(header) :]}\n" for chunk in tables)
    assert header + rows == TABLE_TEXT + "\n"


async def test_code_longer_than_a_chunk_is_cut_at_lines_and_keeps_its_indentation() -> None:
    code = "def one():\n    return 1\n\ndef two():\n    return 2"
    block = Block(text=code, kind=CODE)
    assert await _texts(block, size=25) == ["def one():\n    return 1", "def two():\n    return 2"]
    lines = ["def one():", "    return 1", "def two():", "    return 2"]
    assert await _texts(block, size=15, newlines=False) == lines


async def test_headings_go_with_the_text_below_and_chunks_stay_under_one_path() -> None:
    chunks = await _chunks(
        Block(text="手冊", kind=HEADING, page=1),
        Block(text="安裝", kind=HEADING, page=1, headings=("手冊",)),
        Block(text="插上電源。", page=2, headings=("手冊", "安裝")),
        Block(text="使用", kind=HEADING, page=2, headings=("手冊",)),
        Block(text="附錄", kind=HEADING, page=3, headings=("手冊",)),
    )
    assert [(chunk.text, chunk.page, chunk.headings, chunk.kind) for chunk in chunks] == [
        ("手冊\n\n安裝\n\n插上電源。", 1, ("手冊", "安裝"), PARAGRAPH),
        ("使用", 2, ("手冊", "使用"), HEADING),
        ("附錄", 3, ("手冊", "附錄"), HEADING),
    ]


async def test_the_page_is_that_of_the_first_new_character() -> None:
    chunks = await _chunks(Block(text="一二三四。", page=1), Block(text="五六七八。九十。", page=2), size=12, overlap=6)
    assert [(chunk.text, chunk.repeated, chunk.page) for chunk in chunks] == [
        ("一二三四。\n\n五六七八。", 0, 1),
        ("五六七八。九十。", 5, 2),
    ]


async def test_line_breaks_of_prose_become_spaces_where_they_are_not_preserved() -> None:
    code = Block(text="a\nb", kind=CODE)
    assert await _texts("知識\n庫 has\n  two", "parts", code, newlines=False) == ["知識庫 has two parts\n\na\nb"]
    assert await _texts("知識\n庫", "parts") == ["知識\n庫\n\nparts"]


@pytest.mark.parametrize(
    ("fields", "field", "allowed"),
    [
        ({"chunk_size": 0}, "chunk_size", "1 to 100000"),
        ({"chunk_size": 100_001}, "chunk_size", "1 to 100000"),
        ({"overlap": -1}, "overlap", "0 to 250, half of chunk_size"),
        ({"chunk_size": 9, "overlap": 5}, "overlap", "0 to 4, half of chunk_size"),
    ],
)
def test_a_size_out_of_range_names_the_field_and_its_range(fields: dict[str, int], field: str, allowed: str) -> None:
    with pytest.raises(InvalidChunkSize) as caught:
        ChunkingConfig.model_validate(fields)
    assert (caught.value.field, caught.value.allowed) == (field, allowed)
    assert allowed in caught.value.message


@pytest.mark.parametrize(
    "fields", [{"chunk_size": 1}, {"chunk_size": 100_000, "overlap": 50_000}, {"chunk_size": 9, "overlap": 4}]
)
def test_sizes_within_the_range_are_taken(fields: dict[str, int]) -> None:
    config = ChunkingConfig.model_validate(fields)
    assert config.overlap == fields.get("overlap", config.chunk_size // 10)
