"""Following a change of the model on a terminal, and where it stands."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.progress import Progress
from rich.table import Table

from .client import JiyiClient
from .runs import watched

_ADVICE = {
    "switched": "The vectors before are kept up to date. Next: jiyi reembed --finish, or back: jiyi reembed --rollback",
    "verifying": "Go on: jiyi reembed --to {to}; give it up: jiyi reembed --rollback",
    "filling": "Go on: jiyi reembed --to {to}; give it up: jiyi reembed --rollback",
}


def follow(client: JiyiClient, run: Mapping[str, Any], progress: Progress) -> Mapping[str, Any]:
    """Shows how far a run is until it rests; returns its last state. It goes on whoever watches, and after a restart.

    Raises:
        RunLost: Another run is the last one now.
    """
    task = progress.add_task(_phase(run), total=run["total"] or 1)

    def move(now: Mapping[str, Any]) -> None:
        waits = f" (waits: {now['error']})" if now["error"] and now["state"] == "running" else ""
        progress.update(task, description=f"{_phase(now)}{waits}", completed=min(now["done"], now["total"]))

    run = watched(run, client.reembedding, move, lost="another change of the model has begun meanwhile")
    if run["state"] == "done":
        progress.update(task, description=_phase(run), completed=run["total"] or 1)
    return run


def show(run: Mapping[str, Any]) -> RenderableType:
    """Where a change of the model stands, and what can be done next."""
    output, models = run["output"], run["input"]
    to = models["to"]["model_id"]
    advice = run["error"] if run["state"] == "failed" else ""
    advice = "\n".join(part for part in (advice, _ADVICE.get(output["phase"], "").format(to=to)) if part)
    title = f"{models['from']['model_id']} → {to}: {_phase(run)}, {run['state']}"
    table = Table(title=title, title_justify="left", caption=advice or None, caption_justify="left", pad_edge=False)
    for name in ("done", "total", "checked", "wrong", "sampled", "found"):
        table.add_column(name, justify="right")
    checks = [str(output.get(name, "")) for name in ("checked", "wrong", "sampled", "found")]
    table.add_row(str(run["done"]), str(run["total"]), *checks)
    return table


def _phase(run: Mapping[str, Any]) -> str:
    return str(run["output"]["phase"]).replace("_", " ")
