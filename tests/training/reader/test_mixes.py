"""What an epoch reads, and in which form."""

import random
from collections import Counter
from typing import Any

import pytest

from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Intent, MessageKind
from models.reader.features import FeatureReader
from tests.models.reader.toys import SHAPE
from training.names.examples import Evidence
from training.names.ner_chat import ChatWriter
from training.names.ner_files import MarkedText, NamedSpan
from training.reader.corpus import MarkedFact, MarkedMessage, MarkedQuery, MarkedReference, SignedMessage
from training.reader.corpus_mix import AmbiguousMix, JointMix, MessageMix, in_lower_case
from training.reader.examples import ReaderExample
from training.reader.name_mix import NameMix, NameOptions, NameShare
from training.reader.rewriting_mix import (
    RewritingMix,
    RewritingOptions,
    RewritingShare,
    as_lost,
    as_renamed,
    copied_span,
    offered_names,
)
from training.rewriting.data import RewritingRow, as_foreign
from training.rewriting.examples import STOP
from training.rewriting.labels import Limits
from training.shared.mix import Mix

LIMITS = Limits(span=6, deleted=2)
PLAIN = {"complete": 0.0, "foreign": 0.0, "lost": 0.0, "renamed": 0.0, "offered": 0.0}
ROWS = [
    RewritingRow(("西安天气", "多云"), "明天有雨吗", "西安明天有雨吗", "toy"),
    RewritingRow(("我在北京", "哦"), "它好吗", "北京好吗", "toy"),
    RewritingRow(("你好",), "今天几号", "今天几号", "toy"),
    RewritingRow(("小明哭了", "嗯"), "眼睛红了", "小明的眼睛红了", "toy"),
    RewritingRow(("see Bedouin", "ok"), "its address", "address of Bedouin", "toy"),
    RewritingRow((), "在吗", "在吗", "toy"),
]
TEXTS = [
    MarkedText("小明在北京", (NamedSpan(0, 2, "person"), NamedSpan(3, 5, "scene"))),
    MarkedText("今天很好", ()),
    MarkedText("Ann at Acme in Rome", (NamedSpan(0, 3, "person"), NamedSpan(7, 11, "company"))),
    MarkedText("A1 Acme Expo Dune 宏康 甲乙 Zune 上海", (
        NamedSpan(0, 2, "model"), NamedSpan(3, 7, "company"), NamedSpan(8, 12, "event"), NamedSpan(13, 17, "movie"),
        NamedSpan(18, 20, "brand"), NamedSpan(24, 28, "product"), NamedSpan(29, 31, "place"),
    )),
]  # fmt: skip
AMBIGUOUS = [
    MarkedQuery(
        "zh-1", "zh-Hant", "thing", ("茶和酒",), "它呢", "它呢", Action.ASK, (MarkedReference(0, 1, (), ("茶", "酒")),)
    )
]
MESSAGES = [
    MarkedMessage("en-1", "en", (), "Ann is in Rome", (NamedSpan(0, 3, "person"),), (Intent.STATEMENT,), ()),
    MarkedMessage("zh-1", "zh-Hant", (), "我愛茶", (), (Intent.STATEMENT,), (MarkedFact("", "likes", "茶"),)),
]


def rewriting_mix(reader: FeatureReader, *, seed: int = 1, is_corpus: bool = False, **options: float) -> RewritingMix:
    shares = [RewritingShare(ROWS, 1.0, True, is_corpus)]
    return RewritingMix(shares, reader, LIMITS, RewritingOptions(**PLAIN | options), seed=seed)


def name_mix(reader: FeatureReader, *, copies: int = 1, is_english: bool = False, **options: Any) -> NameMix:
    evidence = Evidence.of(1, {EntitySubtype.PERSON: 1.0}, ["person"])
    share = NameShare(TEXTS * copies, 1.0, not is_english, is_english, evidence)
    return NameMix([share], ChatWriter(TEXTS, []), reader, SHAPE, NameOptions(**options), seed=1)


def message_mix(
    reader: FeatureReader, *, weight: float = 1.0, lower: float = 0.0, unrelated: float = 0.0
) -> MessageMix:
    return MessageMix(MESSAGES, [weight] * len(MESSAGES), lower, unrelated, reader, SHAPE, seed=1)


