import zipfile
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.encodings import decode
from documents.limits import Limits
from documents.parser import MEDIA_TYPES, FileParser
from memory.values.documents.knowledge import BlockKind, ParsedDocument
from memory.values.errors import UnreadableDocumentError
from memory.values.text import to_traditional
from tests.documents import files

PARAGRAPH, HEADING, TABLE, CODE, LIST = BlockKind
Shown = list[tuple[BlockKind, int | None, tuple[str, ...], str]]

SIMPLIFIED = (
    "使用手册",
    "安装",
    "插上电源，然后按“开始”。",
    ["电源线", "说明书"],
    [["型号", "价格"], ["甲", "三百元"]],
)
TRADITIONAL = (
    "使用手冊",
    "安裝",
    "插上電源，然後按「開始」。",
    ["電源線", "說明書"],
    [["型號", "價格"], ["甲", "三百元"]],
)
ENGLISH = (
    "User manual",
    "Setup",
    "Plug it in, then press “Start”.",
    ["cable", "guide"],
    [["Model", "Price"], ["A|1", "$300"]],
)
LANGUAGES = pytest.mark.parametrize(
    ("title", "section", "paragraph", "items", "table"), [SIMPLIFIED, TRADITIONAL, ENGLISH]
)


def _parse(content: bytes, name: str, media_type: str = "", limits: Limits | None = None) -> ParsedDocument:
    return FileParser(limits).parse(content, media_type=media_type, name=name)


def _shown(document: ParsedDocument) -> Shown:
    return [(block.kind, block.page, block.headings, block.text) for block in document.blocks]


def _table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([lines[0], "| --- | --- |", *lines[1:]])


@LANGUAGES
def test_docx(title: str, section: str, paragraph: str, items: list[str], table: files.Table) -> None:
    document = _parse(files.docx(title, section, paragraph, items, table), "a.docx")
    assert document.title == title
    assert document.media_type == MEDIA_TYPES["docx"]
    below = (title, section)
    assert _shown(document) == [
        (HEADING, 1, (), title),
        (HEADING, 1, (title,), section),
        (PARAGRAPH, 1, below, paragraph),
        (LIST, 1, below, "\n".join(f"- {item}" for item in items)),
        (TABLE, 2, below, _table(table)),
    ]


@LANGUAGES
def test_pptx(title: str, section: str, paragraph: str, items: list[str], table: files.Table) -> None:
    document = _parse(files.pptx(title, paragraph, items, table), "a.pptx")
    assert document.title == title
    assert _shown(document) == [
        (HEADING, 1, (), title),
        (LIST, 1, (title,), "\n".join(f"- {item}" for item in items)),
        (PARAGRAPH, 1, (title,), paragraph),
        (TABLE, 2, (), _table(table)),
    ]


@LANGUAGES
def test_xlsx(title: str, section: str, paragraph: str, items: list[str], table: files.Table) -> None:
    numbers: list[list[object]] = [[], ["", "A", "B"], ["", 1, 2.5], ["", True, None]]
    document = _parse(files.xlsx({title: [*table, *numbers], section: [[paragraph]]}), "a.xlsx")
    assert _shown(document) == [
        (TABLE, 1, (title,), _table(table)),
        (TABLE, 1, (title,), "| A | B |\n| --- | --- |\n| 1 | 2.5 |\n| True |  |"),
        (PARAGRAPH, 2, (section,), paragraph),
    ]


@pytest.mark.parametrize("contents", [None, {"title": 0, "section": 1}], ids=["by size", "by table of contents"])
@pytest.mark.parametrize(
    ("font", "title", "section", "lines", "whole"),
    [
        ("STSong-Light", "使用手册", "安装", ("知识库是可检索的静态文件，包括常见问题与操作手", "册。"), "{0}{1}"),
        ("MSung-Light", "使用手冊", "安裝", ("知識庫是可檢索的靜態文件，包括常見問題與操作手", "冊。"), "{0}{1}"),
        ("Helvetica", "User manual", "Setup", ("A knowledge base holds documents that can be", "searched."), "{0} {1}"),
        ("Helvetica", "User manual", "Setup", ("A knowledge base holds documents and exam-", "ples."), "{0}{1}"),
    ],
)
def test_pdf(
    font: str, title: str, section: str, lines: tuple[str, str], whole: str, contents: dict[str, int] | None
) -> None:
    entries = {title: 0, section: 1} if contents else None
    first = [(24.0, title), *((12.0, line) for line in lines), (18.0, section), (12.0, lines[0])]
    document = _parse(files.pdf([first, [(12.0, lines[1])]], font, contents=entries), "a.pdf")
    assert document.title == title
    joined = whole.format(lines[0].removesuffix("-"), lines[1])
    below = (title, section)
    assert _shown(document) == [
        (HEADING, 1, (), title),
        (PARAGRAPH, 1, (title,), joined),
        (HEADING, 1, (title,), section),
        (PARAGRAPH, 1, below, lines[0]),
        (PARAGRAPH, 2, below, lines[1]),
    ]


