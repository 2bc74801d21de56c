"""Background tasks: cancelling them, and logging the defects of those that nobody awaits."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

_log = structlog.get_logger(__name__)


async def end(task: "asyncio.Task[None] | None") -> None:
    """Cancels a task and waits until it has ended; does nothing where there is none, or where it has."""
    if task and not task.done():
        task.cancel()
        await asyncio.wait([task])


def logs_defect(event: str) -> Callable[["asyncio.Task[Any]"], None]:
    """For `add_done_callback`: logs an error that is no outage, which ended a task that nobody waits for.

    Args:
        event: What the log calls it.
    """

    def log(task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error(event, exc_info=error)

    return log
