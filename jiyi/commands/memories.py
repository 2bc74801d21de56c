"""`jiyi memories`: adds and finds memories; timeline with retention scores, decisions, policy (004 §11.3)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .connection import connect
from .output import Home, Json, Url, plain, print_json

app = typer.Typer(
    no_args_is_help=True, help="Adds, finds, shows, retains, deletes and anonymises memories; how well they are kept."
)
_console = Console()
_PATIENCE_S = 30.0

User = Annotated[str, typer.Argument(help="Whose memory.")]
UserOption = Annotated[str, typer.Option("--user", help="Whose memory.")]
UserOrApp = Annotated[str | None, typer.Argument(help="Whose memory; all users of the app where nobody is named.")]
MemoryId = Annotated[str, typer.Argument(help="The id of the memory.")]
MemoryIds = Annotated[list[str], typer.Argument(help="The ids of the memories.")]
Note = Annotated[str, typer.Option(help="Why; it is kept in the audit history.")]
Version = Annotated[int | None, typer.Option("--version", help="Only where the memory has this version.")]
Key = Annotated[str | None, typer.Option("--key", help="A key that makes repeating the command safe.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DecayRate = Annotated[float | None, typer.Option(help="λ per day, 0 to 10; 0.1 where not given.")]
FrequencyWeight = Annotated[float | None, typer.Option(help="Weight of the number of uses, 0 to 10; 1.")]
Threshold = Annotated[float | None, typer.Option(help="What is retained less counts as forgotten, 0 to 1; 0.01.")]


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    user_id: UserOption = "me",
    session: Annotated[str, typer.Option(help="Session id.")] = "cli",
    key: Key = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Adds a note, and returns when it is learned and can be found."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        added = plain(client.add_text(text, user_id=user_id, session_id=session, turn_id=key))
    if as_json:
        print_json(added)
        return
    for memory in added["results"]:
        _console.print(f"added: {memory['id']}", highlight=False, markup=False)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What is looked for.")],
    user_id: UserOption = "me",
    limit: Annotated[int, typer.Option(help="The most memories, 1 to 100.")] = 10,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Searches memories, best first."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain(client.search(query, user_id=user_id, kinds=["memory"], top_k=limit))
    if as_json:
        print_json(found)
        return
    table = Table("score", "memory", "text")
    for hit in found["results"]:
        table.add_row(f"{hit['score']:.3f}", hit["id"], Text(hit["text"]))
    _console.print(table)


@app.command()
def undo(
    change_id: Annotated[str, typer.Argument(help="The id of the change, as `jiyi memories history` shows it.")],
    user_id: UserOption = "me",
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Undoes a change: what it changed is as before. Decisions to delete or anonymise cannot be undone."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        change = plain(client.changes.undo(change_id, user_id=user_id, reason=reason))
    if as_json:
        print_json(change)
        return
    _console.print(f"undone, by change {change['change_id']}", highlight=False)


@app.command()
def timeline(
    user_id: User,
    since: Annotated[str | None, typer.Option(help="From this time on, such as 2026-03-01T00:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    kind: Annotated[str | None, typer.Option(help="turn, note or remembered.")] = None,
    after: Annotated[str | None, typer.Option(help="The cursor that the page before has shown.")] = None,
    limit: Annotated[int, typer.Option(help="1 to 100.")] = 20,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows memories by time, latest first, and how well each is retained."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        listed = client.memories.timeline(
            user_id=user_id, since=since, until=until, kind=kind, after=after, limit=limit
        )
        shown = plain(listed.first())
    if as_json:
        print_json(shown)
        return
    _show_memories(shown["results"])
    if shown["next"]:
        _console.print(f"More: --after {shown['next']}", highlight=False)


@app.command()
def show(user_id: User, memory_id: MemoryId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Shows a memory, how well it is retained, and its facts."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        memory = plain(client.memories.get(memory_id, user_id=user_id))
    if as_json:
        print_json(memory)
        return
    _show_memories([memory])
    for fact in memory["facts"]:
        line = f"  {fact['subject']} {fact['predicate']} {fact['object']}  ({fact['status']}, {fact['confidence']:.2f})"
        _console.print(line, highlight=False, markup=False)


@app.command()
def edit(
    user_id: User,
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="What it says from now on.")],
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    version: Version = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Changes what a memory says; the log keeps what was said."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        reply = client.memories.edit(memory_id, user_id=user_id, text=text, reason=reason, expected_version=version)
    if as_json:
        print_json(reply)
        return
    edited = plain(reply)["memory"]["memory"]
    _console.print(f"version {edited['version']}: {edited['text']}", highlight=False, markup=False)


@app.command()
def history(user_id: User, memory_id: MemoryId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Shows what was changed and decided about a memory; latest first."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        changes = plain(client.memories.history(memory_id, user_id=user_id).first())["results"]
    if as_json:
        print_json(changes)
        return
    _show_rows(changes, ("at", "kind", "actor", "reason", "change_id"))


@app.command()
def retain(
    user_id: User,
    memory_ids: MemoryIds,
    note: Note = "",
    key: Key = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Records that memories were looked at and stay."""
    _decide("retain", user_id, memory_ids, note=note, key=key, as_json=as_json, home=home, url=url)


