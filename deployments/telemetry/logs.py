"""Structured logs: one JSON object a line, one file a deployment, under the data folder."""

import logging
import logging.handlers
from pathlib import Path

import structlog

_LOGGERS = ("entity_memory", "jiyi")


def configure_logs(folder: Path, component: str, level: str) -> None:
    """Sends Jiyi's own log lines to `folder/<component>.jsonl`; called once by each replica.

    The file is reopened when something renames it, so the usual log rotation works.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handler = logging.handlers.WatchedFileHandler(folder / f"{component}.jsonl", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(message)s"))
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_logger_name,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.dict_tracebacks,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
