"""Prints how much of each data set the label space can reach.

    python -m training.rewriter.ceiling DATA

For each data set: rows of each part, the share that needs nothing, and the share of reported targets that an oracle
reaches exactly, with all that a rewrite may hold, without function words, and with one span in one place.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from models.rewriter.edits import Source
from models.rewriter.network import RewriterShape

from ..shared.data_sets import Part
from .data import DATA_SETS, RewritingRow, load_rows
from .labels import Limits, derive
from .train import choose_words


def ceiling(rows: Sequence[RewritingRow], words: Sequence[str], limits: Limits) -> float:
    """Percentage of rows whose target edits can reach exactly."""
    exact = [derive(row.query, row.target, Source.of(row.turns, words), limits).exact for row in rows]
    return 100 * sum(exact) / len(exact)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Prints how much of each data set the label space can reach.")
    parser.add_argument("data", type=Path, help="folder of the query-rewriting data sets")
    parser.add_argument("--limit", type=int, default=None, help="reported rows of a set, at most")
    arguments = parser.parse_args()
    shape = RewriterShape()
    limits = Limits(span=shape.span, deleted=shape.deleted)
    table = Table("set", "licence", "train", "tune", "report", "complete", "reached", "no words", "one span")
    parts = {data_set: load_rows(arguments.data, data_set) for data_set in DATA_SETS}
    words = choose_words([(parts[data_set][Part.TRAIN], data_set.chinese) for data_set in DATA_SETS])
    for data_set in track(DATA_SETS, console=Console(stderr=True), transient=True):
        rows = parts[data_set][Part.REPORT][: arguments.limit]
        complete = 100 * sum(row.query == row.target for row in rows) / len(rows)
        single = Limits(span=shape.span, deleted=shape.deleted, segments=1, edits=1)
        reached = (ceiling(rows, words, limits), ceiling(rows, (), limits), ceiling(rows, (), single))
        counts = (str(len(parts[data_set][part])) for part in Part)
        table.add_row(data_set.name, data_set.licence, *counts, *(f"{value:.1f}" for value in (complete, *reached)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
