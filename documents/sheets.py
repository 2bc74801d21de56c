"""Reads XLSX by openpyxl: a sheet is a page and a heading, what blank rows part is a table of its own."""

from datetime import date, datetime, time
from io import BytesIO
from typing import Any

from .limits import Limits, Unreadable
from .outline import Outline
from .packages import check_package


def read_sheets(content: bytes, limits: Limits) -> tuple[str, Outline]:
    """The title and the tables of a workbook: the values that its formulas had when it was saved."""
    from openpyxl import load_workbook

    check_package(content, "xl/workbook.xml", limits)
    book = load_workbook(BytesIO(content), read_only=True, data_only=True)
    outline = Outline(limits)
    left = limits.cells
    for number, sheet in enumerate(book.worksheets, start=1):
        outline.open(1, sheet.title)
        sheet.reset_dimensions()  # a sheet may claim to be as large as it likes, and each row would be filled up
        rows: list[list[str]] = []
        for values in sheet.iter_rows(values_only=True):
            left -= 1 + len(values)
            if left < 0:
                raise Unreadable(f"it has more than {limits.cells} cells")
            row = [_shown(value) for value in values]
            if any(row):
                rows.append(row)
            elif rows:
                outline.table(_without_blank_columns(rows), number)
                rows = []
        outline.table(_without_blank_columns(rows), number)
    return book.properties.title or "", outline


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime | date | time):
        return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value).strip()


def _without_blank_columns(rows: list[list[str]]) -> list[list[str]]:
    """Rows without the columns on the left in which all are blank."""
    first = min((next(n for n, cell in enumerate(row) if cell) for row in rows), default=0)
    return [row[first:] for row in rows]
