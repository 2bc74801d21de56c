"""Files of the chat corpora: which part each is in, its language and its blocks.

The format is described in the corpus' README. Files of `REPORTED` are reported on and never chosen on, those of `TUNED`
are chosen on; a file that is named in neither is trained on.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .data_sets import Part

LANGUAGES = ("zh-Hant", "zh-Hans", "en")
REPORTED = {
    "references": ("a3", "b2", "c2", "f"),
    "messages": ("m3", "n3", "n6", "f", "h9", "u2"),
    "intents": ("q2",),
    "overviews": (),
    "forget_messages": ("m7", "m10"),
    "forgets": ("r2",),
    "forget_parts": ("a9", "a10", "a11"),
    "kinds": ("k9", "k10"),
    "talks": ("w9",),
    "changes": ("d9",),
    "answers": ("q3", "r3"),
    "together": ("t9",),
    "near": (),
    "passages": (),
    "scenarios": ("s3", "t3", "y", "z", "o2", "r2", "u2"),
}
TUNED = {
    "references": ("a6", "c3", "en-e9", "zh-Hant-e9", "zh-Hans-e14"),
    "messages": ("m5", "n5", "zh-Hant-j1"),
    "intents": ("q3",),
    "overviews": ("o1",),
    "forget_messages": (),
    "forgets": ("r1", "n5"),
    "forget_parts": ("a2",),
    "kinds": ("k5",),
    "talks": ("w5",),
    "changes": ("d5", "n5"),
    "answers": ("q2", "r2"),
    "together": ("t5",),
    "near": ("n5",),
    "passages": ("p3",),
    "scenarios": ("s2", "t2", "o1", "r1"),
}
"""Names of files, or their ends behind the language; a single letter stands for all files of that writer."""


def part_of(path: Path) -> Part:
    """The part of a file; all its rows are in it."""
    kind, name = path.parent.name, path.stem.split("-")[-1]
    for part, ends in ((Part.REPORT, REPORTED), (Part.TUNE, TUNED)):
        if not {path.stem, name, name[0]}.isdisjoint(ends[kind]):
            return part
    return Part.TRAIN


def files_of(folders: Sequence[Path], kind: str, part: Part) -> list[Path]:
    """The files of a part in the folders of that kind, in order."""
    return [path for folder in folders for path in sorted((folder / kind).glob("*.txt")) if part_of(path) is part]


def language_of(path: Path) -> str:
    """Of `LANGUAGES`, from the name of a file."""
    return next(language for language in LANGUAGES if path.name.startswith(language))


def blocks(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Blocks of numbered lines; a line of three dashes ends one."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() == "---":
            yield block
            block = []
        elif line.strip():
            block.append((number, line.strip()))
    yield block
