"""The extractor without a trained model: lists, jieba and rules (DESIGN §5, first version)."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from typing_extensions import override

from ..language.han_tokens import Words
from ..language.latin_tokens import latin_tokens
from ..language.sentences import Sentences
from ..ports.language import Extractor
from ..values.extractions import Extraction
from ..values.mentions import KNOWN_NAME, EntitySubtype, Mention, MentionLevel, TaggedSpan
from ..values.text import fold, is_han
from .rules.candidates import Candidate, Layer, resolve_overlaps
from .rules.codes import find_codes
from .rules.deixis import find_deixis
from .rules.intents import find_intents
from .rules.lexicon import ComparableText, find_names
from .rules.names_han import find_han_names
from .rules.names_latin import find_latin_names
from .rules.quoted import find_quoted
from .rules.seeds import SEEDS, Seed
from .tagged.names import is_counted, join_names
from .version import extraction_version

_IN_A_QUESTION = 0.8
"""Factor on the confidence of a name in a question: who asks "誰是王小明" does not know him yet."""


class RuleExtractor(Extractor):
    """Finds names, L1 words and remember-intents in Chinese (both scripts) and English.

    Mentions never overlap. Of overlapping candidates the stronger layer wins: known names and seeds > quoted titles >
    codes > L1 words > tagger > Latin names > Chinese names; within a layer the longest. An unlisted Chinese word right
    before a Latin name belongs to that name (宏康 HCI).

    Args:
        seeds: Names known for every user (000 §10.1).
    """

    def __init__(self, *, seeds: Sequence[Seed] = SEEDS) -> None:
        self._seeds = {seed.name: seed.subtype for seed in seeds}
        self._version = extraction_version()

    @property
    @override
    def version(self) -> str:
        return self._version

    @override
    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        """Extracts from each text in a worker thread, in less than 1 ms a chat message.

        Raises:
            ValueError: `known` is not as long as `texts`.
        """
        names: Sequence[Sequence[str]] = known if known is not None else [()] * len(texts)
        if len(names) != len(texts):
            raise ValueError(f"`known` holds {len(names)} lists for {len(texts)} texts; give one list a text.")
        found = await asyncio.to_thread(lambda: [self.extract_one(*pair) for pair in zip(texts, names, strict=True)])
        return [extraction.model_copy(update={"version": self._version}) for extraction in found]

    def extract_one(
        self, text: str, known: Iterable[str] = (), *, tagged: Sequence[TaggedSpan] | None = None
    ) -> Extraction:
        """Extracts from one text, on the calling thread.

        Args:
            text: Any text.
            known: Names of long-term memory.
            tagged: Spans of a trained tagger, which `join_names` combines with the names of the rules; None for the
                rules alone.
        """
        if not text or text.isspace():
            return Extraction()
        folded = fold(text)
        words = Words(folded)
        sentences = Sentences(folded)
        winners = resolve_overlaps(
            [
                *self._given(text, words, known),
                *find_quoted(folded),
                *find_deixis(folded, words),
                *(
                    _names(folded, words, sentences)
                    if tagged is None
                    else _tagged_names(folded, words, sentences, tagged)
                ),
            ]
        )
        return Extraction(
            mentions=tuple(_mention(text, candidate, sentences) for candidate in winners),
            remember=tuple(find_intents(text, folded, sentences)),
        )

    def _given(self, text: str, words: Words, known: Iterable[str]) -> Iterator[Candidate]:
        comparable = ComparableText(text)
        for _, start, end in find_names(comparable, dict.fromkeys(known), words):
            yield Candidate(start, end, Layer.NAME, KNOWN_NAME, 1.0)
        for name, start, end in find_names(comparable, self._seeds, words):
            yield Candidate(start, end, Layer.NAME, "seed", 0.99, self._seeds[name])


def _names(folded: str, words: Words, sentences: Sentences) -> Iterator[Candidate]:
    """Codes and names by rules."""
    tokens = latin_tokens(folded)
    latin = [*find_codes(folded, tokens), *find_latin_names(folded, tokens, sentences)]
    yield from _merged(folded, words, latin)
    yield from latin
    yield from find_han_names(folded, words)


def _tagged_names(folded: str, words: Words, sentences: Sentences, tagged: Sequence[TaggedSpan]) -> Iterator[Candidate]:
    """Codes by rules, and names by tagger and rules."""
    tokens = latin_tokens(folded)
    yield from (candidate for candidate in find_codes(folded, tokens) if not is_counted(candidate, tagged))
    ruled = [*find_latin_names(folded, tokens, sentences), *find_han_names(folded, words)]
    yield from join_names(folded, words, tagged, ruled)


def _merged(folded: str, words: Words, latin: Sequence[Candidate]) -> Iterator[Candidate]:
    """A Chinese name and the Latin name after it, at most one space apart, as one name: 宏康 HCI.

    Only words outside the dictionary are merged, which company names mostly are: not 使用 Redis.
    """
    for candidate in latin:
        if candidate.layer is not Layer.LATIN:
            continue
        edge = candidate.start - 1 if candidate.start and folded[candidate.start - 1] == " " else candidate.start
        if edge == 0 or not is_han(folded[edge - 1]):
            continue
        word = words[words.at(edge - 1)]
        if word.end == edge and not word.listed and 2 <= len(word.text) <= 4 and is_han(word.text[0]):
            yield replace(
                candidate,
                start=word.start,
                layer=Layer.CODE,
                source="han+latin",
                confidence=0.8,
                subtype=EntitySubtype.ORGANISATION,
            )


def _mention(text: str, candidate: Candidate, sentences: Sentences) -> Mention:
    confidence = candidate.confidence
    if (
        candidate.layer is not Layer.NAME
        and candidate.level is MentionLevel.LONG_TERM
        and sentences.at(candidate.start).asks
    ):
        confidence = round(confidence * _IN_A_QUESTION, 3)
    return Mention(
        text=text[candidate.start : candidate.end],
        start=candidate.start,
        end=candidate.end,
        level=candidate.level,
        subtype=candidate.subtype,
        confidence=confidence,
        source=candidate.source,
    )
