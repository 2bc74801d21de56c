"""Encryption of a home: what is on disk, what starts with which key, and changes that are killed."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.builders.storage.encryption import (
    change_encryption,
    check_encryption,
    cipher_of_file,
    encryption_states,
)
from deployments.builders.storage.stores import (
    make_cipher,
    make_session_server,
    make_shards,
    open_record,
    sessions_path,
)
from memory.ports.stores.vectors import Collection
from memory.values.errors import Conflict, StoreUnavailable
from storage.redis.server import LocalRedisServer
from storage.shared.encryption import State
from storage.shared.index_points import stored_name
from tests.deployments.builders.homes import KEY, MODEL, OTHER_KEY, SECRET, fill, parts_with, read, settings

STORES = ["journal.sqlite", "record.sqlite", "sessions", "vectors"]
EVERYTHING = ["journal.sqlite", "journal.sqlite-wal", "record.sqlite", "record.sqlite-wal", "sessions", "vectors"]
KEYS = {"clear": None, "key": KEY, "other": OTHER_KEY}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A filled home in clear, and one with a key."""
    made = {}
    for name in ("clear", "key"):
        home = made[name] = tmp_path_factory.mktemp(name)
        assert fill(settings(home, KEYS[name])) == (EVERYTHING if name == "clear" else [])
    return made


@pytest.fixture
def home(request: pytest.FixtureRequest, homes: dict[str, Path], tmp_path: Path) -> Iterator[Path]:
    """A copy of the filled home that the test's parameter names, by default of the one in clear."""
    copy = tmp_path / "home"
    yield copied(homes[getattr(request, "param", "clear")], copy)
    server = LocalRedisServer(sessions_path(settings(copy)))
    if server._listens():  # what a killed process left
        server.start()
        server.stop()


def change(home: Path, old: str, new: str) -> list[str]:
    ciphers = [make_cipher(settings(home, KEYS[name])) for name in (old, new)]
    return list(change_encryption(settings(home, KEYS[new]), old=ciphers[0], new=ciphers[1]))


def copied(source: Path, target: Path) -> Path:
    # The engine's logs are large and empty: copied with their holes.
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)
    return target


