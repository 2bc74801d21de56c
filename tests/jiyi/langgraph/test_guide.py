"""The programs of docs/how-to/langgraph.md run as they are written; the agent remembers although it is killed."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.deployments.loopback import on_loopback

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "langgraph.md"
TOLD, ASKED = "I drink oolong tea without milk.", "Which tea do I drink?"


class Agent:
    """The agent in a process of its own."""

    def __init__(self, file: Path, thread: str) -> None:
        command = [sys.executable, str(file), thread]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def say(self, message: str) -> str:
        """What it prints of a turn."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{message}\n")
        return self.process.stdout.readline().strip()


@contextmanager
def killed_afterwards(file: Path, thread: str) -> Iterator[Agent]:
    """An agent that is killed as `kill -9` does."""
    agent = Agent(file, thread)
    with agent.process:
        try:
            yield agent
        finally:
            agent.process.kill()
    assert agent.process.returncode == -signal.SIGKILL


def programs(url: str) -> list[str]:
    """The programs of the page, with the address of a service."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [program.replace("http://127.0.0.1:8000", url) for program in found]


def test_the_sdk_of_langgraph_keeps_and_finds_documents(capsys: pytest.CaptureFixture[str]) -> None:
    with on_loopback() as url:
        _, sdk = programs(url)
        exec(sdk, {})
    printed = capsys.readouterr().out.splitlines()[-1]  # the service writes its log before
    assert f"It prints `{printed}`." in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_agent_of_the_guide_remembers_when_it_is_killed_between_two_turns(tmp_path: Path) -> None:
    with on_loopback() as url:
        file = tmp_path / "agent.py"
        file.write_text(programs(url)[0], encoding="utf-8")
        with killed_afterwards(file, "1") as agent:
            first = agent.say(TOLD)
        with killed_afterwards(file, "1") as agent:
            second = agent.say(ASKED)
        with killed_afterwards(file, "2") as agent:
            third = agent.say("Tea?")
    assert first == f"said: {[TOLD]} found: []"
    assert second == f"said: {[TOLD, ASKED]} found: {[TOLD]}"
    assert third.startswith("said: ['Tea?'] found: ")
    assert TOLD in third
    assert {first, second} <= set(PAGE.read_text(encoding="utf-8").splitlines())
