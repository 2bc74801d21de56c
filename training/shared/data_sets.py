"""Data sets: the parts that they are split into, and how they are chosen on the command line."""

from collections.abc import Mapping
from enum import StrEnum


class Part(StrEnum):
    """The use of a row; all rows of one group (a dialogue, an article) are in one part."""

    TRAIN = "train"
    TUNE = "tune"
    REPORT = "report"


def choose_sets(is_open: Mapping[str, bool], choice: str) -> dict[str, float]:
    """The names of the chosen data sets, each with how often an epoch reads its rows.

    Args:
        is_open: For each data set whether its licence allows any use.
        choice: `all`, `open`, or names with an optional factor: `rewrite,canard:0.5`.

    Raises:
        ValueError: There is no data set of a name.
    """
    if choice in ("all", "open"):
        return {name: 1.0 for name, allows_any_use in is_open.items() if allows_any_use or choice == "all"}
    chosen = {}
    for part in choice.split(","):
        name, _, factor = part.partition(":")
        if name not in is_open:
            raise ValueError(f"There is no data set {name}; there are {', '.join(is_open)}.")
        chosen[name] = float(factor or 1.0)
    return chosen