def contents(home: Path) -> dict[str, str]:
    """A digest of each file; there is no point in showing the bytes where they differ."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_secret_is_in_the_files_of_every_store_without_a_key_and_in_none_with_one(homes: dict[str, Path]) -> None:
    assert parts_with(homes["clear"], SECRET) == STORES
    assert parts_with(homes["key"], SECRET) == []


@pytest.mark.parametrize(
    ("home", "key", "advice"),
    [
        ("clear", "key", "jiyi encryption on"),
        ("key", "clear", "JIYI_ENCRYPTION_KEY"),
        ("key", "other", "JIYI_ENCRYPTION_KEY"),
    ],
    indirect=["home"],
)
def test_with_a_wrong_key_or_none_nothing_starts_and_nothing_changes(home: Path, key: str, advice: str) -> None:
    before = contents(home)
    args = settings(home, KEYS[key])
    with pytest.raises(StoreUnavailable, match=f"record of .* is .*{advice}"):
        check_encryption(args)
    with pytest.raises(StoreUnavailable, match="encryption_key"):
        open_record(args, durable=True)
    with pytest.raises(StoreUnavailable, match=advice):
        make_shards(args, model=MODEL)
    with pytest.raises(StoreUnavailable, match=advice):
        make_session_server(args)
    assert contents(home) == before


@pytest.mark.parametrize("home", ["clear", "key"], indirect=True)
def test_a_home_starts_with_its_key(home: Path, request: pytest.FixtureRequest) -> None:
    check_encryption(settings(home, KEYS[request.node.callspec.params["home"]]))


def test_an_empty_home_is_accepted_with_any_key(tmp_path: Path) -> None:
    for key in KEYS.values():
        check_encryption(settings(tmp_path / "new", key))
    assert not (tmp_path / "new").exists()


def test_a_record_alone_is_a_backup_that_a_new_home_starts_with(homes: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(homes["key"] / "record.sqlite", tmp_path)
    check_encryption(settings(tmp_path, KEY))
    with pytest.raises(StoreUnavailable, match="JIYI_ENCRYPTION_KEY"):
        check_encryption(settings(tmp_path))


def test_encryption_is_turned_on_changed_and_turned_off_with_nothing_lost_and_nothing_left(home: Path) -> None:
    for old, new in [("clear", "key"), ("key", "other"), ("other", "clear")]:
        assert change(home, old, new) == ["record", "journal", "vector index", "sessions"]
        args = settings(home, KEYS[new])
        check_encryption(args)
        assert parts_with(home, SECRET) == (STORES if new == "clear" else [])
        assert all(read(args).values()), (new, read(args))
        assert set(encryption_states(args).values()) == {State.CLEAR if new == "clear" else State.ENCRYPTED}
    with pytest.raises(StoreUnavailable):
        check_encryption(settings(home, OTHER_KEY))


def test_what_was_set_aside_in_clear_is_deleted(home: Path) -> None:
    shard = home / "vectors" / stored_name(Collection.ENTITIES, MODEL.model_id)
    copied(shard, shard.with_name(f"{shard.name}.discarded-20260101T000000.000000Z"))
    change(home, "clear", "key")
    assert parts_with(home, SECRET) == []


@pytest.mark.parametrize("home", ["key"], indirect=True)
def test_a_change_from_a_key_that_is_not_the_stores_changes_nothing(home: Path) -> None:
    before = contents(home)
    with pytest.raises(Conflict, match="neither"):
        change(home, "other", "clear")
    with pytest.raises(Conflict, match="neither"):
        change(home, "clear", "other")
    assert contents(home) == before


def test_a_store_that_another_process_has_open_is_not_changed(home: Path) -> None:
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM entities')"
    command = [sys.executable, "-c", f"{script}; print(1, flush=True); input()", str(home / "record.sqlite")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreUnavailable, match="another process has locked its file"):
            change(home, "clear", "key")
        process.communicate(b"\n")
    assert all(read(settings(home)).values())


def test_a_key_file_without_a_key_is_refused_and_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("my passphrase")
    with pytest.raises(Conflict, match="openssl rand") as caught:
        cipher_of_file(file)
    assert "passphrase" not in caught.value.message


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from deployments.builders.storage.encryption import change_encryption
    from deployments.builders.storage.stores import make_cipher
    from tests.deployments.builders.homes import settings

    home, old, new, left = Path(sys.argv[1]), sys.argv[2] or None, sys.argv[3] or None, int(sys.argv[4])
    ciphers = [make_cipher(settings(home, key)) for key in (old, new)]
    steps = 0

    def at_each_change_of_a_file(event, arguments):
        global steps
        if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            if str(home) in str(arguments[0]):
                steps += 1
                if steps == left:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(at_each_change_of_a_file)
    for _ in change_encryption(settings(home, new), old=ciphers[0], new=ciphers[1]):
        pass
    print(steps)
"""


def killed_at(home: Path, old: str, new: str, step: int) -> int:
    """Changes the encryption in a process that is killed before its so-manieth change of a file; 0: at none.

    Returns:
        The number of changes, 0 where it was killed.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(home), KEYS[old] or "", KEYS[new] or "", str(step)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return int(done.stdout) if done.returncode == 0 else 0


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [("clear", "key"), ("key", "other"), ("key", "clear")])
def test_a_change_that_was_killed_is_refused_by_the_service_and_goes_on(
    old: str, new: str, homes: dict[str, Path], tmp_path: Path
) -> None:
    copied(homes[old], tmp_path / "whole")
    steps = killed_at(tmp_path / "whole", old, new, 0)
    assert steps > 20
    for number, step in enumerate(range(1 + steps // 8, steps + 1, steps // 4)):
        copy = copied(homes[old], tmp_path / str(number))
        assert killed_at(copy, old, new, step) == 0
        old_state, new_state = (_starts(copy, name) for name in (old, new))
        assert not (old_state and new_state)
        change(copy, old, new)
        args = settings(copy, KEYS[new])
        check_encryption(args)
        assert all(read(args).values()), (step, read(args))
        assert parts_with(copy, SECRET) == (STORES if new == "clear" else [])
        assert {path.name for path in copy.iterdir()} == set(STORES)


def _starts(home: Path, key: str) -> bool:
    try:
        check_encryption(settings(home, KEYS[key]))
    except StoreUnavailable:
        return False
    return True
