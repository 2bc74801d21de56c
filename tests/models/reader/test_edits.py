from models.body.edit_units import split_edit_units
from models.reader.edits import Edit, Segment, Source, apply_edits, joined, written


def test_texts_are_joined_as_their_script_writes_them() -> None:
    assert joined("西安", "明天") == "西安明天"
    assert joined("the", "address") == "the address"
    assert joined("iphone", "好用吗") == "iphone好用吗"
    assert joined("Zappa", "'s") == "Zappa's"
    assert joined("address", "?") == "address?"
    assert joined("", "a") == "a"


def test_edits_delete_insert_and_copy() -> None:
    source = Source.of(["I like Frank Zappa", "ok"], words=["of"])
    query = "What is his  address?"
    units = split_edit_units(query)
    replaced = Edit(2, 3, (Segment(2, 4),))
    assert apply_edits(query, units, source, [replaced]) == "What is Frank Zappa address?"
    inserted = Edit(4, 4, (Segment(5, 6), Segment(2, 4)))
    assert apply_edits(query, units, source, [inserted]) == "What is his  address of Frank Zappa?"
    assert apply_edits(query, units, source, [Edit(2, 3, ()), inserted]) == "What is address of Frank Zappa?"


def test_no_edit_leaves_the_query_as_it_is_written() -> None:
    query = "what  about   it ?"
    assert apply_edits(query, split_edit_units(query), Source.of(["a"]), []) == query


def test_a_span_is_written_as_its_turn_writes_it() -> None:
    source = Source.of(["see Room 101, please"])
    assert written(source, [Segment(1, 3)]) == "Room 101"
    assert source.key(Segment(1, 3)) == ("room", "101")


def test_spans_know_their_turn() -> None:
    assert Source.of(["a b", "c"]).turn_of == (0, 0, 1)


def test_words_are_behind_the_units_of_a_source() -> None:
    source = Source.of(["西安 XY"], ["的", "of"])
    assert [source.text(Segment(at, at + 1)) for at in range(5)] == ["西", "安", "XY", "的", "of"]
    assert source.key(Segment(2, 3)) == ("xy",)
    assert source.key(Segment(3, 4)) == ("的",)
