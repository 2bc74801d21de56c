from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers.normalizers import Precompiled

from models.assets.charsmap import compile_charsmap

# Letters and symbols that join with no neighbour: the reader looks at whole grapheme clusters first.
characters = st.characters(categories=["Lu", "Ll", "Lo", "Nd", "So"], exclude_characters="\0")
texts = st.text(characters, max_size=20)


@given(st.dictionaries(characters, st.text(characters, max_size=4), max_size=40), texts)
@example({"Ａ": "A", "㍿": "株式会社", "é": ""}, "Ａé㍿x")
def test_a_compiled_map_replaces_as_the_map_says(replacements: dict[str, str], text: str) -> None:
    text += "".join(replacements)
    expected = "".join(replacements.get(character, character) for character in text)
    assert Precompiled(compile_charsmap(replacements)).normalize_str(text) == expected


def test_an_empty_map_changes_nothing() -> None:
    assert Precompiled(compile_charsmap({})).normalize_str("任何 text 😀") == "任何 text 😀"


def test_thousands_of_keys_find_their_own_replacement() -> None:
    replacements = {chr(code): f"{code:x}" for code in range(0x4E00, 0x5E00)}
    normalizer = Precompiled(compile_charsmap(replacements))
    assert all(normalizer.normalize_str(key) == value for key, value in replacements.items())
