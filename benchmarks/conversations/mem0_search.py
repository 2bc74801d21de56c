"""mem0 on the same lines: its store and its search, our encoder, no language model."""

import json
import os
import shutil
import subprocess
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from typing_extensions import override

from benchmarks.embedding.environments import ensure
from benchmarks.embedding.peers import Environment

from .systems import AT_ONCE, Found, LineSearch

LEAST_SCORES = {"zh-Hant": 0.878, "zh-Hans": 0.895, "en": 0.835}
"""Chosen as that of BM25 was."""
_ENVIRONMENT = Environment("mem0", ("mem0ai==2.2.1",), ("mem0ai", "qdrant-client"))
_WORKER = Path(__file__).with_name("mem0_worker.py")
_MODEL = "multilingual-e5-small"
_DIMENSION = 384


class Mem0Failed(Exception):
    """mem0 ended; the message ends with what it printed."""


class Mem0(LineSearch):
    """mem0 in a process of its own environment, which is made in the work folder on first use.

    Its texts are encoded by an OpenAI-compatible endpoint, lines and questions alike: mem0 tells it no difference.

    Args:
        work: Where the environment and, for the time of the run, the stores are.
        embeddings_url: Of the endpoint, with `/v1`.
        api_key: For the endpoint.

    Raises:
        NotInstalled: pip could not install it.
    """

    def __init__(self, work: Path, *, embeddings_url: str, api_key: str | None = None) -> None:
        binaries = ensure(_ENVIRONMENT, work / "environments")
        self._folder = work / f"mem0-{uuid.uuid4()}"
        self._folder.mkdir(parents=True)
        self._log = (self._folder / "log.txt").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [binaries / "python", "-I", _WORKER, self._folder, embeddings_url, _MODEL, str(_DIMENSION)],
            env=os.environ | ({"JIYI_API_KEY": api_key} if api_key else {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def close(self) -> None:
        """Ends the process and removes its stores."""
        with self._process, self._log:
            pass
        shutil.rmtree(self._folder)

    @override
    def add(self, line: str, at: datetime, *, user_id: str) -> None:
        self._ask({"user": user_id, "line": line, "date": f"{at:%Y-%m-%d}"})

    @override
    def search(self, question: str, *, user_id: str) -> list[Found]:
        return [Found(*hit) for hit in self._ask({"user": user_id, "question": question, "top_k": AT_ONCE})]

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            reply = self._process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            self._log.seek(0)
            raise Mem0Failed(f"mem0 ended: {self._log.read()[-2000:]}")
        return json.loads(reply)
