"""Background tasks: cancelling them, and logging the defects of those that nobody awaits."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

_log = structlog.get_logger(__name__)


async def cancel(task: "asyncio.Task[None] | None") -> None:
    """Cancels a task and waits until it has ended; does nothing for None or an ended task."""
    if task and not task.done():
        task.cancel()
        await asyncio.wait([task])


def log_defect(event: str) -> Callable[["asyncio.Task[Any]"], None]:
    """A callback for `add_done_callback`, which logs the exception of a task that nobody awaits.

    Args:
        event: The log event.
    """

    def log(task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error(event, exc_info=error)

    return log
