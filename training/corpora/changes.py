"""What users said with what it replaces of what they said before: as it was written down, and as scenarios tell."""

from collections.abc import Sequence
from pathlib import Path

from ..shared.data_sets import Part
from .lines import MarkedLine, read_changes
from .questions import MarkedLines, read_scenarios

_CHANGED = frozenset({"update", "correction"})


def read_all_changes(folders: Sequence[Path], part: Part) -> list[list[MarkedLine]]:
    """The lines of each user of the `changes` and `scenarios` of a part, in the order in which they were sent."""
    return [*read_changes(folders, part), *map(changes_told, read_scenarios(folders, part))]


def changes_told(scenario: MarkedLines) -> list[MarkedLine]:
    """The lines of a scenario; marked are those that a question follows from.

    Where it asks for what has changed, the last of them replaces what must not be told as true; where nothing says
    which lines that are, it is not marked.
    """
    marks: dict[int, dict[int, float] | None] = {}
    for question in scenario.questions:
        new = max(question.gold, default=None)
        if new is None:
            continue
        old = [number for number in question.outdated if number < new] if question.kind in _CHANGED else []
        is_unknown = question.kind in _CHANGED and not old
        known = marks.setdefault(new, {})
        marks[new] = None if is_unknown or known is None else known | dict.fromkeys(old, 1.0)
    return [
        MarkedLine(scenario.language, line.said_at, line.text, marks.get(number))
        for number, line in enumerate(scenario.lines)
    ]
