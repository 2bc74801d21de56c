"""`jiyi chat`, `replay`, `export`, `import`: what a user says, and everything that is kept of it."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from rich.console import Console

from memory.portability.foreign.readers import ForeignFormat

from ..conversations import read_conversations
from ..errors import Refused
from . import importing
from .connection import connect
from .operations import show
from .output import USAGE, Home, Json, Url, byte_bar, fail, plain, print_error, print_json, progress_bar

if TYPE_CHECKING:
    from ..client.clients import Client

app = typer.Typer()
_console = Console()
_TRANSFER_S = 900.0
"""Seconds until an export begins to come, or an import is written."""
_ENTITIES_SHOWN = 15


@app.command()
def chat(
    message: Annotated[str | None, typer.Argument(help="One message; a conversation where it is not given.")] = None,
    user: Annotated[str, typer.Option(help="User id.")] = "me",
    session: Annotated[str, typer.Option(help="Session id.")] = "cli",
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Talks to the service; shows what each reference resolved to and why. Ends with Ctrl-D."""
    with connect(home, url) as client:
        if message is not None:
            _say(client, message, user, session, as_json=as_json)
            return
        while True:
            try:
                said = input() if as_json else _console.input("[bold cyan]你 / you[/] ")
            except (EOFError, KeyboardInterrupt):
                return
            if not said.strip():
                continue
            try:
                _say(client, said, user, session, as_json=as_json)
            except Refused as error:
                print_error(str(error), error.advice)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="LoCoMo, MemoryBank or messages.")],
    user: Annotated[str | None, typer.Option(help="User to replay as; the file's own where not given.")] = None,
    only: Annotated[str | None, typer.Option(help="Only this conversation of the file.")] = None,
    batch: Annotated[int, typer.Option(min=1, max=256, help="Turns a call.")] = 1,
    ask: Annotated[int, typer.Option(min=0, help="Number of the recording's questions to ask afterwards.")] = 0,
    patience: Annotated[float, typer.Option(help="Seconds to repeat a call while the service is away.")] = 120,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Feeds a recorded conversation and prints what was learned; running it twice adds nothing."""
    from ..replay import replay as replay_all

    try:
        conversations = read_conversations(file)
    except ValueError as error:
        fail(str(error))
    if only:
        conversations = [conversation for conversation in conversations if conversation.user == only]
    users = {conversation.user: user or conversation.user for conversation in conversations}
    with connect(home, url, patience_s=patience) as client:
        with progress_bar() as progress:
            result = replay_all(client, conversations, users=users, batch=batch, progress=progress)
        learned = {
            users[each.user]: plain(client.entities.recent(user_id=users[each.user], limit=_ENTITIES_SHOWN).results)
            for each in conversations
        }
        answers = [
            (question, plain(client.chat(question.text, user_id=users[each.user], session_id="replay-questions")))
            for each in conversations
            for question in each.questions[:ask]
        ]
    if as_json:
        asked = [
            {"question": question.text, "expected": question.answer, "reply": reply} for question, reply in answers
        ]
        print_json({**plain(result), "entities": learned, "answers": asked})
        return
    _console.print(show.replayed(result))
    for user_id, entities in learned.items():
        _console.print(show.entities(user_id, entities))
    for question, answer in answers:
        _console.print(show.question(question, answer))


@app.command("export")
def export_memory(
    user: Annotated[str, typer.Argument(help="User id.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines, which it always is.")] = True,
    home: Home = None,
    url: Url = None,
) -> None:
    """Writes everything of a user to standard output, as JSON lines."""
    is_shown = not sys.stdout.isatty()  # on a terminal the export itself is what is seen
    with connect(home, url, timeout_s=_TRANSFER_S) as client, byte_bar(is_shown=is_shown) as progress:
        task = progress.add_task(f"export of {user}", total=None)
        for piece in client.export(user_id=user):
            sys.stdout.buffer.write(piece)
            progress.advance(task, len(piece))
        written = int(progress.tasks[0].completed)
        progress.update(task, total=written)


@app.command("import")
def import_memory(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `jiyi export` wrote, or --from.")],
    user: Annotated[
        str | None, typer.Option(help="User who gets it; that of the file where not given. Needed with --from.")
    ] = None,
    source: Annotated[
        ForeignFormat | None, typer.Option("--from", help="The service whose export the file is.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --from: show what would be imported and skipped, and why.")
    ] = False,
    patience: Annotated[float, typer.Option(help="Seconds to repeat it while the service is away.")] = 120,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Gives a user what was exported, by Jiyi or another service; running it twice adds nothing."""
    if source is None:
        if dry_run:
            fail("--dry-run needs --from: an export of Jiyi is imported whole or refused.", code=USAGE)
        of = importing.user_of(file)
        with file.open("rb") as lines, connect(home, url, patience_s=patience, timeout_s=_TRANSFER_S) as client:
            imported = _send(client, lines, user_id=user or of, from_user_id=of)
        _show_imported(imported, as_json=as_json)
        return
    if user is None:
        fail("--from needs --user: who gets what is imported.", code=USAGE)
    export = importing.read_foreign(file, source, user=user)
    read = {"source": source, "read": export.counts(), "skipped": export.skipped}
    if not as_json:
        _console.print(show.read_export(export))
    if dry_run or not export.entries:
        if as_json:
            print_json(read)
        return
    with (
        importing.as_export(export, user=user) as lines,
        connect(home, url, patience_s=patience, timeout_s=_TRANSFER_S) as client,
    ):
        imported = _send(client, lines, user_id=user, from_user_id=user)
    _show_imported({**read, **imported}, as_json=as_json)


def _send(client: "Client", lines: BinaryIO, *, user_id: str, from_user_id: str) -> dict[str, Any]:
    """Imports a file, and shows how much of it the service has got."""
    size = lines.seek(0, os.SEEK_END)
    lines.seek(0)
    with byte_bar() as progress:
        read = progress.wrap_file(lines, total=size, description=f"import for {user_id}")
        imported: dict[str, Any] = plain(client.import_(read, user_id=user_id, from_user_id=from_user_id))
    return imported


def _show_imported(imported: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(imported)
    else:
        _console.print(show.imported(imported))


def _say(client: "Client", message: str, user: str, session: str, *, as_json: bool) -> None:
    reply = plain(client.chat(message, user_id=user, session_id=session))
    if as_json:
        typer.echo(json.dumps(reply, ensure_ascii=False))
    else:
        _console.print(show.reply(reply))
