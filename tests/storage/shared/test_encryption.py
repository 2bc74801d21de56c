"""Values of the cipher: what comes back, what is refused, and what a folder says of its key."""

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.values.errors import StoreUnavailable
from storage.shared.encryption import (
    NO_CIPHER,
    Cipher,
    KeyCipher,
    State,
    Undecipherable,
    claim_folder,
    folder_state,
    mark_folder,
    read_key,
)

KEY, OTHER = KeyCipher(bytes(32)), KeyCipher(b"k" * 32)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize("cipher", [NO_CIPHER, KEY], ids=["clear", "key"])
@given(text=TEXTS, place=TEXTS)
def test_every_text_comes_back(cipher: Cipher, text: str, place: str) -> None:
    assert cipher.open(cipher.seal(text, place), place) == text
    assert cipher.open(cipher.seal_comparable(text, place), place) == text


@given(text=TEXTS)
def test_only_comparable_values_of_one_place_and_key_are_equal(text: str) -> None:
    assert KEY.seal_comparable(text, "name") == KEY.seal_comparable(text, "name")
    values = [KEY.seal(text, "name"), KEY.seal(text, "name"), KEY.seal_comparable(text, "name")]
    values += [KEY.seal_comparable(text, "role"), OTHER.seal_comparable(text, "name")]
    assert len(set(values)) == len(values)


@given(text=TEXTS, data=st.data())
def test_a_changed_value_is_refused(text: str, data: st.DataObject) -> None:
    sealed = base64.urlsafe_b64decode(KEY.seal(text, "turn"))
    place = data.draw(st.integers(0, len(sealed) - 1))
    changed = bytes([*sealed[:place], sealed[place] ^ data.draw(st.integers(1, 255)), *sealed[place + 1 :]])
    with pytest.raises(Undecipherable):
        KEY.open(base64.urlsafe_b64encode(changed).decode(), "turn")


_ELSEWHERE, _OF_OTHER_KEY = KEY.seal("a", "elsewhere"), OTHER.seal("a", "turn")


@pytest.mark.parametrize(
    "value", ["", "plain", "書", _ELSEWHERE, _OF_OTHER_KEY], ids=["empty", "plain", "Chinese", "place", "key"]
)
def test_a_value_of_another_place_or_key_or_none_is_refused(value: str) -> None:
    with pytest.raises(Undecipherable, match="turn"):
        KEY.open(value, "turn")


def test_keys_are_independent_and_the_fingerprint_is_neither() -> None:
    assert KEY.page_key != OTHER.page_key
    assert KEY.fingerprint not in (OTHER.fingerprint, KEY.page_key)
    assert (NO_CIPHER.page_key, NO_CIPHER.fingerprint) == (None, "")


@given(key=st.binary(min_size=32, max_size=32))
def test_a_key_is_read_in_either_alphabet_of_base64(key: bytes) -> None:
    assert read_key(f"{base64.b64encode(key).decode()}\n") == key
    assert read_key(base64.urlsafe_b64encode(key).decode()) == key


@pytest.mark.parametrize("text", ["", "a passphrase", "c2hvcnQ=", base64.b64encode(bytes(33)).decode(), "鑰匙"])
def test_anything_else_is_no_key_and_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="openssl rand -base64 32") as caught:
        read_key(text)
    assert not text or text not in str(caught.value)


class TestFolders:
    def test_a_new_folder_is_claimed_and_refused_to_others(self, tmp_path: Path) -> None:
        folder = tmp_path / "vectors"
        claim_folder(folder, KEY, component="vectors")
        claim_folder(folder, KEY, component="vectors")
        for cipher in (OTHER, NO_CIPHER):
            with pytest.raises(StoreUnavailable, match="JIYI_ENCRYPTION_KEY"):
                claim_folder(folder, cipher, component="vectors")
        assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]

    def test_data_in_clear_are_not_claimed_with_a_key(self, tmp_path: Path) -> None:
        (tmp_path / "memories__e5").mkdir()
        claim_folder(tmp_path, NO_CIPHER, component="vectors")
        with pytest.raises(StoreUnavailable, match="jiyi encryption on"):
            claim_folder(tmp_path, KEY, component="vectors")
        assert os.listdir(tmp_path) == ["memories__e5"]

    def test_in_clear_nothing_is_made(self, tmp_path: Path) -> None:
        claim_folder(tmp_path / "vectors", NO_CIPHER, component="vectors")
        assert os.listdir(tmp_path) == []

    def test_a_folder_that_is_being_changed_is_nobodys(self, tmp_path: Path) -> None:
        mark_folder(tmp_path, None)
        assert {folder_state(tmp_path, cipher) for cipher in (KEY, NO_CIPHER)} == {State.CHANGING}
        with pytest.raises(StoreUnavailable, match="again"):
            claim_folder(tmp_path, KEY, component="sessions")
        mark_folder(tmp_path, NO_CIPHER)
        assert folder_state(tmp_path, KEY) is State.MISSING
