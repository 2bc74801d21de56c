"""Following a run over the vector index on a terminal, and what it found."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from .client import JiyiClient
from .runs import watched

_COLUMNS = ("checked", "missing", "stale", "orphaned", "pending", "mended")
_WRONG = ("missing", "stale", "orphaned")


def follow(client: JiyiClient, run: Mapping[str, Any], progress: Progress) -> Mapping[str, Any]:
    """Shows how far a run is until it ends; returns its last state. The run does not need anybody to watch it.

    Raises:
        RunLost: The service knows nothing of the run any more.
    """
    task = progress.add_task(run["operation"], total=run["total"])

    def move(now: Mapping[str, Any]) -> None:
        progress.update(task, total=now["total"], completed=min(_sum(now, "checked"), now["total"]))

    lost = "the service was started again meanwhile; what was done stays done: start it again"
    run = watched(run, client.index_status, move, lost=lost)
    if run["state"] == "done":
        progress.update(task, total=run["total"] or 1, completed=run["total"] or 1)
    return run


def is_sound(run: Mapping[str, Any]) -> bool:
    """Whether a run ended well, with an index that agrees with the record."""
    wrong = sum(_sum(run, name) for name in _WRONG)
    return run["state"] == "done" and (wrong == 0 or run["operation"] != "verify")


def show(run: Mapping[str, Any]) -> RenderableType:
    """What a run found, by collection."""
    report = run["report"]
    title = f"{run['operation']} {run['state']}, {report['users']} users"
    table = Table(title=title, title_justify="left", caption=_advice(run), caption_justify="left", pad_edge=False)
    table.add_column("collection", overflow="fold")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for collection, counts in report["collections"].items():
        table.add_row(collection, *(_cell(name, counts[name]) for name in _COLUMNS))
    return table


def _cell(name: str, count: int) -> Text:
    return Text(str(count), style="red" if count and name in _WRONG else "")


def _advice(run: Mapping[str, Any]) -> str | None:
    if run["state"] == "failed":
        return str(run["error"])
    return None if is_sound(run) else "Put it right with: jiyi index verify --mend"


def _sum(run: Mapping[str, Any], name: str) -> int:
    return sum(counts[name] for counts in run["report"]["collections"].values())
