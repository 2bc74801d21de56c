"""Labels of the corpus: references to ask about, and facts over units."""

from memory.values.predicates import PREDICATES
from memory.values.understanding.mentions import EntitySubtype
from memory.values.understanding.readings import Action, Intent, Qualifier
from models.reader.edits import Segment
from models.reader.features import FeatureReader
from models.reader.labels import LABELS
from models.reader.network import NO_SOURCE
from tests.models.reader.toys import SHAPE, read
from training.names.examples import Evidence
from training.names.ner_files import NamedSpan
from training.reader.corpus import MarkedFact, MarkedMessage, MarkedQuery, MarkedReference
from training.reader.examples import (
    FactLabel,
    ambiguous_example,
    label_facts,
    message_example,
    query_example,
    rewriting_example,
)
from training.rewriting.data import RewritingRow
from training.rewriting.examples import STOP
from training.rewriting.labels import Limits

SPAN = SHAPE.facts.span
LIMITS = Limits(span=SHAPE.edits.span, deleted=SHAPE.edits.deleted)
LIVES_IN, LIKES = PREDICATES.index("lives_in"), PREDICATES.index("likes")


def ambiguous(query: str, *turns: str, start: int, end: int, options: tuple[str, ...]) -> MarkedQuery:
    reference = MarkedReference(start, end, options=options)
    return MarkedQuery("zh-1", "zh-Hant", "ambiguous", turns, query, query, Action.ASK, (reference,))


def labels_of(text: str, *facts: MarkedFact, turns: tuple[str, ...] = ()) -> tuple[FactLabel, ...]:
    return label_facts(facts, read(text, *turns), SPAN)


def test_of_a_rewriting_row_it_is_not_known_whether_to_ask(reader: FeatureReader) -> None:
    row = RewritingRow(("我在北京",), "它好吗", "北京好吗", "toy")
    assert rewriting_example(row, reader, LIMITS).asks is None
    example = query_example(row, reader, LIMITS, {})
    assert example.asks is False
    assert example.edits == rewriting_example(row, reader, LIMITS).edits
    assert (example.names, example.intents, example.facts) == (None, None, None)
    assert example.token_count == example.features.token_count


def test_what_a_query_is_for_is_known_where_a_reader_has_said_it(reader: FeatureReader) -> None:
    taught = {"它好吗": (Intent.QUESTION,)}
    row = RewritingRow(("我在北京",), "它好吗", "北京好吗", "toy")
    assert query_example(row, reader, LIMITS, taught).intents == (Intent.QUESTION,)
    assert query_example(row, reader, LIMITS, {}).intents is None
    asked = ambiguous("它好吗", "茶和酒", start=0, end=1, options=("茶", "酒"))
    assert ambiguous_example(asked, reader, taught).intents == (Intent.QUESTION,)


def test_any_option_of_an_ambiguous_reference_may_fill_its_place(reader: FeatureReader) -> None:
    query = ambiguous("它多少錢", "買了 AI-Box", "宏康也行，AI-Box", start=0, end=1, options=("AI-Box", "宏康"))
    example = ambiguous_example(query, reader, {})
    assert example.asks is True
    assert example.edits is not None
    assert [(place.answer, place.before) for place in example.edits.places] == [((0, 1), None), (STOP, (0, 1))]
    first, end = example.edits.segments
    texts = {example.features.source.text(segment) for segment in first.answers}
    assert texts == {"AI-Box", "宏康"}
    assert len(first.answers) == 3  # AI-Box in both turns
    assert end.answers == ()


def test_a_gap_may_be_ambiguous(reader: FeatureReader) -> None:
    query = ambiguous("多少錢？", "茶和酒", start=3, end=3, options=("茶", "酒"))
    example = ambiguous_example(query, reader, {})
    assert example.edits is not None
    assert example.edits.places[0].answer == (3, 0)
    assert example.edits.segments[0].answers == (Segment(0, 1), Segment(2, 3))
    at_the_end = ambiguous("多少錢", "茶和酒", start=3, end=3, options=("茶", "酒"))
    behind = ambiguous_example(at_the_end, reader, {})
    assert behind.edits is not None
    assert behind.edits.places[0].answer == (3, 0)


def test_options_that_stand_nowhere_teach_only_to_ask(reader: FeatureReader) -> None:
    example = ambiguous_example(ambiguous("它呢", "你好", start=0, end=1, options=("茶", "酒")), reader, {})
    assert (example.asks, example.edits) == (True, None)


def test_a_message_has_names_intents_and_facts_and_its_edits_are_not_known(reader: FeatureReader) -> None:
    message = MarkedMessage(
        id="zh-1",
        language="zh-Hant",
        turns=("你好",),
        text="我住板橋",
        names=(NamedSpan(2, 4, "place"),),
        intents=(Intent.STATEMENT,),
        facts=(MarkedFact("", "lives_in", "板橋"),),
    )
    evidence = Evidence.of(NO_SOURCE, dict.fromkeys(EntitySubtype, 1.0), ())
    example = message_example(message, reader, evidence, SHAPE)
    assert example.names is not None
    assert example.names.right == ((2, 1, LABELS.index("place")),)
    assert example.names.source == NO_SOURCE
    assert example.intents == (Intent.STATEMENT,)
    assert example.facts == (FactLabel((4, 5), LIVES_IN, (), True, (), ()),)
    assert (example.edits, example.asks) == (None, None)


def test_a_fact_is_placed_on_units_behind_those_of_the_context() -> None:
    fact = MarkedFact("小美", "lives_in", "板橋", (Qualifier.PAST, Qualifier.HEDGED), "去年")
    (label,) = labels_of("她去年住板橋", fact, turns=("小美是我妹", "小美"))
    assert label == FactLabel(
        object=(11, 12),
        predicate=LIVES_IN,
        subjects=((0, 1), (5, 6)),
        is_of_speaker=False,
        qualifiers=(list(Qualifier).index(Qualifier.PAST), list(Qualifier).index(Qualifier.HEDGED)),
        times=((8, 9),),
    )


def test_words_are_found_whatever_their_case_width_and_script() -> None:
    (label,) = labels_of("我用 ＡＩ-box 和臺灣茶", MarkedFact("", "likes", "AI-Box"))
    assert label.object == (2, 4)
    assert labels_of("我喜歡台湾茶", MarkedFact("", "likes", "台灣茶"))[0].object == (3, 5)


def test_a_fact_whose_object_is_not_in_the_message_is_left_out() -> None:
    assert labels_of("是的", MarkedFact("", "likes", "茶"), turns=("你喜歡茶嗎",)) == ()
    assert labels_of("我喜歡" + "很" * SPAN + "茶", MarkedFact("", "likes", "很" * SPAN + "茶")) == ()


def test_an_object_must_not_cross_texts() -> None:
    assert labels_of("京", MarkedFact("", "likes", "北京"), turns=("北",)) == ()


def test_a_subject_whose_words_stand_nowhere_is_not_known() -> None:
    (label,) = labels_of("他喜歡茶", MarkedFact("小美", "likes", "茶"))
    assert (label.subjects, label.is_of_speaker) == ((), False)


def test_of_several_places_of_an_object_the_first_behind_a_subject_counts() -> None:
    (label,) = labels_of("茶很好，小美喜歡茶", MarkedFact("小美", "likes", "茶"))
    assert label.object == (8, 8)
    (of_speaker,) = labels_of("茶很好，我喜歡茶", MarkedFact("", "likes", "茶"))
    assert of_speaker.object == (0, 0)
    (before,) = labels_of("茶是小美的最愛", MarkedFact("小美", "likes", "茶"))
    assert before.object == (0, 0)
