"""Long texts: cut into pieces of about one window before anything tokenises them, and their readings joined.

Cut by characters, a text of any length takes the tokenizer and the network a piece at a time, and other messages are
read between the pieces.
"""

import re
from collections.abc import Iterator, Sequence

from memory.values.understanding.mentions import TaggedSpan
from memory.values.understanding.readings import Context, FactSpan, Intent, Reading, ReadRequest, StatedFact

_PIECE_BYTES = 720
"""A Han character has three bytes and is a token; a token of Latin text has about four. So a piece fits a window."""
_LONG_BYTES = 3 * _PIECE_BYTES
_ENDS = (
    re.compile(r"[。！？!?；;…\n][」』”’\"')）]*\s*|\.[\"')]*\s+"),
    re.compile(r"[，,、：:]\s*"),
    re.compile(r"\s+"),
)
"""After which a text is best cut: a sentence, a clause, a word."""
_LEAST_INTENT = 0.5


def is_long(text: str) -> bool:
    """Whether a text has more than about three windows."""
    return len(text) > _LONG_BYTES // 4 and len(text.encode("utf-8", "replace")) > _LONG_BYTES


def cut(request: ReadRequest) -> list[ReadRequest]:
    """The pieces of a long text in order, which are the text when joined; only the first is read in its context."""
    texts = list(_pieces(request.text))
    return [
        ReadRequest(text=text, context=Context() if number else request.context) for number, text in enumerate(texts)
    ]


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        first = text[start : start + _PIECE_BYTES].encode("utf-8", "replace")[:_PIECE_BYTES]
        stop = start + len(first.decode("utf-8", "ignore"))
        if stop < len(text):
            stop = _best_end(text, start, stop)
        yield text[start:stop]
        start = stop


def _best_end(text: str, start: int, stop: int) -> int:
    for end in _ENDS:
        places = [match.end() for match in end.finditer(text, start + (stop - start) // 2, stop)]
        if places:
            return places[-1]
    return stop


def join(pieces: Sequence[ReadRequest], readings: Sequence[Reading]) -> Reading:
    """The reading of a text from those of its pieces: references of the first, names and facts of all.

    An intent holds where it does in any piece.
    """
    names: list[TaggedSpan] = []
    facts: list[StatedFact] = []
    intents: dict[Intent, float] = {}
    start = 0
    for piece, reading in zip(pieces, readings, strict=True):
        names += [
            name.model_copy(update={"start": name.start + start, "end": name.end + start}) for name in reading.names
        ]
        facts += [_moved_fact(fact, start) for fact in reading.facts]
        for intent, probability in reading.intents:
            intents[intent] = max(probability, intents.get(intent, 0.0))
        start += len(piece.text)
    ordered = sorted(intents.items(), key=lambda item: -item[1])
    rewrite = readings[0].rewrite
    unread = "".join(piece.text for piece in pieces[1:])
    return Reading(
        names=tuple(names),
        intents=tuple([item for item in ordered if item[1] >= _LEAST_INTENT] or ordered[:1]),
        rewrite=rewrite.model_copy(update={"text": rewrite.text + unread}),
        facts=tuple(facts),
    )


def _moved_fact(fact: StatedFact, by: int) -> StatedFact:
    spans = {"subject": fact.subject, "object": fact.object, "time": fact.time}
    return fact.model_copy(update={name: _moved(span, by) for name, span in spans.items()})


def _moved(span: FactSpan | None, by: int) -> FactSpan | None:
    if span is None or span.turn is not None:
        return span
    return span.model_copy(update={"start": span.start + by, "end": span.end + by})
