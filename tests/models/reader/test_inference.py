import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memory.values.understanding.readings import Context, Intent, ReadRequest
from models.reader.features import FeatureReader, Features
from models.reader.inference import Found, collate, find_all, rows_of, span_mask
from models.reader.network import NO_SOURCE, ReaderNetwork
from tests.models.reader.toys import HIDDEN, PAD, SHAPE, read, toy_body, toy_network, toy_settings

TURNS = st.lists(st.text(alphabet="好ab ，。它", max_size=9), max_size=3)


def batch_of(*rows: Features) -> dict[str, torch.Tensor]:
    return collate(rows, [NO_SOURCE] * len(rows), pad_id=PAD, span=SHAPE.edits.span)


def test_a_span_lies_inside_one_text() -> None:
    assert span_mask([0, 0, 0, 1, 3, 3], 3).tolist() == [
        [True, True, True],
        [True, True, False],
        [True, False, False],
        [True, False, False],
        [True, True, False],
        [True, False, False],
    ]
    assert span_mask([], 3).shape == (0, 3)


def test_a_batch_says_where_units_gaps_and_texts_are() -> None:
    batch = batch_of(read("它好", "西安"), read("a b c"))
    # <s> 西 安 </s> 它 好 </s>, and <s> a b c </s> with padding
    assert batch["attention_mask"].tolist() == [[1] * 7, [1, 1, 1, 1, 1, 0, 0]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0, 0]]
    assert batch["context_tokens"].tolist() == [[[1, 1], [2, 2]], [[0, 0], [0, 0]]]
    assert batch["context_counts"].tolist() == [2, 0]
    assert batch["unit_tokens"][1].tolist() == [[1, 1], [2, 2], [3, 3]]
    assert batch["unit_counts"].tolist() == [2, 3]
    assert batch["gaps"].tolist() == [3, 4]
    assert batch["gap_tokens"][0, :3].tolist() == [[3, 4], [4, 5], [5, 6]]
    assert batch["gap_tokens"][1].tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert batch["all_tokens"][0].tolist() == [[1, 1], [2, 2], [4, 4], [5, 5]]
    assert batch["all_spans"][0, :, :2].tolist() == [[True, True], [True, False], [True, True], [True, False]]
    assert batch["spans"][1].sum() == 0


@given(st.lists(st.tuples(TURNS, st.text(alphabet="好ab ，", max_size=9)), min_size=1, max_size=4))
def test_every_position_of_a_batch_lies_in_its_row(rows: list[tuple[list[str], str]]) -> None:
    features = [read(text, *turns) for turns, text in rows]
    batch = batch_of(*features)
    for number, row in enumerate(features):
        length = row.token_count
        assert batch["attention_mask"][number].sum() == length
        for name in ("context_tokens", "unit_tokens", "all_tokens", "gap_tokens"):
            assert batch[name][number].max() < length
        assert batch["gaps"][number] == len(row.units) + 1
        assert batch["gap_tokens"][number, 0, 0] == row.message_start - 1
        assert batch["gap_tokens"][number, len(row.units), 1] == length - 1


def test_rows_of_a_batch_are_chosen() -> None:
    batch = batch_of(read("a"), read("b", "c"), read("d"))
    assert rows_of(batch, [0, 1, 2]) is batch
    chosen = rows_of(batch, [2, 1])
    assert chosen["gaps"].tolist() == [2, 2]
    torch.testing.assert_close(chosen["input_ids"], batch["input_ids"][[2, 1]])


def find(network: ReaderNetwork, *rows: Features, source: int = NO_SOURCE) -> list[Found]:
    return find_all(network, rows, toy_settings(), pad_id=PAD, source=source)


def test_windows_are_found_in_order_and_alike_in_any_batch(network: ReaderNetwork, reader: FeatureReader) -> None:
    requests = [
        ReadRequest(text="它好吗", context=Context(turns=("我在北京",), names=("宏康",))),
        ReadRequest(text=""),
        ReadRequest(text="好", context=Context(turns=("嗯",))),
        ReadRequest(text="字" * 300, context=Context(turns=("嗯" * 20,))),
        ReadRequest(text=" ", context=Context(turns=("嗯",))),
    ]
    windows = [window for request in requests for window in reader.read(request)]
    together = find(network, *windows)
    assert [found.features for found in together] == windows
    for found, window in zip(together, windows, strict=True):
        (alone,) = find(network, window)
        assert alone.names == found.names
        assert alone.chain.edits == found.chain.edits
        assert alone.intents == pytest.approx(found.intents, abs=1e-5)
        assert alone.ask == pytest.approx(found.ask, abs=1e-5)
        assert alone.chain.keep_probability == pytest.approx(found.chain.keep_probability, abs=1e-5)


def test_edits_are_looked_for_only_behind_a_context(network: ReaderNetwork) -> None:
    with_context, without, blank = find(network, read("它好吗", "我在北京"), read("它好吗"), read("", "我在北京"))
    assert with_context.chain.keep_probability < 1.0
    assert without.chain.keep_probability == blank.chain.keep_probability == 1.0
    assert without.chain.edits == blank.chain.edits == ()
    assert (blank.names, blank.facts) == ((), ())


def test_every_intent_has_a_probability(network: ReaderNetwork) -> None:
    (found,) = find(network, read("你好"))
    assert len(found.intents) == len(Intent)
    assert all(0.0 <= probability <= 1.0 for probability in (*found.intents, found.ask))


def test_being_told_the_source_changes_what_is_found(network: ReaderNetwork) -> None:
    rows = [read("小明在北京")] * 3
    states = network.states(collate(rows, [0, 1, 2], pad_id=PAD, span=SHAPE.edits.span))
    assert not torch.allclose(states[0], states[1])
    assert not torch.allclose(states[1], states[2])
    assert find(network, rows[0], source=1)[0].intents != find(network, rows[0])[0].intents


def test_the_mode_of_the_network_is_left_as_it_was() -> None:
    training = toy_network().train()
    row = read("好", "嗯")
    first, second = find(training, row), find(training, row)
    assert training.training
    assert first == second  # without dropout


def test_layers_that_are_not_used_are_gone() -> None:
    network = ReaderNetwork(toy_body(64, layers=3), SHAPE)
    assert len(network.body.encoder.layer) == 2  # type: ignore[union-attr, arg-type]


def test_messages_are_summed_up_without_their_padding_and_context(network: ReaderNetwork) -> None:
    batch = batch_of(read("好"), read("好", "嗯嗯嗯"))
    states = torch.randn(*batch["input_ids"].shape, HIDDEN)
    changed = states.clone()
    changed[0, 3:] += 1.0  # padding
    changed[1, 1:5] += 1.0  # the turn and its separator
    for before, after in zip(
        network.message_scores(states, batch), network.message_scores(changed, batch), strict=True
    ):
        torch.testing.assert_close(before, after)