def test_the_heads_and_feet_of_a_pdf_are_left_out() -> None:
    bodies = ["貓喜歡睡覺。", "火車七點開。", "今天下大雨。", "會議在週三。"]
    pages = [[(12.0, "公司內部文件"), (12.0, body), (12.0, f"第 {n} 頁")] for n, body in enumerate(bodies, start=1)]
    document = _parse(files.pdf(pages, "MSung-Light"), "a.pdf")
    assert [(block.text, block.page) for block in document.blocks] == [(body, n) for n, body in enumerate(bodies, 1)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_markdown(newline: str) -> None:
    text = (
        "---\ntitle: 手冊\n---\n# 安裝\n\n插上*電源*，見[說明](http://a.b)。\n第二行\n\n- 線\n  1. 紅\n- 書 `x`\n\n"
        "## Code\n\n```py\n  x = 1\n\n  y\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n"
        "<p>raw <b>HTML</b></p>\n"
    )
    document = _parse(text.replace("\n", newline).encode(), "a.md")
    assert document.title == "手冊"
    below = ("安裝", "Code")
    assert _shown(document) == [
        (HEADING, None, (), "安裝"),
        (PARAGRAPH, None, ("安裝",), "插上電源，見說明。\n第二行"),
        (LIST, None, ("安裝",), "- 線\n  1. 紅\n- 書 x"),
        (HEADING, None, ("安裝",), "Code"),
        (CODE, None, below, "  x = 1\n\n  y"),
        (TABLE, None, below, "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (PARAGRAPH, None, below, "quoted"),
        (PARAGRAPH, None, below, "raw HTML"),
    ]


HTML = """<!doctype html><html><head><meta charset="big5"><title>網站 · 手冊</title><style>p{}</style></head><body>
<nav>首頁</nav><main><h1>使用<b>手冊</b></h1><p>第一<br>行，<a href="/">連結</a>。</p>沒有標籤
<ul><li>一<ul><li>二</li></ul></li><li>2024</li></ul><ol><li>甲<li>乙</ol>
<table><tr><th>型<i>號</i></th><th colspan=2>價格</th></tr><tr><td>甲<td>1<td>2</tr></table>
<h2>範例</h2><pre>
a
  b</pre><table><tr><td><h3>版面</h3><p>內文</p></td></tr></table></main><footer>聯絡</footer>
<script>var x</script></body></html>"""


@pytest.mark.parametrize(
    ("encoding", "media_type"),
    [("big5", ""), ("big5", "text/html"), ("utf-8", "text/html; charset=utf-8"), ("utf-16", "text/html")],
)
def test_html(encoding: str, media_type: str) -> None:
    document = _parse(HTML.encode(encoding), "a.html", media_type)
    assert document.title == "網站 · 手冊"
    top, below = ("使用手冊",), ("使用手冊", "範例")
    assert _shown(document) == [
        (HEADING, None, (), "使用手冊"),
        (PARAGRAPH, None, top, "第一\n行，連結。"),
        (PARAGRAPH, None, top, "沒有標籤"),
        (LIST, None, top, "- 一\n  - 二\n- 2024"),
        (LIST, None, top, "1. 甲\n2. 乙"),
        (TABLE, None, top, "| 型號 | 價格 |  |\n| --- | --- | --- |\n| 甲 | 1 | 2 |"),
        (HEADING, None, top, "範例"),
        (CODE, None, below, "a\n  b"),
        (HEADING, None, below, "版面"),
        (PARAGRAPH, None, (*below, "版面"), "內文"),
    ]


def test_plain_text_has_pages_where_form_feeds_part_it() -> None:
    assert _shown(_parse("一\n二\n\n# 三\f四".encode(), "a.TXT")) == [
        (PARAGRAPH, 1, (), "一\n二"),
        (PARAGRAPH, 1, (), "# 三"),
        (PARAGRAPH, 2, (), "四"),
    ]
    assert _shown(_parse(b"one", "", "text/plain")) == [(PARAGRAPH, None, (), "one")]


CHINESE = (
    "知识库是可检索的静态文件，包括常见问题、设置与操作手册。我们公司在台北和上海都有办公室，请问明天下午三点开会吗？"
    "AI-Box 卖三百元。"
)


@settings(max_examples=60)
@given(st.integers(0, len(CHINESE) - 6), st.integers(6, 60), st.sampled_from(["gb18030", "big5", "utf-8", "utf-16"]))
def test_the_encoding_of_a_chinese_text_is_found(start: int, length: int, encoding: str) -> None:
    text = CHINESE[start : start + length]
    if encoding == "big5":
        text = to_traditional(text)
    content = text.encode(encoding)
    assert decode(content) == text
    assert decode(content, declared="ascii") == text
    for mark in ("utf-8-sig", "utf-32"):
        assert decode(text.encode(mark)) == text


def test_a_declared_encoding_is_taken_where_the_text_is_not_utf_8() -> None:
    assert decode("café crème".encode("cp1252"), "iso-8859-1") == "café crème"
    assert decode("The café on the corner is closed.".encode("cp1252")) == "The café on the corner is closed."
    assert decode("ユーザー".encode("shift_jis"), "shift_jis") == "ユーザー"
    assert decode("Line one\nLine two".encode("utf-16-le")) == "Line one\nLine two"


def _zip(parts: dict[str, bytes]) -> bytes:
    saved = BytesIO()
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return saved.getvalue()


def _with_entities(content: bytes, part: str) -> bytes:
    with zipfile.ZipFile(BytesIO(content)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    declaration, _, rest = parts[part].partition(b"?>")
    parts[part] = declaration + b'?>\n<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>' + rest
    return _zip(parts)


WORD = files.docx(*SIMPLIFIED)
WORD_PART = "word/document.xml"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"GIF89a", "a.gif", "files of the type unknown are not read"),
        (bytes(range(256)) * 8, "a.txt", "its encoding is not known"),
        (b"\x00\x01\x02\x03 binary", "a.md", "it is no text"),
        (b"no pdf", "a.pdf", "it is damaged, or no PDF"),
        (files.pdf([[]], "Helvetica"), "a.pdf", "it holds no text, only images"),
        (b"no zip", "a.docx", "it is damaged, or no file of its type"),
        (WORD[:-300], "a.docx", "it is damaged, or no file of its type"),
        (WORD, "a.xlsx", "it is no file of its type"),
        (OLE, "a.pptx", "it is locked by a password, or of a version before 2007"),
        (_zip({WORD_PART: b"<a/>"}), "a.docx", "it is damaged (KeyError)"),
        (_with_entities(WORD, WORD_PART), "a.docx", "its XML declares types of its own"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(content: bytes, name: str, reason: str) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        _parse(content, name)
    assert (caught.value.reason, caught.value.name) == (reason, name)
    assert caught.value.message == f"{name} cannot be read: {reason}."


@pytest.mark.parametrize(
    ("content", "name", "limits", "reason"),
    [
        (b"12345", "a.txt", Limits(file_bytes=4), "it is larger than 0 MiB"),
        (b"12345", "a.txt", Limits(characters=4), "its text is too long"),
        (_zip({WORD_PART: bytes(2**22)}), "a.docx", Limits(unpacked_bytes=2**21), "it unpacks to more than 2 MiB"),
        (WORD, "a.docx", Limits(parts=3), "it has more than 3 parts"),
        (files.xlsx({"a": [[1, 2], [3, 4]]}), "a.xlsx", Limits(cells=5), "it has more than 5 cells"),
        (files.pdf([[(12.0, "a")]] * 2, "Helvetica"), "a.pdf", Limits(pages=1), "it has more than 1 pages"),
    ],
)
def test_what_is_too_large_is_refused(content: bytes, name: str, limits: Limits, reason: str) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        _parse(content, name, limits=limits)
    assert caught.value.reason == reason


FILES = {
    "a.docx": WORD,
    "a.pptx": files.pptx("手冊", "備註", ["一"], [["a", "b"]]),
    "a.xlsx": files.xlsx({"表": [["a", "b"]]}),
    "a.pdf": files.pdf([[(12.0, "text")]], "Helvetica"),
    "a.html": HTML.encode("big5"),
    "a.md": "# 標題\n\n| a | b |\n|---|---|\n".encode(),
}


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from(sorted(FILES)))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(data: st.DataObject, name: str) -> None:
    content = bytearray(FILES[name])
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=20)):
        content[place] = data.draw(st.integers(0, 255))
    with suppress(UnreadableDocumentError):
        _parse(bytes(content[: data.draw(st.integers(0, len(content)))]), name)
