"""Reads PPTX by python-pptx: a slide is a page, its title a heading."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from .limits import Limits
from .outline import Outline
from .packages import check_package

_TITLE_LEVEL = 1


def read_slides(content: bytes, limits: Limits) -> tuple[str, Outline]:
    """The title and the blocks of a presentation: text, tables and groups, then the notes of each slide."""
    from pptx import Presentation

    check_package(content, "ppt/presentation.xml", limits)
    presentation = Presentation(BytesIO(content))
    outline = Outline(limits)
    for number, slide in enumerate(presentation.slides, start=1):
        title: Any = slide.shapes.title
        outline.open(_TITLE_LEVEL, "")
        if title is not None and title.text_frame.text.strip():
            outline.heading(_TITLE_LEVEL, title.text_frame.text, number)
        for shape in _flat(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if shape.has_table:
                outline.table([[cell.text for cell in row.cells] for row in shape.table.rows], number)
            elif shape.has_text_frame:
                _add_text(outline, shape.text_frame, number)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            _add_text(outline, slide.notes_slide.notes_text_frame, number)
    return presentation.core_properties.title or "", outline


def _add_text(outline: Outline, frame: Any, page: int) -> None:
    """Adds a frame: several paragraphs are a list, as on slides they are points."""
    shown = (
        ("  " * paragraph.level + "- ", paragraph.text.replace("\v", " ").strip()) for paragraph in frame.paragraphs
    )
    texts = [(mark, text) for mark, text in shown if text]
    if len(texts) == 1:
        outline.add(texts[0][1], page=page)
    else:
        outline.items(texts, page)


def _flat(shapes: Iterable[Any]) -> Iterator[Any]:
    """Shapes in their order, those of groups in the place of the group."""
    open_ = list(reversed(list(shapes)))
    while open_:
        shape = open_.pop()
        if hasattr(shape, "shapes"):
            open_.extend(reversed(list(shape.shapes)))
        else:
            yield shape
