"""Replies and reports of the service as a terminal shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...conversations import Question
from ...service import ProcessMemory

if TYPE_CHECKING:
    from deployments.config.described import Setting
    from memory.portability.foreign.entries import ForeignExport

    from ...client.replies import Health
    from ...replay import Replayed

_SOURCES_SHOWN = 3


def welcome(url: str, home: Path) -> str:
    """The message after the start: where the service is, and a first call."""
    body = '{"user_id": "me", "message": "幫我記住，宏康 HCI 的機房在三樓"}'
    return (
        f"Jiyi is ready: {url}  (API page: {url}/docs, data: {home})\n"
        f"Try:\n  curl -s {url}/chat -H 'content-type: application/json' -d '{body}'"
    )


def imported(result: Mapping[str, Any]) -> RenderableType:
    """What an import wrote, and what was there already."""
    table = Table(title=f"{result['from_user_id']} → {result['user_id']}", title_justify="left")
    for column in ("", "imported", "unchanged"):
        table.add_column(column, justify="left" if not column else "right")
    for name in dict.fromkeys([*result["imported"], *result["unchanged"]]):
        table.add_row(name, *(str(result[column].get(name, 0)) for column in ("imported", "unchanged")))
    return table


def read_export(export: "ForeignExport") -> RenderableType:
    """What was read of another service's export, and how much was left out and why."""
    table = Table(title=f"read from {export.source}", title_justify="left")
    table.add_column("")
    table.add_column("entries", justify="right")
    for kind, count in export.counts().items():
        table.add_row(f"{kind}s", str(count))
    for reason, count in sorted(export.skipped.items()):
        table.add_row(f"skipped: {reason}", str(count))
    return table


def health(report: "Health", url: str) -> RenderableType:
    """The parts of the service and their figures."""
    table = Table(title=f"{url}  {report.status}  model {report.model}", title_justify="left")
    for column in ("part", "status", "figures"):
        table.add_column(column)
    for name, part in report.parts.items():
        figures = ", ".join(f"{key} {value:g}" for key, value in part.items() if isinstance(value, int | float))
        status = part["status"]
        table.add_row(name, Text(status, style="green" if status == "ok" else "red"), part.get("error", figures))
    return table


def settings(described: "Sequence[Setting]") -> RenderableType:
    """Renders all settings and marks those that differ from the default."""
    table = Table(title="Settings", title_justify="left", show_lines=True)
    for column in ("setting, variable", "value", "default", "allowed", "meaning"):
        table.add_column(column, overflow="fold")
    for setting in described:
        changed = setting.source != "default"
        value = f"{setting.value}\n({setting.source})" if changed else setting.value
        table.add_row(
            Text(f"{setting.name}\n{setting.variable}"),
            Text(value, style="yellow" if changed else ""),
            Text(setting.default),
            Text(setting.allowed),
            Text(setting.description),
        )
    return table


def keys(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """API keys without their secrets."""
    table = Table(title="API keys", title_justify="left")
    for column in ("prefix", "name", "scope", "app", "user", "created", "last used", "state"):
        table.add_column(column, overflow="fold")
    for key in found:
        state = "revoked" if key["revoked_at"] else f"until {key['expires_at'][:16]}" if key["expires_at"] else "valid"
        table.add_row(
            *(Text(str(key[name] or "")) for name in ("prefix", "name", "scope", "app", "user")),
            key["created_at"][:16],
            (key["last_used_at"] or "never")[:16],
            Text(state, style="red" if key["revoked_at"] else ""),
        )
    return table


def memory(processes: Sequence[ProcessMemory]) -> RenderableType:
    """The memory of each process, in MiB."""
    table = Table(
        title="Memory, MiB (PSS: with a share of common pages; own: what no file holds)", title_justify="left"
    )
    table.add_column("process")
    for column in ("pid", "RSS", "PSS", "own"):
        table.add_column(column, justify="right")
    for process in processes:
        figures = (process.rss_mib, process.pss_mib, process.own_mib)
        table.add_row(process.name, str(process.pid), *(f"{figure:.0f}" for figure in figures))
    totals = (sum(process.pss_mib for process in processes), sum(process.own_mib for process in processes))
    table.add_row("total", "", "", *(f"{total:.0f}" for total in totals), style="bold")
    return table


def reply(answer: Mapping[str, Any]) -> RenderableType:
    """A reply with the resolved references and its sources."""
    lines: list[RenderableType] = [
        Text(
            f"  {found['original_text']} → {found['resolved_text']}"
            f"  ({found['source']}, {found['confidence']:.2f}: {found['reason']})",
            style="yellow",
        )
        for found in answer["resolution"]["resolutions"]
    ]
    if revision := answer["resolution"]["revision"]:
        lines.append(_revision(revision))
    for reference in answer["resolution"]["unresolved"]:
        options = " / ".join(option["text"] for option in reference["alternatives"]) or "?"
        lines.append(Text(f"  {reference['original_text']} → ? ({options})", style="dim yellow"))
    if answer["resolved_query"] != answer["resolution"]["original_query"]:
        lines.append(Text(f"  = {answer['resolved_query']}", style="yellow"))
    lines.append(Text(answer["reply"], style="bold"))
    lines += [
        Text(f"  · {source['score']:.2f} {source['text'][:100]}", style="dim")
        for source in answer["sources"][:_SOURCES_SHOWN]
    ]
    if answer["degraded"]:
        lines.append(Text(f"  without: {', '.join(answer['degraded'])}", style="red"))
    return Group(*lines)


def _revision(revision: Mapping[str, Any]) -> Text:
    """Renders how a correction changes an earlier query."""
    found, rejected = revision["resolution"], revision["rejected"]
    instead = f", not {rejected['text']}" if rejected else ""
    return Text(f"  {revision['query']}: {found['original_text']} → {found['resolved_text']}{instead}", style="yellow")


def replayed(result: "Replayed") -> RenderableType:
    """The speed of a replay."""
    return Text(
        f"{result.turns} turns acknowledged in {result.acknowledged_s:.1f} s ({result.turns_per_s:.1f} turns/s), "
        f"all learned after {result.learned_s:.1f} s ({result.turns / result.learned_s:.1f} turns/s)"
    )


def entities(user_id: str, found: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The entities of a user."""
    table = Table(title=f"{user_id}: entities mentioned last", title_justify="left")
    for column in ("entity", "type", "mentions", "confidence", "last mentioned"):
        table.add_column(column)
    for entity in found:
        table.add_row(
            entity["entity_value"],
            entity["subtype"] or entity["entity_type"],
            str(entity["mention_count"]),
            f"{entity['confidence']:.2f}",
            entity["last_mentioned"][:10],
        )
    return table


def question(asked: Question, answer: Mapping[str, Any]) -> RenderableType:
    """A recorded question, its recorded answer, and the reply of the service."""
    expected = f"   (recorded answer: {asked.answer})" if asked.answer else ""
    return Group(Text(f"? {asked.text}{expected}", style="cyan"), Text(f"  {answer['reply']}"))
