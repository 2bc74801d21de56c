"""Makes real files of each type with the libraries that write them."""

from collections.abc import Mapping, Sequence
from io import BytesIO

from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

Table = list[list[str]]


def docx(title: str, section: str, paragraph: str, items: list[str], table: Table) -> bytes:
    document = Document()
    document.core_properties.title = title
    document.add_heading(title, 1)
    document.add_heading(section, 2)
    document.add_paragraph(paragraph)
    for item in items:
        document.add_paragraph(item, style="List Bullet")
    document.add_page_break()  # type: ignore[no-untyped-call]
    shown = document.add_table(rows=len(table), cols=len(table[0]))
    for row, texts in zip(shown.rows, table, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return _saved(document)


def pptx(title: str, paragraph: str, items: list[str], table: Table) -> bytes:
    presentation = Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = title
    first.placeholders[1].text = "\n".join(items)
    first.notes_slide.notes_text_frame.text = paragraph
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    size = (Inches(1), Inches(1), Inches(4), Inches(1))
    shape = second.shapes.add_table(len(table), len(table[0]), *size)
    for row, texts in zip(shape.table.rows, table, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return _saved(presentation)


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    book = Workbook()
    del book["Sheet"]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _saved(book)


def pdf(pages: list[list[tuple[float, str]]], font: str, *, contents: dict[str, int] | None = None) -> bytes:
    """Pages of lines, each with the size of its letters in points; a blank line leaves a gap.

    Args:
        font: A font of Chinese that the file does not hold, or one of the fonts that every reader has.
        contents: The level, from 0, of each line that is an entry of the table of contents.
    """
    if font != "Helvetica":
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    saved = BytesIO()
    canvas = Canvas(saved, pagesize=(400, 600))
    for lines in pages:
        height = 560.0
        for number, (size, text) in enumerate(lines):
            canvas.setFont(font, size)
            canvas.drawString(40, height, text)
            height -= size * 1.3
            if contents and text in contents:
                key = f"{text}{number}"
                canvas.bookmarkPage(key)
                canvas.addOutlineEntry(text, key, contents[text])
        canvas.showPage()
    canvas.save()
    return saved.getvalue()


def _saved(document: object) -> bytes:
    saved = BytesIO()
    document.save(saved)  # type: ignore[attr-defined]
    return saved.getvalue()