def joint_mix(reader: FeatureReader, *, seed: int = 1) -> JointMix:
    mixes: list[Mix[Any, ReaderExample]] = [
        rewriting_mix(reader, foreign=0.5, offered=0.5),
        AmbiguousMix(AMBIGUOUS, 2.5, reader, seed=1),
        message_mix(reader, weight=2.0, lower=0.5),
        name_mix(reader, chat=0.5),
    ]
    return JointMix(mixes, seed=seed, batch_tokens=80, batch_rows=4)


def examples_of(mix: Mix[Any, ReaderExample]) -> list[ReaderExample]:
    return [example for batch in mix.batches(0) for example in batch]


def test_the_same_seed_draws_the_same_epoch_and_another_seed_or_epoch_does_not(reader: FeatureReader) -> None:
    mix = joint_mix(reader)
    assert mix.drawn(0) == joint_mix(reader).drawn(0)
    assert mix.drawn(0) != mix.drawn(1)
    assert mix.drawn(0) != joint_mix(reader, seed=2).drawn(0)


def test_the_same_seed_gives_the_same_batches(reader: FeatureReader) -> None:
    def texts(mix: JointMix) -> list[list[str]]:
        return [[example.features.text for example in batch] for batch in mix.batches(0)]

    assert texts(joint_mix(reader)) == texts(joint_mix(reader))


def test_a_run_that_goes_on_skips_what_it_has_read(reader: FeatureReader) -> None:
    whole = [[example.features.text for example in batch] for batch in joint_mix(reader).batches(0)]
    rest = [[example.features.text for example in batch] for batch in joint_mix(reader).batches(0, skip=2)]
    assert rest == whole[2:]


def test_batches_are_bounded_and_hold_every_draw(reader: FeatureReader) -> None:
    batches = list(joint_mix(reader).batches(0))
    assert sum(map(len, batches)) == len(joint_mix(reader).drawn(0))
    for batch in batches:
        assert len(batch) <= 4
        assert len(batch) * max(example.token_count for example in batch) <= 80 or len(batch) == 1


def test_every_mix_has_its_share_of_an_epoch(reader: FeatureReader) -> None:
    counts = Counter(draw.mix for draw in joint_mix(reader).drawn(0))
    assert counts[1] in (2, 3)
    assert counts[2] == 2 * len(MESSAGES)
    assert counts[3] == round(len(TEXTS) * 1.5)
    assert counts[0] >= len(ROWS)


def test_each_kind_of_row_knows_its_heads(reader: FeatureReader) -> None:
    known = {
        (
            example.names is not None,
            example.edits is not None,
            example.asks,
            example.intents is not None,
            example.facts is not None,
        )
        for example in examples_of(joint_mix(reader))
    }
    assert known == {
        (False, True, None, False, False),
        (False, True, True, False, False),
        (True, False, None, True, True),
        (True, False, None, False, False),
    }
    corpus = examples_of(rewriting_mix(reader, is_corpus=True))
    assert {example.asks for example in corpus} == {False}


def test_negatives_are_complete_foreign_or_cannot_be_restored(reader: FeatureReader) -> None:
    examples = examples_of(rewriting_mix(reader, foreign=1.0, lost=1.0))
    incomplete = [row for row in ROWS if row.query != row.target]
    assert len(examples) == 2 * len(ROWS) + len(incomplete)
    stops = sum(example.edits is not None and example.edits.places[0].answer == STOP for example in examples)
    assert stops >= len(ROWS) + len(incomplete)
    assert as_foreign(ROWS[0], ROWS[1]) == RewritingRow(ROWS[0].turns, "北京好吗", "北京好吗", "toy", "complete")
    assert as_lost(ROWS[0]) == RewritingRow(("多云",), "明天有雨吗", "明天有雨吗", "toy", "complete")
    assert as_lost(ROWS[2]) == ROWS[2]


def test_a_rewrite_is_its_own_negative(reader: FeatureReader) -> None:
    texts = Counter(example.features.text for example in examples_of(rewriting_mix(reader, complete=1.0)))
    assert all(texts[row.target] == 1 for row in ROWS)
    assert texts.total() == len(ROWS) + sum(row.query != row.target for row in ROWS)


def test_a_copied_name_is_renamed_in_the_conversation_and_the_rewrite(reader: FeatureReader) -> None:
    renamed = as_renamed(ROWS[0], "AI-Box")
    assert renamed == RewritingRow(("AI-Box天气", "多云"), "明天有雨吗", "AI-Box明天有雨吗", "toy")
    assert as_renamed(ROWS[2], "AI-Box") == ROWS[2]
    assert as_renamed(ROWS[0], "明天") == ROWS[0]  # the query has that word already
    mix = rewriting_mix(reader, renamed=1.0)
    assert {draw.renamed for draw in mix.drawn(0)} - {None} <= {"西安", "北京", "小明", "Bedouin"}


