"""A reader with no weights: a table of names, a few marks of intents, and the nearest name for a pronoun."""

import re
from collections.abc import Iterator, Mapping, Sequence

from typing_extensions import override

from memory.ports.models.language import Priority, Reader
from memory.values.text import fold, normalise
from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from memory.values.understanding.readings import (
    Action,
    Context,
    ContextSpan,
    FactSpan,
    Intent,
    MessageKind,
    Qualifier,
    Reading,
    ReadRequest,
    Replacement,
    Rewrite,
    StatedFact,
)

from .reader_names import NAMES

_SURE = 0.95
_LISTED = {normalise(name).replace(" ", ""): subtype for name, subtype in NAMES.items()}
_TABLE = re.compile(
    "|".join(
        r"(?<![A-Za-z])" * name[0].isascii()
        + re.sub(r"(\\ )+", r"\\s*", re.escape(name))
        + r"(?![a-z])" * name[-1].isascii()
        for name in sorted({fold(name) for name in NAMES}, key=len, reverse=True)
    )
)
_CAPITALISED = re.compile(r"(?<![\w'-])[A-Z][A-Za-z'&]*[A-Za-z](?: [A-Z][A-Za-z'&]*[A-Za-z])*(?![\w-])")
_NO_NAMES = re.compile(
    r"(?:I'.*|The|Is|Are|Was|Who|Whom|What|When|Where|Which|Why|How|Do|Does|Did|Can|Could|Please|Remember|Forget|Don't|My|Our|We"
    r"|You|They|He|She|It|This|That|There|And|But|So|No|Not|Yes|Ok|Hi|Hello|Hey|Thanks|Thank|Tell|Let|If|In|On|At|A|An"
    r"|[A-Z][a-z]+day|January|February|March|April|June|July|August|September|October|November|December)$"
)
_THING = re.compile(
    r"[它牠]|[这那]个(?![一-鿿])|[这那]个(?=呢|吗|多|怎|在|是|有|好|要)|\b(?:it|this one|that one)\b", re.I
)
_PERSON = re.compile(r"(?<![其吉])[他她](?!们)|\b(?:he|she|him|his)\b", re.IGNORECASE)
_INTENTS: tuple[tuple[Intent, str], ...] = (
    (
        Intent.REMEMBER,
        r"记住|记下|记得|别忘|重要|提醒我|\bremember\b|\bdon't forget|\bremind me|keep in mind|note that",
    ),
    (Intent.FORGET, r"^(?:请|帮我)?(?:忘掉|忘记|忘了|删掉)|^(?:please )?(?:forget|delete)\b"),
    (Intent.CORRECTION, r"不是.*[,，].*是|我是说|\bi meant\b|^no, "),
    (Intent.QUESTION, r"[?？]\s*$|(?:吗|呢)[?？。]?\s*$"),
    (Intent.GREETING, r"^(?:你好|您好|早安|hi\b|hello\b|hey\b)"),
    (Intent.THANKS, r"谢谢|多谢|\bthank"),
)
_MARKS = [(intent, re.compile(pattern, re.IGNORECASE)) for intent, pattern in _INTENTS]


