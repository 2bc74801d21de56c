"""Query-rewriting data sets, read and split: train, tune (chosen on) and report (reported on, never chosen on).

The reported rows are those of `benchmarks/coreference/__main__.py`, so that the rules and the model are measured
alike. Test parts of the publishers are not read here.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ..shared.data_sets import Part, choose_sets

_SEED = 20_260_101
_REPORTED = 2000


@dataclass(frozen=True, slots=True)
class RewritingRow:
    """A query in its conversation, and the self-contained query.

    Attributes:
        turns: Context, oldest first.
        query: The last message.
        target: What it means; the query itself where nothing has to be rewritten.
        data_set: Where it comes from.
        kind: A subset that is reported on its own.
    """

    turns: tuple[str, ...]
    query: str
    target: str
    data_set: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A query-rewriting data set.

    Attributes:
        name: Name in the tables.
        file: Inside the data folder.
        read: Gives (group, row) pairs; rows of one group never fall into two parts.
        reported: Chooses the reported groups, given the groups in the order of the file.
        tuned: Share of the other groups that is tuned on.
        licence: As the publisher states it.
        is_open: Whether that licence allows any use.
        chinese: Whether its rows are in Chinese.
    """

    name: str
    file: str
    read: Callable[[Path], Iterable[tuple[str, RewritingRow]]]
    reported: Callable[[list[str]], set[str]]
    tuned: float
    licence: str
    is_open: bool = True
    chinese: bool = False


def _lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def _read_su2019(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    for number, (first, second, query, target) in enumerate(_lines(path)):
        yield str(number), RewritingRow((first, second), query, target, "rewrite")


def _read_restoration(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    # The fifth column is rewritten and the sixth is the reply to it, which nobody has seen when the query is read.
    for number, (*context, query, _, label, target) in enumerate(_lines(path)):
        kind = "incomplete" if label == "1" else "complete"
        turns = tuple(text for text in context if text)
        yield str(number), RewritingRow(turns, query, target if label == "1" else query, "restoration", kind)


def _read_canard(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    for title, section, *turns, query, target in _lines(path):
        yield f"{title}\t{section}", RewritingRow((title, section, *turns), query, target, "canard")


def _read_camrest(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    for number, dialogue in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        turns: list[str] = []
        for turn in dialogue["dial"]:
            user = turn["usr"]
            complete = user["transcript_complete"]
            for variant, kind in (
                ("transcript_with_coreference", "coreference"),
                ("transcript_with_ellipsis", "ellipsis"),
            ):
                if user[variant]:
                    yield str(number), RewritingRow(tuple(turns), user[variant], complete, "camrest", kind)
            if complete:
                yield str(number), RewritingRow(tuple(turns), complete, complete, "camrest", "complete")
            turns += [text for text in (complete, turn["sys"]["sent"]) if text]


def _read_followup(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    for before, query, target, table in _lines(path):
        yield table, RewritingRow((before,), query, target, "followup")


def _read_mudoco(path: Path) -> Iterable[tuple[str, RewritingRow]]:
    for number, dialogue in json.loads(path.read_text(encoding="utf-8"))["dialogs"].items():
        turns: list[str] = []
        for turn in dialogue["turns"]:
            utterance = turn["utterance"]
            if (target := turn.get("rewritten_utterance")) is not None:  # a seventh of the turns is not annotated
                kind = "incomplete" if turn["rewrite_required"] else "complete"
                yield number, RewritingRow(tuple(turns), utterance, target, "mudoco", kind)
            turns.append(utterance)


def _last(count: int) -> Callable[[list[str]], set[str]]:
    return lambda groups: set(groups[-count:])


def _second_half(groups: list[str]) -> set[str]:
    return set(groups[len(groups) // 2 :])


def _every_fifth(groups: list[str]) -> set[str]:
    return set(random.Random(_SEED).sample(groups, len(groups) // 5))


DATA_SETS = (
    DataSet(
        "rewrite", "rewrite_su2019/train.txt", _read_su2019, _last(_REPORTED), 0.03, "none stated", False, chinese=True
    ),
    DataSet(
        "restoration",
        "restoration200k/valid.txt",
        _read_restoration,
        _last(_REPORTED),
        0.08,
        "none stated for the data",
        is_open=False,
        chinese=True,
    ),
    DataSet("canard", "canard/dev.txt", _read_canard, _every_fifth, 0.06, "CC BY-SA 4.0"),
    DataSet(
        "camrest", "camrest676_gecor/CamRest676_annotated.json", _read_camrest, _second_half, 0.1, "CC BY 4.0"
    ),
    DataSet("followup", "followup/train.tsv", _read_followup, _every_fifth, 0.06, "Apache-2.0"),
    DataSet(
        "mudoco", "mudoco_qr/mudoco_news.json", _read_mudoco, _every_fifth, 0.06, "CC BY-NC 4.0", is_open=False
    ),
)  # fmt: skip


def load_rows(folder: Path, data_set: DataSet) -> dict[Part, list[RewritingRow]]:
    """Reads and splits one data set.

    Rows of `train` and `tune` that also occur in `report` (same context and query) are left out.

    Args:
        folder: Holds the data sets' folders.
        data_set: Which.

    Raises:
        FileNotFoundError: Its file is not there.
    """
    grouped_rows = list(data_set.read(folder / data_set.file))
    groups = list(dict.fromkeys(group for group, _ in grouped_rows))
    reported = data_set.reported(groups)
    rest = [group for group in groups if group not in reported]
    tuned = set(random.Random(_SEED).sample(rest, round(len(rest) * data_set.tuned)))
    parts: defaultdict[Part, list[RewritingRow]] = defaultdict(list)
    for group, row in grouped_rows:
        part = Part.REPORT if group in reported else Part.TUNE if group in tuned else Part.TRAIN
        parts[part].append(row)
    reported_queries = {(row.turns, row.query) for row in parts[Part.REPORT]}
    for part in (Part.TRAIN, Part.TUNE):
        parts[part] = [row for row in parts[part] if (row.turns, row.query) not in reported_queries]
    return dict(parts)


def as_complete(row: RewritingRow) -> RewritingRow:
    """Makes a negative row: its query is the rewrite, which needs no rewriting."""
    return replace(row, query=row.target, kind="complete")


def as_foreign(row: RewritingRow, other: RewritingRow) -> RewritingRow:
    """Makes a negative row: its query is the rewrite of another conversation."""
    return replace(row, query=other.target, target=other.target, kind="complete")


def find_sets(named: str) -> dict[DataSet, float]:
    """Data sets by names, each with how often an epoch reads it: `rewrite,canard:0.5`; `all`, or `open` for those whose
    licence allows any use.

    Raises:
        ValueError: There is no set of a name.
    """
    by_name = {data_set.name: data_set for data_set in DATA_SETS}
    is_open = {name: data_set.is_open for name, data_set in by_name.items()}
    return {by_name[name]: factor for name, factor in choose_sets(is_open, named).items()}
