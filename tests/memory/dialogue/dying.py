"""How the processes of the tests of killed turns end themselves."""

import os
import signal


def die() -> None:
    """Ends this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def answer_unless_killed(where: str, reply: str) -> str:
    """The model's answer, if it lives to give it: not where the process dies while the model is asked."""
    if where == "call_llm":
        die()
    return reply
