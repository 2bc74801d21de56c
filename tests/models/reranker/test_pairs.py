"""What a reranker reads of a pair."""

from hypothesis import given, settings
from hypothesis import strategies as st

from models.reranker.pairs import PASSAGE_TOKENS, QUERY_TOKENS, PairReader, pad_id_of

START, PAD, END = 0, 1, 2
text = st.text(st.characters(codec="utf-32"), max_size=500)


class Ids:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class Characters:
    """One token a character, the word of the prefix and its colon as one each."""

    def encode(self, sequence: str) -> Ids:
        sequence.encode()  # refuses what no tokenizer can read
        return Ids([START, 9, 10, *(ord(letter) for letter in sequence.partition(":")[2].lstrip()), END])

    def token_to_id(self, token: str) -> int | None:
        return {"<s>": START, "<pad>": PAD, "</s>": END}.get(token)


READER = PairReader(Characters())


def test_query_and_passage_are_read_apart_each_with_its_prefix() -> None:
    [pair] = READER.read("ab", ["cd"])
    assert pair.query.tolist() == [START, 9, 10, ord("a"), ord("b"), END]
    assert pair.passage.tolist() == [START, 9, 10, ord("c"), ord("d"), END]
    assert pair.asked_from == 3
    assert pair.token_count == 12


@given(text, st.lists(text, max_size=3))
@settings(max_examples=50)
def test_no_text_is_longer_than_is_read_and_none_is_cut_open(query: str, passages: list[str]) -> None:
    pairs = READER.read(query, passages)
    assert len(pairs) == len(passages)
    for pair in pairs:
        assert len(pair.query) <= QUERY_TOKENS
        assert len(pair.passage) <= PASSAGE_TOKENS
        assert pair.query[0] == pair.passage[0] == START
        assert pair.query[-1] == pair.passage[-1] == END


def test_padding_has_an_id() -> None:
    assert pad_id_of(Characters()) == PAD
