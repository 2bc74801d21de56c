"""The extractor: known names, identifiers and deictic words around what the trained reader finds (DESIGN §5)."""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import structlog
from typing_extensions import override

from ..language.sentences import Sentences
from ..language.tokens import Words, find_codes
from ..ports.models.language import Extractor, Priority, Reader
from ..values.errors import Unavailable
from ..values.text import fold
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import KNOWN_NAME, SEED_NAME, EntitySubtype, Mention, MentionLevel
from ..values.understanding.readings import Context, Intent, Reading, ReadRequest
from .comparable_text import ComparableText
from .deixis import find_deixis
from .remembering import find_remember_intents
from .seeds import SEEDS, Seed

_log = structlog.get_logger(__name__)
READER = "reader"
"""Name of the reader in `Extraction.degraded`."""
CODE_FORM = "code.form"
"""`Mention.source` of an identifier that was found by its form."""
_SURE_OF_A_SEED = 0.99
_SURE_OF_A_LONGER_NAME = 0.8
"""Confidence from which a name of the reader wins over a known name inside it."""
_SURE_OF_A_CODE = 0.85
_IN_A_QUESTION = 0.8
"""Factor on the confidence of a name in a question: who asks "誰是王小明" does not know him yet."""


_MAX_REQUEST_CHARACTERS = 400
"""Longer messages are no requests to forget something."""


class ReadingExtractor(Extractor):
    """Extracts from what a trained reader finds; one reading of all texts.

    Mentions never overlap: known names and seeds win over names of the reader and identifiers, and these over deictic
    words; among equals the longest wins. A name that the reader is sure of wins over a known name inside it (iPhone 15
    Pro over iPhone 15). A known name inside a Chinese word counts only where the reader finds a name there too (小明 in
    小明天天來, not in 小明星). While the reader is unavailable, known names, seeds, identifiers and deictic words are
    found, and the extraction is marked degraded.

    Args:
        reader: The trained reader; None where it is switched off or has no weights.
        version: Version of the code, the word lists and the reader's weights (`extraction_version`).
        seeds: Names known for every user (000 §10.1).
    """

    def __init__(self, reader: Reader | None, *, version: str = "", seeds: Sequence[Seed] = SEEDS) -> None:
        self._reader = reader
        self._version = version
        self._seeds = {seed.name: seed.subtype for seed in seeds}
        self.failures = 0

    @property
    @override
    def version(self) -> str:
        return self._version

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        """Extracts from each text; a single text has interactive priority, several have batch priority.

        Raises:
            ValueError: `known` or `contexts` is not as long as `texts`.
            Overloaded: The reader's queue is full.
        """
        names: Sequence[Sequence[str]] = known if known is not None else [()] * len(texts)
        read_in = contexts if contexts is not None else [Context()] * len(texts)
        for argument, values in (("known", names), ("contexts", read_in)):
            if len(values) != len(texts):
                raise ValueError(f"`{argument}` has {len(values)} items for {len(texts)} texts; give one a text.")
        requests = [ReadRequest(text=text, context=context) for text, context in zip(texts, read_in, strict=True)]
        readings: Sequence[Reading | None] = [None] * len(texts)
        if self._reader is not None:
            priority = Priority.INTERACTIVE if len(texts) == 1 else Priority.BATCH
            try:
                readings = await _read(self._reader, requests, priority)
            except Unavailable as error:
                self.failures += 1
                _log.warning("extraction_degraded", component=READER, error=error.message)
        inputs = list(zip(texts, names, readings, strict=True))
        found = await asyncio.to_thread(lambda: [self._extract_one(*parts) for parts in inputs])
        if contexts is None:
            found = [extraction.model_copy(update={"rewrite": None}) for extraction in found]
        return found

    def _extract_one(self, text: str, known: Iterable[str], reading: Reading | None) -> Extraction:
        degraded = () if reading else (READER,)
        if not text or text.isspace():
            rewrite = reading.rewrite if reading else None
            return Extraction(rewrite=rewrite, degraded=degraded, version=self._version)
        intents = tuple(intent for intent, _ in reading.intents) if reading else ()
        folded = fold(text)
        words, sentences = Words(folded), Sentences(folded)
        codes = list(_codes(text, folded))
        read = [_as_sure_as_its_form(mention, codes) for mention in _read_names(text, reading)]
        given = [
            mention
            for mention in self._given(text, known)
            if (not words.cuts_word(mention.start, mention.end) or any(_overlap(mention, name) for name in read))
            and not any(_is_part(mention, name) for name in read)
        ]
        found = [*read, *codes]
        if not intents or Intent.QUESTION in intents:
            found = [_less_sure_where_asked(mention, sentences) for mention in found]
        return Extraction(
            mentions=tuple(_without_overlaps((given, found, list(find_deixis(text, folded, words))))),
            remember=tuple(find_remember_intents(text, folded, sentences, intents)),
            intents=intents,
            kind=reading.kind if reading else None,
            overview=reading is not None and reading.overview,
            forgets_surely=reading is not None and reading.forgets_surely,
            may_change=reading is not None and reading.may_change,
            facts=reading.facts if reading else (),
            rewrite=reading.rewrite if reading else None,
            degraded=degraded,
            version=self._version,
        )

    def _given(self, text: str, known: Iterable[str]) -> Iterator[Mention]:
        """Every occurrence of a known name or a seed; one substring search for each."""
        comparable = ComparableText(text)
        for name in dict.fromkeys(known):
            for start, end in comparable.find(name):
                yield Mention(text=text[start:end], start=start, end=end, source=KNOWN_NAME)
        for name, subtype in self._seeds.items():
            for start, end in comparable.find(name):
                yield Mention(
                    text=text[start:end],
                    start=start,
                    end=end,
                    subtype=subtype,
                    confidence=_SURE_OF_A_SEED,
                    source=SEED_NAME,
                )


