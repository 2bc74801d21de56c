"""The parser of all types of files."""

from collections.abc import Callable, Mapping

from typing_extensions import override

from memory.ports.knowledge import DocumentParser
from memory.values.documents.knowledge import ParsedDocument
from memory.values.errors import UnreadableDocumentError

from .encodings import decode
from .html import declared_charset, read_html
from .limits import Limits, Unreadable
from .markdown import read_markdown
from .outline import Outline
from .pdf import read_pdf
from .plain_text import read_plain_text
from .sheets import read_sheets
from .slides import read_slides
from .word import read_word

_OFFICE = "application/vnd.openxmlformats-officedocument"
MEDIA_TYPES: Mapping[str, str] = {
    "txt": "text/plain",
    "text": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "application/xhtml+xml",
    "pdf": "application/pdf",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
}
"""The media types of files that are read, by the endings of their names."""
_UNKNOWN = ("", "application/octet-stream")

Reader = Callable[[bytes, str, Limits], tuple[str, Outline]]
"""Reads a file, with the encoding that was declared, as its title and its blocks."""


def _plain_text(content: bytes, charset: str, limits: Limits) -> tuple[str, Outline]:
    return "", read_plain_text(decode(content, charset), limits)


def _markdown(content: bytes, charset: str, limits: Limits) -> tuple[str, Outline]:
    return read_markdown(decode(content, charset), limits)


def _html(content: bytes, charset: str, limits: Limits) -> tuple[str, Outline]:
    return read_html(decode(content, charset or declared_charset(content)), limits)


_READERS: Mapping[str, Reader] = {
    MEDIA_TYPES["txt"]: _plain_text,
    MEDIA_TYPES["md"]: _markdown,
    MEDIA_TYPES["html"]: _html,
    MEDIA_TYPES["xhtml"]: _html,
    MEDIA_TYPES["pdf"]: lambda content, _, limits: read_pdf(content, limits),
    MEDIA_TYPES["docx"]: lambda content, _, limits: read_word(content, limits),
    MEDIA_TYPES["pptx"]: lambda content, _, limits: read_slides(content, limits),
    MEDIA_TYPES["xlsx"]: lambda content, _, limits: read_sheets(content, limits),
}


class FileParser(DocumentParser):
    """Reads text, Markdown, HTML, PDF, DOCX, PPTX and XLSX; the title is that in the file, else its first heading."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    @override
    def parse(self, content: bytes, *, media_type: str, name: str) -> ParsedDocument:
        kind, _, parameters = media_type.partition(";")
        kind = kind.strip().lower()
        if kind in _UNKNOWN:
            kind = MEDIA_TYPES.get(name.rpartition(".")[2].lower(), kind)
        if kind not in _READERS:
            raise _error(name, f"files of the type {kind or 'unknown'} are not read")
        if len(content) > self._limits.file_bytes:
            raise _error(name, f"it is larger than {self._limits.file_bytes >> 20} MiB")
        try:
            title, outline = _READERS[kind](content, _charset(parameters), self._limits)
        except Unreadable as error:
            raise _error(name, str(error)) from error
        except MemoryError:
            raise
        except Exception as error:  # what libraries raise for damaged files has no base in common
            raise _error(name, f"it is damaged ({type(error).__name__})") from error
        return ParsedDocument(
            title=" ".join(title.split()) or outline.title or name, media_type=kind, blocks=tuple(outline.blocks)
        )


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset":
            return value.strip().strip("\"'")
    return ""


def _error(name: str, reason: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(f"{name or 'The text'} cannot be read: {reason}.", name=name, reason=reason)
