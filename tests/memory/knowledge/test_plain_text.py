"""Plain text and Markdown as documents."""

import pytest

from memory.knowledge.plain_text import PlainTextParser
from memory.values.errors import UnreadableDocumentError
from memory.values.knowledge import BlockKind

TEXT = "# 手冊\n\n## 保固\n保固期\n為兩年。\n\n```\ncode\n\nmore\n```\n## 運送 ##\n\n三天。\f第二頁。"


def test_headings_code_and_pages_are_kept() -> None:
    document = PlainTextParser().parse(TEXT.encode(), media_type="text/markdown; charset=utf-8", name="a.md")
    assert document.title == "手冊"
    assert [(block.kind, block.text, block.page, block.headings) for block in document.blocks] == [
        (BlockKind.HEADING, "手冊", 1, ()),
        (BlockKind.HEADING, "保固", 1, ("手冊",)),
        (BlockKind.PARAGRAPH, "保固期\n為兩年。", 1, ("手冊", "保固")),
        (BlockKind.CODE, "```\ncode\n\nmore\n```", 1, ("手冊", "保固")),
        (BlockKind.HEADING, "運送", 1, ("手冊",)),
        (BlockKind.PARAGRAPH, "三天。", 1, ("手冊", "運送")),
        (BlockKind.PARAGRAPH, "第二頁。", 2, ("手冊", "運送")),
    ]


def test_a_text_without_headings_has_the_name_of_its_file() -> None:
    document = PlainTextParser().parse(b"\xef\xbb\xbfNo heading.", media_type="", name="notes.TXT")
    assert (document.title, document.media_type, document.blocks[0].page) == ("notes.TXT", "text/plain", None)


@pytest.mark.parametrize(
    ("content", "media_type", "name", "reason"),
    [
        (b"\xff", "text/plain", "a.txt", "byte 0 is not UTF-8"),
        (b"a\x00b", "text/plain", "a.txt", "character U+0000 is not of a text"),
        (b"%PDF-1.7", "application/pdf", "a.pdf", "files of the type application/pdf are not read"),
        (b"x", "application/octet-stream", "a.exe", "files of the type application/octet-stream are not read"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(content: bytes, media_type: str, name: str, reason: str) -> None:
    with pytest.raises(UnreadableDocumentError) as refused:
        PlainTextParser().parse(content, media_type=media_type, name=name)
    assert (refused.value.name, refused.value.reason) == (name, reason)
