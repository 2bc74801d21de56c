"""Shows runs of the service on a terminal: their progress, their result, and what to do next.

A run (of the index, of a change of the model, of the review) continues in the service when the terminal is closed.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ..output import plain

if TYPE_CHECKING:
    from ...client.clients import Client

Run = Mapping[str, Any]
_POLL_S = 0.3
_COLLECTION_COUNTS = ("checked", "missing", "stale", "orphaned", "pending", "mended")
_FAULTS = ("missing", "stale", "orphaned")
_REVIEW_COUNTS = ("users", "checked", "archived", "marked", "kept")
_CONTINUE = "Continue: jiyi reembed --to {to}; give it up: jiyi reembed --rollback"
_REEMBEDDING_ADVICE = {
    "switched": "The vectors before are kept up to date. Next: jiyi reembed --finish, or back: jiyi reembed --rollback",
    "verifying": _CONTINUE,
    "filling": _CONTINUE,
}


class RunLost(Exception):
    """The run is not the last one any more; what it had done stays done."""


def watch(run: Run, ask: Callable[[], Run | None], show: Callable[[Run], object], *, lost: str) -> Run:
    """Shows every state of a run after the one given, until it has ended; returns the last.

    Args:
        run: Its state now.
        ask: Gets the state of the last run.
        show: Shows a state.
        lost: What to say where the last run is another one.

    Raises:
        RunLost: The service knows another run, or none.
    """
    while run["state"] == "running":
        time.sleep(_POLL_S)
        last = ask()
        if last is None or last["run_id"] != run["run_id"]:
            raise RunLost(lost)
        run = last
        show(run)
    return run


def follow_index_run(client: "Client", run: Run, progress: Progress) -> Run:
    """Shows how far a run over the vector index is until it ends; returns its last state.

    Raises:
        RunLost: The service knows nothing of the run any more.
    """
    task = progress.add_task(run["operation"], total=run["total"])

    def show(state: Run) -> None:
        progress.update(task, total=state["total"], completed=min(_sum(state, "checked"), state["total"]))

    lost = "The service was restarted meanwhile; what was done stays done. Start the run again."
    run = watch(run, lambda: plain(client.index.status()), show, lost=lost)
    if run["state"] == "done":
        progress.update(task, total=run["total"] or 1, completed=run["total"] or 1)
    return run


def index_is_sound(run: Run) -> bool:
    """Whether a run ended well, with an index that agrees with the record."""
    faults = sum(_sum(run, name) for name in _FAULTS)
    return run["state"] == "done" and (faults == 0 or run["operation"] != "verify")


def show_index_run(run: Run) -> RenderableType:
    """Renders the results of a run over the vector index, by collection."""
    report = run["report"]
    advice = None if index_is_sound(run) else "Repair it with: jiyi index verify --mend"
    caption = str(run["error"]) if run["state"] == "failed" else advice
    table = _table(f"{run['operation']} {run['state']}, {report['users']} users", caption=caption)
    table.add_column("collection", overflow="fold")
    for name in _COLLECTION_COUNTS:
        table.add_column(name, justify="right")
    for collection, counts in report["collections"].items():
        cells = (
            Text(str(counts[name]), style="red" if counts[name] and name in _FAULTS else "")
            for name in _COLLECTION_COUNTS
        )
        table.add_row(collection, *cells)
    return table


def follow_reembedding(client: "Client", run: Run, progress: Progress) -> Run:
    """Shows how far a change of the model is until it pauses or ends; returns its last state.

    Raises:
        RunLost: Another run is the last one now.
    """
    task = progress.add_task(_phase(run), total=run["total"] or 1)

    def show(state: Run) -> None:
        waits = f" (waits: {state['error']})" if state["error"] and state["state"] == "running" else ""
        progress.update(task, description=f"{_phase(state)}{waits}", completed=min(state["done"], state["total"]))

    run = watch(
        run, lambda: plain(client.index.reembedding()), show, lost="Another change of the model has begun meanwhile."
    )
    if run["state"] == "done":
        progress.update(task, description=_phase(run), completed=run["total"] or 1)
    return run


def show_reembedding(run: Run) -> RenderableType:
    """Renders the phase of a change of the model and the possible next steps."""
    output, models = run["output"], run["input"]
    target = models["to"]["model_id"]
    error = run["error"] if run["state"] == "failed" else ""
    advice = _REEMBEDDING_ADVICE.get(output["phase"], "").format(to=target)
    title = f"{models['from']['model_id']} → {target}: {_phase(run)}, {run['state']}"
    table = _table(title, caption="\n".join(filter(None, (error, advice))) or None)
    for name in ("done", "total", "checked", "wrong", "sampled", "found"):
        table.add_column(name, justify="right")
    checks = [str(output.get(name, "")) for name in ("checked", "wrong", "sampled", "found")]
    table.add_row(str(run["done"]), str(run["total"]), *checks)
    return table


def follow_review(client: "Client", run: Run, progress: Progress) -> Run:
    """Shows how far a review is until it ends; returns its last state.

    Raises:
        RunLost: Another run is the last one now.
    """
    return _follow_users("review", run, progress, lambda: plain(client.review.status()))


def follow_job(client: "Client", run: Run, progress: Progress) -> Run:
    """Shows how far a job over facts is until it ends; returns its last state.

    Raises:
        RunLost: Another run is the last one now.
    """
    kind = _job_name(run)
    return _follow_users(f"{kind} job", run, progress, lambda: plain(client.facts.job(kind)))


def _follow_users(name: str, run: Run, progress: Progress, ask: Callable[[], Run | None]) -> Run:
    task = progress.add_task(name, total=run["total"])

    def show(state: Run) -> None:
        progress.update(task, total=max(state["total"], state["done"]), completed=state["done"])

    run = watch(run, ask, show, lost=f"Another {name} has begun meanwhile; what this one did stays done.")
    if run["state"] == "done":
        progress.update(task, total=max(run["done"], 1), completed=max(run["done"], 1))
    return run


def show_job(run: Run) -> RenderableType:
    """Renders what a job over facts did, and the counts before and after."""
    output = run["output"]
    title = f"{_job_name(run)} {run['state']}, {run['done']} of {run['total']} users, begun {run['started_at']}"
    done = _table("", caption=run["error"])
    done.add_column("")
    done.add_column("count", justify="right")
    for name, count in output.items():
        if name not in ("users", "before", "after"):
            done.add_row(name.replace("_", " "), str(count))
    facts = _table("facts")
    facts.add_column("")
    for name in output["before"]:
        facts.add_column(name.replace("_", " "), justify="right")
    for when in ("before", "after"):
        facts.add_row(when, *(_figure(figure) for figure in output[when].values()))
    return Group(title, done, facts)


def _job_name(run: Run) -> str:
    return str(run["pipeline"]).removeprefix("facts_")


def _figure(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}" if isinstance(figure, float) else str(figure)


def show_review(run: Run) -> RenderableType:
    """Renders the counts and the single decisions of a review or a dry run."""
    did, output = "would have done" if run["input"].get("dry_run") else "did", run["output"]
    title = f"review {run['state']}, {run['done']} of {run['total']} users, begun {run['started_at']}"
    counts = _table(title, caption=run["error"])
    for name in _REVIEW_COUNTS:
        counts.add_column(name, justify="right")
    counts.add_row(*(str(output.get(name, 0)) for name in _REVIEW_COUNTS))
    items = output.get("items", [])
    if not items:
        return counts
    table = _table(f"what it {did}")
    for name in ("user", "what", "value", "verdict", "reason", "id"):
        table.add_column(name, overflow="fold")
    for item in items:
        verdict = Text(item["verdict"], style="yellow" if item["verdict"] == "review" else "")
        table.add_row(item["user_id"], item["kind"], Text(item["value"]), verdict, item["reason"], item["item_id"])
    return Group(counts, table)


def _table(title: str, *, caption: str | None = None) -> Table:
    return Table(title=title, title_justify="left", caption=caption, caption_justify="left", pad_edge=False)


def _phase(run: Run) -> str:
    return str(run["output"]["phase"]).replace("_", " ")


def _sum(run: Run, name: str) -> int:
    return sum(counts[name] for counts in run["report"]["collections"].values())
