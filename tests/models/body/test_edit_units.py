from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from models.body.edit_units import ALONE, Cover, EditUnitTokenizer, Place, split_edit_units

TEXTS = st.text(alphabet="他喜欢蘋果 abcXYZ12.,'’s？!　é\t〒", max_size=30)


def surfaces(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in split_edit_units(text)]


def test_a_han_character_is_a_unit_and_so_is_a_latin_word() -> None:
    assert surfaces("西安天氣 tfboys演唱会35度") == ["西", "安", "天", "氣", "tfboys", "演", "唱", "会", "35", "度"]


def test_numbers_contractions_and_marks_are_units_of_their_own() -> None:
    assert surfaces("Zappa's band sold 1,000.5 records, didn't it?") == [
        *("Zappa", "'s", "band", "sold", "1,000.5", "records", ",", "didn", "'t", "it", "?")
    ]


def test_keys_fold_case_width_and_script() -> None:
    assert [unit.key for unit in split_edit_units("ＨＣＩ 寶")] == [unit.key for unit in split_edit_units("hci 宝")]


@given(TEXTS)
def test_units_cover_everything_but_white_space_in_order(text: str) -> None:
    assert "".join(surfaces(text)) == "".join(text.split())
    ends = [0]
    for unit in split_edit_units(text):
        assert ends[-1] <= unit.start < unit.end
        ends.append(unit.end)


@dataclass
class Ids:
    ids: list[int]


class LetterVocabulary:
    """Knows single characters but 蘋, and reads words letter by letter."""

    def token_to_id(self, token: str) -> int | None:
        special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        if token in special:
            return special[token]
        return None if len(token) > 1 or token == "蘋" else ord(token)

    def encode(self, sequence: str, *, add_special_tokens: bool = False) -> Ids:
        return Ids([ord(letter) for letter in sequence])

    def segment(self, run: str) -> list[tuple[int, int]]:
        """One piece, 天氣預報, and characters."""
        before, found, behind = run.partition("天氣預報")
        return [
            *((ord(letter), 1) for letter in before),
            *([(7, 4)] if found else []),
            *((ord(letter), 1) for letter in behind),
        ]


def ids(text: str) -> Sequence[tuple[int, ...]]:
    return EditUnitTokenizer(LetterVocabulary()).ids(text, split_edit_units(text))


def test_every_unit_has_token_ids_and_a_long_word_has_its_head() -> None:
    assert ids("果a") == [(ord("果"),), (ord("a"),)]
    assert ids("abcdefghijkl") == [tuple(map(ord, "abcdefgh"))]


def test_a_traditional_character_that_the_vocabulary_lacks_is_read_as_its_simplified_one() -> None:
    assert ids("蘋") == [(ord("苹"),)]


def test_traditional_characters_can_be_read_as_simplified_ones() -> None:
    tokenizer = EditUnitTokenizer(LetterVocabulary(), simplified=True)
    assert tokenizer.ids("氣a", split_edit_units("氣a")) == ids("气a")
    assert (
        tokenizer.covers("天氣預報", split_edit_units("天氣預報"))[0].place is Place.ALONE
    )  # the vocabulary has 天氣預報 only


def test_a_lone_surrogate_is_read_as_the_mark_of_what_is_not_readable() -> None:
    assert ids("a\ud800") == ids("a\ufffd")


def test_a_han_character_is_covered_by_the_piece_that_it_is_part_of() -> None:
    text = "西安天氣預報 a天"
    covers = EditUnitTokenizer(LetterVocabulary()).covers(text, split_edit_units(text))
    inside = Cover(7, Place.INSIDE)
    assert covers == [ALONE, ALONE, Cover(7, Place.FIRST), inside, inside, Cover(7, Place.LAST), ALONE, ALONE]
