"""Training examples of the reader: a message as the network reads it, with the labels of each head that knows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory.values.predicates import PREDICATES
from memory.values.understanding.readings import Context, Intent, MessageKind, Qualifier, ReadRequest
from models.body.edit_units import EditUnit, split_edit_units
from models.reader.edits import Segment
from models.reader.features import FeatureReader, Features
from models.reader.network import ReaderShape

from ..names.examples import Evidence, NameLabels, label_names
from ..names.ner_files import MarkedText
from ..rewriting.data import RewritingRow
from ..rewriting.examples import STOP, EditLabels, PlaceChoice, SegmentChoice, label_edits
from ..rewriting.labels import Limits
from .corpus import MarkedFact, MarkedMessage, MarkedQuery, SignedMessage

UnitSpan = tuple[int, int]
"""First and last unit, counted over context and message together."""

_PREDICATE = {predicate: number for number, predicate in enumerate(PREDICATES)}


@dataclass(frozen=True, slots=True)
class FactLabel:
    """A fact over units.

    Attributes:
        object: In the message.
        predicate: Its number.
        subjects: Every place of the subject's words; empty where they stand nowhere.
        is_of_speaker: Whether the subject is the speaker.
        qualifiers: Their numbers.
        times: Every place of the time's words; empty without a time.
    """

    object: UnitSpan
    predicate: int
    subjects: tuple[UnitSpan, ...]
    is_of_speaker: bool
    qualifiers: tuple[int, ...]
    times: tuple[UnitSpan, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReaderExample:
    """A window as the network reads it, with its labels; None for a head whose labels are not known.

    Attributes:
        features: What the network reads.
        names: Labels of names.
        edits: The choices that lead to what the message means.
        asks: Whether a reference is ambiguous.
        intents: Those that hold.
        facts: Those that are stated.
        kind: What the message is for as a whole.
        forgets: Whether it asks to forget something.
    """

    features: Features
    names: NameLabels | None = None
    edits: EditLabels | None = None
    asks: bool | None = None
    intents: tuple[Intent, ...] | None = None
    facts: tuple[FactLabel, ...] | None = None
    kind: MessageKind | None = None
    forgets: bool | None = None

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return self.features.token_count


def rewriting_example(row: RewritingRow, reader: FeatureReader, limits: Limits) -> ReaderExample:
    """A row of a rewriting data set; whether to ask is not known."""
    features = _read(row.query, row.turns, reader)
    return ReaderExample(features, edits=label_edits(row, features, limits))


def query_example(
    row: RewritingRow, reader: FeatureReader, limits: Limits, intents: Mapping[str, tuple[Intent, ...]]
) -> ReaderExample:
    """A query of the corpus that is rewritten or kept, or a variation of one: nothing is to be asked.

    `intents` are those of queries by their text, where they are known.
    """
    features = _read(row.query, row.turns, reader)
    edits = label_edits(row, features, limits)
    return ReaderExample(features, edits=edits, asks=False, intents=intents.get(row.query))


def ambiguous_example(
    query: MarkedQuery, reader: FeatureReader, intents: Mapping[str, tuple[Intent, ...]]
) -> ReaderExample:
    """A query to ask back: its edit may be filled with any of the options, wherever they stand."""
    features = _read(query.query, query.turns, reader)
    reference = next(reference for reference in query.references if reference.options)
    starts = [unit.start for unit in features.units]
    start = next((at for at, begin in enumerate(starts) if begin >= reference.start), len(starts))
    stop = next((at for at, begin in enumerate(starts) if begin >= reference.end), len(starts))
    segments = tuple(
        Segment(first, last + 1)
        for option in reference.options
        for first, last in _places(option, features.source.units, features.source.turn_of)
    )
    if not segments:
        return ReaderExample(features, asks=True, intents=intents.get(query.query))
    fills = (
        SegmentChoice((start, stop), 0, (), segments),
        SegmentChoice((start, stop), 1, segments[-1:], ()),
    )
    places = (
        PlaceChoice(0, None, (), (start, stop - start)),
        PlaceChoice(1, (start, stop), segments[-1:], STOP),
    )
    edits = EditLabels(places, fills, is_exact=True)
    return ReaderExample(features, edits=edits, asks=True, intents=intents.get(query.query))


def name_examples(
    row: MarkedText, reader: FeatureReader, evidence: Evidence, shape: ReaderShape, *, is_told: bool
) -> list[ReaderExample]:
    """The windows of a text that is read alone, with the labels of its names."""
    return [
        ReaderExample(features, names=label_names(row, features, evidence, shape.names, is_told=is_told))
        for features in reader.read(request_of(row.text))
    ]


def message_example(
    message: MarkedMessage, reader: FeatureReader, evidence: Evidence, shape: ReaderShape
) -> ReaderExample:
    """A message of the corpus with its intents, and its names and facts where they are marked."""
    features = _read(message.text, message.turns, reader)
    if not message.is_whole:
        return ReaderExample(features, intents=message.intents)
    row = MarkedText(message.text, message.names)
    return ReaderExample(
        features,
        names=label_names(row, features, evidence, shape.names, is_told=False),
        intents=message.intents,
        facts=label_facts(message.facts, features, shape.facts.span),
    )


def signed_example(message: SignedMessage, reader: FeatureReader, limits: Limits) -> ReaderExample:
    """A message with what is known of it as a whole; where its meaning is known, nothing is to be asked."""
    features = _read(message.text, message.turns, reader)
    example = ReaderExample(features, intents=message.intents, kind=message.kind, forgets=message.asks_to_forget)
    if message.meaning is None:
        return example
    row = RewritingRow(message.turns, message.text, message.meaning, "corpus")
    return replace(example, edits=label_edits(row, features, limits), asks=False)


def facts_example(message: MarkedMessage, reader: FeatureReader, shape: ReaderShape) -> ReaderExample:
    """A message of the corpus with its facts alone."""
    features = _read(message.text, message.turns, reader)
    return ReaderExample(features, facts=label_facts(message.facts, features, shape.facts.span))


def label_facts(facts: Sequence[MarkedFact], features: Features, span: int) -> tuple[FactLabel, ...]:
    """Places facts on the units of a window; a fact whose object is not in the message is left out."""
    source = features.source
    shift = len(source.units)
    units = [*source.units, *features.units]
    text_of = [*source.turn_of, *[len(source.turns)] * len(features.units)]
    qualifiers = list(Qualifier)
    labels = []
    for fact in facts:
        objects = [place for place in _places(fact.object, units, text_of) if place[0] >= shift]
        if not objects or objects[0][1] - objects[0][0] >= span:
            continue
        subjects = [place for place in _places(fact.subject, units, text_of) if place[1] - place[0] < span]
        times = [place for place in _places(fact.time, units, text_of) if place[1] - place[0] < span]
        labels.append(
            FactLabel(
                object=_nearest(objects, subjects),
                predicate=_PREDICATE[fact.predicate],
                subjects=tuple(subjects),
                is_of_speaker=not fact.subject,
                qualifiers=tuple(qualifiers.index(qualifier) for qualifier in fact.qualifiers),
                times=tuple(times),
            )
        )
    return tuple(labels)


def _nearest(objects: Sequence[UnitSpan], subjects: Sequence[UnitSpan]) -> UnitSpan:
    """Of several places of an object the first one behind a subject, else the first."""
    behind = [place for place in objects if any(place[0] > subject[1] for subject in subjects)]
    return (behind or list(objects))[0]


def _places(text: str, units: Sequence[EditUnit], text_of: Sequence[int]) -> list[UnitSpan]:
    """Every place where words stand, as first and last unit; empty for no words."""
    keys = [unit.key for unit in split_edit_units(text)]
    if not keys:
        return []
    found = []
    for first in range(len(units) - len(keys) + 1):
        last = first + len(keys) - 1
        if text_of[first] == text_of[last] and [unit.key for unit in units[first : last + 1]] == keys:
            found.append((first, last))
    return found


def _read(text: str, turns: Sequence[str], reader: FeatureReader) -> Features:
    return reader.read(request_of(text, turns))[0]


def request_of(text: str, turns: Sequence[str] = ()) -> ReadRequest:
    """A text behind its turns, as the reader reads it."""
    return ReadRequest(text=text, context=Context(turns=tuple(turns)))
