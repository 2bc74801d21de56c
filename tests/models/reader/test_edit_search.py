"""The beam over edits: on a network with random weights, its best chain is the best there is."""

import math
from collections.abc import Sequence

import pytest
import torch

from models.reader.edit_search import DecodingLimits, EditChain, decode_edits, last_segment
from models.reader.edits import Segment, Source
from models.reader.edits_head import NOWHERE, EditsHead, Encoded
from models.reader.features import Features
from models.reader.inference import collate
from models.reader.network import NO_SOURCE, ReaderNetwork
from tests.models.reader.toys import HIDDEN, PAD, SHAPE, read

WIDTHS = SHAPE.edits.deleted + 1
SPAN = SHAPE.edits.span
SEEDS = range(8)


def encoded_rows(head: EditsHead, rows: Sequence[Features], seed: int = 0) -> Encoded:
    """Rows with random states, so that their choices differ."""
    batch = collate(rows, [NO_SOURCE] * len(rows), pad_id=PAD, span=SPAN)
    draw = torch.Generator().manual_seed(seed)
    states = torch.randn(*batch["input_ids"].shape, HIDDEN, generator=draw) * 3
    return head.encode(states, batch)


@pytest.fixture(scope="module")
def head(network: ReaderNetwork) -> EditsHead:
    return network.edits


def search(head: EditsHead, rows: Sequence[Features], limits: DecodingLimits, seed: int = 0) -> list[EditChain]:
    with torch.inference_mode():
        return decode_edits(head, encoded_rows(head, rows, seed), rows, limits)


