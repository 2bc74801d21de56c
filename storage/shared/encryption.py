"""How the embedded stores write what users said: in clear, or encrypted with the operator's key.

Files that a library reads and writes by pages are encrypted whole (SQLCipher); other stores encrypt value by value with
AES-SIV (RFC 5297), which detects any change. Its values take a random nonce, but for those that a store must compare:
equal texts of one place give equal values, and nothing else can be told from them.
"""

import base64
import binascii
import os
from abc import ABC, abstractmethod
from enum import Enum
from pathlib import Path

from typing_extensions import override

from memory.values.errors import StoreUnavailable

SETTING = "encryption_key (JIYI_ENCRYPTION_KEY)"
"""What errors call the key."""
KEY_BYTES = 32
_NONCE_BYTES = 16
_NO_NONCE = bytes(_NONCE_BYTES)
_FINGERPRINT = "key"
"""The file in the folder of a store that says with which key its values are encrypted."""


class Undecipherable(ValueError):
    """A value was not encrypted with this key for this place, or was changed since."""


class Cipher(ABC):
    """Encrypts what an embedded store writes; `place` names where a value stands, and it is read nowhere else.

    Attributes:
        page_key: The key of whole files, as 64 hexadecimal digits; None where they are in clear.
        fingerprint: Tells one key from another and says nothing about it; empty where values are in clear.
    """

    page_key: str | None
    fingerprint: str

    @abstractmethod
    def seal(self, text: str, place: str) -> str:
        """The value that is stored for a text."""

    @abstractmethod
    def seal_comparable(self, text: str, place: str) -> str:
        """The value that is stored for a text by which a store finds something; the same each time."""

    @abstractmethod
    def open(self, sealed: str, place: str) -> str:
        """The text of a stored value.

        Raises:
            Undecipherable: It is not of this key and place.
        """


class NoCipher(Cipher):
    """Everything in clear."""

    page_key = None
    fingerprint = ""

    @override
    def seal(self, text: str, place: str) -> str:
        return text

    @override
    def seal_comparable(self, text: str, place: str) -> str:
        return text

    @override
    def open(self, sealed: str, place: str) -> str:
        return sealed


class KeyCipher(Cipher):
    """Encrypts with keys that are derived from one key (HKDF, RFC 5869).

    Args:
        key: 32 random bytes.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # lazy: importing is free

        self.page_key = _derive(key, "sqlite pages", 32).hex()
        self.fingerprint = _derive(key, "fingerprint", 16).hex()
        self._values = AESSIV(_derive(key, "values", 64))

    @override
    def seal(self, text: str, place: str) -> str:
        return self._seal(text, place, os.urandom(_NONCE_BYTES))

    @override
    def seal_comparable(self, text: str, place: str) -> str:
        return self._seal(text, place, _NO_NONCE)

    @override
    def open(self, sealed: str, place: str) -> str:
        from cryptography.exceptions import InvalidTag  # lazy: importing is free

        try:
            data = base64.b64decode(sealed, altchars=b"-_", validate=True)
            nonce, encrypted = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
            return self._values.decrypt(encrypted, [place.encode(), nonce]).decode()
        except (InvalidTag, ValueError) as error:  # ValueError: includes what base64 and decode raise
            raise Undecipherable(f"a value of {place} cannot be decrypted with this key") from error

    def _seal(self, text: str, place: str, nonce: bytes) -> str:
        encrypted = self._values.encrypt(text.encode(), [place.encode(), nonce])
        return base64.urlsafe_b64encode(nonce + encrypted).decode()


NO_CIPHER = NoCipher()


def read_key(text: str) -> bytes:
    """The key that a setting or a file holds: 32 bytes in base64.

    Raises:
        ValueError: It is not that; the message does not quote it.
    """
    try:
        key = base64.b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError("must be 32 random bytes in base64, as `openssl rand -base64 32` prints them")
    return key


class State(Enum):
    """Whether a store is there, and how it is written."""

    MISSING = "not there"
    CLEAR = "not encrypted"
    ENCRYPTED = "encrypted with this key"
    FOREIGN = "encrypted with another key"
    CHANGING = "half changed: the change of its encryption was interrupted"


def folder_state(folder: Path, cipher: Cipher) -> State:
    """How a store that is a folder is written."""
    try:
        found = (folder / _FINGERPRINT).read_text()
    except FileNotFoundError:
        # Files alone are locks, sockets and logs.
        return State.CLEAR if any(path.is_dir() for path in folder.glob("*")) else State.MISSING
    if not found:
        return State.CHANGING
    return State.ENCRYPTED if found == cipher.fingerprint else State.FOREIGN


def claim_folder(folder: Path, cipher: Cipher, *, component: str) -> None:
    """Checks that a store's folder is written in this way; one that is not there yet is made.

    Raises:
        StoreUnavailable: It is written in another way, or cannot be read.
    """
    try:
        state = folder_state(folder, cipher)
        if state is State.MISSING and cipher.fingerprint:
            mark_folder(folder, cipher)
            return
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be used: {error}.", component=component) from error
    if state is not State.MISSING and state is not written_as(cipher):
        raise StoreUnavailable(f"{folder} is {state.value}: {advice(state)}.", component=component)


def mark_folder(folder: Path, cipher: Cipher | None) -> None:
    """Writes down with which key a folder's values are encrypted; None while that changes."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / _FINGERPRINT
    if cipher is not None and not cipher.fingerprint:
        path.unlink(missing_ok=True)
        return
    draft = path.with_suffix(".new")
    with open(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write("" if cipher is None else cipher.fingerprint)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def written_as(cipher: Cipher) -> State:
    """The state of a store that this cipher writes."""
    return State.ENCRYPTED if cipher.fingerprint else State.CLEAR


def advice(state: State) -> str:
    """What an operator can do about a store whose state is not the one of the settings."""
    match state:
        case State.CLEAR:
            return f"stop the service and run `jiyi encryption on`, or unset {SETTING}"
        case State.CHANGING:
            return "run the same `jiyi encryption` command again"
        case _:
            return f"set {SETTING} to the key with which it was written; `jiyi encryption rotate` changes the key"


def _derive(key: bytes, purpose: str, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # lazy: importing is free
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=length, salt=None, info=f"jiyi {purpose}".encode()).derive(key)