class FakeReader(Reader):
    """Reads by its tables; a scripted text gets its scripted reading.

    Args:
        scripted: What it finds in these texts, whatever their context.
        error: What it raises on every request.
    """

    def __init__(self, *, scripted: Mapping[str, Reading] | None = None, error: Exception | None = None) -> None:
        self.scripted = dict(scripted or {})
        self.error = error
        self.requests: list[ReadRequest] = []
        self.priorities: list[Priority] = []

    @override
    async def read(
        self, requests: Sequence[ReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[Reading]:
        if self.error is not None:
            raise self.error
        self.requests += requests
        self.priorities += [priority] * len(requests)
        return [self.scripted.get(request.text) or read_one(request) for request in requests]


def read_one(request: ReadRequest) -> Reading:
    """The reading of one message, for a test to change and script."""
    return Reading(
        names=tuple(names_in(request.text)),
        intents=(intents := _intents(request.text)),
        forgets_surely=Intent.FORGET in dict(intents),
        rewrite=_rewrite(request.text, request.context),
    )


def stated(
    text: str,
    *facts: str,
    intents: str = "statement",
    kind: MessageKind = MessageKind.MEMORY,
    overview: bool = False,
    surely: bool = True,
    changes: bool = False,
) -> Reading:
    """The reading of a message that states facts, for a test to script.

    Args:
        text: The message.
        facts: As the chat corpus writes them: `user | lives_in | 三峽 | planned, time=下個月`.
        intents: As the chat corpus writes them: `correction, statement`.
        kind: What it is for as a whole.
        overview: Whether it asks for all that is known of someone or something.
        surely: Whether a request to forget surely is one.
        changes: Whether something said before may hold no longer after it.
    """
    marked = tuple((Intent(intent.strip()), _SURE) for intent in intents.split(","))
    return read_one(ReadRequest(text=text)).model_copy(
        update={
            "facts": tuple(_fact(text, fact) for fact in facts),
            "intents": marked,
            "kind": kind,
            "overview": overview,
            "forgets_surely": surely and Intent.FORGET in dict(marked),
            "may_change": changes,
            "rewrite": Rewrite(text=text),
        }
    )


def _fact(text: str, written: str) -> StatedFact:
    subject, predicate, object_, *rest = (part.strip() for part in written.split("|"))
    marks = [mark.strip() for mark in rest[0].split(",")] if rest else []
    time = next((mark.removeprefix("time=") for mark in marks if mark.startswith("time=")), None)
    return StatedFact(
        subject=None if subject == "user" else _span(text, subject),
        predicate=predicate,
        object=_span(text, object_),
        qualifiers=tuple(Qualifier(mark) for mark in marks if not mark.startswith("time=")),
        time=_span(text, time) if time else None,
        confidence=_SURE,
    )


def _span(text: str, words: str) -> FactSpan:
    """The words in the message, or in the turn before it."""
    start = text.find(words)
    return FactSpan(text=words, start=max(start, 0), end=max(start, 0) + len(words), turn=None if start >= 0 else 0)


def names_in(text: str) -> list[TaggedSpan]:
    """The names of the table, and other capitalised Latin words, as products."""
    folded = fold(text)
    spans = {match.span(): _LISTED[normalise(match[0]).replace(" ", "")] for match in _TABLE.finditer(folded)}
    for match in _CAPITALISED.finditer(folded):
        start, name = match.start(), match[0].removesuffix("'s")
        if _NO_NAMES.match(name.partition(" ")[0]):
            start += len(name.partition(" ")[0]) + 1
            name = name.partition(" ")[2]
        is_first = not folded[:start].strip() or folded[:start].rstrip()[-1] in ".!?。！？"
        if len(name) < 2 or (is_first and " " not in name and name[1:].islower()) or _NO_NAMES.match(name):
            continue
        if all(end <= start or start + len(name) <= first for first, end in spans):
            spans[start, start + len(name)] = EntitySubtype.PRODUCT
    return [
        TaggedSpan(start=start, end=end, label=subtype.value, subtype=subtype, score=_SURE)
        for (start, end), subtype in sorted(spans.items())
    ]


def _intents(text: str) -> tuple[tuple[Intent, float], ...]:
    if not text.strip():
        return ()
    folded = fold(text)
    marked = [intent for intent, mark in _MARKS if mark.search(folded)]
    return tuple((intent, _SURE) for intent in marked or [Intent.STATEMENT])


def _rewrite(text: str, context: Context) -> Rewrite:
    folded = fold(text)
    for pattern, is_person in ((_THING, False), (_PERSON, True)):
        match = pattern.search(folded)
        turns = list(_candidates(context, is_person=is_person)) if match else []
        if match is None or not turns:
            continue
        first, *others = turns
        antecedent, rest = first[-1], first[:-1]
        written = antecedent.text + ("'s" if match[0].lower() == "his" else "")
        replacement = Replacement(
            start=match.start(),
            end=match.end(),
            written=written,
            antecedents=(antecedent,),
            confidence=_SURE,
            alternatives=tuple(rest or [span for spans in others for span in spans]),
        )
        if rest and match[0].lower() in ("它", "it"):
            return Rewrite(action=Action.ASK, text=text, replacements=(replacement,), confidence=_SURE)
        changed = text[: match.start()] + written + text[match.end() :]
        return Rewrite(action=Action.REWRITE, text=changed, replacements=(replacement,), confidence=_SURE)
    return Rewrite(text=text, confidence=_SURE)


def _candidates(context: Context, *, is_person: bool) -> Iterator[list[ContextSpan]]:
    """The names of one kind in each turn that has any, the last turn first, and then those of long-term memory."""
    for turn, said in reversed(list(enumerate(context.turns))):
        spans: dict[str, ContextSpan] = {}
        for name in names_in(said):
            if (name.subtype is EntitySubtype.PERSON) is is_person:
                named = said[name.start : name.end]
                span = ContextSpan(text=named, turn=turn, start=name.start, end=name.end, probability=_SURE)
                spans[normalise(named)] = span
        if spans:
            yield list(spans.values())
    start = 0
    for offered in context.names:
        if (_LISTED.get(normalise(offered).replace(" ", "")) is EntitySubtype.PERSON) is is_person:
            yield [ContextSpan(text=offered, turn=None, start=start, end=start + len(offered), probability=_SURE)]
        start += len(offered) + 1
