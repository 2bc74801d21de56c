"""Splits the data sets of names: train, tune (chosen on) and report (reported on, never chosen on)."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from memory.values.text import normalise, to_traditional

from ..shared.data_sets import Part, choose_sets
from .ner_files import MarkedText
from .ner_sets import NER_SETS, NerSet

_SEED = 20_260_101


def load_sets(folder: Path, sets: Iterable[NerSet] = NER_SETS) -> dict[str, dict[Part, list[MarkedText]]]:
    """Reads and splits data sets.

    Texts of `train` and `tune` that also occur in any set's `report`, in either script, are left out: two sets are
    twins in the two scripts, and some were cut from the same newspaper.

    Args:
        folder: Holds the data sets' folders.
        sets: Which.

    Returns:
        By name and part, with the types mapped.

    Raises:
        FileNotFoundError: A file is not there.
    """
    loaded = {data_set.name: _split(folder, data_set) for data_set in sets}
    reported = {normalise(row.text) for parts in loaded.values() for row in parts[Part.REPORT]}
    for parts in loaded.values():
        for part in (Part.TRAIN, Part.TUNE):
            parts[part] = [row for row in parts[part] if normalise(row.text) not in reported]
    return loaded


def _split(folder: Path, data_set: NerSet) -> dict[Part, list[MarkedText]]:
    rows = _mapped(data_set.train(folder), data_set.types)
    random.Random(_SEED).shuffle(rows)
    if data_set.dev is None:
        report, rows = rows[: data_set.reported], rows[data_set.reported :]
    else:
        report = _mapped(data_set.dev(folder), data_set.types)
        if len(report) > data_set.reported:
            report = random.Random(_SEED).sample(report, data_set.reported)
    return {Part.REPORT: report, Part.TUNE: rows[: data_set.tuned], Part.TRAIN: rows[data_set.tuned :]}


def _mapped(rows: Iterable[MarkedText], types: Mapping[str, str]) -> list[MarkedText]:
    """Maps the types of rows to labels; a type without a label becomes the empty label."""
    return [
        MarkedText(row.text, tuple(replace(span, label=types.get(span.label, "")) for span in row.spans))
        for row in rows
        if row.text.strip()
    ]


def find_ner_sets(named: str) -> dict[NerSet, float]:
    """Data sets by names, each with a factor on its weight: `cluener,weibo:0.5`; `all`, or `open` for those whose
    licence allows any use.

    Raises:
        ValueError: There is no set of a name.
    """
    by_name = {data_set.name: data_set for data_set in NER_SETS}
    is_open = {name: data_set.is_open for name, data_set in by_name.items()}
    return {by_name[name]: factor for name, factor in choose_sets(is_open, named).items()}


def in_traditional(row: MarkedText) -> MarkedText:
    """Converts a row to Traditional characters, unless the conversion changes its length."""
    text = to_traditional(row.text)
    return replace(row, text=text) if len(text) == len(row.text) else row


def in_lower_case(row: MarkedText) -> MarkedText:
    """Converts a row to lower case, as people type in a hurry."""
    text = row.text.lower()
    return replace(row, text=text) if len(text) == len(row.text) else row


def in_full_width(row: MarkedText) -> MarkedText:
    """Converts letters and digits of a row to full width."""
    wide = {code: code + 0xFEE0 for code in range(0x21, 0x7F) if chr(code).isalnum()}
    return replace(row, text=row.text.translate(wide))


def surfaces(rows: Sequence[MarkedText], labels: Iterable[str]) -> list[str]:
    """Collects the distinct names that rows mark with one of the labels, in order."""
    label_set = set(labels)
    return list(
        dict.fromkeys(row.text[span.start : span.end] for row in rows for span in row.spans if span.label in label_set)
    )
