"""A process that has imported everything and opened nothing: it forks writers, kills them, and forks who checks.

A fork of it is ready in milliseconds, where a new interpreter takes half a second. It has one thread, so forking is
safe; whoever opens a store does so in a child.
"""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Pipe
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from memory.values.text import normalise

from . import tearing
from .checking import check
from .plans import Death, Plan, Verdict
from .processes import NOTE, Note, create, own_index, write_all

_PATIENCE_S = 60
_MEMORY = Path("/dev/shm")


class Zygote:
    """Runs plans in a process of its own; a context manager.

    Args:
        home: Where stores are created and removed again. By default in memory, where there is a file system of that
            kind: what a killed process wrote is in the system's hands, whether or not a disk has it.
    """

    def __init__(self, home: Path | None = None) -> None:
        memory = _MEMORY if _MEMORY.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="durability-", dir=home or memory))
        command = [sys.executable, "-m", __name__, str(self._folder)]
        # One thread: the mathematics library would otherwise start more, and only the forking one survives a fork.
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def run(self, plan: Plan) -> Verdict:
        """Runs one plan."""
        pickle.dump(plan, _open(self._process.stdin))
        _open(self._process.stdin).flush()
        return cast("Verdict", pickle.load(_open(self._process.stdout)))

    def __enter__(self) -> "Zygote":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open(self._process.stdin).close()
        self._process.wait(_PATIENCE_S)
        _open(self._process.stdout).close()
        shutil.rmtree(self._folder, ignore_errors=True)


def main() -> None:
    """Answers each plan on standard input with a verdict on standard output, until the input ends."""
    normalise("暖身")  # its tables are shared by all children
    folder = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what children print goes to standard error
    template = folder / "template"
    _join(_fork(lambda: create(template)))
    number = 0
    while True:
        try:
            plan = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        home = folder / f"run-{number}"
        number += 1
        pickle.dump(_run(plan, home, template), answers)
        answers.flush()
        shutil.rmtree(home, ignore_errors=True)


def _run(plan: Plan, home: Path, template: Path) -> Verdict:
    if plan.death is Death.BIRTH:
        home.mkdir(parents=True)
    else:
        home.mkdir()
        for part in template.iterdir():  # files of the index are full of holes, and are many
            if plan.has_index or part.is_file():
                subprocess.run(["cp", "-a", "--sparse=auto", str(part), str(home)], check=True)
    kept = tearing.lengths(home) if plan.death is Death.POWER else {}
    notes = _write_and_kill(plan, home)
    if plan.death is Death.POWER:
        tearing.tear(home, kept, record_bytes=plan.torn_record, index_bytes=plan.torn_index)
    return _judge(plan, home, notes)


def _write_and_kill(plan: Plan, home: Path) -> list[tuple[int, int, int]]:
    reading, writing = os.pipe()
    alone = plan.death is Death.INDEX
    near, far = Pipe() if alone else (None, None)

    def write() -> None:
        os.close(reading)
        if far is not None:
            far.close()
        write_all(plan, home, writing, near)

    def own() -> None:
        os.close(reading)
        os.close(writing)
        assert near is not None
        assert far is not None
        near.close()
        own_index(plan, home, far)

    owner = _fork(own) if alone else None
    writer = _fork(write)
    os.close(writing)
    for end in (near, far):
        if end is not None:
            end.close()
    notes = _Notes(reading)
    notes.await_(plan)
    time.sleep(plan.jitter_us / 1e6)
    os.kill(writer if owner is None else owner, signal.SIGKILL)
    notes.read_rest()
    os.close(reading)
    for child in filter(None, (writer, owner)):
        os.waitpid(child, 0)
    return notes.all


class _Notes:
    """The output of the writer so far."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._bytes = pipe, b""

    @property
    def all(self) -> list[tuple[int, int, int]]:
        whole = len(self._bytes) // NOTE.size * NOTE.size
        return list(NOTE.iter_unpack(self._bytes[:whole]))

    def await_(self, plan: Plan) -> None:
        """Returns when it is time to kill, or when the writer is gone."""
        if plan.death is Death.BIRTH:
            return
        finished = (Note.ACKNOWLEDGED, Note.REFUSED)
        while True:
            kinds = [note[0] for note in self.all]
            if Note.READY in kinds and sum(kind in finished for kind in kinds) >= plan.kill_after:
                return
            if not self._read():
                return

    def read_rest(self) -> None:
        """Reads until the last writer has gone."""
        while self._read():
            pass

    def _read(self) -> bool:
        data = os.read(self._pipe, 65_536)
        self._bytes += data
        return bool(data)


def _judge(plan: Plan, home: Path, notes: list[tuple[int, int, int]]) -> Verdict:
    reading, writing = os.pipe()

    def judge() -> None:
        os.close(reading)
        try:
            verdict = check(plan, home, notes)
        except Exception:  # noqa: BLE001 - whatever goes wrong is the finding
            verdict = Verdict(acknowledged=0, error=traceback.format_exc())
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(verdict, pipe)

    child = _fork(judge)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = _join(child)
    return pickle.loads(answer) if answer else Verdict(acknowledged=0, error=f"who checked ended with {status}")


def _fork(work: Callable[[], None]) -> int:
    """Runs `work` in a child, which never returns; it is killed when it takes a minute."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(_PATIENCE_S)
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _join(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


if __name__ == "__main__":
    main()
