import torch

from models.reader.edits import Segment
from models.reader.edits_head import NOWHERE
from models.reader.features import Features
from models.reader.inference import collate
from models.reader.network import NO_SOURCE, ReaderNetwork
from tests.models.reader.toys import PAD, SHAPE, read
from training.rewriting.data import RewritingRow
from training.rewriting.examples import STOP, EditLabels, chain_loss, collate_edits, frequent_words, label_edits
from training.rewriting.labels import Limits

LIMITS = Limits(span=6, deleted=2)
ROWS = [
    RewritingRow(("西安天气", "多云"), "明天有雨吗", "西安明天有雨吗", "toy"),
    RewritingRow(("我在北京", "哦"), "它好吗", "北京好吗", "toy"),
    RewritingRow(("你好",), "今天几号", "今天几号", "toy"),
    RewritingRow(("小明哭了", "嗯"), "眼睛红了", "小明的眼睛红了", "toy"),
    RewritingRow(("see Bedouin", "ok"), "its address", "address of Bedouin", "toy"),
    RewritingRow((), "在吗", "在吗", "toy"),
]


def labelled(row: RewritingRow, limits: Limits = LIMITS) -> tuple[EditLabels, Features]:
    features = read(row.query, *row.turns)
    return label_edits(row, features, limits), features


def losses(network: ReaderNetwork, rows: list[RewritingRow]) -> dict[str, torch.Tensor]:
    labels, features = zip(*map(labelled, rows), strict=True)
    batch = collate(features, [NO_SOURCE] * len(rows), pad_id=PAD, span=SHAPE.edits.span)
    encoded = network.eval().edits.encode(network.states(batch), batch)
    return chain_loss(network.edits, encoded, collate_edits(labels, features, batch, SHAPE.edits))


def test_a_row_becomes_a_chain_that_ends() -> None:
    labels, _ = labelled(ROWS[0])
    assert labels.is_exact
    assert [choice.answer for choice in labels.places] == [(0, 0), STOP]
    assert [choice.answers for choice in labels.segments] == [(Segment(0, 2),), ()]
    complete, _ = labelled(ROWS[2])
    assert [choice.answer for choice in complete.places] == [STOP]
    assert complete.segments == ()


def test_each_choice_knows_what_was_chosen_before() -> None:
    labels, features = labelled(ROWS[4])
    assert [(choice.step, choice.before, choice.answer) for choice in labels.places] == [
        (0, None, (0, 1)),
        (1, (0, 1), (2, 0)),
        (2, (2, 2), STOP),
    ]
    word = Segment(len(features.source.units) + 1, len(features.source.units) + 2)
    assert [(choice.place, choice.step, choice.before) for choice in labels.segments] == [
        ((0, 1), 0, ()),
        ((2, 2), 0, ()),
        ((2, 2), 1, (word,)),
        ((2, 2), 2, (Segment(1, 2),)),
    ]


def test_a_target_out_of_reach_teaches_where_and_not_what() -> None:
    labels, _ = labelled(RewritingRow(("好",), "几号", "龙几号", "toy"))
    assert not labels.is_exact
    assert [choice.answer for choice in labels.places] == [(0, 0), STOP]
    assert labels.segments == ()


def test_an_edit_that_deletes_too_much_ends_the_chain() -> None:
    labels, _ = labelled(RewritingRow(("北京",), "这个那个好吗", "北京好吗", "toy"))
    assert labels.places == ()
    labels, _ = labelled(ROWS[4], Limits(span=6, deleted=2, edits=1))
    assert [choice.answer for choice in labels.places] == [(0, 1)]  # whether it goes on is not known


def test_the_choices_of_a_batch_have_flat_answers() -> None:
    pairs = [labelled(row) for row in (ROWS[0], ROWS[3])]
    labels, features = zip(*pairs, strict=True)
    batch = collate(features, [NO_SOURCE] * 2, pad_id=PAD, span=SHAPE.edits.span)
    tensors = collate_edits(labels, features, batch, SHAPE.edits)
    stop = batch["gap_tokens"].shape[1] * (SHAPE.edits.deleted + 1)
    units, span = batch["spans"].shape[1:]
    none = [NOWHERE] * 4
    assert tensors["places"].tolist() == [
        [0, 0, *none, 0],
        [0, 1, 0, 0, 0, 1, stop],
        [1, 0, *none, 0],
        [1, 1, 0, 0, 0, 1, stop],
    ]
    # 西安 and the end of the edit, then 小明, 的 and the end
    assert tensors["segments_right"].tolist() == [
        [0, 1],
        [1, units * span + len(features[0].source.words)],
        [2, 1],
        [3, units * span],
        [4, units * span + len(features[0].source.words)],
    ]


def test_every_right_answer_can_be_chosen(network: ReaderNetwork) -> None:
    for row in ROWS:
        values = losses(network, [row])
        assert 0 < values["place"].item() < 1000
        assert 0 <= values["segment"].item() < 1000
        assert bool(values["segment"].item()) == (row.query != row.target)


def test_padding_changes_nothing(network: ReaderNetwork) -> None:
    together, alone = losses(network, ROWS), [losses(network, [row]) for row in ROWS]
    for name, value in together.items():
        torch.testing.assert_close(value, torch.stack([values[name] for values in alone]).sum())


def test_of_several_places_any_is_right(network: ReaderNetwork) -> None:
    """The more places hold a span, the more probable it is."""
    twice, _ = labelled(RewritingRow(("北京", "北京"), "好吗", "北京好吗", "toy"))
    assert twice.segments[0].answers == (Segment(0, 2), Segment(2, 4))
    row, features = labelled(RewritingRow(("北京", "北京"), "好吗", "北京好吗", "toy"))
    batch = collate([features], [NO_SOURCE], pad_id=PAD, span=SHAPE.edits.span)
    encoded = network.eval().edits.encode(network.states(batch), batch)
    tensors = collate_edits([row], [features], batch, SHAPE.edits)
    both = chain_loss(network.edits, encoded, tensors)["segment"]
    only_first = {**tensors, "segments_right": tensors["segments_right"][[0, 2]]}
    assert both < chain_loss(network.edits, encoded, only_first)["segment"]


def test_function_words_are_what_several_conversations_need() -> None:
    rows = [RewritingRow((f"甲{n}",), "红了", f"甲{n}的红了", "toy") for n in range(3)]
    rows += [RewritingRow(("乙",), f"{n}", f"姓{n}", "toy") for n in range(9)]
    assert frequent_words(rows, least=2, most=9) == ["的"]
    assert frequent_words(rows, least=1, most=1) == ["的"]
