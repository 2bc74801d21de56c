"""Structured logs: one JSON object a line in `HOME/logs/<process>.jsonl`, for every logger of our packages (000 §9.3).

Every module logs through `structlog.get_logger(__name__)`, and each process calls `configure_logs` once. A line has
`timestamp`, `level`, `logger` (the module), `process` (the deployment or program that wrote it), `replica` (Serve's
id) and `event`; `component` is the part that an event is about, and lines about a request have its `trace_id` and
`span_id`. 000 §9.3 names its logger `entity_memory`: lines of the package `memory` carry that name as `system`.
"""

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Self

import structlog
from filelock import FileLock, Timeout
from structlog.typing import EventDict, Processor
from typing_extensions import override

from .tracing import add_trace

PACKAGES = ("memory", "models", "storage", "documents", "deployments", "jiyi", "__main__")
"""Roots of our loggers; `__main__` is what `python -m deployments.host.supervisor` calls its module."""
AUDIT_LOGGER = "deployments.http.identity.operators"
"""The logger of operators' acts."""
_FILE_BYTES = 16 * 1024 * 1024
_OLD_FILES = 3
_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_trace,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    # No values of variables: they may be secrets, or what a person said.
    structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
)


def configure_logs(folder: Path, process: str, level: str, *, replica: str | None = None) -> Path:
    """Sends the log lines of our packages, through structlog and the standard library alike, to a file of this process.

    A second process of the same name that runs at the same time writes to `<process>-2.jsonl`, a third to `-3`, and so
    on, so that no two processes write to one file. At 16 MiB a file is renamed to `.jsonl.1`; three old ones are kept.

    Args:
        folder: The folder of all log files.
        process: The deployment or program, as the file is called.
        level: `debug`, `info`, `warning` or `error`.
        replica: Serve's id of the replica.

    Returns:
        The file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    identity = {"process": process} | ({"replica": replica} if replica else {})

    def add_identity(_logger: object, _method: str, event: EventDict) -> EventDict:
        system = {"system": "entity_memory"} if str(event.get("logger", "")).startswith("memory.") else {}
        return {**event, **identity, **system}

    loggers = [logging.getLogger(name) for name in PACKAGES]
    for former in {handler for logger in loggers for handler in logger.handlers if isinstance(handler, _OwnFile)}:
        former.close()
    handler = _OwnFile.first_free(folder, process)
    handler.setFormatter(_formatter(add_identity))
    for logger in loggers:
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    return Path(handler.baseFilename)


def configure_audit(folder: Path) -> Path:
    """Writes operators' acts to a file of their own as well, both whatever the log level; see `configure_logs`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    logger = logging.getLogger(AUDIT_LOGGER)
    for former in [handler for handler in logger.handlers if isinstance(handler, _OwnFile)]:
        former.close()
    handler = _OwnFile.first_free(folder, "audit")
    handler.setFormatter(_formatter(lambda _logger, _method, event: event))
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    return Path(handler.baseFilename)


def _formatter(complete: Processor) -> structlog.stdlib.ProcessorFormatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            complete,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
    )


class _OwnFile(RotatingFileHandler):
    """A rotating log file that no other process writes to, as a lock beside it says until this process ends."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        super().__init__(path, maxBytes=_FILE_BYTES, backupCount=_OLD_FILES, encoding="utf-8")
        self._lock = lock

    @classmethod
    def first_free(cls, folder: Path, process: str) -> Self:
        name, number = process, 1
        while True:
            lock = FileLock(folder / f".{name}.lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                number += 1
                name = f"{process}-{number}"
            else:
                return cls(folder / f"{name}.jsonl", lock)

    @override
    def close(self) -> None:
        super().close()
        self._lock.release()