def single_edits(head: EditsHead, row: Features, seed: int) -> dict[tuple[int, int, tuple[str, ...] | None], float]:
    """The log-probability of every rewrite with one edit of at most one segment, given that there is an edit."""
    encoded = encoded_rows(head, [row], seed)
    zero, none = torch.zeros(1, dtype=torch.int64), torch.full((1, 4), NOWHERE)
    units = len(row.source.units)
    places = head.place_scores(encoded, zero, zero, none)[0]
    stop = len(places) - 1
    found: dict[tuple[int, int, tuple[str, ...] | None], float] = {}
    for place in range(stop):
        start, width = divmod(place, WIDTHS)
        if places[place] < -1e8:
            continue
        at = torch.tensor([[start, start + width]])
        first = head.segment_scores(encoded, zero, at, zero, none[:, :2])[0]
        end = len(first) - 1
        choices: dict[tuple[str, ...] | None, tuple[Segment | None, float]] = {}
        for number, score in sorted(enumerate(first.tolist()), key=lambda item: -item[1]):
            if score < -1e8 or (number == end and width == 0):
                continue
            segment = None
            if number < units * SPAN:
                segment = Segment(number // SPAN, number // SPAN + number % SPAN + 1)
            elif number != end:
                segment = Segment(units + number - units * SPAN, units + number - units * SPAN + 1)
            key = row.source.key(segment) if segment else None
            known, probability = choices.get(key, (segment, 0.0))
            choices[key] = known, probability + math.exp(score)
        for key, (segment, probability) in choices.items():
            score = places[place].item() - math.log(-math.expm1(places[stop].item())) + math.log(probability)
            segments = (segment,) if segment else ()
            last = torch.tensor([last_segment(segments, units, units)])
            if segment:
                score += head.segment_scores(encoded, zero, at, zero + 1, last)[0, end].item()
            previous = torch.cat([at, last], dim=1)
            score += head.place_scores(encoded, zero, zero + 1, previous)[0, stop].item()
            found[start, start + width, key] = score
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wide_beam_finds_the_most_probable_edit(head: EditsHead, seed: int) -> None:
    row = read("好吗", "西安")
    (chain,) = search(head, [row], DecodingLimits(beam=99, edits=1, segments=1), seed)
    every = single_edits(head, row, seed)
    (edit,) = chain.edits
    key = row.source.key(edit.segments[0]) if edit.segments else None
    best = max(every, key=lambda choice: every[choice])
    assert (edit.start, edit.stop, key) == best
    assert chain.log_probability == pytest.approx(every[best], abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_probability_of_a_chain_is_that_of_its_edits_and_of_stopping(head: EditsHead, seed: int) -> None:
    row = read("好吗 of it", "西安", "see Rome")
    (chain,) = search(head, [row], DecodingLimits(beam=6), seed)
    assert len(chain.edits) == len(chain.edit_log_probabilities) == len(chain.fillings) > 0
    assert chain.log_probability <= sum(chain.edit_log_probabilities) <= 1e-5
    for edit, filling in zip(chain.edits, chain.fillings, strict=True):
        assert len(filling.probabilities) == len(edit.segments)
        assert all(0.0 < probability <= 1.0 + 1e-6 for probability in filling.probabilities)


@pytest.mark.parametrize("seed", SEEDS)
def test_edits_are_in_order_do_not_touch_and_copy_from_one_turn(head: EditsHead, seed: int) -> None:
    rows = [read("它好吗他呢", "西安", "我在北京"), read("ok", "a b c"), read("它", "小美")]
    for row, chain in zip(rows, search(head, rows, DecodingLimits(), seed), strict=True):
        end = -1
        for edit in chain.edits:
            assert end < edit.start <= edit.stop <= len(row.units)
            assert edit.stop - edit.start <= SHAPE.edits.deleted
            assert edit.segments or edit.stop > edit.start
            end = edit.stop
            for segment in edit.segments:
                if segment.start < len(row.source.units):
                    assert len(set(row.source.turn_of[segment.start : segment.stop])) == 1
                    assert segment.stop <= len(row.source.units)
                else:
                    assert row.source.text(segment) in row.source.words


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_is_decoded_alike_in_any_batch(head: EditsHead, network: ReaderNetwork, seed: int) -> None:
    torch.manual_seed(seed)
    rows = [read("它好吗", "我在北京看到一只猫"), read("ok", "a"), read("多少钱呢", "小美", "好的")]
    rows = [rows[seed % 3], *rows]

    def chains(some: Sequence[Features]) -> list[EditChain]:
        batch = collate(some, [NO_SOURCE] * len(some), pad_id=PAD, span=SPAN)
        with torch.inference_mode():
            return decode_edits(head, head.encode(network.states(batch), batch), some, DecodingLimits())

    for together, row in zip(chains(rows), rows, strict=True):
        (alone,) = chains([row])
        assert together.edits == alone.edits
        assert together.log_probability == pytest.approx(alone.log_probability, abs=1e-4)
        assert together.keep_probability == pytest.approx(alone.keep_probability, abs=1e-5)


def test_bounds_of_the_search_hold(head: EditsHead) -> None:
    row = read("它好吗他呢这个", "西安的", "我在北京")
    for seed in SEEDS:
        (chain,) = search(head, [row], DecodingLimits(edits=2, segments=1), seed)
        assert len(chain.edits) <= 2
        assert all(len(edit.segments) <= 1 for edit in chain.edits)


def test_a_query_that_surely_needs_no_edit_ends_the_search(head: EditsHead) -> None:
    row = read("好吗", "西安")
    (full,) = search(head, [row], DecodingLimits())
    (kept,) = search(head, [row], DecodingLimits(keep_from=full.keep_probability))
    assert kept == EditChain((), 0.0, (), full.keep_probability)
    (edited,) = search(head, [row], DecodingLimits(keep_from=full.keep_probability + 0.01))
    assert edited == full


def test_spans_with_the_same_text_count_as_one(head: EditsHead) -> None:
    """With one turn twice, every span has two places; either is the same rewrite."""
    for seed in SEEDS:
        row = read("好", "西安", "西安")
        (chain,) = search(head, [row], DecodingLimits(beam=99, edits=1, segments=1), seed)
        ((edit,), (filling,)) = chain.edits, chain.fillings
        chosen = row.source.key(edit.segments[0]) if edit.segments else None
        texts = [row.source.key(segment) for segment, _ in filling.alternatives]
        assert len(texts) == len(set(texts))
        assert chosen not in texts


def test_alternatives_are_other_spans_of_the_conversation_best_first(head: EditsHead) -> None:
    for seed in SEEDS:
        row = read("好", "西安", "北京的")
        (chain,) = search(head, [row], DecodingLimits(edits=1), seed)
        for filling in chain.fillings:
            assert len(filling.alternatives) <= 3
            assert all(segment.start < len(row.source.units) for segment, _ in filling.alternatives)
            probabilities = [probability for _, probability in filling.alternatives]
            assert probabilities == sorted(probabilities, reverse=True)


def test_without_any_place_for_an_edit_there_is_none(head: EditsHead) -> None:
    (chain,) = search(head, [read("", "西安")], DecodingLimits(edits=0))
    assert chain.edits == ()


def test_probabilities_of_a_choice_sum_to_one(head: EditsHead) -> None:
    rows = [read("它好吗", "我在北京"), read("ok", "a", "b")]
    encoded = encoded_rows(head, rows)
    numbers, zero = torch.arange(2), torch.zeros(2, dtype=torch.int64)
    places = head.place_scores(encoded, numbers, zero, torch.full((2, 4), NOWHERE))
    torch.testing.assert_close(places.exp().sum(1), torch.ones(2))
    segments = head.segment_scores(encoded, numbers, torch.tensor([[0, 1], [1, 1]]), zero, torch.full((2, 2), NOWHERE))
    torch.testing.assert_close(segments.exp().sum(1), torch.ones(2))


def test_the_next_edit_lies_behind_the_one_before(head: EditsHead) -> None:
    row = read("它好吗呢", "北京")
    encoded = encoded_rows(head, [row])
    one = torch.ones(1, dtype=torch.int64)
    scores = head.place_scores(encoded, one - 1, one, torch.tensor([[1, 2, 0, 1]]))[0, :-1].view(-1, WIDTHS)
    allowed = {(start, start + width) for start, width in (scores > -1e8).nonzero().tolist()}
    assert allowed == {(3, 3), (3, 4), (4, 4)}


def test_a_word_is_counted_behind_the_padded_units() -> None:
    source = Source.of(["西安"], ["的", "of"])
    word = Segment(3, 4)
    assert source.text(word) == "of"
    assert last_segment([word], units=2, padded=9) == (10, 10)
    assert last_segment([word, Segment(0, 2)], units=2, padded=9) == (0, 1)
    assert last_segment([], units=2, padded=9) == (NOWHERE, NOWHERE)