def test_names_from_memory_come_before_the_first_turn_and_may_hold_the_antecedent() -> None:
    assert copied_span(ROWS[0]) == "西安"
    assert copied_span(ROWS[2]) is None
    forms = {offered_names(ROWS[0], ["北京", "小明"], random.Random(seed)).turns for seed in range(40)}
    assert ("北京、西安、小明", "多云") in forms  # what holds the antecedent is gone
    assert ("北京", "西安天气", "多云") in forms
    assert all("西安" in "".join(turns) for turns in forms)
    assert offered_names(ROWS[2], [], random.Random(1)) == ROWS[2]


def test_an_english_message_may_lose_its_capitals_and_keeps_its_names(reader: FeatureReader) -> None:
    lower = in_lower_case(MESSAGES[0])
    assert (lower.text, lower.names, lower.intents) == ("ann is in rome", MESSAGES[0].names, MESSAGES[0].intents)
    longer = MarkedMessage("en-2", "en", (), "İstanbul", (), (), ())
    assert in_lower_case(longer) == longer  # lower case would be one character longer
    texts = {example.features.text for example in examples_of(message_mix(reader, lower=1.0))}
    assert texts == {"ann is in rome", "我愛茶"}
    assert {example.features.text for example in examples_of(message_mix(reader))} == {"Ann is in Rome", "我愛茶"}


def test_of_a_message_as_a_whole_is_learned_what_is_known_of_it(reader: FeatureReader) -> None:
    messages = [
        SignedMessage("zh-Hans", ("我在北京",), "它好吗", MessageKind.MEMORY, False, (Intent.QUESTION,), "北京好吗"),
        SignedMessage("zh-Hans", (), "早安", MessageKind.GREETING),
        SignedMessage("zh-Hans", (), "忘了吧", asks_to_forget=True),
    ]
    mix = MessageMix(messages, [1.0] * 3, 0.0, 0.0, reader, SHAPE, seed=1)
    asked, greeting, request = sorted(examples_of(mix), key=lambda example: messages_of(messages, example))
    assert (asked.kind, asked.forgets, asked.intents, asked.asks) == (
        MessageKind.MEMORY, False, (Intent.QUESTION,), False,
    )  # fmt: skip
    assert asked.edits is not None
    assert asked.edits.is_exact
    assert (greeting.kind, greeting.forgets, greeting.intents, greeting.edits) == (
        MessageKind.GREETING, None, None, None,
    )  # fmt: skip
    assert (request.kind, request.forgets) == (None, True)


def messages_of(messages: list[SignedMessage], example: ReaderExample) -> int:
    """The place of an example's message."""
    return [message.text for message in messages].index(example.features.text)


def test_messages_of_other_blocks_come_before_a_message_and_change_nothing_of_it(reader: FeatureReader) -> None:
    alone = {example.features.text: example for example in examples_of(message_mix(reader))}
    for example in examples_of(message_mix(reader, unrelated=1.0)):
        assert 1 <= len(example.features.source.turns) <= 5
        assert example.intents == alone[example.features.text].intents
        assert example.facts is not None
        assert len(example.facts) == len(alone[example.features.text].facts or ())


@pytest.mark.parametrize(
    ("is_english", "options", "text"), [(True, {"lower": 1.0}, "ann at acme in rome"), (False, {"wide": 1.0}, "Ａ１")]
)
def test_texts_with_names_are_varied(
    is_english: bool, options: dict[str, Any], text: str, reader: FeatureReader
) -> None:
    mix = name_mix(reader, is_english=is_english, chat=0.0, **options)
    assert any(example.features.text.startswith(text) for example in examples_of(mix))


def test_the_network_is_told_the_source_of_a_share_of_the_texts(reader: FeatureReader) -> None:
    examples = examples_of(name_mix(reader, copies=50, told=0.5, chat=0.0))
    told = sum(example.names is not None and example.names.source == 1 for example in examples)
    assert 60 < told < 140
    chat = examples_of(name_mix(reader, told=1.0, chat=1.0))
    assert sum(example.names is not None and example.names.source == 0 for example in chat) >= len(TEXTS)
