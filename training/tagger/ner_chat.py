"""Chat sentences with names in them: what the data sets lack, made anew for each epoch.

A template's slots are filled with names that the sets mark (training rows only), and, for products and codes, with
names made of syllables, characters of brands, heads and numbers, so that what is learned is the place in the sentence
and the look of a name rather than a list. A fifth are sentences without any name. Names of the hand-labelled chat set
(`benchmarks/extraction/data/chat_names.txt`) are never used.
"""

import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from memory.values.mentions import EntitySubtype
from memory.values.text import has_han, normalise

from .ner_data import in_full_width, in_lower_case, in_traditional, surfaces
from .ner_files import MarkedText, NamedSpan

CHAT_COVERAGE = dict.fromkeys(EntitySubtype, 1.0)
"""Everything is marked."""

_SLOT = re.compile(r"\{(\w+)\}")
_NO_NAME = 0.2
_COINED = 0.6  # of products
_LONGEST = 24
_COINED_MODELS = 200
_FINE = {
    "person": ("person",),
    "organisation": ("organisation", "company", "government", "association", "group", "brand"),
    "place": ("place", "gpe", "location", "scene"),
    "work": ("work", "movie", "book", "television"),
    "event": ("event",),
    "product": ("product",),
    "brand": ("brand",),
    "model": ("model",),
}


@cache
def _texts() -> Any:
    return json.loads((resources.files("training") / "data" / "chat_templates.json").read_text(encoding="utf-8"))


class ChatWriter:
    """Writes chat sentences.

    Args:
        rows: Training rows of the sets, whose names fill the slots.
        held_out: Names that must not be used.
    """

    def __init__(self, rows: Sequence[MarkedText], held_out: Collection[str]) -> None:
        barred = {normalise(name) for name in held_out}
        self._names: dict[tuple[str, bool], list[str]] = {}
        for slot, labels in _FINE.items():
            for name in surfaces(rows, labels):
                trimmed = name.strip("《》〈〉“”\"' ")
                if 1 < len(trimmed) <= _LONGEST and normalise(trimmed) not in barred:
                    self._names.setdefault((slot, has_han(trimmed)), []).append(trimmed)
        # without the sets that mark brands and models
        self._names.setdefault(("brand", True), self._names.get(("organisation", True), []))
        coined = random.Random(0)
        self._names.setdefault(("model", False), [coined_code(coined) for _ in range(_COINED_MODELS)])
        self._barred = barred

    def write(self, draw: random.Random) -> MarkedText:
        """One sentence with its names."""
        is_chinese = draw.random() < 0.6
        texts: dict[str, list[str]] = _texts()
        language = "zh" if is_chinese else "en"
        if draw.random() < _NO_NAME:
            row = MarkedText(draw.choice(texts[f"{language}_none"]), ())
        else:
            row = self._filled(draw.choice(texts[language]), is_chinese, draw)
        if is_chinese and draw.random() < 0.5:
            row = in_traditional(row)
        look = draw.random()
        if look < 0.15:
            row = in_lower_case(row)
        elif look < 0.18:
            row = in_full_width(row)
        if draw.random() < 0.3:
            row = MarkedText(row.text.rstrip("。.？?，"), row.spans)
        return row

    def _filled(self, template: str, is_chinese: bool, draw: random.Random) -> MarkedText:
        parts: list[str] = []
        spans = []
        length = at = 0
        for slot in _SLOT.finditer(template):
            before = template[at : slot.start()]
            name = self._name(slot.group(1), is_chinese, draw)
            gap = " " if is_chinese and not has_han(name) and before and draw.random() < 0.3 else ""
            length += len(before) + len(gap)
            spans.append(NamedSpan(length, length + len(name), slot.group(1)))
            parts += [before, gap, name]
            length += len(name)
            at = slot.end()
        return MarkedText("".join([*parts, template[at:]]), tuple(spans))

    def _name(self, slot: str, is_chinese: bool, draw: random.Random) -> str:
        while True:
            if slot == "code":
                name = coined_code(draw)
            elif slot == "product" and draw.random() < _COINED:
                name = self._coined(is_chinese, draw)
            elif slot == "product" and is_chinese and draw.random() < 0.4:
                name = self._listed("brand", True, draw) + draw.choice(("", " ")) + self._listed("model", False, draw)
            else:
                # Latin products are at home in a Chinese chat; other Latin names are rarer there
                han = is_chinese and draw.random() > (0.5 if slot == "product" else 0.1)
                name = self._listed(slot, han, draw)
            if normalise(name) not in self._barred:
                return name

    def _listed(self, slot: str, han: bool, draw: random.Random) -> str:
        names: Mapping[tuple[str, bool], list[str]] = self._names
        return draw.choice(names.get((slot, han)) or names[slot, not han])

    def _coined(self, is_chinese: bool, draw: random.Random) -> str:
        if not is_chinese or draw.random() < 0.5:
            return coined_latin(draw)
        makers: Sequence[Callable[[], str]] = (
            lambda: self._characters(draw),
            lambda: self._characters(draw),
            lambda: self._listed("brand", True, draw),
        )
        stem = draw.choice(makers)()
        if draw.random() < 0.25:
            return stem + draw.choice(("", " ")) + coined_latin(draw)
        return f"{stem}{draw.choice(_texts()['heads_zh'])}"

    def _characters(self, draw: random.Random) -> str:
        """Two or three characters of brands: what a coined Chinese name is made of."""
        return "".join(
            draw.choice([character for character in self._listed("brand", True, draw) if has_han(character)])
            for _ in range(draw.choice((2, 2, 3)))
        )


def coined_latin(draw: random.Random) -> str:
    """A Latin product name that nobody has used, as such names look."""
    texts = _texts()
    if draw.random() < 0.2:
        stem = "".join(draw.choice("ABCDEFGHIKLMNPRSTVX") for _ in range(draw.choice((2, 3, 3, 4))))
    else:
        stem = "".join(draw.choice(texts["syllables"]) for _ in range(draw.choice((1, 2, 2, 3)))).capitalize()
    if draw.random() < 0.4:
        stem += draw.choice(("", "", "-", " ")) + draw.choice(texts["parts_latin"])
    if draw.random() < 0.35:
        stem += draw.choice(texts["tails_latin"])
    return stem


def coined_code(draw: random.Random) -> str:
    """A number of a part, a ticket or a room."""
    drawn: dict[str, Callable[[], str]] = {
        "A": lambda: draw.choice("ABCDEFGHKMNPRSTVWX"),
        "9": lambda: str(draw.randrange(10)),
    }
    return "".join(drawn[mark]() if mark in drawn else mark for mark in draw.choice(_texts()["code_shapes"]))
