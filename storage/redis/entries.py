"""How the entries of a session's lists are written: as JSON, with what was said encrypted where there is a key.

The script that appends (`scripts.APPEND`) compares `turn_id` of turns, and `original_text`, `resolved_text` and
`corrected` of resolutions; an encrypted entry has them beside it, the texts as values that can be compared.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from memory.values.understanding.dialogue import HistoryEntry, Turn
from memory.values.understanding.resolutions import Revision

from ..shared.encryption import Cipher, Undecipherable

_SEALED = "sealed"
_COMPARED = ("original_text", "resolved_text")
_TURN, _RESOLUTION, _CORRECTED, _WORD = "session turn", "session resolution", "session correction", "session word"
"""Places of the cipher."""
ENTRY_PARTS = ("coreference", "deixis", "turns")
"""The lists of `scripts.PARTS` whose entries are written here."""


class SessionEntries:
    """Writes and reads entries.

    Args:
        cipher: Encrypts turns, resolutions and words of references. Ids of users, sessions, turns and entities are in
            clear.
    """

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher

    def turn(self, turn: Turn) -> str:
        """The entry of a turn."""
        return self._write(turn.model_dump_json(), _TURN, {} if turn.turn_id is None else {"turn_id": turn.turn_id})

    def read_turn(self, entry: bytes) -> Turn:
        """The turn of an entry.

        Raises:
            ValueError: It is unreadable.
        """
        text, _ = self._read(entry, _TURN)
        return Turn.model_validate_json(text)

    def resolution(self, resolution: HistoryEntry) -> str:
        """The entry of a resolution."""
        compared = {name: self._comparable(name, str(resolution.get(name, ""))) for name in _COMPARED}
        if resolution.get("corrected"):
            compared["corrected"] = self._cipher.seal(str(resolution["corrected"]), _CORRECTED)
        return self._write(orjson.dumps(resolution).decode(), _RESOLUTION, compared)

    def read_resolution(self, entry: bytes) -> HistoryEntry:
        """The resolution of an entry.

        Raises:
            ValueError: It is unreadable.
        """
        text, beside = self._read(entry, _RESOLUTION)
        resolution: HistoryEntry = orjson.loads(text)
        if "corrected" in beside:
            resolution["corrected"] = self._cipher.open(beside["corrected"], _CORRECTED)
        return resolution

    def correction(self, revision: Revision | None) -> dict[str, str] | None:
        """The values that the script compares entries with, and the new end of the entry that it marks."""
        if revision is None or revision.rejected is None:
            return None
        corrected = self._cipher.seal(revision.resolution.resolved_text, _CORRECTED)
        return {
            "original_text": self._comparable("original_text", revision.resolution.original_text),
            "resolved_text": self._comparable("resolved_text", revision.rejected.text),
            "end": f',"corrected":{orjson.dumps(corrected).decode()}}}',
        }

    def word(self, word: str) -> str:
        """The entry of a word of reference."""
        return self._cipher.seal(word, _WORD)

    def read_word(self, entry: bytes) -> str:
        """The word of an entry.

        Raises:
            ValueError: It is unreadable.
        """
        return self._cipher.open(entry.decode(), _WORD)

    def rewritten(self, part: str, entry: bytes, target: "SessionEntries") -> str:
        """The entry as `target` writes it.

        Args:
            part: Of `ENTRY_PARTS`, the list that it is in.
            entry: As it was written here.
            target: Writes the new one.

        Raises:
            ValueError: It is unreadable.
        """
        if part == "turns":
            return target.turn(self.read_turn(entry))
        if part == "coreference":
            return target.resolution(self.read_resolution(entry))
        return target.word(self.read_word(entry))

    def _comparable(self, name: str, text: str) -> str:
        return self._cipher.seal_comparable(text, f"{_RESOLUTION} {name}")

    def _write(self, text: str, place: str, compared: Mapping[str, str]) -> str:
        if not self._cipher.fingerprint:
            return text
        return orjson.dumps({_SEALED: self._cipher.seal(text, place), **compared}).decode()

    def _read(self, entry: bytes, place: str) -> tuple[str, Mapping[str, Any]]:
        """The text of an entry, and the fields beside it."""
        fields = orjson.loads(entry)
        is_sealed = isinstance(fields, dict) and _SEALED in fields
        if is_sealed != bool(self._cipher.fingerprint):
            raise Undecipherable(f"a {place} is {'' if is_sealed else 'not '}encrypted")
        return (self._cipher.open(fields[_SEALED], place), fields) if is_sealed else (entry.decode(), {})
