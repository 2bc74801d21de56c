"""How many files of the project a chat message passes between HTTP and its reply: a reader has to follow them all."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import httpx
import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("deployments", "memory", "models", "storage")
MOST_FILES = 92
"""A third of them ask who calls, limit, trace and log the request."""
BESIDE = {"memory/jobs/queue.py", "memory/knowledge/ingestion.py"}
"""Look for runs that wait several times a second, whatever a message does."""


class Trace:
    """Files of the project in the order in which a call first enters them, in all threads, while it listens."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.listens = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if not self.listens or event != "call" or frame.f_code.co_name in ("<module>", "<lambda>"):
            return
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES:
            self.files.setdefault(str(path.relative_to(ROOT)))


@pytest.fixture
def trace() -> Iterator[Trace]:
    traced = Trace()
    threading.setprofile(traced)
    sys.setprofile(traced)
    yield traced
    sys.setprofile(None)
    threading.setprofile(None)


async def test_a_chat_message_passes_few_files(trace: Trace, http: httpx.AsyncClient) -> None:
    turn = {"user_id": "ann", "session_id": "s", "wait": True}
    for message in ("我們公司買了 AI-Box。", "AI-Box 放在三樓機房。"):
        assert (await http.post("/chat", json=turn | {"message": message})).is_success
    trace.listens = True
    reply = await http.post("/chat", json=turn | {"message": "它放在哪裡？", "wait": False})
    trace.listens = False
    assert "三樓機房" in reply.json()["reply"]
    assert len(trace.files.keys() - BESIDE) <= MOST_FILES, "\n".join(trace.files)
