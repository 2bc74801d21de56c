"""Encryption of what a home holds: whether it agrees with the settings, and how it is changed while nothing runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memory.values.errors import Conflict, StoreUnavailable
from storage.edge.rekey import is_half_rekeyed, recover_shards, rekey_shards
from storage.redis.rekey import rekey_sessions
from storage.shared.encryption import (
    NO_CIPHER,
    SETTING,
    Cipher,
    KeyCipher,
    State,
    advice,
    folder_state,
    read_key,
    written_as,
)
from storage.sqlite.engine.driver import file_state
from storage.sqlite.engine.rekey import drop_draft, has_draft, rekey_file

from ...config.settings import AppArgs
from .stores import journal_path, make_cipher, record_path, sessions_path, vectors_path


@dataclass(frozen=True)
class _Part:
    """One store of a home: how it is written, how that changes, and how an interrupted change is finished or undone."""

    name: str
    path: Path
    state: Callable[[Cipher], State]
    rekey: Callable[[Cipher, Cipher], None]
    recover: Callable[[], None]


def encryption_states(args: AppArgs) -> dict[str, State]:
    """How each store of the home is written, seen with the key of the settings."""
    cipher = make_cipher(args)
    return {part.name: _state(part, cipher) for part in _parts(args)}


def check_encryption(args: AppArgs) -> None:
    """Refuses to start on stores that are not written as the settings say; changes nothing.

    Raises:
        StoreUnavailable: Says which store, and what to do.
        ModuleNotFoundError: There is a key and the extra `encryption` is not installed.
    """
    wanted = written_as(make_cipher(args))
    for name, state in encryption_states(args).items():
        if state not in (State.MISSING, wanted):
            raise StoreUnavailable(f"The {name} of {args.data_home} is {state.value}: {advice(state)}.", component=name)


def change_encryption(args: AppArgs, *, old: Cipher, new: Cipher) -> Iterator[str]:
    """Writes every store of the home with another key, or with none, where it is not yet; the service must be stopped.

    A change that was killed goes on when it is begun again with the same keys. Plain files are unlinked, not
    overwritten.

    Args:
        args: The settings.
        old: As the stores are written.
        new: As they are to be written.

    Yields:
        The name of each store once it is written as `new` says.

    Raises:
        Conflict: A store is written with neither; nothing has changed.
        StoreUnavailable: A store is open or damaged, or the disk is full; run it again.
    """
    parts = _parts(args)
    for part in parts:
        part.recover()
    for part in parts:
        if not _is_written(part, new) and not _is_written(part, old) and part.state(new) is not State.CHANGING:
            raise Conflict(f"the {part.name} in {part.path} is written with neither the old key nor the new one")
    for part in parts:
        if not _is_written(part, new):
            part.rekey(old, new)
        yield part.name


def cipher_of_file(path: Path) -> Cipher:
    """The cipher of a key in a file.

    Raises:
        Conflict: There is no key in it.
    """
    try:
        return KeyCipher(read_key(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise Conflict(f"the key in {path} {error}") from None


def cipher_of_settings(args: AppArgs) -> Cipher:
    """The cipher of the setting.

    Raises:
        Conflict: It is not set.
    """
    cipher = make_cipher(args)
    if cipher is NO_CIPHER:
        raise Conflict(f"set {SETTING} first: 32 random bytes in base64, as `openssl rand -base64 32` prints them")
    return cipher


def _parts(args: AppArgs) -> list[_Part]:
    vectors, sessions = vectors_path(args), sessions_path(args)
    files = {"record": record_path(args), "journal": journal_path(args)}
    return [
        *(
            _Part(name, path, partial(_file_state, path), partial(rekey_file, path), partial(drop_draft, path))
            for name, path in files.items()
        ),
        _Part(
            "vector index",
            vectors,
            lambda cipher: State.CHANGING if is_half_rekeyed(vectors) else folder_state(vectors, cipher),
            partial(rekey_shards, vectors),
            partial(recover_shards, vectors),
        ),
        _Part("sessions", sessions, partial(folder_state, sessions), partial(rekey_sessions, sessions), lambda: None),
    ]


def _file_state(path: Path, cipher: Cipher) -> State:
    return State.CHANGING if has_draft(path) else file_state(path, cipher)


def _state(part: _Part, cipher: Cipher) -> State:
    try:
        return part.state(cipher)
    except OSError as error:
        raise StoreUnavailable(f"{part.path} cannot be read: {error}.", component=part.name) from error


def _is_written(part: _Part, cipher: Cipher) -> bool:
    return _state(part, cipher) in (State.MISSING, written_as(cipher))