@app.command()
def delete(
    user_id: User,
    memory_ids: MemoryIds,
    yes: Yes = False,
    note: Note = "",
    version: Version = None,
    key: Key = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Deletes memories with their messages and facts, everywhere; it cannot be undone."""
    _confirm(f"Delete {len(memory_ids)} memories of {user_id}?", yes)
    _decide("delete", user_id, memory_ids, note=note, version=version, key=key, as_json=as_json, home=home, url=url)


@app.command()
def anonymize(
    user_id: User,
    memory_ids: MemoryIds,
    yes: Yes = False,
    note: Note = "",
    version: Version = None,
    key: Key = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Removes what memories say, everywhere; their places and times stay. It cannot be undone."""
    _confirm(f"Anonymise {len(memory_ids)} memories of {user_id}?", yes)
    _decide("anonymize", user_id, memory_ids, note=note, version=version, key=key, as_json=as_json, home=home, url=url)


@app.command()
def audit(
    user_id: User,
    memory_id: Annotated[str | None, typer.Option("--memory", help="Only decisions about this memory.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows the decisions about a user's memories; latest first."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        decisions = plain(client.memories.decisions(user_id=user_id, memory_id=memory_id).first())["results"]
    if as_json:
        print_json(decisions)
        return
    _show_rows(decisions, ("at", "decision_id", "note"))


@app.command()
def policy(
    user_id: UserOrApp = None,
    decay_rate: DecayRate = None,
    frequency_weight: FrequencyWeight = None,
    threshold: Threshold = None,
    remove: Annotated[bool, typer.Option("--remove", help="Removes the policy that was set.")] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows the policy of retention that holds; with a number, sets it (numbers not given are document 004's)."""
    given = _numbers(decay_rate, frequency_weight, threshold)
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        kept = client.memories
        held = plain(
            kept.set_policy(given or None, user_id=user_id) if given or remove else kept.policy(user_id=user_id)
        )
    if as_json:
        print_json(held)
        return
    numbers = ", ".join(f"{name} {value:g}" for name, value in held["policy"].items())
    _console.print(f"{numbers} (of: {held['source']})", highlight=False)


@app.command()
def preview(
    user_id: UserOrApp = None,
    decay_rate: DecayRate = None,
    frequency_weight: FrequencyWeight = None,
    threshold: Threshold = None,
    samples: Annotated[int, typer.Option(help="0 to 100.")] = 10,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows what a policy would count as forgotten; the one that holds where no number is given. Changes nothing."""
    given = _numbers(decay_rate, frequency_weight, threshold)
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        shown = plain(client.memories.preview_policy(given or None, user_id=user_id, samples=samples))
    if as_json:
        print_json(shown)
        return
    for name in ("memories", "facts"):
        _console.print(f"{name}: {shown[name]['forgotten']} of {shown[name]['total']} forgotten", highlight=False)
    _show_memories(shown["samples"])


def _decide(
    decision: str,
    user_id: str,
    memory_ids: Sequence[str],
    *,
    note: str,
    key: str | None,
    as_json: bool,
    home: Path | None,
    url: str | None,
    version: int | None = None,
) -> None:
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        reply = client.memories.decide(
            dict.fromkeys(memory_ids, decision),
            user_id=user_id,
            expected_versions=None if version is None else dict.fromkeys(memory_ids, version),
            idempotency_key=key,
            note=note,
            wait=True,
        )
    decided = plain(reply)
    if as_json:
        print_json(decided)
        return
    removed = ", ".join(f"{count} {name}" for name, count in decided["removed"].items()) or "nothing was removed"
    _console.print(f"decision {decided['decision_id']}: {removed}", highlight=False)
    for erasure_id in decided["erasures"]:
        _console.print(f"See its receipt with: jiyi erase status {erasure_id}", highlight=False)


def _show_memories(memories: Sequence[Mapping[str, Any]]) -> None:
    table = Table("retained", "uses", "said", "memory", "text")
    for entry in memories:
        kept, memory = entry["retention"], entry["memory"]
        score = f"{kept['score']:.3f}{' forgotten' if kept['is_forgotten'] else ''}"
        table.add_row(score, str(kept["access_count"]), memory["created_at"][:16], memory["memory_id"], memory["text"])
    _console.print(table)


def _show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    table = Table(*(column.replace("_", " ") for column in columns))
    for row in rows:
        table.add_row(*(str(row.get(column) or "") for column in columns))
    _console.print(table)


def _numbers(decay_rate: float | None, frequency_weight: float | None, threshold: float | None) -> dict[str, float]:
    given = {"decay_rate": decay_rate, "frequency_weight": frequency_weight, "threshold": threshold}
    return {name: value for name, value in given.items() if value is not None}


def _confirm(question: str, yes: bool) -> None:
    if not yes:
        typer.confirm(f"{question} This cannot be undone.", abort=True)