def _overlap(mention: Mention, other: Mention) -> bool:
    return mention.start < other.end and other.start < mention.end


def _is_part(mention: Mention, name: Mention) -> bool:
    """Whether it lies inside a longer name that is sure."""
    is_inside = name.start <= mention.start and mention.end <= name.end
    return is_inside and len(name.text) > len(mention.text) and name.confidence >= _SURE_OF_A_LONGER_NAME


async def _read(reader: Reader, requests: Sequence[ReadRequest], priority: Priority) -> list[Reading]:
    """Readings in order; what by itself asks to forget or for an overview does, whatever the conversation was about,
    and what by itself may change something may.

    Behind several questions a request is easily read as one more of them, and what was to be forgotten would be quoted.
    """
    by_itself = {
        number: ReadRequest(text=request.text)
        for number, request in enumerate(requests)
        if request.context != Context() and len(request.text) <= _MAX_REQUEST_CHARACTERS
    }
    readings = await reader.read([*by_itself.values(), *requests], priority=priority)
    found = dict(zip(by_itself, readings, strict=False))
    in_context = readings[len(by_itself) :]
    return [_as_by_itself(reading, found.get(number, reading)) for number, reading in enumerate(in_context)]


def _as_by_itself(reading: Reading, by_itself: Reading) -> Reading:
    """The reading, with what was found in the message by itself of what it asks for and may change."""
    requests = [item for item in by_itself.intents if item[0] is Intent.FORGET]
    others = [item for item in reading.intents if item[0] is not Intent.FORGET]
    return reading.model_copy(
        update={
            "intents": (*requests, *others),
            "overview": by_itself.overview,
            "forgets_surely": by_itself.forgets_surely,
            "may_change": by_itself.may_change,
        }
    )


def _read_names(text: str, reading: Reading | None) -> Iterator[Mention]:
    """The reader's names; not times, which are no entities."""
    for span in reading.names if reading else ():
        if span.subtype is not None:
            yield Mention(
                text=text[span.start : span.end],
                start=span.start,
                end=span.end,
                subtype=span.subtype,
                confidence=round(span.score, 3),
                source=f"{READER}.{span.label}",
            )


def _as_sure_as_its_form(name: Mention, codes: Sequence[Mention]) -> Mention:
    """The name, of which its form is evidence, too, where it is exactly a code: the reader alone says of what kind."""
    forms = (code.confidence for code in codes if (code.start, code.end) == (name.start, name.end))
    return name.model_copy(update={"confidence": max((name.confidence, *forms))})


def _codes(text: str, folded: str) -> Iterator[Mention]:
    for start, end in find_codes(folded):
        yield Mention(
            text=text[start:end],
            start=start,
            end=end,
            subtype=EntitySubtype.CODE,
            confidence=_SURE_OF_A_CODE,
            source=CODE_FORM,
        )


def _less_sure_where_asked(mention: Mention, sentences: Sentences) -> Mention:
    if not sentences.at(mention.start).asks:
        return mention
    return mention.model_copy(update={"confidence": round(mention.confidence * _IN_A_QUESTION, 3)})


def _without_overlaps(layers: Iterable[Sequence[Mention]]) -> list[Mention]:
    """The mentions that do not overlap, in text order: of an earlier layer first, then the longer, then the first.

    A mention that overlaps one already taken is dropped whole: nothing is cut or nested. A long-term mention without a
    subtype takes that of a dropped mention with exactly the same span.
    """
    layers = [sorted(layer, key=lambda mention: mention.start - mention.end) for layer in layers]
    ordered = [mention for layer in layers for mention in layer]
    subtypes: dict[tuple[int, int], EntitySubtype] = {}
    for mention in ordered:
        if mention.subtype is not None:
            subtypes.setdefault((mention.start, mention.end), mention.subtype)
    starts: list[int] = []
    taken: list[Mention] = []
    for mention in ordered:
        place = bisect_left(starts, mention.start)
        if place < len(taken) and taken[place].start < mention.end:
            continue
        if place and taken[place - 1].end > mention.start:
            continue
        if mention.subtype is None and mention.level is MentionLevel.LONG_TERM:
            mention = mention.model_copy(update={"subtype": subtypes.get((mention.start, mention.end))})
        starts.insert(place, mention.start)
        taken.insert(place, mention)
    return taken
