"""Generates chat sentences with names in them, which the data sets lack; every epoch gets new ones.

The slots of a template are filled with names that the data sets mark (training rows only). Products and codes are
partly invented from syllables, brand characters, head nouns and numbers, so that the reader learns the position and
the form of a name rather than a list. A fifth of the sentences hold no name. Names of the hand-labelled chat set
(`benchmarks/extraction/data/chat_names.txt`) are never used.
"""

import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from memory.values.text import has_han, normalise
from memory.values.understanding.mentions import EntitySubtype

from .ner_data import in_full_width, in_lower_case, in_traditional, surfaces
from .ner_files import MarkedText, NamedSpan

CHAT_COVERAGE = dict.fromkeys(EntitySubtype, 1.0)
"""How completely each subtype is marked in generated sentences: entirely."""

_SLOT = re.compile(r"\{(\w+)\}")
_NO_NAME_SHARE = 0.2
_INVENTED_SHARE = 0.6  # of products
_MAX_NAME_LENGTH = 24
_INVENTED_MODELS = 200
_LABELS_OF_SLOT = {
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
    """Generates chat sentences from templates.

    Args:
        rows: Training rows of the sets, whose names fill the slots.
        held_out: Names that must not be used.
    """

    def __init__(self, rows: Sequence[MarkedText], held_out: Collection[str]) -> None:
        barred = {normalise(name) for name in held_out}
        self._names: dict[tuple[str, bool], list[str]] = {}
        for slot, labels in _LABELS_OF_SLOT.items():
            for name in surfaces(rows, labels):
                trimmed = name.strip("《》〈〉“”\"' ")
                if 1 < len(trimmed) <= _MAX_NAME_LENGTH and normalise(trimmed) not in barred:
                    self._names.setdefault((slot, has_han(trimmed)), []).append(trimmed)
        # the data sets in use may mark no brands and no models
        self._names.setdefault(("brand", True), self._names.get(("organisation", True), []))
        draw = random.Random(0)
        self._names.setdefault(("model", False), [invent_code(draw) for _ in range(_INVENTED_MODELS)])
        self._barred = barred

    def write(self, rng: random.Random) -> MarkedText:
        """Generates one sentence with its marked names."""
        is_chinese = rng.random() < 0.6
        texts: dict[str, list[str]] = _texts()
        language = "zh" if is_chinese else "en"
        if rng.random() < _NO_NAME_SHARE:
            row = MarkedText(rng.choice(texts[f"{language}_none"]), ())
        else:
            row = self._fill_template(rng.choice(texts[language]), is_chinese, rng)
        if is_chinese and rng.random() < 0.5:
            row = in_traditional(row)
        form = rng.random()
        if form < 0.15:
            row = in_lower_case(row)
        elif form < 0.18:
            row = in_full_width(row)
        if rng.random() < 0.3:
            row = MarkedText(row.text.rstrip("。.？?，"), row.spans)
        return row

    def _fill_template(self, template: str, is_chinese: bool, rng: random.Random) -> MarkedText:
        parts: list[str] = []
        spans = []
        length = template_at = 0
        for slot in _SLOT.finditer(template):
            before = template[template_at : slot.start()]
            name = self._draw_name(slot.group(1), is_chinese, rng)
            gap = " " if is_chinese and not has_han(name) and before and rng.random() < 0.3 else ""
            length += len(before) + len(gap)
            spans.append(NamedSpan(length, length + len(name), slot.group(1)))
            parts += [before, gap, name]
            length += len(name)
            template_at = slot.end()
        return MarkedText("".join([*parts, template[template_at:]]), tuple(spans))

    def _draw_name(self, slot: str, is_chinese: bool, rng: random.Random) -> str:
        while True:
            if slot == "code":
                name = invent_code(rng)
            elif slot == "product" and rng.random() < _INVENTED_SHARE:
                name = self._invent_product(is_chinese, rng)
            elif slot == "product" and is_chinese and rng.random() < 0.4:
                name = (
                    self._draw_listed("brand", True, rng)
                    + rng.choice(("", " "))
                    + self._draw_listed("model", False, rng)
                )
            else:
                # In a Chinese chat many products have Latin names; other Latin names are rarer.
                han = is_chinese and rng.random() > (0.5 if slot == "product" else 0.1)
                name = self._draw_listed(slot, han, rng)
            if normalise(name) not in self._barred:
                return name

    def _draw_listed(self, slot: str, han: bool, rng: random.Random) -> str:
        names: Mapping[tuple[str, bool], list[str]] = self._names
        return rng.choice(names.get((slot, han)) or names[slot, not han])

    def _invent_product(self, is_chinese: bool, rng: random.Random) -> str:
        if not is_chinese or rng.random() < 0.5:
            return invent_latin_name(rng)
        makers: Sequence[Callable[[], str]] = (
            lambda: self._draw_characters(rng),
            lambda: self._draw_characters(rng),
            lambda: self._draw_listed("brand", True, rng),
        )
        stem = rng.choice(makers)()
        if rng.random() < 0.25:
            return stem + rng.choice(("", " ")) + invent_latin_name(rng)
        return f"{stem}{rng.choice(_texts()['heads_zh'])}"

    def _draw_characters(self, rng: random.Random) -> str:
        """Draws two or three characters of brand names, the stem of an invented Chinese name."""
        return "".join(
            rng.choice([character for character in self._draw_listed("brand", True, rng) if has_han(character)])
            for _ in range(rng.choice((2, 2, 3)))
        )


def invent_latin_name(rng: random.Random) -> str:
    """Invents a Latin product name from syllables or capitals, with an optional second part and number."""
    texts = _texts()
    if rng.random() < 0.2:
        stem = "".join(rng.choice("ABCDEFGHIKLMNPRSTVX") for _ in range(rng.choice((2, 3, 3, 4))))
    else:
        stem = "".join(rng.choice(texts["syllables"]) for _ in range(rng.choice((1, 2, 2, 3)))).capitalize()
    if rng.random() < 0.4:
        stem += rng.choice(("", "", "-", " ")) + rng.choice(texts["parts_latin"])
    if rng.random() < 0.35:
        stem += rng.choice(texts["tails_latin"])
    return stem


def invent_code(rng: random.Random) -> str:
    """Invents the number of a part, a ticket or a room."""
    draw_by_mark: dict[str, Callable[[], str]] = {
        "A": lambda: rng.choice("ABCDEFGHKMNPRSTVWX"),
        "9": lambda: str(rng.randrange(10)),
    }
    return "".join(
        draw_by_mark[mark]() if mark in draw_by_mark else mark for mark in rng.choice(_texts()["code_shapes"])
    )
