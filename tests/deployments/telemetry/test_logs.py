"""Every logger of ours reaches the file of its process, whatever module it belongs to."""

import importlib
import json
import logging
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import structlog

from deployments.telemetry.logs import PACKAGES, configure_logs

IMPORTED = tuple(name for name in PACKAGES if name != "__main__")
ADAPTERS = "jiyi.adapters."
"""Their frameworks are in environments of their own, and they write no log."""


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in PACKAGES]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    configuration = structlog.get_config()
    yield
    for handler in {handler for logger in loggers for handler in logger.handlers}:
        handler.close()
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.level, logger.propagate = handlers, level, propagate
    structlog.configure(**configuration)


def our_modules() -> Iterator[ModuleType]:
    for name in IMPORTED:
        package = importlib.import_module(name)
        yield package
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.startswith(ADAPTERS):
                yield importlib.import_module(module.name)


def loggers_of(module: ModuleType) -> Iterator[Any]:
    for value in vars(module).values():
        if isinstance(value, logging.Logger | structlog.typing.BindableLogger):
            yield value


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_warning_of_every_module_reaches_the_file_under_the_name_of_the_module(tmp_path: Path) -> None:
    file = configure_logs(tmp_path, "ingress", "info")
    expected = []
    for module in our_modules():
        for logger in loggers_of(module):
            logger.warning("reached")
            expected.append(module.__name__)
    assert len(expected) > 30
    assert [line["logger"] for line in lines(file)] == expected


def test_a_line_says_when_where_and_who_wrote_it(tmp_path: Path) -> None:
    file = configure_logs(tmp_path, "resolver", "info", replica="abc")
    structlog.get_logger("memory.chat.turn").warning("記得", component="vectors")
    structlog.get_logger("storage.redis.coordination").info("lock_lost")
    logging.getLogger("models.batching").error("from the standard library: %s", "yes")
    structlog.get_logger("storage.redis.coordination").debug("below the level")
    chat, lock, library = lines(file)
    assert chat.pop("timestamp") < lock.pop("timestamp") < library.pop("timestamp")
    who = {"process": "resolver", "replica": "abc"}
    assert chat == who | {
        "logger": "memory.chat.turn",
        "level": "warning",
        "event": "記得",
        "component": "vectors",
        "system": "entity_memory",
    }
    assert lock == who | {"logger": "storage.redis.coordination", "level": "info", "event": "lock_lost"}
    assert library == who | {
        "logger": "models.batching",
        "level": "error",
        "event": "from the standard library: yes",
    }


def test_a_traceback_is_part_of_the_line(tmp_path: Path) -> None:
    file = configure_logs(tmp_path, "learner", "info")
    try:
        raise ValueError("broken")
    except ValueError:
        structlog.get_logger("memory.learning").exception("failed")
    [line] = lines(file)
    assert line["exception"][0]["exc_value"] == "broken"


def test_two_processes_of_one_name_have_a_file_each_and_the_next_one_takes_over_a_free_file(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from deployments.telemetry.logs import configure_logs;"
        "print(configure_logs(Path(sys.argv[1]), 'ingress', 'info').name, flush=True); sys.stdin.read()"
    )

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def file_of(process: "subprocess.Popen[str]") -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    with start() as first, start() as second:
        names = {file_of(first), file_of(second)}
        assert names == {"ingress.jsonl", "ingress-2.jsonl"}
        first.kill()
        first.wait()
        with start() as third:
            assert file_of(third) in names
            third.kill()
        second.kill()


def test_configuring_again_goes_on_in_the_same_file(tmp_path: Path) -> None:
    first = configure_logs(tmp_path, "embedder", "info")
    assert configure_logs(tmp_path, "embedder", "info") == first


def test_a_full_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.telemetry.logs._FILE_BYTES", 1000)
    file = configure_logs(tmp_path, "learner", "info")
    for number in range(100):
        structlog.get_logger("memory").info("event", number=number)
    assert sorted(path.name for path in tmp_path.glob("learner*")) == [
        "learner.jsonl",
        *(f"learner.jsonl.{number}" for number in (1, 2, 3)),
    ]
    assert lines(file)[-1]["number"] == 99
