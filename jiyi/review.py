"""Following a review of what is remembered on a terminal, and what it did."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from .client import JiyiClient
from .runs import watched

_COUNTS = ("users", "checked", "archived", "marked", "kept")


def follow(client: JiyiClient, run: Mapping[str, Any], progress: Progress) -> Mapping[str, Any]:
    """Shows how far a review is until it ends; returns its last state. It does not need anybody to watch it.

    Raises:
        RunLost: Another run is the last one now.
    """
    task = progress.add_task("review", total=run["total"])

    def move(now: Mapping[str, Any]) -> None:
        progress.update(task, total=max(now["total"], now["done"]), completed=now["done"])

    lost = "another review has begun meanwhile; what this one did stays done"
    run = watched(run, client.review_status, move, lost=lost)
    if run["state"] == "done":
        progress.update(task, total=max(run["done"], 1), completed=max(run["done"], 1))
    return run


def show(run: Mapping[str, Any]) -> RenderableType:
    """What a review did, or would have done, in figures and one by one."""
    done, output = "would have done" if run["input"].get("dry_run") else "did", run["output"]
    title = f"review {run['state']}, {run['done']} of {run['total']} users, begun {run['started_at']}"
    counts = Table(title=title, title_justify="left", caption=run["error"], caption_justify="left", pad_edge=False)
    for name in _COUNTS:
        counts.add_column(name, justify="right")
    counts.add_row(*(str(output.get(name, 0)) for name in _COUNTS))
    items = output.get("items", [])
    if not items:
        return counts
    table = Table(title=f"what it {done}", title_justify="left", pad_edge=False)
    for name in ("user", "what", "value", "verdict", "reason", "id"):
        table.add_column(name, overflow="fold")
    for item in items:
        style = "yellow" if item["verdict"] == "review" else ""
        table.add_row(
            item["user_id"],
            item["kind"],
            Text(item["value"]),
            Text(item["verdict"], style=style),
            item["reason"],
            item["item_id"],
        )
    return Group(counts, table)
