"""What a file may hold, and the error of one that cannot be read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep one file from taking the memory or the time of all others.

    Args:
        file_bytes: Of the file as it is stored.
        unpacked_bytes: Of all parts of a package (DOCX, PPTX, XLSX), unpacked.
        parts: Of a package.
        pages: Of a PDF.
        cells: Of a workbook or a table, empty ones between them included.
        characters: Of the text of a document.
    """

    file_bytes: int = 100 * 2**20
    unpacked_bytes: int = 400 * 2**20
    parts: int = 20_000
    pages: int = 10_000
    cells: int = 5_000_000
    characters: int = 50_000_000


class Unreadable(Exception):
    """A file that cannot be read; the message says why in one phrase. No error of it leaves this package."""
